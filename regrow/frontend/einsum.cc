// SPDX-License-Identifier: Apache-2.0
#include "regrow/frontend/einsum.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <map>

#include "regrow/frontend/einsum_equation.h"
#include "regrow/ops.h"

namespace regrow {
namespace {

bool contains(const Labels& labels, Label label) { return std::find(labels.begin(), labels.end(), label) != labels.end(); }
std::int64_t place_of(const Labels& labels, Label label) {
  return std::find(labels.begin(), labels.end(), label) - labels.begin();
}

// A tensor whose axes have names, each once.
struct Named {
  Tensor tensor;
  Labels labels;
};

using Lengths = std::map<Label, std::int64_t>;

Tensor with_axes(const Named& x, const Labels& order, Site site) {
  Dims axes;
  for (Label label : order) axes.push_back(place_of(x.labels, label));
  return order == x.labels ? x.tensor : permute_dims(x.tensor, axes, site);
}

// The elements at equal indices of axes a < b, under axis a.
void take_diagonal(Named& x, std::size_t a, std::size_t b, Site site) {
  const Shape shape = x.tensor.shape(site);
  const std::int64_t n = shape[a];
  if (shape[b] != n)
    fail_at(site, "einsum: axes of lengths {} and {} have one name, '{}'", n, shape[b], static_cast<char>(x.labels[a]));
  Dims order = {static_cast<std::int64_t>(a), static_cast<std::int64_t>(b)};
  Shape flat = {n * n};
  Labels labels = {x.labels[a]};
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i == a || i == b) continue;
    order.push_back(static_cast<std::int64_t>(i)), flat.push_back(shape[i]), labels.push_back(x.labels[i]);
  }
  const Tensor square = reshape(permute_dims(x.tensor, order, site), flat, site);
  x = {square[{slice(none, none, n + 1)}], labels};
}

void take_diagonals(Named& x, Site site) {
  for (std::size_t a = 0; a < x.labels.size(); ++a)
    for (std::size_t b = a + 1; b < x.labels.size(); ++b) {
      if (x.labels[a] != x.labels[b]) continue;
      take_diagonal(x, a, b, site);
      return take_diagonals(x, site);  // at most four times: there are eight axes
    }
}

// Lengths by name: where one operand has 1, it is repeated.
Lengths lengths_of(const std::vector<Named>& operands, Site site) {
  Lengths sizes;
  for (const Named& x : operands) {
    const Shape shape = x.tensor.shape(site);
    for (std::size_t i = 0; i < shape.size(); ++i) {
      std::int64_t& size = sizes.try_emplace(x.labels[i], shape[i]).first->second;
      if (size == 1) size = shape[i];
      if (shape[i] != 1 && shape[i] != size)
        fail_at(site, "einsum: lengths {} and {} of one name do not broadcast", size, shape[i]);
    }
  }
  return sizes;
}

// Without axes that are repeated, and with those summed that nothing else names.
void simplify(Named& x, const Lengths& sizes, const Labels& wanted, Site site) {
  const Shape shape = x.tensor.shape(site);
  Shape left;
  Labels labels;
  for (std::size_t i = 0; i < shape.size(); ++i)
    if (shape[i] == sizes.at(x.labels[i])) left.push_back(shape[i]), labels.push_back(x.labels[i]);
  if (left != shape) x = {reshape(x.tensor, left, site), labels};
  Dims summed;
  for (std::size_t i = labels.size(); i-- > 0;) {
    if (contains(wanted, labels[i])) continue;
    summed.push_back(static_cast<std::int64_t>(i));
    labels.erase(labels.begin() + static_cast<std::ptrdiff_t>(i));
  }
  if (!summed.empty()) x = {sum(x.tensor, {.axis = Axes(summed)}, site).astype(x.tensor.dtype(site), site), labels};
}

// How the axes of two operands take part.
struct Pairing {
  Labels both, left, right, summed;  // in both and the result; in one; in both and summed

  Pairing(const Labels& a, const Labels& b, const Labels& wanted) {
    for (Label label : a) (!contains(b, label) ? left : contains(wanted, label) ? both : summed).push_back(label);
    for (Label label : b)
      if (!contains(a, label)) right.push_back(label);
  }
  Labels result() const { return joined({both, left, right}); }
  Labels all() const { return joined({both, left, summed, right}); }
  static Labels joined(std::initializer_list<Labels> parts) {
    Labels all;
    for (const Labels& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
  }
};

std::int64_t product(const Labels& labels, const Lengths& sizes) {
  std::int64_t count = 1;
  for (Label label : labels) count *= sizes.at(label);
  return count;
}

Shape shape_of_labels(const Labels& labels, const Lengths& sizes) {
  Shape shape;
  for (Label label : labels) shape.push_back(sizes.at(label));
  return shape;
}

// A matrix product for each index of what both have; a plain product where nothing is summed.
Named contract(const Named& a, const Named& b, const Labels& wanted, const Lengths& sizes, Site site) {
  const Pairing pairing(a.labels, b.labels, wanted);
  const auto& [both, left, right, summed] = pairing;
  const Tensor x = with_axes(a, Pairing::joined({both, left, summed}), site);
  const Tensor y = with_axes(b, Pairing::joined({both, summed, right}), site);
  const std::int64_t batch = product(both, sizes), rows = product(left, sizes), inner = product(summed, sizes),
                     columns = product(right, sizes);
  const Tensor u = reshape(x, {batch, rows, inner}, site), v = reshape(y, {batch, inner, columns}, site);
  const Tensor result = summed.empty() ? multiply(u, v, site) : matmul(u, v, site);
  return {reshape(result, shape_of_labels(pairing.result(), sizes), site), pairing.result()};
}

using Set = std::uint32_t;  // of operands

// The order of pairs that takes the fewest multiplications, of all orders: sets of operands, from small to large.
class Order {
 public:
  Order(const std::vector<Named>& operands, const Labels& output, const Lengths& sizes)
      : operands_(operands), output_(output), labels_(std::size_t{1} << operands.size()), left_(labels_.size()) {
    std::vector<double> costs(labels_.size());
    for (Set set = 1; set < labels_.size(); ++set) {
      labels_[set] = labels_that_stay(set);
      if (std::has_single_bit(set)) continue;
      costs[set] = std::numeric_limits<double>::infinity();
      for (Set part = (set - 1) & set; part != 0; part = (part - 1) & set) {
        double cost = costs[part] + costs[set ^ part];
        double step = 1;
        for (Label label : Pairing(labels_[part], labels_[set ^ part], {}).all()) step *= static_cast<double>(sizes.at(label));
        cost += step;
        if (cost < costs[set]) costs[set] = cost, left_[set] = part;
      }
    }
  }
  Set all() const { return static_cast<Set>(labels_.size() - 1); }
  Set left_part(Set set) const { return left_[set]; }
  // Names that the product of these has: the result or another operand needs them.
  const Labels& labels(Set set) const { return labels_[set]; }

 private:
  Labels labels_that_stay(Set set) const {
    Labels inside, outside = output_;
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      Labels& side = set >> i & 1 ? inside : outside;
      side.insert(side.end(), operands_[i].labels.begin(), operands_[i].labels.end());
    }
    Labels stay;
    for (Label label : inside)
      if (contains(outside, label) && !contains(stay, label)) stay.push_back(label);
    return stay;
  }

  const std::vector<Named>& operands_;
  const Labels& output_;
  std::vector<Labels> labels_;
  std::vector<Set> left_;
};

Named contract_all(const std::vector<Named>& operands, const Order& order, Set set, const Lengths& sizes, Site site) {
  if (std::has_single_bit(set)) return operands[static_cast<std::size_t>(std::countr_zero(set))];
  const Set left = order.left_part(set);
  return contract(contract_all(operands, order, left, sizes, site), contract_all(operands, order, set ^ left, sizes, site),
                  order.labels(set), sizes, site);
}

}  // namespace

Tensor einsum(std::string_view text, const std::vector<Tensor>& given, Site site) {
  constexpr std::size_t most = 10;  // 3^10 ways to cut their sets in two
  if (given.empty() || given.size() > most) fail_at(site, "einsum: takes 1 to {} operands, not {}", most, given.size());
  std::vector<int> ranks;
  for (const Tensor& x : given) ranks.push_back(x.rank(site));
  const EinsumEquation equation = parse_einsum(text, ranks, site);
  std::vector<Named> operands;
  for (std::size_t i = 0; i < given.size(); ++i) {
    operands.push_back({given[i], equation.inputs[i]});
    take_diagonals(operands.back(), site);
  }
  const Lengths sizes = lengths_of(operands, site);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    Labels wanted = equation.output;
    for (std::size_t k = 0; k < operands.size(); ++k)
      if (k != i) wanted.insert(wanted.end(), operands[k].labels.begin(), operands[k].labels.end());
    simplify(operands[i], sizes, wanted, site);
  }
  const Order order(operands, equation.output, sizes);
  return with_axes(contract_all(operands, order, order.all(), sizes, site), equation.output, site);
}

}  // namespace regrow
