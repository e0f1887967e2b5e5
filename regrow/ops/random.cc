// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/random.h"

#include <algorithm>
#include <cmath>

#include "regrow/ops/create.h"

namespace regrow::random {

void floating_dtype(std::span<const DType>, const Attrs& attrs, std::span<DType> out) {
  out[0] = attrs.get<DType>("dtype");
  require(is_floating(out[0]), "is not defined for {}: only for floating types", name_of(out[0]));
}

OpDef distribution(std::string_view doc, std::vector<AttrSpec> parameters, void (*infer)(const InferCall& call),
                   void (*compute)(const ComputeCall& call)) {
  std::vector<AttrSpec> attributes = {create::shape_attr()};
  attributes.insert(attributes.end(), parameters.begin(), parameters.end());
  attributes.insert(attributes.end(), {create::dtype_attr(), create::device_attr()});
  return {.doc = doc,
          .inputs = {},
          .attributes = std::move(attributes),
          .dtypes = floating_dtype,
          .infer = infer,
          .compute = compute,
          .replay = Replay::seeded,
          .samples = {{.inputs = {}, .attrs = {{"shape", Dims{3, 5}}}},
                      {.inputs = {}, .attrs = {{"shape", Dims{1030}}, {"dtype", DType::f64}}},
                      {.inputs = {}, .attrs = {{"shape", Dims{2050}}, {"dtype", DType::bf16}}},
                      {.inputs = {}, .attrs = {{"shape", Dims{0, 3}}, {"dtype", DType::f16}}}}};
}

std::uint64_t word_threshold(double p) {
  require(p >= 0 && p <= 1, "a probability is at least 0 and at most 1, not {}", p);
  return static_cast<std::uint64_t>(std::ldexp(p, 32));
}

namespace {

using Coefficients = double[8];

// A ratio of polynomials, the constant first.
double ratio(const Coefficients& above, const Coefficients& below, double x) {
  double a = above[7], b = below[7];
  for (int i = 6; i >= 0; --i) a = a * x + above[i], b = b * x + below[i];
  return a / b;
}

}  // namespace

double normal_quantile(double p) noexcept {
  constexpr Coefficients central_above = {3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
                                          1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
                                          3.3430575583588128105e4, 2.5090809287301226727e3};
  constexpr Coefficients central_below = {1.0,                     4.2313330701600911252e1, 6.8718700749205790830e2,
                                          5.3941960214247511077e3, 2.1213794301586595867e4, 3.9307895800092710610e4,
                                          2.8729085735721942674e4, 5.2264952788528545610e3};
  constexpr Coefficients near_above = {1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
                                       3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
                                       2.27238449892691845833e-2, 7.74545014278341407640e-4};
  constexpr Coefficients near_below = {1.0,                       2.05319162663775882187e0,  1.67638483018380384940e0,
                                       6.89767334985100004550e-1, 1.48103976427480074590e-1, 1.51986665636164571966e-2,
                                       5.47593808499534494600e-4, 1.05075007164441684324e-9};
  constexpr Coefficients far_above = {6.65790464350110377720e0,  5.46378491116411436990e0,  1.78482653991729133580e0,
                                      2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                      2.71155556874348757815e-5, 2.01033439929228813265e-7};
  constexpr Coefficients far_below = {1.0,                       5.99832206555887937690e-1, 1.36929880922735805310e-1,
                                      1.48753612908506148525e-2, 7.86869131145613259100e-4, 1.84631831751005468180e-5,
                                      1.42151175831644588870e-7, 2.04426310338993978564e-15};
  const double q = p - 0.5;
  if (std::fabs(q) <= 0.425) return q * ratio(central_above, central_below, 0.180625 - q * q);
  const double r = std::sqrt(-std::log(std::min(p, 1 - p)));
  const double x = r <= 5 ? ratio(near_above, near_below, r - 1.6) : ratio(far_above, far_below, r - 5);
  return q < 0 ? -x : x;
}

double normal_below(double x) noexcept { return 0.5 * std::erfc(x * -0.70710678118654752440); }

}  // namespace regrow::random
