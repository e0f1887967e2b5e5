// SPDX-License-Identifier: Apache-2.0
// What it is expected to take to write bytes out and to read them back: measured times, smoothed; the first counts whole. One thread.
#pragma once

#include <algorithm>
#include <cstddef>

namespace regrow::remat {

class TransferCost {
 public:
  double write(std::size_t bytes) const noexcept { return seconds(bytes, write_); }
  double read(std::size_t bytes) const noexcept { return seconds(bytes, read_); }
  // Small transfers say nothing about the rate.
  void moved(std::size_t bytes, double seconds, bool written) noexcept {
    if (bytes < least_measured) return;
    Rate& rate = written ? write_ : read_;
    const double now = std::max(seconds - latency, 0.0) / static_cast<double>(bytes);
    rate.seconds_a_byte = rate.measured ? rate.seconds_a_byte + (now - rate.seconds_a_byte) * weight : now;
    rate.measured = true;
  }

 private:
  struct Rate {
    double seconds_a_byte = 0.5e-9;
    bool measured = false;
  };
  static double seconds(std::size_t bytes, const Rate& rate) noexcept {
    return latency + static_cast<double>(bytes) * rate.seconds_a_byte;
  }

  static constexpr double latency = 50e-6;  // of a call, whatever its size
  static constexpr std::size_t least_measured = std::size_t{256} << 10;
  static constexpr double weight = 0.125;
  Rate write_, read_;
};

}  // namespace regrow::remat
