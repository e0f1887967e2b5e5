// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/attention.h"

#include <cmath>

#include "regrow/ops/random.h"
#include "regrow/tensor/format.h"

namespace regrow {
namespace {

Shape leading(Shape shape) {
  shape.erase(shape.size() - 1), shape.erase(shape.size() - 1);
  return shape;
}

}  // namespace

std::vector<AttrSpec> attention_attributes() {
  return {{.name = "causal", .type = AttrType::boolean, .fallback = false, .doc = "Query i sees the keys j <= i alone."},
          {.name = "scale", .type = AttrType::real, .optional = true, .doc = "Of the scores; 1 / sqrt(D) by default."},
          {.name = "dropout",
           .type = AttrType::real,
           .fallback = 0.0,
           .doc = "How likely a weight is dropped, after the softmax; the others are divided by 1 - p."}};
}

double attention_scale(const Attrs& attrs, const Desc& q) {
  if (attrs.has("scale")) return attrs.get<double>("scale");
  return q.shape.back() == 0 ? 1 : 1 / std::sqrt(static_cast<double>(q.shape.back()));
}

Shape rows_shape(const Desc& q) {
  Shape shape = q.shape;
  shape.erase(shape.size() - 1);
  return shape;
}

Shape scores_shape(const Desc& q, const Desc& k) {
  Shape shape = rows_shape(q);
  shape.push_back(k.shape[k.shape.size() - 2]);
  return shape;
}

void check_attention(const Desc& q, const Desc& k, const Desc& v, const Desc* mask, const Attrs& attrs) {
  require(q.shape.size() >= 2 && k.shape.size() >= 2 && v.shape.size() >= 2,
          "queries, keys and values have the shapes (…, L, D), (…, S, D), (…, S, E), not {}, {}, {}", q.shape, k.shape, v.shape);
  require(leading(q.shape) == leading(k.shape) && leading(k.shape) == leading(v.shape), "the leading axes differ: {}, {}, {}",
          q.shape, k.shape, v.shape);
  require(q.shape.back() == k.shape.back(), "queries and keys have other widths: {}, {}", q.shape, k.shape);
  require(k.shape[k.shape.size() - 2] == v.shape[v.shape.size() - 2], "there is one value for each key, not {} for {}", v.shape,
          k.shape);
  random::word_threshold(attrs.get<double>("dropout"));
  if (!mask) return;
  const Shape scores = scores_shape(q, k);
  bool fits = mask->shape.size() <= scores.size();
  const std::size_t shift = scores.size() - mask->shape.size();
  for (std::size_t i = 0; fits && i < mask->shape.size(); ++i) fits = mask->shape[i] == 1 || mask->shape[i] == scores[i + shift];
  require(fits, "the mask {} does not broadcast to the scores {}", mask->shape, scores);
}

void check_attention_dtypes(DType q, DType k, DType v) {
  require(is_floating(q), "is not defined for {}: only for floating types", name_of(q));
  require(q == k && k == v, "queries, keys and values have one type, not {}, {}, {}", name_of(q), name_of(k), name_of(v));
}

void check_mask_dtype(DType mask, DType q) {
  require(mask == DType::boolean || mask == q, "the mask is bool or {}, not {}", name_of(q), name_of(mask));
}

kernels::Attention attention_of(std::span<const View> qkv, const View* mask, const Attrs& attrs, RandomState random) {
  kernels::Attention a{.q = qkv[0], .k = qkv[1], .v = qkv[2]};
  if (mask) a.mask = *mask;
  a.causal = attrs.get<bool>("causal");
  a.scale = attention_scale(attrs, *qkv[0].desc);
  const double p = attrs.get<double>("dropout");
  a.drop_below = random::word_threshold(p);
  a.keep_scale = p == 1 ? 0 : 1 / (1 - p);
  a.stream = random::stream(random);
  return a;
}

}  // namespace regrow
