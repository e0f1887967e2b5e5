// SPDX-License-Identifier: Apache-2.0
// Modules of sequences: Embedding, LSTM and its cell, MultiHeadAttention; names as PyTorch's, values against their parts.
#include <gtest/gtest.h>

#include <cmath>

#include "regrow/engine/default_channel.h"
#include "regrow/frontend/create.h"
#include "regrow/frontend/grad.h"
#include "regrow/nn/nn.h"
#include "regrow/ops.h"

namespace regrow {
namespace {

std::vector<std::string> names_of(const nn::Module& module) {
  std::vector<std::string> names;
  for (const auto& [name, parameter] : module.named_parameters()) names.push_back(name);
  return names;
}

void expect_near(const Tensor& got, const Tensor& expected, double tolerance) {
  ASSERT_EQ(got.shape(), expected.shape());
  const std::vector<float> a = got.to_vector<float>(), b = expected.to_vector<float>();
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], tolerance) << i;
}

using Names = std::vector<std::string>;

TEST(Modules, ParametersAreNamedAsPyTorchNamesThem) {
  EXPECT_EQ(names_of(nn::LSTM(3, 4, {.layers = 2})), (Names{"weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0",
                                                            "weight_ih_l1", "weight_hh_l1", "bias_ih_l1", "bias_hh_l1"}));
  EXPECT_EQ(names_of(nn::LSTM(3, 4, {.bias = false})), (Names{"weight_ih_l0", "weight_hh_l0"}));
  EXPECT_EQ(names_of(nn::LSTMCell(3, 4)), (Names{"weight_ih", "weight_hh", "bias_ih", "bias_hh"}));
  EXPECT_EQ(names_of(nn::Embedding(5, 2)), (Names{"weight"}));
  EXPECT_EQ(names_of(nn::MultiHeadAttention(6, 2)),
            (Names{"in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias"}));
  const auto lstm = nn::LSTM(3, 4, {.layers = 2}).named_parameters();
  EXPECT_EQ(lstm[0].second.value().shape(), (Shape{16, 3}));
  EXPECT_EQ(lstm[4].second.value().shape(), (Shape{16, 4}));
}

TEST(Embedding, APaddingRowStaysZero) {
  const nn::Embedding table(5, 3, {.padding_idx = -2});
  const Tensor out = table(tensor({3, 1}));
  EXPECT_EQ(Tensor(out[0]).to_vector<float>(), (std::vector<float>{0, 0, 0}));
  sum(table(tensor({3, 1, 1}))).backward();
  EXPECT_EQ(table.weight().grad().to_vector<float>(), (std::vector<float>{0, 0, 0, 2, 2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_THROW(nn::Embedding(5, 3, {.padding_idx = 5}), Error);
}

// Two layers over a sequence are their cells, step by step: values, state and gradients.
TEST(LSTM, IsItsCellsStepByStep) {
  const nn::LSTM lstm(3, 4, {.layers = 2});
  const nn::LSTMCell cells[] = {nn::LSTMCell(3, 4), nn::LSTMCell(4, 4)};
  const auto parameters = lstm.named_parameters();
  for (std::size_t k = 0; k < 2; ++k)
    for (std::size_t i = 0; i < 4; ++i)
      cells[k].named_parameters()[i].second.set_value(parameters[4 * k + i].second.value().detach());
  const Tensor x = uniform({5, 2, 3}, {.low = -1, .high = 1}), h = uniform({2, 2, 4}), c = uniform({2, 2, 4});
  const nn::LSTMOutput all = lstm(x, {h, c});
  nn::LSTMState state[] = {{h[0], c[0]}, {h[1], c[1]}};
  std::vector<Tensor> outs;
  for (std::int64_t t = 0; t < 5; ++t) {
    state[0] = cells[0](x[t], state[0]);
    state[1] = cells[1](state[0].hidden, state[1]);
    outs.push_back(state[1].hidden);
  }
  const Tensor stepped = stack(outs);
  expect_near(all.out, stepped, 1e-6);
  expect_near(all.state.hidden, stack({state[0].hidden, state[1].hidden}), 1e-6);
  expect_near(all.state.cell, stack({state[0].cell, state[1].cell}), 1e-6);
  sum(square(all.out)).backward();
  sum(square(stepped)).backward();
  for (std::size_t k = 0; k < 2; ++k)
    for (std::size_t i = 0; i < 4; ++i)
      expect_near(parameters[4 * k + i].second.grad(), cells[k].named_parameters()[i].second.grad(), 1e-5);
}

TEST(LSTM, PiecesGiveTheSame) {
  const nn::LSTM whole(3, 4, {.batch_first = true});
  const nn::LSTM pieces(3, 4, {.batch_first = true, .steps_together = 2});
  for (std::size_t i = 0; i < 4; ++i)
    pieces.named_parameters()[i].second.set_value(whole.named_parameters()[i].second.value().detach());
  const Tensor x = uniform({2, 5, 3}, {.low = -1, .high = 1});
  const nn::LSTMOutput a = whole(x), b = pieces(x);
  EXPECT_EQ(a.out.shape(), (Shape{2, 5, 4}));
  expect_near(a.out, b.out, 1e-6);
  expect_near(a.state.cell, b.state.cell, 1e-6);
  (sum(square(a.out)) + sum(a.state.cell)).backward();
  (sum(square(b.out)) + sum(b.state.cell)).backward();
  for (std::size_t i = 0; i < 4; ++i)
    expect_near(whole.named_parameters()[i].second.grad(), pieces.named_parameters()[i].second.grad(), 1e-5);
}

// Of all scores at once, head by head.
TEST(MultiHeadAttention, IsItsHeadsAndProjections) {
  const nn::MultiHeadAttention attention(6, 2);
  const auto parameters = attention.named_parameters();
  parameters[1].second.set_value(uniform({18}));  // biases start as 0
  const Tensor x = uniform({2, 5, 6}, {.low = -1, .high = 1});
  const std::vector<Tensor> qkv = split(linear(x, parameters[0].second.value(), parameters[1].second.value()), 3, {.axis = 2});
  std::vector<Tensor> heads;
  for (std::int64_t head = 0; head < 2; ++head) {
    const auto part = [&](const Tensor& all) { return split(all, 2, {.axis = 2})[static_cast<std::size_t>(head)]; };
    const Tensor scores = matmul(part(qkv[0]), transpose(part(qkv[1]))) / std::sqrt(3.0);
    const Tensor seen = arange(5).reshape({5, 1}) >= arange(5);
    heads.push_back(matmul(softmax(where(seen, scores, -INFINITY)), part(qkv[2])));
  }
  const Tensor expected = linear(concat(heads, {.axis = 2}), parameters[2].second.value(), parameters[3].second.value());
  expect_near(attention(x, {.causal = true}), expected, 1e-6);
  expect_near(attention(x, x, x, {.causal = true}), expected, 1e-6);
  EXPECT_THROW(nn::MultiHeadAttention(6, 4), Error);
}

TEST(MultiHeadAttention, DropsWeightsInTrainingAlone) {
  const nn::MultiHeadAttention attention(6, 2, {.dropout = 0.5});
  const Tensor x = uniform({1, 8, 6});
  EXPECT_NE(attention(x).to_vector<float>(), attention(x).to_vector<float>());
  attention.eval();
  EXPECT_EQ(attention(x).to_vector<float>(), attention(x).to_vector<float>());
}

TEST(Activations, AreTheirFunctions) {
  const Tensor x = tensor({-1.f, 0.5f, 2.f});
  EXPECT_EQ(nn::GELU()(x).to_vector<float>(), gelu(x).to_vector<float>());
  EXPECT_EQ(nn::GELU("tanh")(x).to_vector<float>(), gelu(x, {.approximate = "tanh"}).to_vector<float>());
  EXPECT_EQ(nn::SiLU()(x).to_vector<float>(), silu(x).to_vector<float>());
  EXPECT_EQ(nn::Sigmoid()(x).to_vector<float>(), sigmoid(x).to_vector<float>());
  EXPECT_EQ(nn::Softmax()(x).to_vector<float>(), softmax(x).to_vector<float>());
  EXPECT_THROW(nn::GELU("erf"), Error);
}

}  // namespace
}  // namespace regrow
