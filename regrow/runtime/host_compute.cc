// SPDX-License-Identifier: Apache-2.0
#include "regrow/runtime/host_compute.h"

#include <array>

namespace regrow::runtime {
namespace {

// Room for an output while it is computed, in whatever layout it has.
struct alignas(64) Room {
  std::array<std::byte, most_host_elements * 8> bytes;
};

}  // namespace

bool compute_on_host(const Op& op, std::span<const HostArray* const> in, std::span<const Desc* const> descs,
                     std::span<const OutDesc> out, std::vector<HostArray>& values) {
  try {
    // Host values are row-major, whatever the strides of the tensors that they are the values of.
    std::vector<Desc> dense;
    std::vector<const Desc*> dense_pointers;
    for (const Desc* desc : descs) dense.push_back(Desc::dense(desc->dtype, desc->shape, desc->device));
    for (const Desc& desc : dense) dense_pointers.push_back(&desc);
    std::vector<OutDesc> results;
    infer(op, dense_pointers, results);

    std::vector<View> in_views, out_views;
    for (std::size_t i = 0; i < in.size(); ++i) in_views.push_back({&dense[i], const_cast<std::byte*>(in[i]->data())});
    std::vector<Room> rooms(results.size());
    bool makes_something = false;  // views alone: nothing runs, as on the worker, which may be reading these very bytes
    for (std::size_t k = 0; k < results.size(); ++k) {
      const OutDesc& result = results[k];
      if (result.view_of < 0) {
        makes_something = true;
        out_views.push_back({&result, rooms[k].bytes.data()});
      } else {
        const View& base = in_views[static_cast<std::size_t>(result.view_of)];
        out_views.push_back({&result, base.data + result.view_offset * static_cast<std::int64_t>(size_of(result.dtype))});
      }
    }
    if (makes_something) {
      std::vector<const Desc*> out_descs;
      for (const OutDesc& result : results) out_descs.push_back(&result);
      std::vector<std::byte> workspace(workspace_bytes(op, dense_pointers, out_descs) + 64);
      void* aligned = workspace.data();
      std::size_t room = workspace.size();
      std::align(64, workspace.size() - 64, aligned, room);
      compute(op, in_views, out_views, {}, {static_cast<std::byte*>(aligned), workspace.size() - 64});
    }
    values.clear();
    for (std::size_t k = 0; k < results.size(); ++k) values.push_back(HostArray::gather(out_views[k]));
    return results.size() == out.size();
  } catch (...) {
    return false;
  }
}

}  // namespace regrow::runtime
