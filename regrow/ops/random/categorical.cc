// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "regrow/kernels/element_types.h"
#include "regrow/ops/indexing.h"
#include "regrow/ops/random.h"
#include "regrow/ops/shapes.h"

namespace regrow::ops {
namespace {

void dtypes(std::span<const DType> in, const Attrs&, std::span<DType> out) {
  require(is_floating(in[0]), "is not defined for {}: only for floating types", name_of(in[0]));
  out[0] = DType::i64;
}

void infer(const InferCall& call) {
  const std::size_t axis = axis_of(call[0], call.attrs);
  call.out[0].shape = along(call[0], axis).rest.shape;
  require(call[0].shape[axis] > 0 || call.out[0].count() == 0, "there is nothing to choose from");
  call.out[0].strides = contiguous_strides(call.out[0].shape);
}

// The first place up to which more than the fraction u of all probability lies; -1 if there is none, or not a number.
template <class T>
std::int64_t choose(const T* logits, std::int64_t n, std::int64_t step, double u) {
  const auto logit = [&](std::int64_t i) { return kernels::as<double>(logits[i * step]); };
  double most = -std::numeric_limits<double>::infinity(), total = 0, so_far = 0;
  for (std::int64_t i = 0; i < n; ++i) most = std::max(most, logit(i));
  for (std::int64_t i = 0; i < n; ++i) total += std::exp(logit(i) - most);
  if (!std::isfinite(total)) return -1;
  for (std::int64_t i = 0; i < n; ++i) {
    so_far += std::exp(logit(i) - most);
    if (so_far > u * total) return i;
  }
  return -1;
}

void compute(const ComputeCall& call) {
  const View &logits = call.in[0], &out = call.out[0];
  const Along lines = along(*logits.desc, axis_of(*logits.desc, call.attrs));
  std::atomic<bool> failed = false;
  kernels::with_float(logits.dtype(), [&]<class T>(T) {
    random::for_tiles(out.count(), [&](std::uint64_t first, std::size_t n) {
      std::uint32_t words[2 * random::tile];
      kernels::random_words(random::stream(call.random), 2 * first, 2 * n, words);
      for (std::size_t i = 0; i < n; ++i) {
        auto line = static_cast<std::int64_t>(first + i), offset = std::int64_t{0};
        for (std::size_t k = lines.rest.shape.size(); k-- > 0; line /= lines.rest.shape[k])
          offset += line % lines.rest.shape[k] * lines.rest.strides[k];
        const std::int64_t chosen =
            choose(logits.as<const T>() + offset, lines.size, lines.step, kernels::uniform_of_words(words + 2 * i));
        out.as<std::int64_t>()[first + i] = chosen;
        if (chosen < 0) failed = true;
      }
    });
  });
  if (!failed) return;
  const std::int64_t* chosen = out.as<const std::int64_t>();
  const std::int64_t line = std::find(chosen, chosen + out.count(), -1) - chosen;
  fail_at(Site{}, "categorical: the logits of line {} are no distribution: NaN, +inf, or nothing but -inf", line);
}

}  // namespace

OpDef categorical() {
  return {.doc =
              "Random indices (i64) along an axis, each as likely as the softmax of the logits says (Philox 4x32-10, inverse "
              "distribution). It is an error, when the operation runs, if logits are NaN, +inf, or -inf all along the axis.",
          .inputs = {"logits"},
          .attributes = {axis_attr(-1)},
          .dtypes = dtypes,
          .infer = infer,
          .compute = compute,
          .replay = Replay::seeded,
          .fails_by_value = true,
          .samples = {{.inputs = {{3, 5}}}, {.inputs = {{2, 4, 3}}, .attrs = {{"axis", 1}}}, {.inputs = {{0, 3}}}}};
}

}  // namespace regrow::ops
