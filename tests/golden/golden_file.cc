// SPDX-License-Identifier: Apache-2.0
#include "tests/golden/golden_file.h"

#include <bit>
#include <fstream>
#include <limits>
#include <sstream>
#include <stdexcept>

#include "regrow/tensor/visit.h"

namespace regrow::golden {
namespace {

using nlohmann::json;

int digit(char c) { return c <= '9' ? c - '0' : c - 'a' + 10; }

HostArray array_of(const json& from) {
  Shape shape;
  for (const json& size : from["shape"]) shape.push_back(size.get<std::int64_t>());
  std::byte* bytes = nullptr;
  HostArray array = HostArray::uninitialized(dtype_named(from["dtype"].get<std::string>()), shape, &bytes);
  const std::string digits = from["data"].get<std::string>();
  if (digits.size() != 2 * array.bytes()) throw std::runtime_error("a golden file has an array with the wrong number of bytes");
  for (std::size_t i = 0; i < array.bytes(); ++i)
    bytes[i] = static_cast<std::byte>(digit(digits[2 * i]) * 16 + digit(digits[2 * i + 1]));
  return array;
}

// Floating values as integers in the same order, one apart where the values are neighbours; -0 beside 0.
template <class T>
std::int64_t rank_of(T x) {
  using Bits = std::conditional_t<sizeof(T) == 2, std::int16_t, std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>>;
  const auto bits = std::bit_cast<Bits>(x);
  return bits < 0 ? -static_cast<std::int64_t>(bits & std::numeric_limits<Bits>::max()) - 1 : bits;
}

template <class T>
bool near(T a, T b, std::int64_t ulp) {
  if constexpr (std::is_integral_v<T>) {
    return a == b;
  } else {
    using Number = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const auto x = static_cast<Number>(a), y = static_cast<Number>(b);
    if (x != x || y != y) return x != x && y != y;
    const std::int64_t apart = rank_of(a) - rank_of(b);
    return apart <= ulp && -apart <= ulp;
  }
}

}  // namespace

std::string Case::text() const {
  std::string inputs;
  for (const HostArray& array : in) inputs += (inputs.empty() ? "" : ", ") + to_string(array.dtype()) + to_string(array.shape());
  return op + "(" + inputs + "; " + attrs.dump() + ")";
}

std::vector<Case> read(const std::string& family) {
  const json file = json::parse(std::ifstream(std::string(GOLDEN_FOLDER) + "/" + family + ".json"));
  std::vector<HostArray> arrays;
  for (const json& array : file["arrays"]) arrays.push_back(array_of(array));
  std::vector<Case> cases;
  for (const json& from : file["cases"]) {
    Case next{from["op"], from["attrs"], {}, {}, from.value("ulp", std::int64_t{0})};
    for (const json& i : from["in"]) next.in.push_back(arrays.at(i.get<std::size_t>()));
    for (const json& i : from["out"]) next.out.push_back(arrays.at(i.get<std::size_t>()));
    cases.push_back(std::move(next));
  }
  return cases;
}

std::string difference(const HostArray& got, const HostArray& expected, std::int64_t ulp) {
  const auto kind = [](const HostArray& array) { return to_string(array.dtype()) + to_string(array.shape()); };
  if (got.dtype() != expected.dtype() || got.shape() != expected.shape()) return "is " + kind(got) + ", not " + kind(expected);
  std::string text;
  visit_type(got.dtype(), [&]<class T>(Type<T>) {
    const T *a = reinterpret_cast<const T*>(got.data()), *b = reinterpret_cast<const T*>(expected.data());
    for (std::int64_t i = 0; i < got.count() && text.empty(); ++i) {
      if (near(a[i], b[i], ulp)) continue;
      std::ostringstream out;
      out.precision(17);
      if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
        out << "element " << i << " is " << static_cast<float>(a[i]) << ", not " << static_cast<float>(b[i]);
      else
        out << "element " << i << " is " << +a[i] << ", not " << +b[i];
      text = out.str();
    }
  });
  return text;
}

}  // namespace regrow::golden
