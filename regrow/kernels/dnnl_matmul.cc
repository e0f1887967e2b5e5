// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/dnnl_matmul.h"

#include <array>

#include "regrow/kernels/dnnl_primitive.h"

namespace regrow::kernels::dnnl {
namespace {

// "gemm:jit" allocates packing buffers outside our accounts, "ref" is a thousand times slower.
constexpr std::string_view allowed[] = {"brg:"};

struct PreparedMatmul : Prepared {
  explicit PreparedMatmul(const_dnnl_op_desc_t what) : primitive(what, allowed) {}
  Primitive primitive;
};

constexpr std::int64_t kind = 1;  // of Key

Key key_of(const MatmulProblem& p) {
  return {{kind, static_cast<std::int64_t>(p.dtype), p.batch, p.m, p.n, p.k, p.a_batch, p.a_row, p.a_col, p.b_batch, p.b_row,
           p.b_col, p.c_batch, p.c_row}};
}

std::unique_ptr<Prepared> make(const Key& key) {
  const auto& v = key.values;
  const auto dtype = static_cast<DType>(v[1]);
  const std::int64_t batch = v[2], m = v[3], n = v[4], k = v[5];
  // Without a batch axis oneDNN chooses better.
  const std::size_t first = batch == 1 ? 1 : 0;
  auto desc = [&](std::array<std::int64_t, 3> shape, std::array<std::int64_t, 3> strides) {
    return strided(dtype, std::span(shape).subspan(first), std::span(strides).subspan(first));
  };
  const dnnl_memory_desc_t a = desc({batch, m, k}, {v[6], v[7], v[8]}), b = desc({batch, k, n}, {v[9], v[10], v[11]}),
                           c = desc({batch, m, n}, {v[12], v[13], 1});
  dnnl_matmul_desc_t what;
  check(dnnl_matmul_desc_init(&what, &a, &b, nullptr, &c), "describing a matrix product");
  return std::make_unique<PreparedMatmul>(&what);
}

Primitive& primitive_for(const MatmulProblem& problem) { return static_cast<PreparedMatmul&>(prepared(key_of(problem), make)).primitive; }

}  // namespace

MatmulPlan plan_matmul(const MatmulProblem& problem) {
  const SingleThread guard;
  const Primitive& primitive = primitive_for(problem);
  return {!primitive.empty(), primitive.scratch_bytes()};
}

void run_matmul(const MatmulProblem& problem, const void* a, const void* b, void* c, void* scratch) {
  const SingleThread guard;
  const Argument arguments[] = {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, c}};
  primitive_for(problem).run(arguments, scratch);
}

}  // namespace regrow::kernels::dnnl
