// SPDX-License-Identifier: Apache-2.0
// Every gradient, and the gradient of every gradient, against central differences in f64.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "tests/ops/draw.h"
#include "tests/ops/eager.h"

namespace regrow {
namespace {

using direct::Case;
using direct::EagerRecorder;
using direct::numbers;
using direct::Value;

constexpr RandomState random_state = {7, 3};

// The sum of the products of all elements.
double dot(const std::vector<HostArray>& a, const std::vector<HostArray>& b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    const std::vector<double> x = numbers(a[k]), y = numbers(b[k]);
    for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  }
  return sum;
}

// Weights of the elements: what makes a number of a list of tensors.
std::vector<HostArray> weights_like(const std::vector<HostArray>& arrays, std::uint64_t seed) {
  std::vector<HostArray> weights;
  for (const HostArray& array : arrays) weights.push_back(direct::draw(DType::f64, array.shape(), -1, 1, seed + weights.size()));
  return weights;
}

HostArray nudged(const HostArray& array, std::int64_t at, double by) {
  std::vector<double> values = numbers(array);
  values[static_cast<std::size_t>(at)] += by;
  return HostArray::from(values, array.shape());
}

// The derivative of `f` with respect to each element of inputs[which] against `claimed`.
void check_derivative(const std::function<double(const std::vector<HostArray>&)>& f, std::vector<HostArray> inputs,
                      std::size_t which, const std::vector<double>& claimed, double tolerance, const std::string& what) {
  const HostArray original = inputs[which];
  double largest = 1;
  for (double value : claimed) largest = std::max(largest, std::abs(value));
  for (std::int64_t at = 0; at < original.count(); ++at) {
    constexpr double step = 1e-5;
    inputs[which] = nudged(original, at, step);
    const double above = f(inputs);
    inputs[which] = nudged(original, at, -step);
    const double below = f(inputs);
    const double measured = (above - below) / (2 * step);
    ASSERT_NEAR(claimed[static_cast<std::size_t>(at)], measured, tolerance * largest) << what << " element " << at;
  }
}

struct Pass {
  EagerRecorder recorder;
  std::vector<Var> inputs, outputs, seeds, gradients;  // outputs: the floating ones
};

// Runs the operator and its gradient; inputs beyond those of the operator are the seeds.
void run(Pass& pass, const Case& given, const std::vector<HostArray>& inputs) {
  for (std::size_t i = 0; i < given.inputs.size(); ++i) pass.inputs.push_back(pass.recorder.put(inputs[i]));
  for (Var out : pass.recorder.apply(given.op, pass.inputs, random_state))
    if (is_floating(pass.recorder.desc(out).dtype)) pass.outputs.push_back(out);
  for (std::size_t k = given.inputs.size(); k < inputs.size(); ++k) pass.seeds.push_back(pass.recorder.put(inputs[k]));
}

std::vector<HostArray> values_of(const EagerRecorder& recorder, std::span<const Var> vars, std::span<const Var> like) {
  std::vector<HostArray> arrays;
  for (std::size_t i = 0; i < vars.size(); ++i) {
    if (vars[i]) {
      arrays.push_back(direct::host(recorder.value(vars[i])));
    } else {  // nothing flows: zeros
      const Shape& shape = recorder.value(like[i]).desc.shape;
      arrays.push_back(direct::array<double>(shape, std::vector<double>(static_cast<std::size_t>(element_count(shape)), 0)));
    }
  }
  return arrays;
}

std::vector<Var> floating_inputs(Pass& pass) {
  std::vector<Var> wanted;
  for (Var v : pass.inputs)
    if (is_floating(pass.recorder.desc(v).dtype)) wanted.push_back(v);
  return wanted;
}

// Of the weighted outputs.
double weighted_outputs(const Case& given, const std::vector<HostArray>& inputs, const std::vector<HostArray>& weights) {
  Pass pass;
  run(pass, given, inputs);
  return dot(values_of(pass.recorder, pass.outputs, pass.outputs), weights);
}

// Of the weighted gradients; `inputs` are the operator's and the seeds.
double weighted_gradients(const Case& given, const std::vector<HostArray>& inputs, const std::vector<HostArray>& weights) {
  Pass pass;
  run(pass, given, inputs);
  const std::vector<Var> wanted = floating_inputs(pass);
  return dot(values_of(pass.recorder, pass.recorder.gradients(pass.outputs, pass.seeds, wanted), wanted), weights);
}

std::vector<HostArray> outputs_of(const Case& given) {
  Pass pass;
  run(pass, given, given.inputs);
  return values_of(pass.recorder, pass.outputs, pass.outputs);
}

class EveryGradient : public testing::TestWithParam<std::size_t> {
 protected:
  const OpRecord& record() const { return all_ops()[GetParam()]; }
};

TEST_P(EveryGradient, AgreesWithDifferences) {
  for (const Case& given : direct::gradient_cases(record())) {
    const double tolerance = given.sample->tolerance != 0 ? given.sample->tolerance : 1e-6;
    const std::vector<HostArray> weights = weights_like(outputs_of(given), 11);
    if (weights.empty()) continue;
    Pass pass;
    std::vector<HostArray> inputs = given.inputs;
    inputs.insert(inputs.end(), weights.begin(), weights.end());
    run(pass, given, inputs);
    const std::vector<Var> wanted = floating_inputs(pass);
    const std::vector<HostArray> gradients =
        values_of(pass.recorder, pass.recorder.gradients(pass.outputs, pass.seeds, wanted), wanted);
    for (std::size_t i = 0, k = 0; i < given.inputs.size(); ++i) {
      if (!is_floating(given.dtypes[i])) continue;
      check_derivative([&](const std::vector<HostArray>& at) { return weighted_outputs(given, at, weights); }, given.inputs, i,
                       numbers(gradients[k++]), tolerance, given.text() + ", input " + std::to_string(i) + ",");
    }
  }
}

// The gradient as a function of inputs and of what flows back, differentiated once more. Asked for twice, it is the same.
TEST_P(EveryGradient, OfTheGradientAgreesWithDifferences) {
  for (const Case& given : direct::gradient_cases(record())) {
    const double tolerance = given.sample->tolerance != 0 ? given.sample->tolerance : 1e-6;
    const std::vector<HostArray> seeds = weights_like(outputs_of(given), 11);
    if (seeds.empty()) continue;
    std::vector<HostArray> inputs = given.inputs;
    inputs.insert(inputs.end(), seeds.begin(), seeds.end());
    Pass pass;
    run(pass, given, inputs);
    const std::vector<Var> wanted = floating_inputs(pass);
    std::vector<Var> firsts, arguments = wanted, weight_vars;
    std::vector<HostArray> weights;
    for (Var first : pass.recorder.gradients(pass.outputs, pass.seeds, wanted, true)) {
      const Var like = wanted[weights.size()];
      weights.push_back(direct::draw(DType::f64, pass.recorder.desc(like).shape, -1, 1, 23 + weights.size()));
      if (!first) continue;
      firsts.push_back(first);
      weight_vars.push_back(pass.recorder.put(weights.back()));
    }
    arguments.insert(arguments.end(), pass.seeds.begin(), pass.seeds.end());
    const auto second = [&] {
      return values_of(pass.recorder, pass.recorder.gradients(firsts, weight_vars, arguments), arguments);
    };
    const std::vector<HostArray> seconds = second(), again = second();
    for (std::size_t k = 0; k < seconds.size(); ++k) EXPECT_TRUE(direct::same_bits(seconds[k], again[k])) << given.text();
    for (std::size_t i = 0, k = 0; i < inputs.size(); ++i) {
      if (!is_floating(inputs[i].dtype())) continue;
      check_derivative([&](const std::vector<HostArray>& at) { return weighted_gradients(given, at, weights); }, inputs, i,
                       numbers(seconds[k++]), tolerance, given.text() + ", second order, argument " + std::to_string(i) + ",");
    }
  }
}

// One input at a time: a rule computes only what is wanted, and that alone stays right.
TEST_P(EveryGradient, IsTheSameForOneInputAlone) {
  for (const Case& given : direct::gradient_cases(record())) {
    std::vector<HostArray> inputs = given.inputs;
    for (const HostArray& weight : weights_like(outputs_of(given), 11)) inputs.push_back(weight);
    if (inputs.size() == given.inputs.size()) continue;
    Pass together;
    run(together, given, inputs);
    const std::vector<Var> wanted = floating_inputs(together);
    const std::vector<Var> all = together.recorder.gradients(together.outputs, together.seeds, wanted);
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      const Var alone = together.recorder.gradients(together.outputs, together.seeds, {&wanted[k], 1}).at(0);
      ASSERT_EQ(static_cast<bool>(alone), static_cast<bool>(all[k])) << given.text();
      if (!alone) continue;
      EXPECT_TRUE(direct::same_bits(direct::host(together.recorder.value(alone)), direct::host(together.recorder.value(all[k]))))
          << given.text();
    }
  }
}

std::vector<std::size_t> differentiable() {
  std::vector<std::size_t> indices;
  for (const OpRecord& record : all_ops())
    if (record.gradient) indices.push_back(record.index);
  return indices;
}

INSTANTIATE_TEST_SUITE_P(Sweep, EveryGradient, testing::ValuesIn(differentiable()),
                         [](const testing::TestParamInfo<std::size_t>& param) {
                           return std::string(all_ops()[param.param].name);
                         });

}  // namespace
}  // namespace regrow
