// SPDX-License-Identifier: Apache-2.0
// Saving everything and going on later: the bits are those of never having stopped, dropout included.
#include <regrow/regrow.h>

#include <filesystem>
#include <iostream>

namespace rg = regrow;
namespace nn = regrow::nn;

// The modules, the optimizer and the random numbers: all that a training consists of.
struct Training {
  nn::Sequential net{nn::Linear(8, 32), nn::ReLU(), nn::Dropout(0.1), nn::Linear(32, 1)};
  rg::optim::AdamW optimizer{net.parameters(), {.learning_rate = 0.01}};

  float learn(int steps) {
    rg::Tensor loss;
    for (int i = 0; i < steps; ++i) {
      rg::Tensor x = rg::normal({16, 8});
      loss = rg::mse_loss(net(x), rg::mean(x, {.axis = 1, .keepdims = true}));
      optimizer.zero_grad();
      loss.backward();
      optimizer.step();
    }
    return loss.item<float>();
  }
};

int main() {
  const auto path = std::filesystem::temp_directory_path() / "regrow-example.safetensors";
  rg::seed(3);
  Training first;
  first.learn(50);
  rg::io::save_checkpoint(path, {.module = &first.net, .optimizer = &first.optimizer, .metadata = {{"steps", "50"}}});
  const float without_a_stop = first.learn(50);

  Training second;  // other initial values, another place in the random numbers
  const rg::io::Metadata metadata = rg::io::load_checkpoint(path, {.module = &second.net, .optimizer = &second.optimizer});
  const float after_a_stop = second.learn(50);
  std::cout << "stopped after " << metadata.at("steps") << " steps: " << after_a_stop << ", never stopped: " << without_a_stop
            << "\n";

  // The file is safetensors: other programs read it by name.
  for (const auto& [name, value] : rg::io::load_safetensors(path)) {
    if (name.starts_with("0.")) std::cout << name << " " << rg::to_string(value.shape()) << "\n";
  }
  std::filesystem::remove(path);
  return after_a_stop == without_a_stop ? 0 : 1;
}
