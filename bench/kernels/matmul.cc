// SPDX-License-Identifier: Apache-2.0
// Products of the models' steps against oneDNN's own (dnnl_sgemm) on the same shape: one thread, processor time, interleaved, the
// median of an odd number of rounds. Prints JSON.
#include <dnnl.h>
#include <fmt/format.h>
#include <omp.h>
#include <time.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "regrow/kernels/matmul.h"
#include "regrow/kernels/parallel.h"

namespace regrow::kernels {
namespace {

// C (m, n) = A (m, k) B (k, n); a transposed side lies in memory as its transpose.
struct Case {
  const char* name;
  std::int64_t m, n, k;
  bool a_transposed, b_transposed;
};
constexpr Case cases[] = {
    {"mlp, forward", 2048, 64, 64, false, true},       {"mlp, input", 2048, 64, 64, false, false},
    {"mlp, weight", 64, 64, 2048, true, false},        {"gpt, 64 to 192", 4096, 192, 64, false, true},
    {"gpt, 64 to 256", 4096, 256, 64, false, true},    {"gpt, 256 to 64", 4096, 64, 256, false, true},
    {"gpt, input", 4096, 64, 256, false, false},       {"gpt, weight", 256, 64, 4096, true, false},
    {"lstm, inputs", 512, 512, 128, false, true},      {"lstm, a step", 64, 512, 128, false, false},
    {"lstm, a step back", 64, 128, 512, false, false}, {"lstm, weight", 512, 128, 512, true, false},
    {"256 cubed", 256, 256, 256, false, false},        {"512 cubed", 512, 512, 512, false, false},
    {"1024 cubed", 1024, 1024, 1024, false, false},    {"1024 cubed, A transposed", 1024, 1024, 1024, true, false},
};

struct Buffer {
  Desc desc;
  std::vector<float> data;
  Buffer(std::int64_t rows, std::int64_t columns, bool transposed)
      : desc(Desc::dense(DType::f32, {rows, columns})), data(static_cast<std::size_t>(rows * columns)) {
    if (transposed) desc.strides = {1, rows};
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = 0.001f * static_cast<float>(i % 1999) - 1;
  }
  View view() { return {&desc, reinterpret_cast<std::byte*>(data.data())}; }
};

double now() {
  timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

template <class Run>
double seconds(Run&& run) {
  const double begin = now();
  int calls = 0;
  do run(), ++calls;
  while (now() - begin < 0.005);
  return (now() - begin) / calls;
}

double median(std::vector<double> list) {
  std::nth_element(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(list.size() / 2), list.end());
  return list[list.size() / 2];
}

nlohmann::ordered_json measure(const Case& c) {
  Buffer a(c.m, c.k, c.a_transposed), b(c.k, c.n, c.b_transposed), out(c.m, c.n, false), theirs(c.m, c.n, false);
  std::vector<std::byte> bytes(matmul_workspace(a.desc, b.desc, out.desc) + 64);
  std::byte* aligned = bytes.data() + (64 - reinterpret_cast<std::uintptr_t>(bytes.data()) % 64) % 64;
  std::vector<double> times[2], ratios;
  for (int round = 0; round < 16; ++round) {
    times[0].push_back(seconds([&] { matmul(a.view(), b.view(), out.view(), {aligned, bytes.size() - 64}); }));
    times[1].push_back(seconds([&] {
      dnnl_sgemm(c.a_transposed ? 'T' : 'N', c.b_transposed ? 'T' : 'N', c.m, c.n, c.k, 1, a.data.data(),
                 c.a_transposed ? c.m : c.k, b.data.data(), c.b_transposed ? c.k : c.n, 0, theirs.data.data(), c.n);
    }));
    if (round == 0)
      times[0].clear(), times[1].clear();  // warms up
    else
      ratios.push_back(times[0].back() / times[1].back());
  }
  const double flops = 2e-9 * static_cast<double>(c.m * c.n * c.k);
  return {{"name", c.name},
          {"m", c.m},
          {"n", c.n},
          {"k", c.k},
          {"gflops", flops / median(times[0])},
          {"onednn_gflops", flops / median(times[1])},
          {"time_over_onednn", median(ratios)}};
}

}  // namespace
}  // namespace regrow::kernels

int main() {
  omp_set_num_threads(1);
  regrow::kernels::set_kernel_threads(1);
  nlohmann::ordered_json rows = nlohmann::json::array();
  for (const auto& c : regrow::kernels::cases) rows.push_back(regrow::kernels::measure(c));
  fmt::print("{}\n", rows.dump(2));
  return 0;
}
