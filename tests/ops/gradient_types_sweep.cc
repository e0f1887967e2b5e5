// SPDX-License-Identifier: Apache-2.0
// Every gradient in every floating type: it has the type of its input, and the value of the one in f64, roughly.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/ops/draw.h"
#include "tests/ops/eager.h"

namespace regrow {
namespace {

using direct::Case;
using direct::EagerRecorder;
using direct::HostArrays;

HostArray converted(const HostArray& array, DType dtype) { return direct::call(op("cast", {{"dtype", dtype}}), {array}); }

// Gradients of the floating inputs, as f64; what flows back into each output is drawn. Empty where nothing flows.
HostArrays gradients(const Op& applied, const HostArrays& inputs) {
  EagerRecorder recorder;
  std::vector<Var> in, wanted, outputs, seeds;
  for (const HostArray& input : inputs) {
    in.push_back(recorder.put(input));
    if (is_floating(input.dtype())) wanted.push_back(in.back());
  }
  for (Var out : recorder.apply(applied, in, {7, 3})) {
    const Desc desc = recorder.desc(out);
    if (!is_floating(desc.dtype)) continue;
    outputs.push_back(out);
    seeds.push_back(recorder.put(converted(direct::draw(DType::bf16, desc.shape, -1, 1, 5 + seeds.size()), desc.dtype)));
  }
  HostArrays results;
  if (outputs.empty() || wanted.empty()) return results;
  for (Var grad : recorder.gradients(outputs, seeds, wanted))
    results.push_back(grad ? converted(direct::host(recorder.value(grad)), DType::f64) : HostArray());
  return results;
}

// Of products and sums that round after each step.
double tolerance(const HostArrays& inputs) {
  double worst = 1e-9;
  for (const HostArray& input : inputs) {
    if (input.dtype() == DType::bf16) worst = std::max(worst, 0.15);
    if (input.dtype() == DType::f16) worst = std::max(worst, 0.03);
    if (input.dtype() == DType::f32) worst = std::max(worst, 1e-4);
  }
  return worst;
}

class GradientInEveryType : public testing::TestWithParam<std::size_t> {};

TEST_P(GradientInEveryType, AgreesWithThatInF64) {
  const OpRecord& record = all_ops()[GetParam()];
  for (const Case& given : direct::cases(record)) {
    HostArrays wide;
    for (const HostArray& input : given.inputs) wide.push_back(is_floating(input.dtype()) ? converted(input, DType::f64) : input);
    HostArrays got, expected;
    try {
      got = gradients(given.op, given.inputs);
    } catch (const std::exception& error) {
      ADD_FAILURE() << given.text() << ": " << error.what();
      continue;
    }
    if (!direct::error_of([&] { expected = gradients(given.op, wide); }).empty()) continue;  // f64 beside integers may be refused
    if (got.size() != expected.size()) continue;
    for (std::size_t k = 0; k < got.size(); ++k) {
      ASSERT_EQ(got[k].shape(), expected[k].shape()) << given.text();
      const std::vector<double> a = direct::numbers(got[k]), b = direct::numbers(expected[k]);
      double largest = 1;
      for (double value : b) largest = std::max(largest, std::abs(value));
      for (std::size_t i = 0; i < a.size(); ++i)
        ASSERT_NEAR(a[i], b[i], tolerance(given.inputs) * largest) << given.text() << ", input " << k << ", element " << i;
    }
  }
}

std::vector<std::size_t> differentiable() {
  std::vector<std::size_t> indices;
  for (const OpRecord& record : all_ops())
    if (record.gradient) indices.push_back(record.index);
  return indices;
}

INSTANTIATE_TEST_SUITE_P(Sweep, GradientInEveryType, testing::ValuesIn(differentiable()),
                         [](const testing::TestParamInfo<std::size_t>& param) {
                           return std::string(all_ops()[param.param].name);
                         });

}  // namespace
}  // namespace regrow
