// SPDX-License-Identifier: Apache-2.0
// Large f32 operands, 64 MiB each: bytes a second that elementwise and reduction kernels move, as a part of what a copy moves
// here: memcpy, interleaved. One thread, median of an odd number of rounds. Prints JSON.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "regrow/kernels/elementwise.h"
#include "regrow/kernels/parallel.h"
#include "regrow/kernels/reduce.h"
#include "regrow/kernels/tile.h"

namespace regrow::kernels {
namespace {

constexpr std::int64_t rows = 4096, columns = 4096;

struct Buffer {
  Desc desc;
  std::vector<float> data;
  explicit Buffer(const Shape& shape)
      : desc(Desc::dense(DType::f32, shape)), data(static_cast<std::size_t>(desc.count()), 0.5f) {}
  View view() { return {&desc, reinterpret_cast<std::byte*>(data.data())}; }
};

double seconds(const std::function<void()>& run) {
  timespec begin, end;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
  run();
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
  return static_cast<double>(end.tv_sec - begin.tv_sec) + 1e-9 * static_cast<double>(end.tv_nsec - begin.tv_nsec);
}

double median(std::vector<double> list) {
  std::nth_element(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(list.size() / 2), list.end());
  return list[list.size() / 2];
}

nlohmann::ordered_json measure() {
  Buffer a({rows, columns}), b({rows, columns}), out({rows, columns}), row({columns}), column({rows}), one(Shape{});
  const View pair[] = {a.view(), b.view()}, scaled[] = {a.view(), one.view()}, single[] = {a.view()};
  struct Case {
    const char* name;
    double passes;  // operands of full size that are read or written
    std::function<void()> run;
  };
  const std::vector<Case> cases = {
      {"add", 3, [&] { run_tile(binary(Binary::add, DType::f32), pair, out.view()); }},
      {"multiply by a scalar", 2, [&] { run_tile(binary(Binary::multiply, DType::f32), scaled, out.view()); }},
      {"relu", 2, [&] { run_tile(unary(Unary::relu, DType::f32), single, out.view()); }},
      {"sum of all", 1,
       [&] {
         reduce(Fold::sum, a.view(), {0, 1}, one.view());
       }},
      {"sum of rows", 1, [&] { reduce(Fold::sum, a.view(), {1}, column.view()); }},
      {"sum of columns", 1, [&] { reduce(Fold::sum, a.view(), {0}, row.view()); }},
      {"max of rows", 1, [&] { reduce(Fold::max, a.view(), {1}, column.view()); }},
  };
  nlohmann::ordered_json result;
  for (const Case& c : cases) {
    std::vector<double> ratios, rates;
    for (int round = 0; round < 8; ++round) {
      const double copy = seconds([&] { std::memcpy(out.data.data(), a.data.data(), a.desc.bytes()); });
      const double own = seconds(c.run), bytes = static_cast<double>(a.desc.bytes());
      if (round == 0) continue;  // warms up
      rates.push_back(c.passes * bytes / own), ratios.push_back(c.passes * copy / own / 2);
    }
    result[c.name] = {{"gigabytes_a_second", 1e-9 * median(rates)}, {"of_copy", median(ratios)}};
    one.data[0] = 0.5f;
  }
  return result;
}

}  // namespace
}  // namespace regrow::kernels

int main() {
  regrow::kernels::set_kernel_threads(1);
  fmt::print("{}\n", regrow::kernels::measure().dump(2));
  return 0;
}
