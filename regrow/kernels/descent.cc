// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/descent.h"

#include <algorithm>
#include <cmath>

#include "regrow/kernels/element_types.h"
#include "regrow/kernels/parts.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "regrow/kernels/descent.cc"
#include "regrow/kernels/targets.inc"
#include <hwy/foreach_target.h>  // first
#include <hwy/highway.h>

#ifndef REGROW_KERNELS_DESCENT_ONCE
#define REGROW_KERNELS_DESCENT_ONCE
namespace regrow::kernels {

// The numbers of one call, in the type that it computes in.
template <class W>
struct MomentumNumbers {
  W learning_rate, momentum, undamped, weight_decay;
  bool nesterov;
};
template <class W>
struct AdaptiveNumbers {
  W beta1, rest1, beta2, rest2, epsilon, weight_decay, kept;  // kept: what decoupled weight decay leaves of the parameter
  W step_size, root_of_correction;                            // learning_rate / (1 - beta1^t), sqrt(1 - beta2^t)
};

}  // namespace regrow::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace regrow::kernels::HWY_NAMESPACE {

// Plain loops, which become vectors. Buffers are dense, distinct, aligned, and hold whole vectors.

// Without weight decay the parameter is not read: infinity times 0 would be NaN.
template <class W>
HWY_ATTR void add_decay(W weight_decay, std::int64_t n, const W* HWY_RESTRICT param, W* HWY_RESTRICT grad) {
  if (weight_decay == 0) return;
  for (std::int64_t i = 0; i < n; ++i) grad[i] += weight_decay * param[i];
}

template <class W>
HWY_ATTR void momentum_loop(const MomentumNumbers<W>& how, std::int64_t n, W* HWY_RESTRICT param, W* HWY_RESTRICT grad,
                            W* HWY_RESTRICT buffer) {
  const MomentumNumbers<W> k = how;
  add_decay(k.weight_decay, n, param, grad);
  if (buffer) {
    for (std::int64_t i = 0; i < n; ++i) buffer[i] = k.momentum * buffer[i] + k.undamped * grad[i];
    if (k.nesterov) {
      for (std::int64_t i = 0; i < n; ++i) grad[i] += k.momentum * buffer[i];
    } else {
      for (std::int64_t i = 0; i < n; ++i) grad[i] = buffer[i];
    }
  }
  for (std::int64_t i = 0; i < n; ++i) param[i] -= k.learning_rate * grad[i];
}

template <class W>
HWY_ATTR void adaptive_loop(const AdaptiveNumbers<W>& how, std::int64_t n, W* HWY_RESTRICT param, W* HWY_RESTRICT grad,
                            W* HWY_RESTRICT mean, W* HWY_RESTRICT square) {
  const AdaptiveNumbers<W> k = how;
  add_decay(k.weight_decay, n, param, grad);
  for (std::int64_t i = 0; i < n; ++i) {
    mean[i] = k.beta1 * mean[i] + k.rest1 * grad[i];
    square[i] = k.beta2 * square[i] + k.rest2 * (grad[i] * grad[i]);
  }
  // std::sqrt may set errno, and so would be no vector.
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<W> d;
  for (std::int64_t i = 0; i < n; i += static_cast<std::int64_t>(hn::Lanes(d)))
    hn::Store(hn::Div(hn::Sqrt(hn::Load(d, square + i)), hn::Set(d, k.root_of_correction)), d, grad + i);
  for (std::int64_t i = 0; i < n; ++i) param[i] = k.kept * param[i] - k.step_size * (mean[i] / (grad[i] + k.epsilon));
}

void momentum_f32(const MomentumNumbers<float>& k, std::int64_t n, float* p, float* g, float* b) { momentum_loop(k, n, p, g, b); }
void momentum_f64(const MomentumNumbers<double>& k, std::int64_t n, double* p, double* g, double* b) {
  momentum_loop(k, n, p, g, b);
}
void adaptive_f32(const AdaptiveNumbers<float>& k, std::int64_t n, float* p, float* g, float* m, float* v) {
  adaptive_loop(k, n, p, g, m, v);
}
void adaptive_f64(const AdaptiveNumbers<double>& k, std::int64_t n, double* p, double* g, double* m, double* v) {
  adaptive_loop(k, n, p, g, m, v);
}

}  // namespace regrow::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace regrow::kernels {
namespace {

HWY_EXPORT(momentum_f32);
HWY_EXPORT(momentum_f64);
HWY_EXPORT(adaptive_f32);
HWY_EXPORT(adaptive_f64);

void momentum_loop(const MomentumNumbers<float>& k, std::int64_t n, float* p, float* g, float* b) {
  HWY_DYNAMIC_DISPATCH(momentum_f32)(k, n, p, g, b);
}
void momentum_loop(const MomentumNumbers<double>& k, std::int64_t n, double* p, double* g, double* b) {
  HWY_DYNAMIC_DISPATCH(momentum_f64)(k, n, p, g, b);
}
void adaptive_loop(const AdaptiveNumbers<float>& k, std::int64_t n, float* p, float* g, float* m, float* v) {
  HWY_DYNAMIC_DISPATCH(adaptive_f32)(k, n, p, g, m, v);
}
void adaptive_loop(const AdaptiveNumbers<double>& k, std::int64_t n, double* p, double* g, double* m, double* v) {
  HWY_DYNAMIC_DISPATCH(adaptive_f64)(k, n, p, g, m, v);
}

constexpr std::int64_t chunk = 1024;        // elements at a time: four buffers stay in the first cache
constexpr double least_elements = 1 << 16;  // that a thread is woken for

// Elements [first, first + n), row-major, to a dense buffer of `chunk`; zeros fill up the last vector.
template <class W>
void load(const View& from, std::int64_t first, std::int64_t n, W* to) {
  std::fill(to + n, to + std::min(chunk, n + 16), W(0));
  with_float(from.dtype(), [&]<class T>(T) {
    if (from.contiguous()) {
      const T* data = from.as<const T>() + first;
      for (std::int64_t i = 0; i < n; ++i) to[i] = as<W>(data[i]);
      return;
    }
    const Shape& shape = from.shape();
    for (std::int64_t i = 0; i < n; ++i) {
      std::int64_t offset = 0, rest = first + i;
      for (std::size_t axis = shape.size(); axis-- > 0;) offset += rest % shape[axis] * from.strides()[axis], rest /= shape[axis];
      to[i] = as<W>(from.as<const T>()[offset]);
    }
  });
}

// To a contiguous tensor.
template <class W>
void store(const W* from, std::int64_t first, std::int64_t n, const View& to) {
  with_float(to.dtype(), [&]<class T>(T) {
    T* data = to.as<T>() + first;
    for (std::int64_t i = 0; i < n; ++i) data[i] = as<T>(from[i]);
  });
}

// body(first, n) for chunks that cover [0, count).
template <class Body>
void for_chunks(std::int64_t count, Body&& body) {
  const int parts = parts_for(static_cast<double>(count), least_elements);
  for_parts(parts, [&](int index) {
    const std::int64_t last = cut(count, parts, index + 1, chunk);
    for (std::int64_t first = cut(count, parts, index, chunk); first < last; first += chunk)
      body(first, std::min(chunk, last - first));
  });
}

template <class W>
void descend_in(const Momentum& how, const View& param, const View& grad, const View& buffer, const View& new_param,
                const View& new_buffer) {
  const MomentumNumbers<W> numbers{static_cast<W>(how.learning_rate), static_cast<W>(how.momentum),
                                   static_cast<W>(1 - how.dampening), static_cast<W>(how.weight_decay), how.nesterov};
  for_chunks(param.count(), [&](std::int64_t first, std::int64_t n) {
    alignas(64) W p[chunk], g[chunk], b[chunk];
    load(param, first, n, p);
    load(grad, first, n, g);
    if (buffer.data) load(buffer, first, n, b);
    momentum_loop(numbers, n, p, g, buffer.data ? b : nullptr);
    store(p, first, n, new_param);
    if (buffer.data) store(b, first, n, new_buffer);
  });
}

template <class W>
void descend_adaptively_in(const Adaptive& how, std::int64_t step, const View& param, const View& grad, const View& mean,
                           const View& square, const View& new_param, const View& new_mean, const View& new_square) {
  const auto t = static_cast<double>(step);
  const AdaptiveNumbers<W> numbers{static_cast<W>(how.beta1),
                                   static_cast<W>(1 - how.beta1),
                                   static_cast<W>(how.beta2),
                                   static_cast<W>(1 - how.beta2),
                                   static_cast<W>(how.epsilon),
                                   static_cast<W>(how.decoupled ? 0 : how.weight_decay),
                                   static_cast<W>(how.decoupled ? 1 - how.learning_rate * how.weight_decay : 1),
                                   static_cast<W>(how.learning_rate / (1 - std::pow(how.beta1, t))),
                                   static_cast<W>(std::sqrt(1 - std::pow(how.beta2, t)))};
  for_chunks(param.count(), [&](std::int64_t first, std::int64_t n) {
    alignas(64) W p[chunk], g[chunk], m[chunk], v[chunk];
    load(param, first, n, p);
    load(grad, first, n, g);
    load(mean, first, n, m);
    load(square, first, n, v);
    adaptive_loop(numbers, n, p, g, m, v);
    store(p, first, n, new_param);
    store(m, first, n, new_mean);
    store(v, first, n, new_square);
  });
}

}  // namespace

void descend(const Momentum& how, const View& param, const View& grad, const View& buffer, const View& new_param,
             const View& new_buffer) {
  auto* in = param.dtype() == DType::f64 ? descend_in<double> : descend_in<float>;
  in(how, param, grad, buffer, new_param, new_buffer);
}

void descend_adaptively(const Adaptive& how, std::int64_t step, const View& param, const View& grad, const View& mean,
                        const View& square, const View& new_param, const View& new_mean, const View& new_square) {
  auto* in = param.dtype() == DType::f64 ? descend_adaptively_in<double> : descend_adaptively_in<float>;
  in(how, step, param, grad, mean, square, new_param, new_mean, new_square);
}

}  // namespace regrow::kernels
#endif
