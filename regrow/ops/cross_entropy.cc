// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/cross_entropy.h"

#include <utility>

#include "regrow/kernels/element_types.h"
#include "regrow/tensor/format.h"

namespace regrow {

std::vector<AttrSpec> cross_entropy_attributes() {
  return {{.name = "reduction",
           .type = AttrType::text,
           .fallback = std::string("mean"),
           .doc = "none: a loss for each row; sum; mean: of the rows that count, NaN if there are none."},
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

kernels::CrossEntropy cross_entropy_of(const View& logits, const View& targets, const Attrs& attrs) {
  kernels::CrossEntropy c{.logits = logits, .targets = targets};
  c.smoothing = attrs.get<double>("label_smoothing");
  if (attrs.has("ignore_index")) c.ignored = attrs.get<std::int64_t>("ignore_index");
  return c;
}

std::int64_t count_targets(std::string_view op, const kernels::CrossEntropy& c) {
  const std::int64_t rows = c.logits.shape()[0], classes = c.logits.shape()[1];
  std::int64_t counting = 0;
  kernels::with_integer(c.targets.dtype(), [&]<class T>(T) {
    const T* targets = c.targets.as<const T>();
    for (std::int64_t i = 0; i < rows; ++i) {
      const T target = targets[i * c.targets.strides()[0]];
      if (c.ignored && std::cmp_equal(target, *c.ignored)) continue;
      if (!std::cmp_greater_equal(target, 0) || !std::cmp_less(target, classes))
        fail_at(Site{}, "{}: target {} is out of range for {} classes", op, target, classes);
      ++counting;
    }
  });
  return counting;
}

Shape check_cross_entropy(const Shape& logits, const Shape& targets, const Attrs& attrs) {
  require(logits.size() == 2, "logits have the shape (N, C), not {}", logits);
  require(targets.size() == 1 && targets[0] == logits[0], "there is one target for each row of logits, not {} for {}", targets,
          logits);
  const double smoothing = attrs.get<double>("label_smoothing");
  require(smoothing >= 0 && smoothing <= 1, "label_smoothing lies in [0, 1], not {}", smoothing);
  return loss_reduction(attrs) == LossReduction::none ? targets : Shape{};
}

DType check_cross_entropy_dtypes(DType logits, DType targets) {
  require(is_floating(logits), "logits are of a floating type, not {}", name_of(logits));
  require(is_integer(targets), "targets are integers, not {}", name_of(targets));
  return logits;
}

}  // namespace regrow
