// SPDX-License-Identifier: Apache-2.0
#include "regrow/ops/elementwise.h"
#include "regrow/ops/random.h"

namespace regrow::ops {
namespace {

void dtypes(std::span<const DType> in, const Attrs&, std::span<DType> out) {
  require(is_floating(in[0]), "is not defined for {}: only for floating types", name_of(in[0]));
  out[0] = in[0];
}

void infer(const InferCall& call) {
  random::word_threshold(call.attrs.get<double>("p"));
  elementwise::infer(call);
}

// Registers: mask, x, 0, scale.
kernels::TileProgram make_program(DType type) {
  return {
      .inputs = 4,
      .steps = {{kernels::select(type), type, 3, {0, 1, 2}}, {kernels::binary(kernels::Binary::multiply, type), type, 2, {4, 3}}},
      .outputs = {5}};
}

const kernels::TileProgram& program(DType type) {
  static const kernels::TileProgram programs[] = {make_program(DType::f16), make_program(DType::bf16), make_program(DType::f32),
                                                  make_program(DType::f64)};
  return programs[static_cast<std::size_t>(type) - static_cast<std::size_t>(DType::f16)];
}

struct Dropout {
  const ComputeCall& call;
  std::uint64_t threshold;
  double scale;
  Desc one = Desc::dense(DType::f64, {});

  explicit Dropout(const ComputeCall& c) : call(c) {
    const double p = c.attrs.get<double>("p");
    threshold = random::word_threshold(p);
    scale = p == 1 ? 0 : 1 / (1 - p);
  }

  void draw(std::uint64_t first, std::size_t n, std::uint8_t* mask) const {
    std::uint32_t words[random::tile];
    kernels::random_words(random::stream(call.random), first, n, words);
    for (std::size_t i = 0; i < n; ++i) mask[i] = words[i] >= threshold;
  }
  void apply(const View& mask, const View& x, const View& out) const {
    double zero = 0, factor = scale;
    const View in[] = {mask, x, {&one, reinterpret_cast<std::byte*>(&zero)}, {&one, reinterpret_cast<std::byte*>(&factor)}};
    kernels::run_tiles(program(out.dtype()), in, {&out, 1});
  }
};

bool row_major(const Desc& x, const Desc& out) { return x.contiguous() && out.contiguous(); }

// Row-major elements: a tile of mask at a time.
void compute_flat(const Dropout& dropout, const View& x, const View& out) {
  const std::size_t element = size_of(out.dtype());
  random::for_tiles(out.count(), [&](std::uint64_t first, std::size_t n) {
    std::uint8_t mask[random::tile];
    dropout.draw(first, n, mask);
    const Desc mask_desc = Desc::dense(DType::boolean, {static_cast<std::int64_t>(n)});
    const Desc desc = Desc::dense(out.dtype(), mask_desc.shape);
    dropout.apply({&mask_desc, reinterpret_cast<std::byte*>(mask)}, {&desc, x.data + first * element},
                  {&desc, out.data + first * element});
  });
}

void compute(const ComputeCall& call) {
  const Dropout dropout(call);
  const View &x = call.in[0], &out = call.out[0];
  if (row_major(*x.desc, *out.desc)) return compute_flat(dropout, x, out);
  auto* mask = reinterpret_cast<std::uint8_t*>(call.workspace.data());
  random::for_tiles(out.count(), [&](std::uint64_t first, std::size_t n) { dropout.draw(first, n, mask + first); });
  const Desc mask_desc = Desc::dense(DType::boolean, out.shape());
  dropout.apply({&mask_desc, call.workspace.data()}, x, out);
}

// Other orders of the axes take the whole mask at once: which elements are dropped does not depend on how they lie.
std::size_t workspace(const CostCall& call) {
  return row_major(*call.in[0], *call.out[0]) ? 0 : static_cast<std::size_t>(call.out[0]->count());
}

}  // namespace

OpDef dropout() {
  return {
      .doc = "x with each element set to 0 with probability p, the others divided by 1 - p (Philox 4x32-10).",
      .inputs = {"x"},
      .attributes = {{.name = "p", .type = AttrType::real, .fallback = 0.5, .doc = "How likely an element is dropped."}},
      .dtypes = dtypes,
      .infer = infer,
      .compute = compute,
      .workspace = workspace,
      .replay = Replay::seeded,
      .reuse = {0b1},
      .gradient =
          [](Gradient& g) {
            g.set(0, op<"dropout">({g.grad()}, {{"p", g.attrs().get<double>("p")}}, g.random()));
          },
      .samples = {
          {.inputs = {{3, 5}}}, {.inputs = {{2, 3, 4}}, .attrs = {{"p", 0.25}}}, {.inputs = {{0, 3}}, .attrs = {{"p", 1.0}}}}};
}

}  // namespace regrow::ops
