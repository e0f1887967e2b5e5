// SPDX-License-Identifier: Apache-2.0
// What the tests of channels share: values in one line, and a gate that holds the worker until it is opened.
#pragma once

#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "regrow/runtime/channel.h"

namespace regrow {

inline HostArray floats(std::vector<float> values, Shape shape) { return HostArray::from(values, shape); }
inline HostArray floats(std::vector<float> values) {
  const Shape shape{static_cast<std::int64_t>(values.size())};
  return HostArray::from(values, shape);
}
inline HostArray ints(std::vector<std::int64_t> values) {
  const Shape shape{static_cast<std::int64_t>(values.size())};
  return HostArray::from(values, shape);
}

inline Handle apply_one(Channel& channel, const Op& op, std::initializer_list<Handle> inputs, Site site = Site::here()) {
  return channel.apply_op(op, inputs, site).at(0);
}

// Its own value, not kept on the host: what can be known only by asking the worker.
inline Handle put_large(Channel& channel, float first, std::int64_t count = 64) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = first + static_cast<float>(i);
  return channel.put(HostArray::from(values, Shape{count}), {.no_cache = true});
}

// The worker stands still from close_on() until open(), or the gate's end.
class Gate {
 public:
  ~Gate() { open(); }
  void close_on(Channel& channel) {
    channel.apply_op(callback_op("gate", [this](std::span<const HostArray>) {
                       entered_.set_value();
                       opened_.wait();
                       return std::vector<HostArray>();
                     }, {.outputs = std::vector<CallbackOutput>{}}),
                     {});
    entered_.get_future().wait();
  }
  void open() {
    if (!std::exchange(is_open_, true)) open_.set_value();
  }

 private:
  bool is_open_ = false;
  std::promise<void> open_, entered_;
  std::shared_future<void> opened_ = open_.get_future().share();
};

template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

}  // namespace regrow
