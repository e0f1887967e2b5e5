// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <ostream>

#include "regrow/frontend/tensor.h"

namespace regrow {
namespace {

// NumPy's defaults: 8 digits after the point, lines of 75 columns, and of more than 1,000 elements the outer three on each side.
constexpr int precision = 8;
constexpr std::size_t columns = 75;
constexpr std::int64_t summarized_above = 1000, edge = 3;

double as_double(const HostArray& array, std::int64_t i) {
  const std::byte* at = array.data() + static_cast<std::size_t>(i) * size_of(array.dtype());
  switch (array.dtype()) {
    case DType::f16: return static_cast<float>(*reinterpret_cast<const Half*>(at));
    case DType::bf16: return static_cast<float>(*reinterpret_cast<const BFloat16*>(at));
    case DType::f32: return *reinterpret_cast<const float*>(at);
    default: return *reinterpret_cast<const double*>(at);
  }
}

std::string integer_text(const HostArray& array, std::int64_t i) {
  const std::byte* at = array.data() + static_cast<std::size_t>(i) * size_of(array.dtype());
  switch (array.dtype()) {
    case DType::boolean: return *reinterpret_cast<const bool*>(at) ? "True" : "False";
    case DType::i8: return fmt::to_string(static_cast<int>(*reinterpret_cast<const std::int8_t*>(at)));
    case DType::i16: return fmt::to_string(*reinterpret_cast<const std::int16_t*>(at));
    case DType::i32: return fmt::to_string(*reinterpret_cast<const std::int32_t*>(at));
    case DType::i64: return fmt::to_string(*reinterpret_cast<const std::int64_t*>(at));
    case DType::u8: return fmt::to_string(static_cast<int>(*reinterpret_cast<const std::uint8_t*>(at)));
    case DType::u16: return fmt::to_string(*reinterpret_cast<const std::uint16_t*>(at));
    case DType::u32: return fmt::to_string(*reinterpret_cast<const std::uint32_t*>(at));
    default: return fmt::to_string(*reinterpret_cast<const std::uint64_t*>(at));
  }
}

// The shortest digits that give the element back: of a double, or of the narrower type it came from.
std::string shortest(double value, bool narrow, bool scientific) {
  std::string text = narrow ? fmt::format("{:e}", static_cast<float>(value)) : fmt::format("{:e}", value);
  std::string digits = narrow ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
  const std::size_t mark = digits.find('e');
  std::string significant;
  for (char c : digits.substr(0, mark))
    if (c >= '0' && c <= '9' && !(significant.empty() && c == '0')) significant += c;
  while (significant.size() > 1 && significant.back() == '0') significant.pop_back();
  const int length = std::max<int>(static_cast<int>(significant.size()), 1);
  if (scientific) return fmt::format("{:.{}e}", value, std::min(length - 1, precision));
  const int exponent = value == 0 ? 0 : std::stoi(text.substr(text.find('e') + 1));
  return fmt::format("{:.{}f}", value, std::clamp(length - 1 - exponent, 0, precision));
}

// Elements as text of one width, points aligned.
class Elements {
 public:
  Elements(const HostArray& array, const std::vector<std::int64_t>& shown)
      : array_(array), floating_(is_floating(array.dtype())) {
    if (floating_) choose_notation(shown);
    std::size_t odd = 0;  // the longest of nan and inf, which have no point to align
    for (std::int64_t i : shown) {
      const auto [left, right] = split(text(i));
      if (floating_ && !std::isfinite(as_double(array_, i))) {
        odd = std::max(odd, left.size());
        continue;
      }
      left_ = std::max(left_, left.size()), right_ = std::max(right_, right.size());
    }
    if (odd > left_ + right_) left_ = odd - right_;
  }
  std::string operator()(std::int64_t i) const {
    const auto [left, right] = split(text(i));
    if (floating_ && !std::isfinite(as_double(array_, i))) return fmt::format("{:>{}}", left, left_ + right_);
    return fmt::format("{:>{}}{:<{}}", left, left_, scientific_ ? padded(right) : right, right_);
  }

 private:
  static std::pair<std::string, std::string> split(const std::string& text) {
    const std::size_t point = text.find('.');
    return point == std::string::npos ? std::pair(text, std::string()) : std::pair(text.substr(0, point), text.substr(point));
  }
  // In scientific notation zeros fill the mantissa, not blanks.
  std::string padded(std::string right) const {
    const std::size_t mark = right.find('e');
    if (mark != std::string::npos && right.size() < right_) right.insert(mark, right_ - right.size(), '0');
    return right;
  }
  void choose_notation(const std::vector<std::int64_t>& shown) {
    double least = INFINITY, most = 0;
    for (std::int64_t i : shown) {
      const double magnitude = std::abs(as_double(array_, i));
      if (std::isfinite(magnitude) && magnitude != 0) least = std::min(least, magnitude), most = std::max(most, magnitude);
    }
    scientific_ = most > 0 && (most >= 1e8 || least < 1e-4 || most / least > 1000);
  }
  std::string text(std::int64_t i) const {
    if (!floating_) return integer_text(array_, i);
    const double value = as_double(array_, i);
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
    std::string text = shortest(value, array_.dtype() != DType::f64, scientific_);
    if (text.find('.') == std::string::npos) text.insert(std::min(text.find('e'), text.size()), ".");
    return text;
  }

  const HostArray& array_;
  bool floating_, scientific_ = false;
  std::size_t left_ = 0, right_ = 0;
};

class Printer {
 public:
  explicit Printer(const HostArray& array) : array_(array), strides_(contiguous_strides(array.shape())) {
    summarized_ = array.count() > summarized_above;
    collect(0, 0);
  }
  std::string print() {
    const Elements elements(array_, shown_);
    if (array_.shape().empty()) return elements(0);
    block(0, 0, elements);
    return std::move(text_);
  }

 private:
  // Calls visit(index, after_gap) for the indices of an axis that are shown.
  void each(std::size_t axis, const std::function<void(std::int64_t, bool)>& visit) const {
    const std::int64_t size = array_.shape()[axis];
    const bool cut = summarized_ && size > 2 * edge;
    for (std::int64_t i = 0; i < size; ++i) {
      if (cut && i == edge) i = size - edge;
      visit(i, cut && i == size - edge);
    }
  }
  void collect(std::size_t axis, std::int64_t at) {
    if (axis == array_.shape().size()) return shown_.push_back(at);
    each(axis, [&](std::int64_t i, bool) { collect(axis + 1, at + i * strides_[axis]); });
  }
  void block(std::size_t axis, std::int64_t at, const Elements& elements) {
    const std::size_t rank = array_.shape().size();
    text_ += '[';
    if (axis + 1 == rank)
      row(at, elements);
    else
      each(axis, [&](std::int64_t i, bool gap) {
        const std::string between = std::string(rank - 1 - axis, '\n') + std::string(axis + 1, ' ');
        if (gap) text_ += between + "...";
        if (i > 0) text_ += between;
        block(axis + 1, at + i * strides_[axis], elements);
      });
    text_ += ']';
  }
  void row(std::int64_t at, const Elements& elements) {
    const std::size_t rank = array_.shape().size();
    std::size_t used = rank;
    auto put = [&](const std::string& word, bool first) {
      if (!first && used + word.size() + 1 > columns - 1)
        text_ += "\n" + std::string(rank, ' '), used = rank;
      else if (!first)
        text_ += ' ', ++used;
      text_ += word, used += word.size();
    };
    each(rank - 1, [&](std::int64_t i, bool gap) {
      if (gap) put("...", false);
      put(elements(at + i), i == 0);
    });
  }

  const HostArray& array_;
  const Strides strides_;
  bool summarized_ = false;
  std::vector<std::int64_t> shown_;
  std::string text_;
};

}  // namespace

std::string to_string(const Tensor& tensor, Site site) {
  const HostArray array = tensor.host(site);
  return array.count() == 0 && !array.shape().empty() ? "[]" : Printer(array).print();
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) { return out << to_string(tensor); }

}  // namespace regrow
