// SPDX-License-Identifier: Apache-2.0
// Products, convolutions, pooling, normalization and rows on several threads and from several threads: the same bits, workspaces
// that suffice.
#include <gtest/gtest.h>

#include <thread>

#include "regrow/kernels/dnnl_matmul.h"
#include "regrow/kernels/dnnl_primitive.h"
#include "regrow/kernels/parallel.h"
#include "tests/ops/values.h"

// libgomp's; clang's omp.h belongs to another library.
extern "C" {
void omp_set_num_threads(int count);
int omp_get_max_threads();
}

namespace regrow {
namespace {

using testing::laid_out;
using testing::random_value;
using testing::run;
using testing::Value;
using testing::value;

struct Call {
  std::string name;
  Op op;
  std::vector<Value> in;
  bool any_thread_count;  // the bits are the same at any number of threads
};

// Each large enough for two threads.
const std::vector<Call>& calls() {
  static const std::vector<Call> all = [] {
    const DType f32 = DType::f32;
    auto last = [](const Value& v) { return laid_out(v, channels_last_strides(v.desc.shape)); };
    const Value image = last(random_value(f32, {5, 32, 30, 30}, 1)), weight = random_value(f32, {40, 32, 3, 3}, 2);
    const Value result = last(random_value(f32, {5, 40, 28, 28}, 3)), pooled = last(random_value(f32, {5, 32, 15, 15}, 4));
    const Value wide = last(random_value(f32, {9, 64, 32, 32}, 12));
    const Value x = random_value(DType::f64, {2, 8, 40, 40}, 5), w = random_value(DType::f64, {32, 8, 3, 3}, 6);
    const Value parameter = random_value(f32, {200'001}, 7), stem = last(random_value(f32, {9, 3, 32, 32}, 8));
    const Value channels = random_value(f32, {32}, 9, 0.5, 2), rows = random_value(f32, {700, 130}, 10), row = random_value(f32, {130}, 11);
    return std::vector<Call>{
        {"rows", op("matmul"), {random_value(f32, {300, 200}, 1), random_value(f32, {200, 250}, 2)}, false},
        {"columns", op("matmul"), {random_value(f32, {33, 300}, 1), random_value(f32, {300, 1500}, 2)}, false},
        {"one row", op("matmul"), {random_value(f32, {3000}, 1), random_value(f32, {3000, 2000}, 2)}, true},
        {"stack", op("matmul"), {random_value(f32, {7, 100, 90}, 1), random_value(f32, {7, 90, 110}, 2)}, false},
        {"narrow", op("matmul"), {random_value(DType::f16, {300, 200}, 1), random_value(DType::f16, {200, 250}, 2)}, false},
        {"bf16", op("matmul"), {random_value(DType::bf16, {300, 200}, 1), random_value(DType::bf16, {200, 250}, 2)}, false},
        {"f64", op("matmul"), {random_value(DType::f64, {300, 200}, 1), random_value(DType::f64, {200, 250}, 2)}, true},
        {"conv2d", op("conv2d"), {image, weight}, false},
        {"conv2d_input_gradient", op("conv2d_input_gradient", {{"size", 30}}), {result, weight}, false},
        {"conv2d_weight_gradient", op("conv2d_weight_gradient", {{"size", 3}}), {image, result}, false},
        {"conv2d_weight_gradient, depthwise",
         op("conv2d_weight_gradient", {{"size", 3}, {"padding", 1}, {"groups", 64}}),
         {wide, wide},
         true},
        {"conv2d of f64", op("conv2d"), {x, w}, true},
        {"max_pool2d", op("max_pool2d", {{"kernel", 2}}), {image}, true},
        {"max_pool2d_gradient", op("max_pool2d_gradient", {{"kernel", 2}}), {pooled, image}, true},
        {"conv2d of few channels", op("conv2d", {{"padding", 1}}), {stem, random_value(f32, {20, 3, 3, 3}, 2)}, true},
        {"avg_pool2d", op("avg_pool2d", {{"kernel", 3}, {"padding", 1}, {"ceil_mode", true}}), {image}, true},
        {"batch_norm", op("batch_norm"), {image, channels, channels}, true},
        {"batch_norm_gradient", op("batch_norm_gradient"), {image, image, channels, channels, channels}, true},
        {"group_norm", op("group_norm", {{"groups", 4}}), {image, channels, channels}, true},
        {"group_norm_gradient", op("group_norm_gradient", {{"groups", 4}}), {image, image, channels}, true},
        {"layer_norm", op("layer_norm"), {rows, row, row}, true},
        {"layer_norm_gradient", op("layer_norm_gradient"), {rows, rows, row}, true},
        {"rms_norm", op("rms_norm"), {rows, row}, true},
        {"interpolate", op("interpolate", {{"size", 45}, {"mode", std::string("bilinear")}}), {image}, true},
        {"interpolate_gradient", op("interpolate_gradient", {{"size", 12}}), {image}, true},
        {"softmax", op("softmax"), {random_value(f32, {500, 300}, 1)}, true},
        {"cross_entropy",
         op("cross_entropy"),
         {random_value(f32, {3000, 60}, 1), random_value(DType::i64, {3000}, 2, 0, 60)},
         true},
        {"attention",
         op("scaled_dot_product_attention", {{"causal", true}, {"dropout", 0.1}}),
         {random_value(f32, {6, 150, 20}, 1), random_value(f32, {6, 150, 20}, 2), random_value(f32, {6, 150, 24}, 3)},
         true},
        {"attention_gradient",
         op("scaled_dot_product_attention_gradient", {{"causal", true}, {"dropout", 0.1}}),
         {random_value(f32, {6, 150, 24}, 1), random_value(f32, {6, 150, 20}, 2), random_value(f32, {6, 150, 20}, 3),
          random_value(f32, {6, 150, 24}, 4), random_value(f32, {6, 150, 24}, 5), random_value(f32, {6, 150}, 6)},
         true},
        {"embedding_gradient",
         op("embedding_gradient", {{"rows", 70}}),
         {random_value(f32, {3000, 60}, 1), random_value(DType::i64, {3000}, 2, 0, 70)},
         true},
        {"lstm_cell", op("lstm_cell"), {random_value(f32, {100, 240}, 1), random_value(f32, {100, 60}, 2)}, true},
        {"lstm",
         op("lstm"),
         {random_value(f32, {20, 17, 160}, 1), random_value(f32, {17, 40}, 2), random_value(f32, {17, 40}, 3),
          random_value(f32, {160, 40}, 4)},
         true},
        {"lstm_gradient",
         op("lstm_gradient"),
         {random_value(f32, {20, 17, 40}, 1), random_value(f32, {20, 17, 160}, 2), random_value(f32, {20, 17, 40}, 3),
          random_value(f32, {17, 40}, 4), random_value(f32, {160, 40}, 5)},
         true},
        {"sgd_momentum_step", op("sgd_momentum_step", {{"learning_rate", .1}}), {parameter, parameter, parameter}, true},
    };
  }();
  return all;
}

struct Threads {
  int before = kernels::kernel_threads();
  explicit Threads(int count) { kernels::set_kernel_threads(count); }
  ~Threads() { kernels::set_kernel_threads(before); }
};

std::vector<std::vector<std::byte>> bits_of_all() {
  std::vector<std::vector<std::byte>> bits;
  for (const Call& call : calls()) {
    bits.emplace_back();
    for (const Value& out : run(call.op, call.in)) {
      const std::vector<std::byte> bytes = out.to_bytes();
      bits.back().insert(bits.back().end(), bytes.begin(), bytes.end());
    }
  }
  return bits;
}

TEST(KernelThreads, BitsFollowFromTheirNumberAndNotFromWhoIsFree) {
  for (int count : {1, 2, 3}) {
    const Threads threads(count);
    const auto expected = bits_of_all();
    // Inside a loop the threads are taken: the same parts run one after the other.
    kernels::parallel_for(2, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) EXPECT_EQ(bits_of_all(), expected) << count << " threads, inside a loop";
    });
    // Four callers compete for them.
    std::vector<std::thread> callers;
    for (int i = 0; i < 4; ++i)
      callers.emplace_back([&] { EXPECT_EQ(bits_of_all(), expected) << count << " threads, several callers"; });
    for (std::thread& caller : callers) caller.join();
  }
}

TEST(KernelThreads, OwnKernelsGiveTheSameBitsAtAnyNumber) {
  std::vector<std::vector<std::byte>> expected;
  for (int count : {1, 2, 5}) {
    const Threads threads(count);
    const auto bits = bits_of_all();
    if (expected.empty()) expected = bits;
    for (std::size_t i = 0; i < bits.size(); ++i)
      if (calls()[i].any_thread_count) {
        EXPECT_EQ(bits[i], expected[i]) << calls()[i].name << ", " << count << " threads";
      }
  }
}

TEST(KernelThreads, AWorkspaceMeasuredForFewerSuffices) {
  for (const Call& call : calls()) {
    std::vector<const Desc*> in, out;
    std::vector<View> in_views;
    for (const Value& v : call.in) in.push_back(&v.desc), in_views.push_back(v.view());
    std::vector<OutDesc> descs;
    infer(call.op, in, descs);
    for (const OutDesc& desc : descs) out.push_back(&desc);
    std::vector<Value> expected, results;
    std::size_t bytes = 0;
    {
      const Threads one(1);
      expected = run(call.op, call.in);
      bytes = workspace_bytes(call.op, in, out);
    }
    std::vector<View> out_views;
    for (const OutDesc& desc : descs) results.push_back(direct::allocate(desc));
    for (const Value& v : results) out_views.push_back(v.view());
    const Value workspace = direct::allocate(Desc::dense(DType::u64, {static_cast<std::int64_t>(bytes / 8 + 8)}));
    auto aligned = workspace.first + (64 - reinterpret_cast<std::uintptr_t>(workspace.first) % 64) % 64;
    const Threads three(3);
    compute(call.op, in_views, out_views, {}, {aligned, bytes});
    EXPECT_EQ(results[0].to_bytes(), expected[0].to_bytes()) << call.name;
  }
}

TEST(OneDnn, LeavesTheCallersOpenMpSettingsAlone) {
  const int before = omp_get_max_threads();
  omp_set_num_threads(3);
  (void)bits_of_all();
  EXPECT_EQ(omp_get_max_threads(), 3);
  omp_set_num_threads(before);
}

TEST(OneDnn, KeepsABoundedNumberOfPrimitives) {
  // Sizes that no other test uses; more than are kept.
  const Value a = random_value(DType::f32, {40, 40}, 1);
  for (std::int64_t m = 0; m < 600; ++m) {
    const kernels::dnnl::MatmulProblem problem{.m = 41 + m, .n = 7, .k = 9, .a_row = 9, .b_row = 7, .c_row = 7};
    (void)kernels::dnnl::plan_matmul(problem);
    ASSERT_LE(kernels::dnnl::prepared_count(), kernels::dnnl::max_prepared);
  }
  const Value b = random_value(DType::f32, {40, 40}, 2);
  const std::vector<std::byte> bits = run(op("matmul"), {a, b})[0].to_bytes();
  EXPECT_EQ(run(op("matmul"), {a, b})[0].to_bytes(), bits);
}

}  // namespace
}  // namespace regrow
