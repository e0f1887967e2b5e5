// SPDX-License-Identifier: Apache-2.0
// What must hold for every operator, read off its record: an operator is covered by existing.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/ops/draw.h"
#include "tests/ops/eager.h"

namespace regrow {
namespace {

using direct::Case;
using direct::cases;
using direct::HostArrays;
using direct::same_bits;
using direct::Value;

class EveryOperator : public testing::TestWithParam<std::size_t> {
 protected:
  const OpRecord& record() const { return all_ops()[GetParam()]; }
};

std::vector<Value> dense_values(const Case& run) {
  std::vector<Value> values;
  for (const HostArray& input : run.inputs) values.push_back(direct::value_of(input));
  return values;
}

HostArrays results(const Case& run, std::span<const Value> in, std::byte fill = std::byte{0xa5}) {
  HostArrays out;
  for (const Value& value : direct::run(run.op, in, {.random = {7, 3}, .fill = fill})) out.push_back(direct::host(value));
  return out;
}

void expect_same(const HostArrays& a, const HostArrays& b, const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (std::size_t k = 0; k < a.size(); ++k) EXPECT_TRUE(same_bits(a[k], b[k])) << what << ", output " << k;
}

// What it does comes with each call as an object: a program, a function. A sample cannot give one.
bool takes_an_object(const OpRecord& record) { return record.name == "fused" || record.name == "callback"; }

TEST_P(EveryOperator, HasACompleteRecord) {
  EXPECT_FALSE(record().doc.empty());
  EXPECT_TRUE(record().doc.ends_with("."));
  EXPECT_NE(record().dtypes, nullptr);
  EXPECT_NE(record().infer, nullptr);
  EXPECT_EQ(record().samples.empty(), takes_an_object(record()));
  EXPECT_FALSE(record().compute && record().tile) << "has two kernels";
  for (const AttrSpec& spec : record().attributes) EXPECT_FALSE(spec.doc.empty()) << spec.name;
  EXPECT_TRUE(record().gradient || (record().saves_inputs | record().saves_outputs) == 0) << "saves what nothing reads";
  for (const Sample& sample : record().samples) {
    bool ran = false;
    for (const Case& run : cases(record())) ran = ran || run.sample == &sample;
    EXPECT_TRUE(ran) << "accepts no element type for sample " << (&sample - record().samples.data());
  }
}

// Run twice over different garbage: what infer describes is all written, workspace is not read before it is written, and a second
// run gives the first one's bits.
TEST_P(EveryOperator, RecomputesItsBits) {
  for (const Case& run : cases(record())) {
    const std::vector<Value> in = dense_values(run);
    expect_same(results(run, in), results(run, in, std::byte{0x3c}), run.text());
  }
}

TEST_P(EveryOperator, GivesTheSameBitsForEveryLayout) {
  for (const Case& run : cases(record())) {
    const HostArrays expected = results(run, dense_values(run));
    for (std::size_t lay = 0; lay < 4; ++lay)
      for (std::size_t only = 0; only <= run.inputs.size(); ++only) {  // one input at a time, then all
        std::vector<Value> in = dense_values(run);
        std::string what = run.text();
        for (std::size_t i = 0; i < in.size(); ++i) {
          const std::vector<direct::Lay> lays = direct::layouts(run.inputs[i].shape());
          if ((only != i && only != in.size()) || lay >= lays.size()) continue;
          in[i] = direct::value_of(run.inputs[i], lays[lay].strides);
          what += ", input " + std::to_string(i) + " with " + lays[lay].name;
        }
        expect_same(expected, results(run, in), what);
      }
  }
}

// Each input repeats its first plane along an axis, by a stride of 0 or by copies.
TEST_P(EveryOperator, GivesTheSameBitsForRepeatedElements) {
  for (const Case& run : cases(record()))
    for (std::size_t i = 0; i < run.inputs.size(); ++i)
      for (std::size_t axis = 0; axis < run.inputs[i].shape().size(); ++axis) {
        const Shape shape = run.inputs[i].shape();
        if (shape[axis] < 2) continue;
        Value repeated = direct::value_of(run.inputs[i]);
        repeated.desc.strides[axis] = 0;
        std::vector<Value> in = dense_values(run), copied = in;
        in[i] = repeated;
        copied[i] = direct::value_of(direct::host(repeated));
        HostArrays expected, got;
        const std::string refused = direct::error_of([&] { expected = results(run, copied); });  // a mask may not fit now
        EXPECT_EQ(direct::error_of([&] { got = results(run, in); }), refused);
        if (refused.empty())
          expect_same(expected, got,
                      run.text() + ", input " + std::to_string(i) + " repeated along axis " + std::to_string(axis));
      }
}

// Whatever shapes an operator accepts it computes: no axis, axes of length 0.
TEST_P(EveryOperator, SurvivesEmptyAndScalarInputs) {
  for (const Case& run : cases(record())) {
    for (std::size_t axis = 0; axis <= max_rank; ++axis) {
      std::vector<Value> in;
      for (std::size_t i = 0; i < run.inputs.size(); ++i) {
        Shape shape = run.inputs[i].shape();
        if (axis == max_rank)
          shape = {};
        else if (axis < shape.size())
          shape[axis] = 0;
        in.push_back(direct::value_of(direct::draw(run.dtypes[i], shape, run.sample->low, run.sample->high, i)));
      }
      HostArrays out;
      (void)direct::error_of([&] { out = results(run, in); });  // refusing is fine
    }
  }
}

TEST_P(EveryOperator, InfersOutputsOfUnknownShapeFromInputsOfUnknownShape) {
  if (record().output_count) return;
  for (const Case& run : cases(record())) {
    std::vector<Desc> descs;
    std::vector<const Desc*> in;
    for (DType dtype : run.dtypes) descs.push_back(Desc::unknown_shape(dtype));
    for (const Desc& desc : descs) in.push_back(&desc);
    std::vector<OutDesc> out;
    infer(run.op, in, out);
    for (const OutDesc& desc : out) EXPECT_TRUE(run.inputs.empty() || !desc.known) << run.text();
  }
}

// Where the record allows it, output 0 over the storage of an input.
TEST_P(EveryOperator, GivesTheSameBitsInPlace) {
  if (record().fails_by_value) return;
  for (const Case& run : cases(record())) {
    const HostArrays expected = results(run, dense_values(run));
    for (std::size_t i = 0; i < run.inputs.size(); ++i) {
      if (!record().tile && (record().reuse[0] >> i & 1) == 0) continue;
      const std::vector<Value> in = dense_values(run);
      const Desc* descs[8] = {};
      for (std::size_t k = 0; k < in.size(); ++k) descs[k] = &in[k].desc;
      std::vector<OutDesc> out;
      infer(run.op, {descs, in.size()}, out);
      if (!(static_cast<const Desc&>(out[0]) == in[i].desc)) continue;
      HostArrays got;
      for (const Value& value : direct::run(run.op, in, {.random = {7, 3}, .in_place = static_cast<int>(i)}))
        got.push_back(direct::host(value));
      expect_same(expected, got, run.text() + " over input " + std::to_string(i));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sweep, EveryOperator, testing::Range<std::size_t>(0, all_ops().size()),
                         [](const testing::TestParamInfo<std::size_t>& param) {
                           return std::string(all_ops()[param.param].name);
                         });

}  // namespace
}  // namespace regrow
