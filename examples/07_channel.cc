// SPDX-License-Identifier: Apache-2.0
// The interpreter by handle, without tensors: for frameworks that bring their own. Host code runs in the stream as an operator.
#include <regrow/regrow.h>

#include <iostream>
#include <vector>

namespace rg = regrow;

int main() {
  rg::Channel channel(rg::Options{.async_level = 2, .lookahead = 16});

  rg::Handle x = channel.put(rg::HostArray::from(std::vector<float>{1, 2, 3, 4}, {2, 2}));
  rg::Handle y = channel.apply_op(rg::op("matmul"), {x, x}).at(0);  // queued, not waited for
  rg::Handle z = channel.apply_op(rg::op("sum", {{"axis", rg::Axes{0}}}), {y}).at(0);
  channel.del(y);  // the value goes once nothing needs it

  // Known without waiting.
  std::cout << "shape " << rg::to_string(channel.get_shape(z)) << ", type " << rg::name_of(channel.get_dtype(z)) << "\n";

  // A function on the host, in its place in the stream, on the worker.
  rg::Op negate = rg::callback_op("negate", [](std::span<const rg::HostArray> in) {
    std::vector<float> values = in[0].to_vector<float>();
    for (float& value : values) value = -value;
    return std::vector{rg::HostArray::from(values, in[0].shape())};
  });
  rg::Handle negated = channel.apply_op(negate, {z}).at(0);
  const std::vector<float> values = channel.get_value(negated).to_vector<float>();  // waits
  std::cout << "values " << values[0] << " " << values[1] << "\n";

  channel.sync();
  channel.close();                                        // deletes what lives
  return values == std::vector<float>{-22, -32} ? 0 : 1;  // [[1, 2], [3, 4]] squared is [[7, 10], [15, 22]]
}
