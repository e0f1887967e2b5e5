// SPDX-License-Identifier: Apache-2.0
#include "tests/ops/draw.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "regrow/tensor/visit.h"

namespace regrow::direct {
namespace {

template <class T>
T drawn(std::mt19937_64& random, double low, double high) {
  const double fraction = static_cast<double>(random() >> 11) * 0x1p-53;
  if constexpr (std::is_same_v<T, bool>) {
    return low > 0 || fraction < 0.5;
  } else if constexpr (std::is_integral_v<T>) {
    const double least = std::max(std::ceil(low), std::is_unsigned_v<T> ? 0.0 : -100.0), most = std::max(least, std::floor(high));
    return static_cast<T>(std::min(most, least + std::floor(fraction * (most - least + 1))));
  } else {
    return T(static_cast<std::conditional_t<std::is_same_v<T, double>, double, float>>(low + fraction * (high - low)));
  }
}

template <class T, class Bits>
std::vector<T> from_bits(std::initializer_list<Bits> all) {
  std::vector<T> values;
  for (Bits bits : all) values.push_back(std::bit_cast<T>(bits));
  return values;
}

template <class T>
std::vector<T> specials() {
  if constexpr (std::is_same_v<T, bool>) {
    return {false, true};
  } else if constexpr (std::is_integral_v<T>) {
    using Limits = std::numeric_limits<T>;
    return {T{0}, T{1}, static_cast<T>(-1), T{2}, Limits::min(), Limits::max(), static_cast<T>(Limits::max() - 1), T{7}};
  } else if constexpr (std::is_same_v<T, Half>) {
    return from_bits<T, std::uint16_t>({0x7e00, 0xfe00, 0x7c00, 0xfc00, 0, 0x8000, 1, 0x8001, 0x7bff, 0x0400, 0x3c00, 0xbe00});
  } else if constexpr (std::is_same_v<T, BFloat16>) {
    return from_bits<T, std::uint16_t>({0x7fc0, 0xffc0, 0x7f80, 0xff80, 0, 0x8000, 1, 0x8001, 0x7f7f, 0x0080, 0x3f80, 0xbfc0});
  } else {
    using Limits = std::numeric_limits<T>;
    return {Limits::quiet_NaN(), -Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity(), T{0}, -T{0}, Limits::denorm_min(),
            -Limits::denorm_min(), Limits::max(), Limits::min(), T{1}, T{-1.5}};
  }
}

bool accepted(const Op& op, const std::vector<DType>& dtypes, const Sample& sample) {
  std::vector<Desc> descs;
  std::vector<const Desc*> pointers;
  for (std::size_t i = 0; i < dtypes.size(); ++i) descs.push_back(Desc::dense(dtypes[i], sample.inputs[i]));
  for (const Desc& desc : descs) pointers.push_back(&desc);
  std::vector<OutDesc> out;
  return error_of([&] { infer(op, pointers, out); }).empty();
}

void add_case(std::vector<Case>& all, const OpRecord& record, const Sample& sample, const std::vector<DType>& dtypes) {
  for (const Case& known : all)
    if (known.sample == &sample && known.dtypes == dtypes) return;
  const Op op(record, Attrs(record.name, record.attributes, sample.attrs));
  if (!accepted(op, dtypes, sample)) return;
  Case added{op, &sample, dtypes, {}};
  for (std::size_t i = 0; i < dtypes.size(); ++i)
    added.inputs.push_back(draw(dtypes[i], sample.inputs[i], sample.low, sample.high, 1000 * i + record.index));
  all.push_back(std::move(added));
}

std::vector<DType> with(std::vector<DType> dtypes, DType from, DType to) {
  std::replace(dtypes.begin(), dtypes.end(), from, to);
  return dtypes;
}

}  // namespace

HostArray draw(DType dtype, const Shape& shape, double low, double high, std::uint64_t seed) {
  std::mt19937_64 random(seed * 1000003 + static_cast<std::uint64_t>(element_count(shape)));
  std::byte* elements = nullptr;
  HostArray array = HostArray::uninitialized(dtype, shape, &elements);
  visit_type(dtype, [&]<class T>(Type<T>) {
    for (std::int64_t i = 0; i < array.count(); ++i) reinterpret_cast<T*>(elements)[i] = drawn<T>(random, low, high);
  });
  return array;
}

HostArray draw_specials(DType dtype, const Shape& shape, std::uint64_t seed) {
  std::mt19937_64 random(seed * 1000003 + 1);
  std::byte* elements = nullptr;
  HostArray array = HostArray::uninitialized(dtype, shape, &elements);
  visit_type(dtype, [&]<class T>(Type<T>) {
    const std::vector<T> all = specials<T>();
    for (std::int64_t i = 0; i < array.count(); ++i) reinterpret_cast<T*>(elements)[i] = all[random() % all.size()];
  });
  return array;
}

std::vector<Lay> layouts(const Shape& shape) {
  Strides reversed = Dims::filled(shape.size(), 1), gaps = contiguous_strides(shape), negative = gaps;
  for (std::size_t i = 1; i < shape.size(); ++i) reversed[i] = reversed[i - 1] * std::max<std::int64_t>(shape[i - 1], 1);
  for (std::int64_t& stride : gaps) stride *= 3;
  for (std::int64_t& stride : negative) stride = -stride;
  std::vector<Lay> all = {{"reversed axes", reversed}, {"gaps", gaps}, {"negative steps", negative}};
  if (shape.size() == 4) all.push_back({"channels-last", channels_last_strides(shape)});
  return all;
}

std::string Case::text() const {
  std::string inside;
  for (const HostArray& input : inputs)
    inside += (inside.empty() ? "" : ", ") + to_string(input.dtype()) + to_string(input.shape());
  const std::string attributes = op.attrs().text();
  return std::string(op.name()) + "(" + inside + (attributes.empty() ? "" : "; " + attributes) + ")";
}

std::vector<Case> cases(const OpRecord& record) {
  std::vector<Case> all;
  for (const Sample& sample : record.samples) {
    std::vector<DType> dtypes = sample.dtypes;
    if (dtypes.empty()) dtypes.assign(sample.inputs.size(), DType::f32);
    add_case(all, record, sample, dtypes);
    const auto integer = std::find_if(dtypes.begin(), dtypes.end(), is_integer);
    const auto first = std::find_if(dtypes.begin(), dtypes.end(), is_floating);
    for (int d = 0; d < dtype_count; ++d) {
      const auto dtype = static_cast<DType>(d);
      if (first != dtypes.end()) add_case(all, record, sample, with(dtypes, *first, dtype));
      if (integer != dtypes.end() && is_integer(dtype)) add_case(all, record, sample, with(dtypes, *integer, dtype));
    }
  }
  return all;
}

std::vector<Case> gradient_cases(const OpRecord& record) {
  std::vector<Case> all;
  for (const Sample& sample : record.samples) {
    std::vector<DType> dtypes = sample.dtypes;
    if (dtypes.empty()) dtypes.assign(sample.inputs.size(), DType::f64);
    for (DType& dtype : dtypes)
      if (is_floating(dtype)) dtype = DType::f64;
    add_case(all, record, sample, dtypes);
  }
  return all;
}

std::vector<Case> special_cases(const OpRecord& record) {
  std::vector<Case> all = cases(record);
  for (Case& given : all)
    for (std::size_t i = 0; i < given.inputs.size(); ++i) {
      const std::vector<DType>& said = given.sample->dtypes;
      if (said.empty() || is_floating(said[i]))
        given.inputs[i] = draw_specials(given.dtypes[i], given.inputs[i].shape(), 31 * i + 7);
    }
  return all;
}

}  // namespace regrow::direct
