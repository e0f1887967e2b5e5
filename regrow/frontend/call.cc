// SPDX-License-Identifier: Apache-2.0
#include "regrow/frontend/call.h"

#include <absl/container/inlined_vector.h>

#include "regrow/autograd/tape.h"
#include "regrow/frontend/apply.h"

namespace regrow::detail {
namespace {

using Values = absl::InlinedVector<const autograd::Value*, 4>;

Values values_of(std::span<const Tensor* const> in) {
  Values values;
  for (const Tensor* tensor : in) values.push_back(&tensor->traced());
  return values;
}

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
  const Values values = values_of(in);
  autograd::apply(op, {values.data(), values.size()}, {&out, 1}, site);
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
  const Values values = values_of(in);
  autograd::apply(op, {values.data(), values.size()}, {results.data(), results.size()}, site);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = Tensor(std::move(results[i]));
}

std::vector<Tensor> call_many(const Op& op, std::span<const Tensor* const> in, Site site) {
  const Values values = values_of(in);
  std::vector<Tensor> out;
  for (autograd::Value& value : autograd::apply_many(op, {values.data(), values.size()}, site))
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
