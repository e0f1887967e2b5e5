// SPDX-License-Identifier: Apache-2.0
// Kernels that are called again with the same shapes take nothing from the heap and make no primitive, but for the few small
// blocks that oneDNN itself takes for the arguments of a call.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

#include "regrow/kernels/dnnl_primitive.h"
#include "regrow/kernels/parallel.h"
#include "regrow/ops/op.h"
#include "tests/stress/malloc_counter.h"

namespace regrow {
namespace {

struct Free {
  void operator()(std::byte* bytes) const { std::free(bytes); }
};
using Bytes = std::unique_ptr<std::byte, Free>;

// An operation with everything that it runs on.
class Prepared {
 public:
  Prepared(Op op, std::vector<Desc> in) : op_(std::move(op)), in_(std::move(in)) {
    std::vector<const Desc*> out_descs;
    for (const Desc& desc : in_) in_descs_.push_back(&desc), in_views_.push_back(view_of(desc));
    infer(op_, in_descs_, out_);
    for (const OutDesc& desc : out_) out_descs.push_back(&desc), out_views_.push_back(view_of(desc));
    bytes_ = workspace_bytes(op_, in_descs_, out_descs);
    workspace_ = allocate(bytes_);
  }
  void run() { compute(op_, in_views_, out_views_, {}, {workspace_.get(), bytes_}); }

 private:
  static Bytes allocate(std::size_t bytes) {
    auto* memory = static_cast<std::byte*>(std::aligned_alloc(64, (bytes + 127) / 64 * 64));
    std::fill_n(memory, bytes, std::byte{0});
    return Bytes(memory);
  }
  View view_of(const Desc& desc) {
    memory_.push_back(allocate(desc.bytes()));
    return {&desc, memory_.back().get()};
  }

  Op op_;
  std::vector<Desc> in_;
  std::vector<OutDesc> out_;
  std::vector<const Desc*> in_descs_;
  std::vector<View> in_views_, out_views_;
  std::vector<Bytes> memory_;
  Bytes workspace_;
  std::size_t bytes_ = 0;
};

Desc dense(const Shape& shape, DType dtype = DType::f32) { return Desc::dense(dtype, shape); }
Desc last(const Shape& shape, DType dtype = DType::f32) {
  Desc desc = dense(shape, dtype);
  desc.strides = channels_last_strides(shape);
  return desc;
}
Desc transposed(const Shape& shape) {
  Desc desc = dense(shape);
  desc.strides = {1, shape[0]};
  return desc;
}

// `blocks_of_onednn`: at most, in one call. Which thread runs which part is a matter of chance: a helper that meets a part for
// the first time makes its primitive then, so that the kernel is quiet at last, not at once.
void expect_quiet(const char* name, Op op, std::vector<Desc> in, std::uint64_t blocks_of_onednn) {
  constexpr int runs = 20;
  std::thread([&] {
    Prepared prepared(std::move(op), std::move(in));
    for (int i = 0; i < runs; ++i) prepared.run();
    stress::excuse_allocations(kernels::dnnl::running);
    for (int round = 0; round < 50; ++round) {
      stress::count_allocations(true);
      for (int i = 0; i < runs; ++i) prepared.run();
      stress::count_allocations(false);
      if (stress::allocations_elsewhere() == 0) break;
    }
    EXPECT_EQ(stress::allocations_elsewhere(), 0u) << name;
    EXPECT_LE(stress::excused_allocations(), runs * blocks_of_onednn) << name;
  }).join();
}

TEST(KernelsHeap, RepeatedCallsTakeNothing) {
  const int before = kernels::kernel_threads();
  for (int threads : {1, 2}) {
    kernels::set_kernel_threads(threads);
    const auto calls = static_cast<std::uint64_t>(threads) * 9;  // of one primitive on each thread
    expect_quiet("matmul 8", op("matmul"), {dense({8, 8}), dense({8, 8})}, 0);
    expect_quiet("matmul f64", op("matmul"), {dense({300, 100}, DType::f64), dense({100, 200}, DType::f64)}, 0);
    expect_quiet("matmul i32", op("matmul"), {dense({30, 10}, DType::i32), dense({10, 20}, DType::i32)}, 0);
    expect_quiet("matmul", op("matmul"), {dense({300, 200}), transposed({200, 250})}, calls);
    expect_quiet("matmul f16", op("matmul"), {dense({300, 200}, DType::f16), dense({200, 250}, DType::f16)}, calls);
    expect_quiet("matmul bf16", op("matmul"), {dense({300, 200}, DType::bf16), dense({200, 250}, DType::bf16)}, calls);
    for (DType dtype : {DType::f32, DType::bf16, DType::f16}) {
      const Desc image = last({8, 16, 28, 28}, dtype), weight = dense({32, 16, 3, 3}, dtype),
                 result = last({8, 32, 26, 26}, dtype);
      expect_quiet("conv2d", op("conv2d"), {image, weight}, 2 * calls);
      expect_quiet("conv2d_input_gradient", op("conv2d_input_gradient", {{"size", 28}}), {result, weight}, 2 * calls);
      expect_quiet("conv2d_weight_gradient", op("conv2d_weight_gradient", {{"size", 3}}), {image, result}, 2 * calls);
    }
    const Shape odd{2, 5, 17, 17};  // oneDNN has nothing but gemm for its gradients
    expect_quiet("dilated", op("conv2d_weight_gradient", {{"size", 3}, {"dilation", 3}, {"stride", 2}}),
                 {last(odd), last({2, 7, 6, 6})}, 2 * calls);
    expect_quiet("max_pool2d", op("max_pool2d", {{"kernel", 2}}), {last({32, 32, 28, 28})}, 0);
    expect_quiet("max_pool2d_gradient", op("max_pool2d_gradient", {{"kernel", 2}}),
                 {last({32, 32, 14, 14}), last({32, 32, 28, 28})}, 0);
    expect_quiet("softmax", op("softmax"), {dense({300, 500})}, 0);
    expect_quiet("cross_entropy", op("cross_entropy"), {dense({300, 500}), dense({300}, DType::i64)}, 0);
    expect_quiet("adam_step", op("adam_step"),
                 {dense({200'000}), dense({200'000}), dense({200'000}), dense({200'000}), dense({}, DType::i64)}, 0);
  }
  kernels::set_kernel_threads(before);
}

}  // namespace
}  // namespace regrow
