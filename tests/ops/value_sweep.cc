// SPDX-License-Identifier: Apache-2.0
// What must hold for every operator whatever the values are: special ones, of mixed types, fused, on any number of threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "regrow/kernels/elementwise.h"
#include "regrow/kernels/parallel.h"
#include "tests/ops/draw.h"

namespace regrow {
namespace {

using direct::Case;
using direct::cases;
using direct::HostArrays;
using direct::Value;

std::vector<Value> values_of(const HostArrays& arrays) {
  std::vector<Value> values;
  for (const HostArray& array : arrays) values.push_back(direct::value_of(array));
  return values;
}

// Results, or the error instead of them.
struct Outcome {
  HostArrays out;
  std::string error;
};

Outcome outcome(const Op& op, std::span<const Value> in, const direct::Options& options = {.random = {7, 3}}) {
  Outcome result;
  result.error = direct::error_of([&] {
    for (const Value& value : direct::run(op, in, options)) result.out.push_back(direct::host(value));
  });
  return result;
}

bool same_numbers(const HostArray& a, const HostArray& b) {
  if (direct::same_bits(a, b)) return true;
  if (a.dtype() != b.dtype() || a.shape() != b.shape() || !is_floating(a.dtype())) return false;
  const std::vector<double> x = direct::numbers(a), y = direct::numbers(b);
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!(std::isnan(x[i]) && std::isnan(y[i])) && !(x[i] == y[i] && std::signbit(x[i]) == std::signbit(y[i]))) return false;
  return true;
}

void expect_same(const Outcome& expected, const Outcome& got, const std::string& what) {
  EXPECT_EQ(got.error, expected.error) << what;
  ASSERT_EQ(got.out.size(), expected.out.size()) << what;
  for (std::size_t k = 0; k < got.out.size(); ++k)
    EXPECT_TRUE(same_numbers(expected.out[k], got.out[k])) << what << ", output " << k;
}

class AnyValue : public testing::TestWithParam<std::size_t> {
 protected:
  const OpRecord& record() const { return all_ops()[GetParam()]; }
};

// NaN, infinities, -0, denormals, limits: the same again, and however they lie in memory (which NaN it is may then differ).
TEST_P(AnyValue, SpecialOnesGiveTheSameForEveryLayout) {
  for (const Case& given : direct::special_cases(record())) {
    const std::vector<Value> dense = values_of(given.inputs);
    const Outcome expected = outcome(given.op, dense);
    const Outcome again = outcome(given.op, dense, {.random = {7, 3}, .fill = std::byte{0x3c}});
    ASSERT_EQ(again.out.size(), expected.out.size());
    for (std::size_t k = 0; k < again.out.size(); ++k)
      EXPECT_TRUE(direct::same_bits(again.out[k], expected.out[k])) << given.text();
    for (std::size_t lay = 0; lay < 3; ++lay) {
      std::vector<Value> in;
      for (const HostArray& input : given.inputs)
        in.push_back(direct::value_of(input, direct::layouts(input.shape())[lay].strides));
      expect_same(expected, outcome(given.op, in), given.text() + ", layout " + std::to_string(lay));
    }
  }
}

// Of two operands with different types: as if both had been converted first.
TEST_P(AnyValue, OfMixedTypesIsThatOfThePromotedType) {
  const std::size_t count = record().inputs.size();
  if (!record().tile || count < 2 || record().name.ends_with("_gradient")) return;
  const Sample& sample = record().samples.front();
  const Op op(record(), Attrs(record().name, record().attributes, sample.attrs));
  for (int a = 0; a < dtype_count; ++a)
    for (int b = 0; b < dtype_count; ++b) {
      HostArrays given;
      for (std::size_t i = 0; i < count; ++i) {
        const auto dtype = i + 1 == count ? static_cast<DType>(b) : i + 2 == count ? static_cast<DType>(a) : DType::boolean;
        given.push_back(direct::draw(dtype, sample.inputs[i], sample.low, sample.high, i));
      }
      HostArrays promoted = given;
      const Op cast = regrow::op("cast", {{"dtype", promote(static_cast<DType>(a), static_cast<DType>(b))}});
      for (std::size_t i = count - 2; i < count; ++i) promoted[i] = direct::call(cast, {given[i]});
      const Outcome expected = outcome(op, values_of(promoted)), got = outcome(op, values_of(given));
      if (!expected.error.empty() || !got.error.empty()) {
        EXPECT_EQ(expected.error.empty(), got.error.empty()) << expected.error << got.error;
        continue;
      }
      expect_same(expected, got,
                  std::string(record().name) + " of " + to_string(given[count - 2].dtype()) + " and " +
                      to_string(given[count - 1].dtype()));
    }
}

// In one pass with an operation that reads its result: the bits of both are those of two passes.
TEST_P(AnyValue, FusedGivesTheSameBits) {
  if (!record().tile) return;
  for (const Case& given : direct::special_cases(record())) {
    const std::vector<Value> in = values_of(given.inputs);
    const Value alone = direct::run(given.op, in).at(0), doubled = direct::run(op("maximum"), {alone, alone}).at(0);
    const DType dtype = alone.desc.dtype;
    kernels::TileProgram program;
    program.inputs = static_cast<std::uint16_t>(in.size());
    kernels::TileStep first{record().tile(given.dtypes, given.op.attrs()), dtype, static_cast<int>(in.size()), {}};
    for (std::uint16_t i = 0; i < program.inputs; ++i) first.args[i] = i;
    const std::uint16_t result = program.inputs, after = program.inputs + 1;
    program.steps = {first, {kernels::binary(kernels::Binary::maximum, dtype), dtype, 2, {result, result}}};
    program.outputs = {result, after};
    std::vector<View> views;
    for (const Value& value : in) views.push_back(value.view());
    const Value one = direct::allocate(alone.desc), two = direct::allocate(doubled.desc);
    const View out[] = {one.view(), two.view()};
    kernels::run_tiles(program, views, out);
    EXPECT_TRUE(direct::same_bits(direct::host(one), direct::host(alone))) << given.text();
    EXPECT_TRUE(direct::same_bits(direct::host(two), direct::host(doubled))) << given.text();
  }
}

Dims scaled(Dims sizes, std::int64_t factor) {
  for (std::int64_t& size : sizes)
    if (size > 1) size *= factor;
  return sizes;
}

// The sample with every length times a factor, that its loops may be worth several threads; its shapes among the attributes too.
struct Grown {
  Op op;
  HostArrays in;
};

double count_of(const Desc& desc) {  // which may be more than 64 bits hold
  double count = 1;
  for (std::int64_t size : desc.shape) count *= static_cast<double>(size);
  return count;
}

bool small_enough(const Op& op, const std::vector<Desc>& in) {
  std::vector<const Desc*> in_descs, out_descs;
  std::vector<OutDesc> out;
  double count = 0;
  for (const Desc& desc : in) in_descs.push_back(&desc), count += count_of(desc);
  infer(op, in_descs, out);
  for (const OutDesc& desc : out) out_descs.push_back(&desc), count += count_of(desc);
  return count > 0 && count < 1 << 20 && cost_of(op, in_descs, out_descs).flops < 1e8;
}

Op grown_op(const OpRecord& record, const Sample& sample, std::int64_t factor, bool attributes_too) {
  std::vector<AttrArg> attrs = sample.attrs;
  for (AttrArg& attr : attrs) {
    if (Dims* dims = std::get_if<Dims>(&attr.value); dims && attributes_too) *dims = scaled(*dims, factor);
    if (std::int64_t* count = std::get_if<std::int64_t>(&attr.value); count && attr.name == "count") *count *= factor;
  }
  return Op(record, Attrs(record.name, record.attributes, attrs));
}

// Whether there is one that the operator accepts.
bool grow(const OpRecord& record, const Sample& sample, bool attributes_too, std::optional<Grown>& grown) {
  for (std::int64_t factor = 1 << 17; factor > 1; factor /= 2) {
    std::vector<Desc> in;
    for (std::size_t i = 0; i < sample.inputs.size(); ++i)
      in.push_back(Desc::dense(sample.dtypes.empty() ? DType::f32 : sample.dtypes[i], scaled(sample.inputs[i], factor)));
    if (std::any_of(in.begin(), in.end(), [](const Desc& desc) { return count_of(desc) > 1 << 20; })) continue;
    bool fits = false;
    const std::string refused = direct::error_of([&] {
      const Op op = grown_op(record, sample, factor, attributes_too);
      fits = small_enough(op, in);
      if (!fits) return;
      grown = Grown{op, {}};
      for (std::size_t i = 0; i < in.size(); ++i)
        grown->in.push_back(direct::draw(in[i].dtype, in[i].shape, sample.low, sample.high, 17 + i));
    });
    if (fits && refused.empty()) return true;
  }
  return false;
}

struct Threads {
  int before = kernels::kernel_threads();
  explicit Threads(int count) { kernels::set_kernel_threads(count); }
  ~Threads() { kernels::set_kernel_threads(before); }
};

// Whether it ran, with the same bits on one, two and three threads.
bool ran_on_threads(const Grown& grown) {
  Outcome first;
  const std::vector<Value> in = values_of(grown.in);
  for (int count : {1, 2, 3}) {
    const Threads threads(count);
    Outcome got = outcome(grown.op, in);
    if (!got.error.empty()) return false;
    if (count == 1) first = std::move(got);
    for (std::size_t k = 0; k < got.out.size(); ++k)
      EXPECT_TRUE(direct::same_bits(first.out[k], got.out[k])) << grown.op.name() << ", " << count << " threads, output " << k;
  }
  return true;
}

// oneDNN's gradient of a convolution's weights adds in an order that depends on the threads (docs/decisions/007).
const std::set<std::string_view> bound_to_threads = {"conv2d_weight_gradient"};
// Their samples do not grow: what they hold is fixed by attributes, or comes with the call.
const std::set<std::string_view> of_fixed_size = {"callback", "fused", "conv2d_input_gradient"};

// One sample of each operator is enough for the thread sanitizer, under which everything takes twenty times as long.
#ifdef __SANITIZE_THREAD__
constexpr bool all_samples = false;
#else
constexpr bool all_samples = true;
#endif

TEST_P(AnyValue, OnAnyNumberOfThreadsGivesTheSameBits) {
  if (bound_to_threads.contains(record().name) || of_fixed_size.contains(record().name)) return;
  bool ran = false;
  for (const Sample& sample : record().samples)
    for (bool attributes_too : {false, true}) {
      if (ran && !all_samples) break;
      std::optional<Grown> grown;
      if (grow(record(), sample, attributes_too, grown)) ran = ran_on_threads(*grown) || ran;
    }
  EXPECT_TRUE(ran) << record().name << " has no sample that grows";
}

INSTANTIATE_TEST_SUITE_P(Sweep, AnyValue, testing::Range<std::size_t>(0, all_ops().size()),
                         [](const testing::TestParamInfo<std::size_t>& param) {
                           return std::string(all_ops()[param.param].name);
                         });

}  // namespace
}  // namespace regrow
