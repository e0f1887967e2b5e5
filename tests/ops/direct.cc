// SPDX-License-Identifier: Apache-2.0
#include "tests/ops/direct.h"

#include <stdexcept>

#include "regrow/tensor/visit.h"
#include "regrow/tensor/walk.h"

namespace regrow::direct {
namespace {

constexpr std::size_t guard = 64;
constexpr std::byte guard_byte{0x5c};

void check(bool ok, const std::string& op, const char* what) {
  if (!ok) throw std::logic_error(op + ": " + what);
}

bool guards_intact(const Value& value) {
  const std::vector<std::byte>& bytes = *value.storage;
  for (std::size_t i = 0; i < guard; ++i)
    if (bytes[i] != guard_byte || bytes[bytes.size() - 1 - i] != guard_byte) return false;
  return true;
}

// The output as a view of the input that infer names.
Value make_view(const std::string& op, const OutDesc& out, std::span<const Value> in) {
  check(static_cast<std::size_t>(out.view_of) < in.size(), op, "is a view of an input that it does not have");
  Value value = in[static_cast<std::size_t>(out.view_of)];
  const Desc source = value.desc;
  value.desc = out;
  value.first += out.view_offset * static_cast<std::int64_t>(size_of(out.dtype));
  check(out.dtype == source.dtype, op, "is a view with another element type");
  const Extent inner = extent_of(out.shape, out.strides);
  const auto first = value.first + inner.first * static_cast<std::int64_t>(size_of(out.dtype));
  const auto last = value.first + inner.last * static_cast<std::int64_t>(size_of(out.dtype));
  check(out.count() == 0 ||
            (first >= value.storage->data() + guard && last <= value.storage->data() + value.storage->size() - guard),
        op, "is a view of what lies outside the storage");
  return value;
}

void check_inferred(const std::string& op, const OutDesc& out) {
  check(out.shape.size() == out.strides.size(), op, "infers another number of strides than of axes");
  for (std::int64_t size : out.shape) check(size >= 0, op, "infers a negative size");
  check(out.view_of >= 0 || is_dense(out.shape, out.strides), op, "infers an output with holes");
}

std::vector<const Desc*> pointers(std::span<const Value> values) {
  std::vector<const Desc*> descs;
  for (const Value& value : values) descs.push_back(&value.desc);
  return descs;
}

std::vector<View> views(std::span<const Value> values) {
  std::vector<View> all;
  for (const Value& value : values) all.push_back(value.view());
  return all;
}

}  // namespace

Value allocate(const Desc& desc, std::byte fill) {
  Value value{desc, std::make_shared<std::vector<std::byte>>(desc.bytes() + 2 * guard, guard_byte), nullptr};
  std::fill(value.storage->begin() + guard, value.storage->end() - guard, fill);
  const Extent extent = extent_of(desc.shape, desc.strides);
  value.first = value.storage->data() + guard - extent.first * static_cast<std::int64_t>(size_of(desc.dtype));
  return value;
}

Value value_of(const HostArray& array, Device device) { return value_of(array, contiguous_strides(array.shape()), device); }

Value value_of(const HostArray& array, const Strides& strides, Device device) {
  const Value value = allocate({array.dtype(), device, true, array.shape(), strides});
  const std::size_t size = size_of(array.dtype());
  const std::byte* from = array.data();
  walk<1>(array.shape(), {strides}, [&](std::int64_t at) {
    std::memcpy(value.first + at * static_cast<std::int64_t>(size), from, size);
    from += size;
  });
  return value;
}

HostArray host(const Value& value) { return HostArray::gather(value.view()); }

std::vector<Value> run(const Op& op, std::span<const Value> in, const Options& options) {
  const OpRecord& record = op.record();
  const std::vector<const Desc*> in_descs = pointers(in);
  std::string name(op.name());
  for (const Desc* desc : in_descs) name += " " + to_string(*desc) + " strides " + to_string(desc->strides);
  std::vector<OutDesc> inferred;
  infer(op, in_descs, inferred);
  const std::vector<View> in_views = views(in);
  if (record.measure) {
    for (const OutDesc& out : inferred) check(!out.known, name, "measures what it inferred");
    record.measure(in_views, op.attrs(), inferred);
    for (OutDesc& out : inferred) out.known = true;
  }
  std::vector<Value> out;
  bool computes = false;
  for (std::size_t k = 0; k < inferred.size(); ++k) {
    check_inferred(name, inferred[k]);
    computes = computes || inferred[k].view_of < 0;
    if (inferred[k].view_of >= 0) {
      out.push_back(make_view(name, inferred[k], in));
    } else if (k == 0 && options.in_place >= 0) {
      out.push_back(in[static_cast<std::size_t>(options.in_place)]);
      check(out[0].desc == inferred[0], name, "cannot work in place: the layouts differ");
    } else {
      out.push_back(allocate(inferred[k], options.fill));
    }
  }
  if (!computes) return out;
  const std::vector<const Desc*> out_descs = pointers(out);
  const std::vector<View> out_views = views(out);
  const std::size_t bytes = workspace_bytes(op, in_descs, out_descs);
  constexpr std::size_t alignment = 64;
  std::vector<std::byte> workspace(bytes + 2 * alignment, options.fill);
  std::byte* aligned = workspace.data() + (alignment - reinterpret_cast<std::uintptr_t>(workspace.data()) % alignment);
  std::vector<std::vector<std::byte>> before;
  for (const Value& value : in) before.push_back(*value.storage);
  compute(op, in_views, out_views, options.random, {aligned, bytes});
  for (const Value& value : out) check(guards_intact(value), name, "writes outside its output");
  check(aligned[bytes] == options.fill, name, "writes past its workspace");
  for (std::size_t i = 0; i < in.size(); ++i) {
    const bool overwritten = options.in_place >= 0 && in[i].storage == in[static_cast<std::size_t>(options.in_place)].storage;
    check(overwritten || before[i] == *in[i].storage, name, "changes an input");
  }
  return out;
}

std::vector<HostArray> call_all(const Op& op, std::span<const HostArray> in, const Options& options) {
  std::vector<Value> values;
  for (const HostArray& array : in) values.push_back(value_of(array));
  std::vector<HostArray> out;
  for (const Value& value : run(op, values, options)) out.push_back(host(value));
  return out;
}

std::vector<OutDesc> infer_from(const Op& op, std::initializer_list<Desc> in) {
  std::vector<const Desc*> descs;
  for (const Desc& desc : in) descs.push_back(&desc);
  std::vector<OutDesc> out;
  infer(op, descs, out);
  return out;
}

bool same_bits(const HostArray& a, const HostArray& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() && std::equal(a.data(), a.data() + a.bytes(), b.data());
}

std::vector<double> numbers(const HostArray& array) {
  std::vector<double> values;
  visit_type(array.dtype(), [&]<class T>(Type<T>) {
    const T* elements = reinterpret_cast<const T*>(array.data());
    for (std::int64_t i = 0; i < array.count(); ++i) {
      if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
        values.push_back(static_cast<float>(elements[i]));
      else
        values.push_back(static_cast<double>(elements[i]));
    }
  });
  return values;
}

}  // namespace regrow::direct
