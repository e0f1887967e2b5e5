// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/cross_entropy.h"

#include <numeric>
#include <utility>

#include "regrow/kernels/convert.h"
#include "regrow/kernels/element_types.h"
#include "regrow/tensor/format.h"

namespace regrow {

std::vector<AttrSpec> cross_entropy_attributes() {
  return {{.name = "reduction",
           .type = AttrType::text,
           .fallback = std::string("mean"),
           .doc = "none: a loss for each row; sum; mean: the sum over the weights of the rows that count, NaN if there are none."},
          {.name = "ignore_index", .type = AttrType::integer, .optional = true, .doc = "Rows with this target do not count."},
          {.name = "label_smoothing",
           .type = AttrType::real,
           .fallback = 0.0,
           .doc = "In [0, 1]: this much of a target's weight is spread evenly over all classes."}};
}

LossReduction loss_reduction(const Attrs& attrs) {
  const std::string& word = attrs.get<std::string>("reduction");
  if (word == "none") return LossReduction::none;
  if (word == "sum") return LossReduction::sum;
  require(word == "mean", "reduction is none, sum or mean, not '{}'", word);
  return LossReduction::mean;
}

std::size_t class_weight_bytes(const Desc* weight) {
  return weight ? static_cast<std::size_t>(weight->count() + 7) / 8 * 64 : 0;
}

kernels::CrossEntropy cross_entropy_of(const View& logits, const View& targets, const View* weight, const Attrs& attrs,
                                       double* weights) {
  kernels::CrossEntropy c{.logits = logits, .targets = targets};
  c.smoothing = attrs.get<double>("label_smoothing");
  if (attrs.has("ignore_index")) c.ignored = attrs.get<std::int64_t>("ignore_index");
  c.total = static_cast<double>(logits.shape()[1]);
  if (!weight) return c;
  const Desc wide = Desc::dense(DType::f64, weight->shape());
  kernels::convert(*weight, {&wide, reinterpret_cast<std::byte*>(weights)});
  c.weights = {weights, static_cast<std::size_t>(weight->count())};
  c.total = std::accumulate(c.weights.begin(), c.weights.end(), 0.0);
  return c;
}

double weigh_targets(std::string_view op, const kernels::CrossEntropy& c) {
  const std::int64_t rows = c.logits.shape()[0], classes = c.logits.shape()[1];
  double sum = 0;
  kernels::with_integer(c.targets.dtype(), [&]<class T>(T) {
    const T* targets = c.targets.as<const T>();
    for (std::int64_t i = 0; i < rows; ++i) {
      const T target = targets[i * c.targets.strides()[0]];
      if (c.ignored && std::cmp_equal(target, *c.ignored)) continue;
      if (!std::cmp_greater_equal(target, 0) || !std::cmp_less(target, classes))
        fail_at(Site{}, "{}: target {} is out of range for {} classes", op, target, classes);
      sum += c.weights.empty() ? 1 : c.weights[static_cast<std::size_t>(target)];
    }
  });
  return sum;
}

Shape check_cross_entropy(const Shape& logits, const Shape& targets, const Desc* weight, const Attrs& attrs) {
  require(logits.size() == 2, "logits have the shape (N, C), not {}", logits);
  require(targets.size() == 1 && targets[0] == logits[0], "there is one target for each row of logits, not {} for {}", targets,
          logits);
  if (weight)
    require(weight->shape == Shape{logits[1]}, "there is one weight for each class, not {} for {}", weight->shape, logits);
  const double smoothing = attrs.get<double>("label_smoothing");
  require(smoothing >= 0 && smoothing <= 1, "label_smoothing lies in [0, 1], not {}", smoothing);
  return loss_reduction(attrs) == LossReduction::none ? targets : Shape{};
}

DType check_cross_entropy_dtypes(std::span<const DType> in) {
  require(is_floating(in[0]), "logits are of a floating type, not {}", name_of(in[0]));
  require(is_integer(in[1]), "targets are integers, not {}", name_of(in[1]));
  require(in.size() <= 3, "takes one weight, not {}", in.size() - 2);
  if (in.size() > 2) require(is_floating(in[2]), "the weight is of a floating type, not {}", name_of(in[2]));
  return in[0];
}

}  // namespace regrow
