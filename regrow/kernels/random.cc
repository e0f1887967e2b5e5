// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "regrow/kernels/random.cc"
#include "regrow/kernels/targets.inc"

#include "hwy/foreach_target.h"  // must come before highway.h

#include <cmath>
#include <cstdint>

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "regrow/kernels/philox.h"
#include "regrow/kernels/random.h"

HWY_BEFORE_NAMESPACE();
namespace regrow::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using U32 = hn::ScalableTag<std::uint32_t>;
using Words = hn::Vec<U32>;

#if HWY_TARGET == HWY_SCALAR
void words_of(const RandomStream& stream, std::uint64_t first, std::size_t n, std::uint32_t* out) {
  const std::array<std::uint32_t, 2> key{static_cast<std::uint32_t>(stream.key), static_cast<std::uint32_t>(stream.key >> 32)};
  std::uint64_t block = first / 4;
  for (std::size_t i = 0; i < n; i += 4, ++block) {
    const Philox::Block words =
        Philox::block({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                       static_cast<std::uint32_t>(stream.counter), static_cast<std::uint32_t>(stream.counter >> 32)},
                      key);
    for (std::size_t k = 0; k < 4; ++k) out[i + k] = words[k];
  }
}

HWY_INLINE void load_pairs(const std::uint32_t* words, Words& a, Words& b) {
  a = hn::Set(U32(), words[0]), b = hn::Set(U32(), words[1]);
}
template <class D, class V>
HWY_INLINE void store_pairs(V a, V b, D, float* out) {
  out[0] = hn::GetLane(a), out[1] = hn::GetLane(b);
}
#else
struct Product {
  Words high, low;
};

HWY_INLINE Product multiply_wide(Words a, Words b) {
  const U32 d;
  const hn::RepartitionToWide<U32> wide;
  const auto even = hn::MulEven(a, b);
  const auto odd = hn::MulEven(hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, a))), b);  // b is the same in all lanes
  return {hn::OddEven(hn::BitCast(d, odd), hn::BitCast(d, hn::ShiftRight<32>(even))),
          hn::OddEven(hn::BitCast(d, hn::ShiftLeft<32>(odd)), hn::BitCast(d, even))};
}

// One block a lane, for blocks first_block, first_block + 1, …
void words_of(const RandomStream& stream, std::uint64_t first, std::size_t n, std::uint32_t* out) {
  const U32 d;
  const std::size_t lanes = hn::Lanes(d);
  static_assert(random_padding % (4 * hn::MaxLanes(U32())) == 0);
  const Words m0 = hn::Set(d, Philox::multiplier0), m1 = hn::Set(d, Philox::multiplier1);
  const Words c2_first = hn::Set(d, static_cast<std::uint32_t>(stream.counter));
  const Words c3_first = hn::Set(d, static_cast<std::uint32_t>(stream.counter >> 32));
  std::uint64_t block = first / 4;
  for (std::size_t i = 0; i < n; i += 4 * lanes, block += lanes) {
    const auto low = static_cast<std::uint32_t>(block);
    Words c0 = hn::Add(hn::Iota(d, 0), hn::Set(d, low));
    const Words carry = hn::IfThenElseZero(hn::Lt(c0, hn::Set(d, low)), hn::Set(d, 1));
    Words c1 = hn::Add(hn::Set(d, static_cast<std::uint32_t>(block >> 32)), carry), c2 = c2_first, c3 = c3_first;
    auto k0 = static_cast<std::uint32_t>(stream.key), k1 = static_cast<std::uint32_t>(stream.key >> 32);
    for (int round = 0; round < Philox::rounds; ++round) {
      const Product p0 = multiply_wide(c0, m0), p1 = multiply_wide(c2, m1);
      c0 = hn::Xor(hn::Xor(p1.high, c1), hn::Set(d, k0));
      c2 = hn::Xor(hn::Xor(p0.high, c3), hn::Set(d, k1));
      c1 = p1.low, c3 = p0.low;
      k0 += Philox::weyl0, k1 += Philox::weyl1;
    }
    hn::StoreInterleaved4(c0, c1, c2, c3, d, out + i);
  }
}

HWY_INLINE void load_pairs(const std::uint32_t* words, Words& a, Words& b) { hn::LoadInterleaved2(U32(), words, a, b); }
template <class D, class V>
HWY_INLINE void store_pairs(V a, V b, D d, float* out) {
  hn::StoreInterleaved2(a, b, d, out);
}
#endif

void normal_of(const std::uint32_t* words, std::size_t n, float* out) {
  const hn::ScalableTag<float> d;
  const U32 du;
  const hn::RebindToSigned<U32> di;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t i = 0; i < n; i += 2 * lanes) {
    Words a, b;
    load_pairs(words + i, a, b);
    // (a + 1/2) / 2^32, rounded once, in (0, 1]; b / 2^24 - 1/2 of its upper 24 bits.
    const auto upper = hn::ConvertTo(d, hn::BitCast(di, hn::ShiftRight<8>(a)));
    const auto lower = hn::ConvertTo(d, hn::BitCast(di, hn::And(a, hn::Set(du, 0xff))));
    const auto whole = hn::Add(hn::Mul(upper, hn::Set(d, 256.0f)), hn::Add(lower, hn::Set(d, 0.5f)));
    const auto u = hn::Mul(whole, hn::Set(d, 0x1p-32f));
    const auto turn = hn::Mul(hn::ConvertTo(d, hn::BitCast(di, hn::ShiftRight<8>(b))), hn::Set(d, 0x1p-24f));
    const auto angle = hn::Mul(hn::Sub(turn, hn::Set(d, 0.5f)), hn::Set(d, 6.28318530717958648f));
    const auto radius = hn::Sqrt(hn::Mul(hn::Log(d, u), hn::Set(d, -2.0f)));
    store_pairs(hn::Mul(radius, hn::Cos(d, angle)), hn::Mul(radius, hn::Sin(d, angle)), d, out + i);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace regrow::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace regrow::kernels {

HWY_EXPORT(words_of);
HWY_EXPORT(normal_of);

void random_words(const RandomStream& stream, std::uint64_t first, std::size_t n, std::uint32_t* out) noexcept {
  HWY_DYNAMIC_DISPATCH(words_of)(stream, first, n, out);
}

void normal_of_words(const std::uint32_t* words, std::size_t n, float* out) noexcept {
  HWY_DYNAMIC_DISPATCH(normal_of)(words, n, out);
}

void normal_of_words(const std::uint32_t* words, std::size_t n, double* out) noexcept {
  constexpr double two_pi = 6.283185307179586;
  for (std::size_t i = 0; i < n; i += 2) {
    const double u = (static_cast<double>(joined(words + 2 * i) >> 11) + 0.5) * 0x1p-53;
    const double angle = (uniform_of_words(words + 2 * i + 2) - 0.5) * two_pi;
    const double radius = std::sqrt(-2.0 * std::log(u));
    out[i] = radius * std::cos(angle);
    out[i + 1] = radius * std::sin(angle);
  }
}

}  // namespace regrow::kernels
#endif  // HWY_ONCE
