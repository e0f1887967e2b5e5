// SPDX-License-Identifier: Apache-2.0
// The driver against a reference that takes one element at a time through the same kernels.
#include "regrow/kernels/tile.h"

#include <gtest/gtest.h>

#include "regrow/kernels/elementwise.h"
#include "regrow/kernels/parallel.h"
#include "tests/kernels/strided_tensor.h"

namespace regrow::kernels {
namespace {

using testing::random_strides;
using testing::StridedTensor;

void convert_one(DType from, DType to, const void* element, void* result) { convert(from, to).fn(&element, result, 1); }

// Every element alone: no tiles, no neighbours, each step rounded to its type.
void reference(const TileProgram& program, std::span<StridedTensor*> in, std::span<StridedTensor*> out) {
  const Shape& shape = out[0]->desc().shape;
  Dims index = Dims::filled(shape.size(), 0);
  const auto offset_in = [&](const Desc& desc) {
    const Strides strides = broadcast_strides(desc.shape, desc.strides, shape);
    std::int64_t offset = 0;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) offset += index[axis] * strides[axis];
    return offset;
  };
  walk<1>(shape, {contiguous_strides(shape)}, [&](std::int64_t position) {
    for (std::size_t axis = shape.size(); axis-- > 0; position /= shape[axis]) index[axis] = position % shape[axis];
    std::vector<std::array<std::byte, 8>> values;
    std::vector<DType> types;
    for (StridedTensor* tensor : in) {
      std::memcpy(values.emplace_back().data(), tensor->at(offset_in(tensor->desc())), tensor->size());
      types.push_back(tensor->desc().dtype);
    }
    for (const TileStep& step : program.steps) {
      std::array<std::byte, 8> operands[3], result;
      const void* pointers[3];
      for (int a = 0; a < step.arity; ++a) {
        const auto i = static_cast<std::size_t>(a);
        convert_one(types[step.args[i]], step.kernel.operands[i], values[step.args[i]].data(), operands[i].data());
        pointers[i] = operands[i].data();
      }
      step.kernel.fn(pointers, result.data(), 1);
      convert_one(step.kernel.result, step.dtype, result.data(), values.emplace_back().data());
      types.push_back(step.dtype);
    }
    for (std::size_t o = 0; o < out.size(); ++o) {
      const std::size_t reg = program.outputs[o];
      convert_one(types[reg], out[o]->desc().dtype, values[reg].data(), out[o]->at(offset_in(out[o]->desc())));
    }
  });
}

TileProgram one_step(const TileKernel& kernel, int arity, DType dtype) {
  const auto inputs = static_cast<std::uint16_t>(arity);
  return {inputs, {{kernel, dtype, arity, {0, 1, 2}}}, {inputs}};
}

std::vector<std::byte> bytes_of(StridedTensor& tensor) {
  std::vector<std::byte> bytes;
  walk<1>(tensor.desc().shape, {tensor.desc().strides},
          [&](std::int64_t offset) { bytes.insert(bytes.end(), tensor.at(offset), tensor.at(offset) + tensor.size()); });
  return bytes;
}

// Runs the program and the reference on outputs of these types and strides, and compares every byte.
void expect_as_reference(const TileProgram& program, std::vector<StridedTensor>& in, const std::vector<DType>& types,
                         const Shape& shape, const std::vector<Strides>& strides) {
  std::vector<StridedTensor> got, wanted;
  for (std::size_t o = 0; o < types.size(); ++o)
    got.emplace_back(types[o], shape, strides[o]), wanted.emplace_back(types[o], shape, strides[o]);
  std::vector<View> in_views, out_views;
  std::vector<StridedTensor*> in_pointers, wanted_pointers;
  for (StridedTensor& tensor : in) in_views.push_back(tensor.view()), in_pointers.push_back(&tensor);
  for (StridedTensor& tensor : got) out_views.push_back(tensor.view());
  for (StridedTensor& tensor : wanted) wanted_pointers.push_back(&tensor);
  run_tiles(program, in_views, out_views);
  reference(program, in_pointers, wanted_pointers);
  for (std::size_t o = 0; o < types.size(); ++o) {
    ASSERT_EQ(bytes_of(got[o]), bytes_of(wanted[o])) << "output " << o << " of shape " << to_string(shape);
    ASSERT_TRUE(got[o].guards_intact());
  }
  const bool single = program.steps.size() == 1 && program.inputs == program.steps[0].arity && program.outputs.size() == 1 &&
                      program.steps[0].args == std::array<std::uint16_t, 3>{0, 1, 2} && program.steps[0].dtype == types[0];
  if (!single) return;
  StridedTensor alone(types[0], shape, strides[0]);
  run_tile(program.steps[0].kernel, in_views, alone.view());
  ASSERT_EQ(bytes_of(alone), bytes_of(wanted[0])) << "shape " << to_string(shape);
  ASSERT_TRUE(alone.guards_intact());
}

Shape broadcastable(const Shape& shape, std::mt19937& random) {
  Shape in = shape;
  for (std::int64_t& size : in)
    if (random() % 3 == 0) size = 1;
  for (std::size_t drop = random() % 4 == 0 ? random() % (in.size() + 1) : 0; drop > 0; --drop) in.erase(0);
  return in;
}

DType random_dtype(std::mt19937& random) { return static_cast<DType>(random() % dtype_count); }

TEST(Tiles, OneStepOfAnyShapesStridesAndTypesIsAsOneElementAtATime) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 1500; ++trial) {
    Shape shape;
    for (std::size_t rank = random() % 5; shape.size() < rank;) shape.push_back(static_cast<std::int64_t>(random() % 9));
    if (random() % 8 == 0 && !shape.empty()) shape[random() % shape.size()] = static_cast<std::int64_t>(200 + random() % 1200);
    if (element_count(shape) > 20000) continue;
    const DType type = random_dtype(random);
    const TileKernel kernel = random() % 2 == 0 ? binary(Binary::add, type) : binary(Binary::less, type);
    std::vector<StridedTensor> in;
    for (int a = 0; a < 2; ++a) {
      const Shape in_shape = random() % 2 ? shape : broadcastable(shape, random);
      in.emplace_back(random() % 2 ? type : random_dtype(random), in_shape, random_strides(in_shape, random, random() % 2 == 0));
      in.back().randomize(random);
    }
    const DType out = random() % 2 ? kernel.result : random_dtype(random);
    expect_as_reference(one_step(kernel, 2, out), in, {out}, shape, {random_strides(shape, random, random() % 4 != 0)});
    if (HasFatalFailure()) return;
  }
}

TEST(Tiles, ProgramsOfManyStepsAndOutputsAreAsOneElementAtATime) {
  std::mt19937 random(2);
  for (int trial = 0; trial < 600; ++trial) {
    Shape shape;
    for (std::size_t rank = random() % 4; shape.size() < rank;) shape.push_back(static_cast<std::int64_t>(1 + random() % 12));
    if (random() % 3 == 0) shape.push_back(static_cast<std::int64_t>(200 + random() % 1200));
    if (element_count(shape) > 20000) continue;
    TileProgram program;
    program.inputs = static_cast<std::uint16_t>(1 + random() % 4);
    std::vector<StridedTensor> in;
    for (int i = 0; i < program.inputs; ++i) {
      const Shape in_shape = random() % 2 ? shape : broadcastable(shape, random);
      in.emplace_back(random_dtype(random), in_shape, random_strides(in_shape, random, true));
      in.back().randomize(random);
    }
    const std::size_t steps = 1 + random() % 12;
    for (std::size_t s = 0; s < steps; ++s) {
      const DType type = random_dtype(random);
      const std::size_t kind = random() % 4;
      TileStep step;
      step.kernel = kind == 0   ? unary(Unary::is_nan, type)
                    : kind == 1 ? select(type)
                                : binary(kind == 2 ? Binary::maximum : Binary::add, type);
      step.arity = kind == 0 ? 1 : kind == 1 ? 3 : 2;
      step.dtype = random() % 2 ? step.kernel.result : random_dtype(random);
      for (std::uint16_t& arg : step.args) arg = static_cast<std::uint16_t>(random() % (program.inputs + s));
      program.steps.push_back(step);
    }
    std::vector<DType> types;
    std::vector<Strides> strides;
    const Strides dense = random_strides(shape, random, true);
    for (std::size_t o = 1 + random() % 3; o > 0; --o) {
      const std::size_t reg = random() % 3 == 0 ? random() % (program.inputs + steps) : program.inputs + steps - 1;
      program.outputs.push_back(static_cast<std::uint16_t>(reg));
      const DType own = reg < program.inputs ? in[reg].desc().dtype : program.steps[reg - program.inputs].dtype;
      types.push_back(random() % 3 == 0 ? random_dtype(random) : own);
      strides.push_back(random() % 3 == 0 ? random_strides(shape, random, false) : dense);
    }
    expect_as_reference(program, in, types, shape, strides);
    if (HasFatalFailure()) return;
  }
}

// relu(x a + b) + x 0.5, as five steps.
TileProgram chain(DType type) {
  const TileKernel multiply = binary(Binary::multiply, type), sum = binary(Binary::add, type), relu = unary(Unary::relu, type);
  return {4,
          {{multiply, type, 2, {0, 1}},
           {sum, type, 2, {4, 2}},
           {relu, type, 1, {5}},
           {multiply, type, 2, {0, 3}},
           {sum, type, 2, {6, 7}}},
          {8}};
}

TEST(Tiles, FusedIsBitForBitAsStepByStep) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (DType type : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    const Shape shape{37, 111};
    std::vector<StridedTensor> in;
    for (const Shape& in_shape : {shape, Shape{111}, Shape{37, 1}, Shape{}}) {
      in.emplace_back(type, in_shape);
      walk<1>(in_shape, {in.back().desc().strides},
              [&](std::int64_t at) { write_scalar(Scalar(normal(random)), type, in.back().at(at)); });
    }
    StridedTensor t1(type, shape), t2(type, shape), t3(type, shape), t4(type, shape), apart(type, shape), fused(type, shape);
    const TileKernel multiply = binary(Binary::multiply, type), sum = binary(Binary::add, type), relu = unary(Unary::relu, type);
    run_tile(multiply, std::vector{in[0].view(), in[1].view()}, t1.view());
    run_tile(sum, std::vector{t1.view(), in[2].view()}, t2.view());
    run_tile(relu, std::vector{t2.view()}, t3.view());
    run_tile(multiply, std::vector{in[0].view(), in[3].view()}, t4.view());
    run_tile(sum, std::vector{t3.view(), t4.view()}, apart.view());
    const View out = fused.view();
    run_tiles(chain(type), std::vector{in[0].view(), in[1].view(), in[2].view(), in[3].view()}, {&out, 1});
    EXPECT_EQ(bytes_of(fused), bytes_of(apart)) << name_of(type);
  }
}

TEST(Tiles, AnOutputMayBeTheStorageOfAnInput) {
  std::mt19937 random(4);
  for (std::int64_t n : {1, 7, 64, 1000, 5000}) {
    std::vector<StridedTensor> in;
    for (const Shape& shape : {Shape{n}, Shape{}, Shape{n}, Shape{1}}) {
      in.emplace_back(DType::f32, shape);
      in.back().randomize(random);
    }
    const std::vector<View> views{in[0].view(), in[1].view(), in[2].view(), in[3].view()};
    StridedTensor apart(DType::f32, {n});
    const View out = apart.view();
    run_tiles(chain(DType::f32), views, {&out, 1});
    for (std::size_t k : {std::size_t{0}, std::size_t{2}}) {
      std::vector<StridedTensor> copies = in;
      const std::vector<View> again{copies[0].view(), copies[1].view(), copies[2].view(), copies[3].view()};
      run_tiles(chain(DType::f32), again, {&again[k], 1});
      EXPECT_EQ(bytes_of(copies[k]), bytes_of(apart)) << "over input " << k << " of " << n << " elements";
    }
    // Two outputs, the first of which is written while the input that it replaces is still to be read.
    const TileKernel sum = binary(Binary::add, DType::f32);
    const TileProgram two{2, {{sum, DType::f32, 2, {0, 1}}, {sum, DType::f32, 2, {2, 0}}}, {2, 3}};
    StridedTensor first(DType::f32, {n}), second(DType::f32, {n}), over = in[0], beside(DType::f32, {n});
    run_tiles(two, std::vector{in[0].view(), in[2].view()}, std::vector{first.view(), second.view()});
    run_tiles(two, std::vector{over.view(), in[2].view()}, std::vector{over.view(), beside.view()});
    EXPECT_EQ(bytes_of(over), bytes_of(first));
    EXPECT_EQ(bytes_of(beside), bytes_of(second));
  }
}

TEST(Tiles, ChannelsLastIsWalkedInItsOwnOrder) {
  std::mt19937 random(5);
  const Shape shape{2, 24, 9, 7};
  std::vector<StridedTensor> in;
  in.emplace_back(DType::f32, shape, channels_last_strides(shape));
  in.emplace_back(DType::f32, Shape{1, 24, 1, 1});
  for (StridedTensor& tensor : in) tensor.randomize(random);
  expect_as_reference(one_step(binary(Binary::multiply, DType::f32), 2, DType::f32), in, {DType::f32}, shape,
                      {channels_last_strides(shape)});
}

TEST(Tiles, LongColumnsAreReadSeveralAtATime) {
  std::mt19937 random(8);
  for (const Shape& shape : {Shape{40, 300}, Shape{3, 33, 1030}, Shape{5, 2500}, Shape{16, 256}, Shape{1, 300}}) {
    for (DType type : {DType::u8, DType::bf16, DType::f32, DType::f64}) {
      Strides turned = contiguous_strides(shape), flipped = turned;  // the last two axes exchanged, and the same read backwards
      const std::size_t last = shape.size() - 1;
      turned[last] = shape[last - 1], turned[last - 1] = 1;
      flipped[last] = -shape[last - 1], flipped[last - 1] = -1;
      std::vector<StridedTensor> in;
      in.emplace_back(type, shape, turned);
      in.emplace_back(type, shape, flipped);
      for (StridedTensor& tensor : in) tensor.randomize(random);
      expect_as_reference(one_step(binary(Binary::add, type), 2, type), in, {type}, shape, {contiguous_strides(shape)});
    }
  }
}

TEST(Tiles, ResultsDoNotDependOnTheNumberOfThreads) {
  std::mt19937 random(6);
  const Shape shape{700, 601};
  std::vector<StridedTensor> in;
  for (const Shape& in_shape : {shape, Shape{601}, Shape{700, 1}, Shape{}}) {
    in.emplace_back(DType::f32, in_shape);
    in.back().randomize(random);
  }
  StridedTensor turned(DType::f32, shape, {1, 700});
  turned.randomize(random);
  const std::vector<View> views{in[0].view(), in[1].view(), in[2].view(), in[3].view()};
  const int before = kernel_threads();
  std::vector<std::vector<std::byte>> results;
  for (int threads : {1, 2, 3}) {
    set_kernel_threads(threads);
    StridedTensor fused(DType::f32, shape), single(DType::f32, shape);
    const View out = fused.view();
    run_tiles(chain(DType::f32), views, {&out, 1});
    run_tile(binary(Binary::add, DType::f32), std::vector{in[0].view(), turned.view()}, single.view());
    std::vector<std::byte> bytes = bytes_of(fused), more = bytes_of(single);
    bytes.insert(bytes.end(), more.begin(), more.end());
    results.push_back(std::move(bytes));
  }
  set_kernel_threads(before);
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

}  // namespace
}  // namespace regrow::kernels
