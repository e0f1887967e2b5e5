// SPDX-License-Identifier: Apache-2.0
#include "regrow/frontend/call.h"

#include <absl/container/inlined_vector.h>

#include "regrow/autograd/tape.h"
#include "regrow/frontend/apply.h"
#include "regrow/frontend/autocast.h"

namespace regrow::detail {
namespace {

using Values = absl::InlinedVector<const autograd::Value*, 4>;

// The inputs as the operator takes them: as they are, or, in the scope of an Autocast, rounded by recorded operations.
class Inputs {
 public:
  Inputs(const Op& op, std::span<const Tensor* const> in, Site site) {
    for (const Tensor* tensor : in) values_.push_back(&tensor->traced());
    if (op.record().autocasts)
      if (const std::optional<DType> dtype = autocast_dtype()) round(*dtype, site);
  }
  std::span<const autograd::Value* const> span() const { return {values_.data(), values_.size()}; }

 private:
  void round(DType dtype, Site site) {
    const Op cast = op("cast", {{"dtype", dtype}});
    rounded_.reserve(values_.size());  // pointers into it stay good
    for (const autograd::Value*& value : values_) {
      if (!*value || value->desc(site)->desc.dtype != DType::f32) continue;
      rounded_.push_back(autograd::apply_one(cast, {value}, site));
      value = &rounded_.back();
    }
  }

  Values values_;
  absl::InlinedVector<autograd::Value, 2> rounded_;
};

// What a literal needs to know of the tensors beside it.
struct Company {
  DType dtype = DType::boolean;
  Device device;
  bool any = false;
};

Company company_of(std::span<const Operand* const> in, Site site) {
  Company company;
  for (const Operand* operand : in) {
    if (!operand->tensor()) continue;
    const auto shared = operand->tensor()->traced().desc(site);
    company.dtype = company.any ? promote(company.dtype, shared->desc.dtype) : shared->desc.dtype;
    company.device = shared->desc.device;
    company.any = true;
  }
  return company;
}

}  // namespace

Tensor call_one(const Op& op, std::span<const Tensor* const> in, Site site) {
  autograd::Value out;
  autograd::apply(op, Inputs(op, in, site).span(), {&out, 1}, site);
  return Tensor(std::move(out));
}

Tensor call_weak(const Op& op, std::initializer_list<const Operand*> in, Site site) {
  absl::InlinedVector<const autograd::Value*, 3> values;
  absl::InlinedVector<autograd::Value, 2> literals;
  literals.reserve(in.size());  // pointers into it stay good
  std::optional<Company> company;
  for (const Operand* operand : in) {
    if (operand->tensor()) {
      values.push_back(&operand->tensor()->traced());
      continue;
    }
    if (!company) company = company_of({in.begin(), in.size()}, site);
    const DType dtype = company->any ? promote(company->dtype, operand->literal()) : operand->literal().default_dtype();
    literals.push_back(autograd::literal(operand->literal(), dtype, company->device, site));
    values.push_back(&literals.back());
  }
  autograd::Value out;
  autograd::apply(op, {values.data(), values.size()}, {&out, 1}, site);
  return Tensor(std::move(out));
}

void call_fixed(const Op& op, std::span<const Tensor* const> in, std::span<Tensor> out, Site site) {
  absl::InlinedVector<autograd::Value, 4> results(out.size());
  autograd::apply(op, Inputs(op, in, site).span(), {results.data(), results.size()}, site);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = Tensor(std::move(results[i]));
}

std::vector<Tensor> call_many(const Op& op, std::span<const Tensor* const> in, Site site) {
  std::vector<Tensor> out;
  for (autograd::Value& value : autograd::apply_many(op, Inputs(op, in, site).span(), site))
    out.emplace_back(std::move(value));
  return out;
}

}  // namespace regrow::detail

namespace regrow {

std::vector<Tensor> apply(const Op& op, const std::vector<Tensor>& inputs, Site site) {
  std::vector<const Tensor*> in;
  for (const Tensor& input : inputs) in.push_back(&input);
  return detail::call_many(op, in, site);
}

}  // namespace regrow
