// SPDX-License-Identifier: Apache-2.0
// scaled_dot_product_attention and its gradient: NumPy's values, masks, rows that see nothing, sequences longer than a block,
// dropout.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/ops/eager.h"
#include "tests/ops/values.h"

namespace regrow {
namespace {

using testing::as_dtype;
using testing::error_of;
using testing::random_value;
using testing::run;
using testing::Value;
using testing::value;

constexpr double infinity = std::numeric_limits<double>::infinity();

// sin(a i + b), row-major, as in the NumPy scripts.
Value wave(const Shape& shape, double a, double b) {
  std::vector<double> elements(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = std::sin(a * static_cast<double>(i) + b);
  return value(elements, shape);
}

void expect_near(const Value& got, const std::vector<double>& expected, double tolerance = 1e-14) {
  const std::vector<double> numbers = got.to_doubles();
  ASSERT_EQ(numbers.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (std::isinf(expected[i]))
      EXPECT_EQ(numbers[i], expected[i]) << i;
    else
      EXPECT_NEAR(numbers[i], expected[i], tolerance) << i;
  }
}

Op attention(std::initializer_list<AttrArg> attrs = {}) { return op("scaled_dot_product_attention", attrs); }
Op gradient(std::initializer_list<AttrArg> attrs = {}) { return op("scaled_dot_product_attention_gradient", attrs); }

// numpy: q, k, v = sin(.7 i + .2), sin(.9 i - .3), sin(1.1 i + .5); p = exp(q k^T / 2), normalized; p v
TEST(Attention, AgreesWithNumpy) {
  const Value q = wave({2, 3, 4}, 0.7, 0.2), k = wave({2, 5, 4}, 0.9, -0.3), v = wave({2, 5, 2}, 1.1, 0.5);
  const std::vector<Value> plain = run(attention(), {q, k, v});
  const std::vector<double> expected = {0.002528374022880725, 0.24683546376355253,  0.25123551729337135, -0.2443858257975811,
                                        0.21552398736487793,  0.42732294772193763,  0.3785865854812679,  0.4363230509402487,
                                        -0.3674350100157283,  -0.02586383897483918, 0.43639667272761085, 0.2972944250698978};
  expect_near(plain[0], expected);
  expect_near(plain[1], {1.892447066265925, 1.7480584394565089, 1.7834541955557792, 1.7700161574010547, 1.8194009623775418,
                         1.7635809735172083});
  const std::vector<Value> causal = run(attention({{"causal", true}, {"scale", 0.5}}), {q, k, v});
  expect_near(causal[0], {0.47942553860420295, 0.9995736030415054, 0.43510260736226297, -0.37274773067452593, 0.05822941550200933,
                          0.4137383297042579, -0.8754521746884284, 0.033623047221138465, -0.5910575367728805, 0.15409661499480992,
                          0.2767098338862979, 0.09924156439158999});
  expect_near(causal[1], {0.9421774570906181, 0.9502319068160712, 1.4107261310780765, -0.9933991186489084, 1.1208424226259568,
                          1.1006890918794972});
  for (const auto& [dtype, tolerance] :
       {std::pair(DType::f32, 1e-6), std::pair(DType::f16, 2e-3), std::pair(DType::bf16, 1.5e-2)}) {
    const std::vector<Value> narrow = run(attention(), {as_dtype(q, dtype), as_dtype(k, dtype), as_dtype(v, dtype)});
    EXPECT_EQ(narrow[0].desc.dtype, dtype);
    EXPECT_EQ(narrow[1].desc.dtype, DType::f32);
    expect_near(narrow[0], expected, tolerance);
  }
}

TEST(Attention, TheGradientAgreesWithNumpy) {
  const Value q = wave({2, 3, 4}, 0.7, 0.2), k = wave({2, 5, 4}, 0.9, -0.3), v = wave({2, 5, 2}, 1.1, 0.5);
  const std::vector<Value> out = run(attention(), {q, k, v});
  const std::vector<Value> back = run(gradient(), {wave({2, 3, 2}, 1.3, 0.4), q, k, v, out[0], out[1]});
  expect_near(back[0],
              {-0.24698501208195697, -0.11303018194341452, 0.10646363645901002,  0.24538789730594426,   0.1430979848641044,
               0.03872012397264404,  -0.0949603547959613,  -0.15677673023602134, -0.010235703542106084, 0.06727478608580771,
               0.0938730588305354,   0.049430072156431,    0.16248387066726608,  0.13184137918517325,   0.0014239603968460093,
               -0.13007108323096872, -0.1877521172939764,  -0.08069998363228786, 0.08742428876375731,   0.189387602361337,
               0.22172723057051916,  0.06766743447892512,  -0.13760172697171552, -0.2387366447526782});
  expect_near(back[1],
              {0.015371799801287268,  0.16780637319136227,  0.24131898722263007,    0.20133551084990553,   0.022025868665750802,
               -0.06036025552571902,  -0.11435800838843393, -0.11457140301289634,   -0.0445517366323736,   -0.09780512452017098,
               -0.10505923409890507,  -0.06290234428510832, -0.0013409776109587852, 0.08792582767466642,   0.13583974232594054,
               0.11986610360680092,   0.008495045776294318, -0.09756682082013872,   -0.15774148706123164,  -0.14372786715870178,
               -0.16353346338310198,  -0.08236999868491458, 0.037533363461521044,   0.13978419829702138,   0.23314046551220038,
               0.11500145653269908,   -0.05722453440145712, -0.20253693264859296,   -0.16954220909435075,  -0.10868157586744878,
               0.0032937006863814743, 0.1137198983419136,   -0.132191520809573,     -0.05063092276921439,  0.05474218937949698,
               0.1343691944927268,    0.23212672777482546,  0.12668104078887876,    -0.038344719125942374, -0.18533635848306895});
  expect_near(back[2],
              {-0.09136326989545829, 0.5525191867732027,   0.01706050336629101,   -0.23671230775626784, 0.01234831857849747,
               0.3174459306014791,   -0.07633622989319619, 0.07043159894083448,   0.037562390340062785, -0.049745770468035085,
               -0.2930594314523242,  -0.12691668116993207, 0.5139500398490355,    0.1597231084550557,   -0.010093322633864227,
               0.0346205444057367,   0.10170273831001772,  -0.002959803933702737, 0.38767019249286483,  0.2564810783893665});
}

// PyTorch issue 131060, MLX 2395, burn 4694: a row that sees nothing is 0, forward and backward, however it is masked.
TEST(Attention, ARowThatSeesNothingIsZero) {
  const Value q = wave({4, 4}, 0.7, 0.2), k = wave({4, 4}, 0.9, -0.3), v = wave({4, 3}, 1.1, 0.5);
  const Value mask = value<bool>({1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 0, 1, 1, 1, 1}, {4, 4});
  const std::vector<Value> out = run(attention(), {q, k, v, mask});
  expect_near(out[0],
              {0.33276352833128636, 0.6109060214973068, 0.22144567548213104, 0.0, 0.0, 0.0, 0.3986301144404052,
               0.7078222221027868, 0.24350071476890986, -0.04076511522200085, -0.03902150684267314, 0.005365106909964523});
  expect_near(out[1], {1.7414114829909737, -infinity, 1.4107261310780765, 1.2739117279110022});
  const std::vector<Value> back = run(gradient(), {wave({4, 3}, 1.3, 0.4), q, k, v, out[0], out[1], mask});
  const std::vector<double> dq = back[0].to_doubles();
  for (std::size_t i = 0; i < dq.size(); ++i) {
    if (i / 4 == 1)
      EXPECT_EQ(dq[i], 0);
    else
      EXPECT_TRUE(std::isfinite(dq[i]));
  }
  for (const Value& part : back)
    for (double x : part.to_doubles()) EXPECT_TRUE(std::isfinite(x));
  // By -inf added to the scores, and by a causal mask where the mask hides the only key.
  std::vector<double> added;
  for (double seen : mask.to_doubles()) added.push_back(seen != 0 ? 0 : -infinity);
  EXPECT_EQ(run(attention(), {q, k, v, value(added, {4, 4})})[0].to_bytes(), out[0].to_bytes());
  const Value first_hidden = value<bool>({0, 1, 1, 1}, {1, 4});
  const std::vector<double> causal = run(attention({{"causal", true}}), {q, k, v, first_hidden})[0].to_doubles();
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(causal[i], 0);
  EXPECT_NEAR(causal[3], std::sin(1.1 * 3 + 0.5), 1e-15);  // sees key 1 alone
  // No keys at all.
  EXPECT_EQ(run(attention(), {q, value<double>({}, {0, 4}), value<double>({}, {0, 3})})[0].to_doubles(),
            std::vector<double>(12, 0));
}

TEST(Attention, AddsAMaskOfNumbers) {
  const Value q = wave({4, 4}, 0.7, 0.2), k = wave({4, 4}, 0.9, -0.3), v = wave({4, 3}, 1.1, 0.5);
  expect_near(run(attention(), {q, k, v, wave({1, 4}, 2.0, 0.1)})[0],
              {0.1822094786375954, 0.42725890918690823, 0.20539648946581346, -0.5159509040797389, -0.765957802157047,
               -0.17892007238845364, -0.022333636488118258, 0.14140573009087282, 0.1506158179212621, -0.3495145807551712,
               -0.5144513345608017, -0.1171916792828124});
}

// All scores at once, in f64, one number at a time.
std::vector<double> by_hand(const std::vector<double>& q, const std::vector<double>& k, const std::vector<double>& v,
                            std::size_t rows, std::size_t keys, std::size_t width, std::size_t values, bool causal) {
  std::vector<double> out(rows * values, 0.0);
  for (std::size_t i = 0; i < rows; ++i) {
    const std::size_t seen = causal ? std::min(keys, i + 1) : keys;
    std::vector<double> weights(seen);
    double total = 0;
    for (std::size_t j = 0; j < seen; ++j) {
      double score = 0;
      for (std::size_t d = 0; d < width; ++d) score += q[i * width + d] * k[j * width + d];
      total += weights[j] = std::exp(score / std::sqrt(static_cast<double>(width)));
    }
    for (std::size_t j = 0; j < seen; ++j)
      for (std::size_t d = 0; d < values; ++d) out[i * values + d] += weights[j] / total * v[j * values + d];
  }
  return out;
}

TEST(Attention, LongSequencesGoInBlocks) {
  for (bool causal : {false, true})
    for (const auto& [rows, keys] : {std::pair(250, 700), std::pair(700, 250), std::pair(97, 257), std::pair(512, 512)}) {
      const Value q = random_value(DType::f64, {rows, 16}, 1, -3, 3), k = random_value(DType::f64, {keys, 16}, 2, -3, 3),
                  v = random_value(DType::f64, {keys, 9}, 3);
      const auto n = static_cast<std::size_t>(rows), m = static_cast<std::size_t>(keys);
      expect_near(run(attention({{"causal", causal}}), {q, k, v})[0],
                  by_hand(q.to_doubles(), k.to_doubles(), v.to_doubles(), n, m, 16, 9, causal), 1e-13);
    }
}

// tinygrad 17853: keys that are all hidden come before those that are seen, more of them than a block holds: as if they were not there.
TEST(Attention, AHiddenPrefixOfWholeBlocksCountsForNothing) {
  constexpr std::int64_t hidden = 600, seen = 100;
  const Value q = random_value(DType::f64, {97, 16}, 1, -3, 3), k = random_value(DType::f64, {hidden + seen, 16}, 2, -3, 3),
              v = random_value(DType::f64, {hidden + seen, 9}, 3);
  std::vector<double> added(hidden + seen, -infinity);
  std::fill(added.begin() + hidden, added.end(), 0.0);
  const auto tail = [](const Value& x) {
    const Shape& shape = x.desc.shape;
    return run(op("slice", {{"start", Dims{hidden, 0}}, {"stop", Dims{shape[0], shape[1]}}, {"step", Dims{1, 1}}}), {x})[0];
  };
  const std::vector<Value> all = run(attention(), {q, k, v, value(added, {1, hidden + seen})}),
                           few = run(attention(), {q, tail(k), tail(v)});
  expect_near(all[0], few[0].to_doubles());
  expect_near(all[1], few[1].to_doubles());
}

// The fused gradient against that of the composition, across blocks, with dropout: the same elements are dropped.
TEST(Attention, TheGradientInBlocksIsThatOfTheComposition) {
  for (double p : {0.0, 0.3})
    for (bool causal : {false, true}) {
      const Op applied = attention({{"causal", causal}, {"dropout", p}});
      direct::EagerRecorder recorder;
      std::vector<Var> in = {recorder.put(random_value(DType::f64, {2, 200, 8}, 1)),
                             recorder.put(random_value(DType::f64, {2, 300, 8}, 2)),
                             recorder.put(random_value(DType::f64, {2, 300, 5}, 3))};
      const std::vector<Var> out = recorder.apply(applied, in, {5, 9});
      const Var seed = recorder.put(random_value(DType::f64, {2, 200, 5}, 4));
      const std::vector<Var> blocks = recorder.gradients({&out[0], 1}, {&seed, 1}, in, false);
      const std::vector<Var> whole = recorder.gradients({&out[0], 1}, {&seed, 1}, in, true);
      for (std::size_t i = 0; i < 3; ++i) {
        const Value a = recorder.value(blocks[i]), b = recorder.value(whole[i]);
        expect_near(a, b.to_doubles(), 1e-13);
      }
    }
}

TEST(Attention, DropoutKeepsTheMeanAndDependsOnTheStreamAlone) {
  const Value q = random_value(DType::f32, {2, 130, 8}, 1), k = random_value(DType::f32, {2, 270, 8}, 2),
              v = value(std::vector<float>(2 * 270 * 2, 1.f), {2, 270, 2});
  const Op applied = attention({{"dropout", 0.25}});
  const std::vector<direct::Value> in = {q, k, v};
  const auto bytes = [&](RandomState state) { return Value(direct::run(applied, in, {.random = state})[0]).to_bytes(); };
  EXPECT_EQ(bytes({1, 2}), bytes({1, 2}));
  EXPECT_NE(bytes({1, 2}), bytes({1, 3}));
  double mean = 0;
  const std::vector<double> out = Value(direct::run(applied, in, {.random = {1, 2}})[0]).to_doubles();
  for (double x : out) mean += x / static_cast<double>(out.size());
  EXPECT_NEAR(mean, 1, 0.01);  // each of 260 sums of 270 weights deviates by about 0.035
}

// Heads that are split off by a view come back in its order: merging them is a view again.
TEST(Attention, TheResultLiesAsTheQueries) {
  Desc heads = Desc::dense(DType::f32, {2, 4, 5, 8});
  heads.strides = {5 * 32, 8, 32, 1};
  const std::vector<OutDesc> out = direct::infer_from(attention(), {heads, heads, heads});
  EXPECT_EQ(out[0].strides, heads.strides);
}

TEST(Attention, RefusesWhatDoesNotFit) {
  const auto refused = [](std::vector<Shape> shapes) {
    std::vector<Value> in;
    for (const Shape& shape : shapes) in.push_back(random_value(DType::f32, shape, 1));
    return error_of([&] { run(attention(), in); });
  };
  EXPECT_EQ(refused({{3, 4}, {5, 3}, {5, 2}}),
            "scaled_dot_product_attention: queries and keys have other widths: (3, 4), (5, 3) (inputs: f32(3, 4), f32(5, 3), "
            "f32(5, 2))");
  EXPECT_NE(refused({{3, 4}, {5, 4}, {4, 2}}).find("there is one value for each key"), std::string::npos);
  EXPECT_NE(refused({{2, 3, 4}, {5, 4}, {5, 2}}).find("the leading axes differ"), std::string::npos);
  EXPECT_NE(refused({{3, 4}, {5, 4}, {5, 2}, {3, 4}}).find("the mask (3, 4) does not broadcast to the scores (3, 5)"),
            std::string::npos);
  EXPECT_NE(refused({{4}, {5, 4}, {5, 2}}).find("queries, keys and values have the shapes"), std::string::npos);
}

}  // namespace
}  // namespace regrow
