// SPDX-License-Identifier: Apache-2.0
// Offsets beyond 2^31: elements of bytes in memory that is mapped and mostly never touched, or zero. "B…" names a row of the
// catalogue of faults.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <vector>

#include "regrow/ops/op.h"

namespace regrow {
namespace {

// Zeros that take memory only where they are written.
class Mapping {
 public:
  explicit Mapping(std::int64_t bytes) : bytes_(static_cast<std::size_t>(bytes)) {
    void* at = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<std::byte*>(at);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() { munmap(data_, bytes_); }
  std::byte* data() const { return data_; }
  std::int8_t& operator[](std::int64_t i) const { return reinterpret_cast<std::int8_t*>(data_)[i]; }
  std::int64_t count(std::int8_t value) const {
    const auto* first = reinterpret_cast<const std::int8_t*>(data_);
    return std::count(first, first + bytes_, value);
  }

 private:
  std::size_t bytes_;
  std::byte* data_ = nullptr;
};

class Large : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::getenv("REGROW_LARGE_TESTS")) GTEST_SKIP() << "takes 5 GiB of memory: set REGROW_LARGE_TESTS";
  }
};

void run(const Op& op, std::initializer_list<View> in, const View& out) {
  std::vector<const Desc*> in_descs, out_descs = {out.desc};
  for (const View& view : in) in_descs.push_back(view.desc);
  std::vector<OutDesc> inferred;
  infer(op, in_descs, inferred);
  ASSERT_EQ(static_cast<const Desc&>(inferred.at(0)), *out.desc);
  const std::size_t bytes = workspace_bytes(op, in_descs, out_descs);
  const Mapping workspace(static_cast<std::int64_t>(bytes) + 1);
  compute(op, {in.begin(), in.size()}, {&out, 1}, {}, {workspace.data(), bytes});
}

constexpr std::int64_t beyond = std::int64_t{1} << 31;

TEST_F(Large, B122SettingTheLastElementOfALongAxis) {
  const Desc desc = Desc::dense(DType::i8, {2, beyond}), one = Desc::dense(DType::i8, {});
  const Mapping x(2 * beyond);
  std::byte value{1};
  const View view{&desc, x.data()};
  const Op set =
      op("set_slice", {{"start", Dims{1, beyond - 1}}, {"stop", Dims{2, beyond}}, {"step", Dims{1, 1}}, {"squeeze", Dims{0, 1}}});
  const View in[] = {view, {&one, &value}};
  compute(set, in, {&view, 1}, {}, {});  // in place
  EXPECT_EQ(x[2 * beyond - 1], 1);
  EXPECT_EQ(x[beyond - 1], 0);
}

TEST_F(Large, B123BroadcastingBeyondTwoToTheThirtyOne) {
  constexpr std::int64_t rows = 1000, columns = 2147484;
  const Desc wide = Desc::dense(DType::boolean, {rows, columns}), row = Desc::dense(DType::boolean, {columns}),
             scalar = Desc::dense(DType::boolean, {1, 1});
  const Mapping flags(columns), out(rows * columns);
  for (std::int64_t i = 0; i < columns; i += 3) flags[i] = 1;
  bool yes = true;
  Desc all = scalar;
  all.shape = {rows, 1}, all.strides = {0, 0};
  run(op("multiply"), {{&all, reinterpret_cast<std::byte*>(&yes)}, {&row, flags.data()}}, {&wide, out.data()});
  EXPECT_EQ(out.count(1), rows * ((columns + 2) / 3));
  for (std::int64_t r : {std::int64_t{0}, rows / 2, rows - 1})
    EXPECT_TRUE(std::equal(out.data() + r * columns, out.data() + (r + 1) * columns, flags.data())) << r;
}

TEST_F(Large, B124ScatteringByShortIndices) {
  constexpr std::int64_t a = 46342, b = 46341;
  const Desc desc = Desc::dense(DType::i8, {1, a, b}), index = Desc::dense(DType::i32, {1}), one = Desc::dense(DType::i8, {1});
  const Mapping x(a * b), out(a * b);
  std::int32_t places[] = {0, 46341, 0};
  std::byte value{1};
  const auto place = [&](int i) { return View{&index, reinterpret_cast<std::byte*>(places + i)}; };
  run(op("index_put", {{"axes", Dims{0, 1, 2}}}), {{&desc, x.data()}, {&one, &value}, place(0), place(1), place(2)},
      {&desc, out.data()});
  EXPECT_EQ(out[46341 * b], 1);
  EXPECT_EQ(out.count(1), 1);
}

TEST_F(Large, B110ArgumentOfTheMaximumBeyondTwoToTheThirtyOne) {
  constexpr std::int64_t rows = 64, columns = beyond / rows + 1;
  Desc desc = Desc::dense(DType::i8, {rows, columns});
  const Desc out_desc = Desc::dense(DType::i64, {rows});
  const Mapping x(rows * columns);
  for (std::int64_t r = 0; r < rows; ++r) x[r * columns + columns - 5] = 1;
  std::int64_t found[rows] = {};
  run(op("argmax", {{"axis", Axes{1}}}), {{&desc, x.data()}}, {&out_desc, reinterpret_cast<std::byte*>(found)});
  for (std::int64_t at : found) EXPECT_EQ(at, columns - 5);
}

TEST_F(Large, SumOfMoreElementsThanThirtyTwoBitsCount) {
  const Desc desc = Desc::dense(DType::i8, {2 * beyond + 3}), out_desc = Desc::dense(DType::i64, {});
  const Mapping x(2 * beyond + 3);
  x[0] = 1, x[beyond] = 2, x[2 * beyond + 2] = 4;
  std::int64_t sum = 0;
  run(op("sum"), {{&desc, x.data()}}, {&out_desc, reinterpret_cast<std::byte*>(&sum)});
  EXPECT_EQ(sum, 7);
}

}  // namespace
}  // namespace regrow
