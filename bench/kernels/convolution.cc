// SPDX-License-Identifier: Apache-2.0
// Convolutions and their two gradients against what oneDNN itself gives on the same shape: with channels-last images, and with
// every layout of its own choice; its weights are in that layout before the clock starts, ours are canonical. One thread,
// processor time, interleaved, the median of an odd number of rounds. --json FILE writes the table.
#include <fmt/format.h>
#include <omp.h>
#include <time.h>
#include <dnnl.hpp>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_map>
#include <vector>

#include "regrow/kernels/convolution.h"
#include "regrow/kernels/parallel.h"

namespace regrow::kernels {
namespace {

using Memory = dnnl::memory;
using Tag = Memory::format_tag;

struct Case {
  const char* name;
  Convolution shape;
};

Convolution square(std::int64_t batch, std::int64_t in, std::int64_t out, std::int64_t size, std::int64_t kernel,
                   std::int64_t stride, std::int64_t groups = 1) {
  const std::int64_t padding = kernel / 2, result = (size + 2 * padding - kernel) / stride + 1;
  return {.batch = batch,
          .in_channels = in,
          .out_channels = out,
          .groups = groups,
          .in = {size, size},
          .kernel = {kernel, kernel},
          .out = {result, result},
          .stride = {stride, stride},
          .padding = {padding, padding}};
}

std::vector<Case> cases() {
  return {{"first, 1 channel, 28x28", square(64, 1, 16, 28, 3, 1)},
          {"first, 3 channels, 32x32", square(64, 3, 16, 32, 3, 1)},
          {"16 -> 16, 32x32", square(64, 16, 16, 32, 3, 1)},
          {"16 -> 32, 32x32, stride 2", square(64, 16, 32, 32, 3, 2)},
          {"16 -> 32, 32x32, 1x1, stride 2", square(64, 16, 32, 32, 1, 2)},
          {"32 -> 32, 16x16", square(64, 32, 32, 16, 3, 1)},
          {"32 -> 64, 16x16, stride 2", square(64, 32, 64, 16, 3, 2)},
          {"64 -> 64, 8x8", square(64, 64, 64, 8, 3, 1)},
          {"64 -> 64, 32x32, depthwise", square(16, 64, 64, 32, 3, 1, 64)}};
}

// A primitive of oneDNN with memory of its own, its layouts as it likes them.
class Raw {
 public:
  Raw(ConvolutionPass pass, const Convolution& s, bool channels_last) : engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {
    const Tag images = channels_last ? Tag::nhwc : Tag::any;
    const Memory::desc image({s.batch, s.in_channels, s.in[0], s.in[1]}, Memory::data_type::f32, images);
    const Memory::desc result({s.batch, s.out_channels, s.out[0], s.out[1]}, Memory::data_type::f32, images);
    const Memory::dims sizes =
        s.groups == 1 ? Memory::dims{s.out_channels, s.in_channels, s.kernel[0], s.kernel[1]}
                      : Memory::dims{s.groups, s.out_channels / s.groups, s.in_channels / s.groups, s.kernel[0], s.kernel[1]};
    const Memory::desc weight(sizes, Memory::data_type::f32, Tag::any);
    const Memory::dims stride{s.stride[0], s.stride[1]}, padding{s.padding[0], s.padding[1]};
    using Forward = dnnl::convolution_forward;
    const Forward::primitive_desc forward(Forward::desc(dnnl::prop_kind::forward_training, dnnl::algorithm::convolution_direct,
                                                        image, weight, result, stride, padding, padding),
                                          engine_);
    if (pass == ConvolutionPass::result) {
      primitive_ = Forward(forward);
      use({{DNNL_ARG_SRC, forward.src_desc()}, {DNNL_ARG_WEIGHTS, forward.weights_desc()}, {DNNL_ARG_DST, forward.dst_desc()}});
    } else if (pass == ConvolutionPass::image) {
      using Back = dnnl::convolution_backward_data;
      const Back::primitive_desc back(
          Back::desc(dnnl::algorithm::convolution_direct, image, weight, result, stride, padding, padding), engine_, forward);
      primitive_ = Back(back);
      use({{DNNL_ARG_DIFF_SRC, back.diff_src_desc()},
           {DNNL_ARG_WEIGHTS, back.weights_desc()},
           {DNNL_ARG_DIFF_DST, back.diff_dst_desc()}});
    } else {
      using Back = dnnl::convolution_backward_weights;
      const Back::primitive_desc back(
          Back::desc(dnnl::algorithm::convolution_direct, image, weight, result, stride, padding, padding), engine_, forward);
      primitive_ = Back(back);
      use({{DNNL_ARG_SRC, back.src_desc()},
           {DNNL_ARG_DIFF_WEIGHTS, back.diff_weights_desc()},
           {DNNL_ARG_DIFF_DST, back.diff_dst_desc()}});
    }
  }
  void run() {
    primitive_.execute(stream_, arguments_);
    stream_.wait();
  }

 private:
  void use(const std::vector<std::pair<int, Memory::desc>>& descs) {
    for (const auto& [id, desc] : descs) {
      Memory memory(desc, engine_);
      std::fill_n(static_cast<float*>(memory.get_data_handle()), desc.get_size() / sizeof(float), 0.5f);
      arguments_.emplace(id, memory);
    }
  }

  dnnl::engine engine_;
  dnnl::stream stream_;
  dnnl::primitive primitive_;
  std::unordered_map<int, Memory> arguments_;
};

// The same through our kernel, channels-last.
class Ours {
 public:
  Ours(ConvolutionPass pass, const Convolution& s) : pass_(pass), shape_(s) {
    Desc image = Desc::dense(DType::f32, {s.batch, s.in_channels, s.in[0], s.in[1]}),
         weight = Desc::dense(DType::f32, {s.out_channels, s.in_channels / s.groups, s.kernel[0], s.kernel[1]}),
         result = Desc::dense(DType::f32, {s.batch, s.out_channels, s.out[0], s.out[1]});
    image.strides = channels_last_strides(image.shape), result.strides = channels_last_strides(result.shape);
    if (pass == ConvolutionPass::result)
      descs_ = {image, weight, result};
    else if (pass == ConvolutionPass::image)
      descs_ = {result, weight, image};
    else
      descs_ = {image, result, weight};
    for (const Desc& desc : descs_) data_.emplace_back(desc.bytes() / sizeof(float), 0.5f);
    workspace_.resize(convolution_workspace(pass, s, descs_[0], descs_[1], descs_[2]) + 64);
  }
  void run() {
    std::byte* aligned = workspace_.data() + (64 - reinterpret_cast<std::uintptr_t>(workspace_.data()) % 64) % 64;
    convolve(pass_, shape_, view(0), view(1), view(2), {aligned, workspace_.size() - 64});
  }

 private:
  View view(std::size_t i) { return {&descs_[i], reinterpret_cast<std::byte*>(data_[i].data())}; }

  ConvolutionPass pass_;
  Convolution shape_;
  std::vector<Desc> descs_;
  std::vector<std::vector<float>> data_;
  std::vector<std::byte> workspace_;
};

double now() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Median seconds a call, of each.
std::vector<double> measure(const std::vector<std::function<void()>>& runs) {
  constexpr int rounds = 15;
  std::vector<std::vector<double>> times(runs.size());
  for (const auto& run : runs) run();
  for (int round = 0; round < rounds; ++round)
    for (std::size_t k = 0; k < runs.size(); ++k) {
      const double begin = now();
      int calls = 0;
      do runs[k](), ++calls;
      while (now() - begin < 0.01);
      times[k].push_back((now() - begin) / calls);
    }
  std::vector<double> medians;
  for (std::vector<double>& list : times)
    std::nth_element(list.begin(), list.begin() + rounds / 2, list.end()), medians.push_back(list[rounds / 2]);
  return medians;
}

void print_all(const char* file) {
  nlohmann::ordered_json rows = nlohmann::json::array();
  fmt::print("{:32} {:8} {:>10} {:>14} {:>14}  {}\n", "shape", "pass", "ours, us", "channels-last", "own layout",
             "ratio to the better");
  const char* passes[] = {"result", "image", "weight"};
  for (const Case& c : cases())
    for (ConvolutionPass pass : {ConvolutionPass::result, ConvolutionPass::image, ConvolutionPass::weight}) {
      Ours ours(pass, c.shape);
      Raw last(pass, c.shape, true), liked(pass, c.shape, false);
      const std::vector<double> t = measure({[&] { ours.run(); }, [&] { last.run(); }, [&] { liked.run(); }});
      const char* name = passes[static_cast<int>(pass)];
      fmt::print("{:32} {:8} {:10.1f} {:14.1f} {:14.1f}  {:.2f}\n", c.name, name, 1e6 * t[0], 1e6 * t[1], 1e6 * t[2],
                 t[0] / std::min(t[1], t[2]));
      std::fflush(stdout);
      rows.push_back(
          {{"shape", c.name}, {"pass", name}, {"seconds", t[0]}, {"onednn_channels_last", t[1]}, {"onednn_own_layout", t[2]}});
    }
  if (!file) return;
  if (std::FILE* out = std::fopen(file, "w")) {
    fmt::print(out, "{}\n", rows.dump(2));
    std::fclose(out);
  }
}

}  // namespace
}  // namespace regrow::kernels

int main(int argc, char** argv) {
  omp_set_num_threads(1);
  regrow::kernels::set_kernel_threads(1);
  regrow::kernels::print_all(argc == 3 && std::string(argv[1]) == "--json" ? argv[2] : nullptr);
  return 0;
}
