// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/columns.h"
#include "regrow/kernels/workspace.h"
#include "regrow/ops/optimizer.h"
#include "regrow/tensor/format.h"

namespace regrow::ops {
namespace {

void dtypes(std::span<const DType> in, const Attrs&, std::span<DType> out) {
  for (std::size_t i : {0, 1, 3, 4}) require(is_floating(in[i]), "statistics are of floating types, not {}", name_of(in[i]));
  require(in[2] == DType::i64, "batches is i64, not {}", name_of(in[2]));
  out[0] = in[0], out[1] = in[1], out[2] = in[2];
}

void infer(const InferCall& call) {
  require(call[2].shape.empty(), "batches is a scalar, not {}", call[2].shape);
  require(call.attrs.get<std::int64_t>("count") >= 0, "count must be at least 0, not {}", call.attrs.get<std::int64_t>("count"));
  if (call.attrs.has("momentum")) require_in(call.attrs, "momentum", 0, 1 + 1e-12);
  require(call[0].shape.size() == 1, "statistics are one number a channel, not {}", call[0].shape);
  for (std::size_t i : {1, 3, 4})
    require(call[i].shape == call[0].shape, "statistics differ in shape: {} and {}", call[0].shape, call[i].shape);
  for (std::size_t k : {0, 1, 2}) call.out[k].shape = call[k].shape, call.out[k].strides = contiguous_strides(call[k].shape);
}

std::size_t workspace(const CostCall& call) {
  kernels::Workspace workspace;
  workspace.take_array<double>(4 * kernels::column_capacity(call.in[0]->count()));
  return workspace.used();
}

void compute(const ComputeCall& call) {
  const std::int64_t channels = call.in[0].count(), table = kernels::column_capacity(channels);
  kernels::Workspace workspace(call.workspace);
  double* tables = workspace.take_array<double>(4 * table);
  double *mean = tables, *variance = tables + table, *new_mean = tables + 2 * table, *new_variance = tables + 3 * table;
  kernels::read_table(call.in[0], mean), kernels::read_table(call.in[1], variance);
  kernels::read_table(call.in[3], new_mean), kernels::read_table(call.in[4], new_variance);
  const std::int64_t batches = *call.in[2].as<const std::int64_t>() + 1;
  const double momentum = call.attrs.has("momentum") ? call.attrs.get<double>("momentum") : 1 / static_cast<double>(batches);
  const auto count = static_cast<double>(call.attrs.get<std::int64_t>("count"));
  for (std::int64_t j = 0; j < channels; ++j) {
    mean[j] += momentum * (new_mean[j] - mean[j]);
    variance[j] += momentum * (new_variance[j] * (count / (count - 1)) - variance[j]);
  }
  kernels::write_table(mean, call.out[0]), kernels::write_table(variance, call.out[1]);
  *call.out[2].as<std::int64_t>() = batches;
}

}  // namespace

OpDef batch_norm_step() {
  return {
      .doc =
          "The running mean and variance of each channel, and the number of batches, after one more batch: running + momentum "
          "(batch's - running), with the batch's variance unbiased; without momentum, the mean over all batches.",
      .inputs = {"running_mean", "running_variance", "batches", "mean", "variance"},
      .attributes = {{.name = "count", .type = AttrType::integer, .doc = "Elements of each channel in the batch."},
                     {.name = "momentum", .type = AttrType::real, .optional = true, .doc = "The share of the new batch."}},
      .outputs = {"new_mean", "new_variance", "new_batches"},
      .dtypes = dtypes,
      .infer = infer,
      .compute = compute,
      .workspace = workspace,
      .state = true,
      .reuse = {0b001, 0b010, 0b100},
      .samples = {{.inputs = {{3}, {3}, {}, {3}, {3}},
                   .attrs = {{"count", 12}, {"momentum", 0.1}},
                   .dtypes = {DType::f32, DType::f32, DType::i64, DType::f64, DType::f64},
                   .low = 0,
                   .high = 2},
                  {.inputs = {{20}, {20}, {}, {20}, {20}},
                   .attrs = {{"count", 2}},
                   .dtypes = {DType::f64, DType::f64, DType::i64, DType::f64, DType::f64},
                   .low = 0,
                   .high = 2}},
  };
}

}  // namespace regrow::ops
