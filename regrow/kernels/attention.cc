// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "regrow/base/error.h"
#include "regrow/kernels/element_types.h"
#include "regrow/kernels/gemm.h"
#include "regrow/kernels/parts.h"
#include "regrow/kernels/rows.h"
#include "regrow/kernels/workspace.h"

namespace regrow::kernels {
namespace {

// Queries and keys of a block of scores: it stays in the second cache, and the product's own blocks divide it.
constexpr std::int64_t block_rows = 96, block_columns = 256;
constexpr double least_per_part = 1 << 18;  // multiply-adds that a thread is woken for
constexpr std::int64_t apart = 16;           // more than a row of scores needs, so that rows do not compete for cache lines

struct Sizes {
  Shape batch;
  std::int64_t queries = 0, keys = 0, width = 0, values = 0;

  Sizes(const Desc& q, const Desc& k, const Desc& v) : batch(q.shape) {
    batch.erase(batch.size() - 1), batch.erase(batch.size() - 1);
    queries = q.shape[q.shape.size() - 2], width = q.shape.back();
    keys = k.shape[k.shape.size() - 2], values = v.shape.back();
  }
  std::int64_t units() const { return element_count(batch); }
  std::int64_t rows() const { return std::min(block_rows, queries); }
  std::int64_t pitch() const { return row_capacity(std::min(block_columns, keys)) + apart; }  // of a row of scores
  double macs() const { return static_cast<double>(units() * queries * keys) * static_cast<double>(width + values); }
};

// Where the matrix of a unit begins: the leading axes' offset, row-major.
std::int64_t offset_of(const Shape& batch, const Strides& strides, std::int64_t unit) {
  std::int64_t at = 0;
  for (std::size_t i = batch.size(); i-- > 0;) at += unit % batch[i] * strides[i], unit /= batch[i];
  return at;
}

// One matrix of a tensor: T in memory, W where it is computed with.
template <class T>
struct Stored {
  T* data = nullptr;
  std::int64_t row = 0, col = 0;

  Stored(const View& x, const Shape& batch, std::int64_t unit)
      : data(x.as<T>() + offset_of(batch, x.strides(), unit)),
        row(x.strides()[x.strides().size() - 2]),
        col(x.strides().back()) {}

  bool usable() const { return std::is_same_v<T, Wide<T>> && col == 1; }
  // Rows [first, first + rows), where they are or in the buffer.
  Matrix<const Wide<T>> read(std::int64_t first, std::int64_t rows, std::int64_t columns, Wide<T>* buffer) const {
    const T* from = data + first * row;
    if constexpr (std::is_same_v<T, Wide<T>>)
      if (col == 1) return {from, row, 1};
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) buffer[i * columns + j] = static_cast<Wide<T>>(from[i * row + j * col]);
    return {buffer, columns, 1};
  }
  void write(std::int64_t first, std::int64_t rows, std::int64_t columns, const Wide<T>* from, std::int64_t pitch) const {
    T* to = data + first * row;
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) to[i * row + j * col] = static_cast<T>(from[i * pitch + j]);
  }
};

// Rows from `first` on as the columns of a product's right side.
template <class W>
Matrix<const W> across(const Matrix<const W>& rows, std::int64_t first) {
  return {rows.data + first * rows.row, rows.col, rows.row};
}

// What one unit reads beside its matrices.
template <class T>
class Scores {
 public:
  using W = Wide<T>;
  Scores(const Attention& a, const Sizes& sizes, std::int64_t unit)
      : a_(a), keys_(sizes.keys), first_word_(static_cast<std::uint64_t>(unit * sizes.queries * sizes.keys)) {
    if (!a.mask) return;
    Shape whole = sizes.batch;
    whole.push_back(sizes.queries), whole.push_back(sizes.keys);
    const Strides strides = broadcast_strides(a.mask->shape(), a.mask->strides(), whole);
    mask_ = a.mask->data + offset_of(sizes.batch, strides, unit) * static_cast<std::int64_t>(size_of(a.mask->dtype()));
    mask_row_ = strides[strides.size() - 2], mask_col_ = strides.back();
  }

  // How many of n keys from `column` on a query sees, but for the mask.
  std::int64_t visible(std::int64_t query, std::int64_t column, std::int64_t n) const {
    return a_.causal ? std::clamp<std::int64_t>(query + 1 - column, 0, n) : n;
  }
  // Keys that a block of queries sees.
  std::int64_t last_key(std::int64_t end) const { return a_.causal ? std::min(end, keys_) : keys_; }
  // Scales and masks a row of products; what is left to scale by.
  W apply_mask(W* row, std::int64_t query, std::int64_t column, std::int64_t n) const {
    const W scale = static_cast<W>(a_.scale);
    if (!mask_) return scale;
    if (a_.mask->dtype() == DType::boolean) {
      const bool* seen = reinterpret_cast<const bool*>(mask_) + query * mask_row_ + column * mask_col_;
      for (std::int64_t j = 0; j < n; ++j) row[j] = seen[j * mask_col_] ? row[j] * scale : -std::numeric_limits<W>::infinity();
    } else {
      const T* added = reinterpret_cast<const T*>(mask_) + query * mask_row_ + column * mask_col_;
      for (std::int64_t j = 0; j < n; ++j) row[j] = row[j] * scale + static_cast<W>(added[j * mask_col_]);
    }
    return 1;
  }
  bool drops() const { return a_.drop_below > 0; }
  // What dropout multiplies the weights of these keys by.
  void keep(std::int64_t query, std::int64_t column, std::int64_t n, W* factors) const {
    std::uint32_t words[block_columns + 4 + random_padding];
    const std::uint64_t first = first_word_ + static_cast<std::uint64_t>(query * keys_ + column), start = first / 4 * 4;
    random_words(a_.stream, start, static_cast<std::size_t>(n) + (first - start), words);
    const W kept = static_cast<W>(a_.keep_scale);
    for (std::int64_t j = 0; j < n; ++j)
      factors[j] = words[static_cast<std::uint64_t>(j) + (first - start)] >= a_.drop_below ? kept : W(0);
  }

 private:
  const Attention& a_;
  std::int64_t keys_;
  std::uint64_t first_word_;
  const std::byte* mask_ = nullptr;
  std::int64_t mask_row_ = 0, mask_col_ = 0;
};

// --- forward

template <class W>
struct ForwardBuffers {
  W *keys, *values, *queries, *scores, *out, *max, *sum, *factors;
  ForwardBuffers(const Sizes& s, Workspace& w)
      : keys(w.take_array<W>(s.keys * s.width)),
        values(w.take_array<W>(s.keys * s.values)),
        queries(w.take_array<W>(s.rows() * s.width)),
        scores(w.take_array<W>(s.rows() * s.pitch())),
        out(w.take_array<W>(s.rows() * s.values)),
        max(w.take_array<W>(s.rows())),
        sum(w.take_array<W>(s.rows())),
        factors(w.take_array<W>(s.pitch())) {}
};

template <class T>
class Forward {
 public:
  using W = Wide<T>;
  Forward(const Attention& a, const Sizes& sizes, const View& out, const View& log_sum, std::int64_t unit, Workspace workspace)
      : s_(sizes),
        b_(sizes, workspace),
        scores_(a, sizes, unit),
        q_(a.q, sizes.batch, unit),
        out_(out, sizes.batch, unit),
        log_sum_(log_sum.as<W>() + offset_of(sizes.batch, log_sum.strides(), unit)),
        log_sum_step_(log_sum.strides().back()),
        keys_(Stored<T>(a.k, sizes.batch, unit).read(0, s_.keys, s_.width, b_.keys)),
        values_(Stored<T>(a.v, sizes.batch, unit).read(0, s_.keys, s_.values, b_.values)) {}

  void run() {
    for (std::int64_t first = 0; first < s_.queries; first += block_rows) block(first, std::min(block_rows, s_.queries - first));
  }

 private:
  void block(std::int64_t first, std::int64_t rows) {
    const Matrix<const W> q = q_.read(first, rows, s_.width, b_.queries);
    std::fill_n(b_.max, rows, -std::numeric_limits<W>::infinity());
    std::fill_n(b_.sum, rows, W(0));
    std::fill_n(b_.out, rows * s_.values, W(0));
    const std::int64_t last = scores_.last_key(first + rows);
    for (std::int64_t column = 0; column < last; column += block_columns) {
      const std::int64_t n = std::min(block_columns, last - column), pitch = s_.pitch();
      gemm(rows, n, s_.width, q, across(keys_, column), Matrix<W>{b_.scores, pitch, 1});
      for (std::int64_t r = 0; r < rows; ++r) weigh(first + r, r, column, n);
      gemm(rows, s_.values, n, Matrix<const W>{b_.scores, pitch, 1}, {values_.data + column * values_.row, values_.row, 1},
           Matrix<W>{b_.out, s_.values, 1}, true);
    }
    finish(first, rows);
  }

  // A row of products becomes one of weights, relative to the largest score so far.
  void weigh(std::int64_t query, std::int64_t r, std::int64_t column, std::int64_t n) {
    W* row = b_.scores + r * s_.pitch();
    const std::int64_t visible = scores_.visible(query, column, n);
    if (visible > 0) {
      const W scale = scores_.apply_mask(row, query, column, visible);
      const RowMass<W> mass = row_exponentials(row, visible, scale, b_.max[r]);
      const W before = b_.max[r] == mass.max ? W(1) : std::exp(b_.max[r] - mass.max);  // of -inf: 0
      if (before != 1) {
        b_.sum[r] *= before;
        for (std::int64_t j = 0; j < s_.values; ++j) b_.out[r * s_.values + j] *= before;
      }
      b_.max[r] = mass.max, b_.sum[r] += mass.sum;
      if (scores_.drops()) {
        scores_.keep(query, column, visible, b_.factors);
        for (std::int64_t j = 0; j < visible; ++j) row[j] *= b_.factors[j];
      }
    }
    std::fill(row + visible, row + n, W(0));
  }

  void finish(std::int64_t first, std::int64_t rows) {
    for (std::int64_t r = 0; r < rows; ++r) {
      W* row = b_.out + r * s_.values;
      const W sum = b_.sum[r];
      if (sum == 0)
        std::fill_n(row, s_.values, W(0));  // nothing was seen
      else
        for (std::int64_t j = 0; j < s_.values; ++j) row[j] /= sum;
      log_sum_[(first + r) * log_sum_step_] = sum == 0 ? -std::numeric_limits<W>::infinity() : b_.max[r] + std::log(sum);
    }
    out_.write(first, rows, s_.values, b_.out, s_.values);
  }

  const Sizes& s_;
  ForwardBuffers<W> b_;
  Scores<T> scores_;
  Stored<T> q_, out_;
  W* log_sum_;
  std::int64_t log_sum_step_;
  Matrix<const W> keys_, values_;
};

// --- backward

template <class W>
struct BackwardBuffers {
  W *keys, *values, *queries, *grads, *weights, *flows, *factors, *means, *dq, *dk, *dv;
  BackwardBuffers(const Sizes& s, Workspace& w)
      : keys(w.take_array<W>(s.keys * s.width)),
        values(w.take_array<W>(s.keys * s.values)),
        queries(w.take_array<W>(s.rows() * s.width)),
        grads(w.take_array<W>(s.rows() * s.values)),
        weights(w.take_array<W>(s.rows() * s.pitch())),
        flows(w.take_array<W>(s.rows() * s.pitch())),
        factors(w.take_array<W>(s.rows() * s.pitch())),
        means(w.take_array<W>(s.rows())),
        dq(w.take_array<W>(s.rows() * s.width)),
        dk(w.take_array<W>(s.keys * s.width)),
        dv(w.take_array<W>(s.keys * s.values)) {}
};

struct BackwardTensors {
  const View &grad, &out, &log_sum, &dq, &dk, &dv;
};

template <class T>
class Backward {
 public:
  using W = Wide<T>;
  Backward(const Attention& a, const Sizes& sizes, const BackwardTensors& t, std::int64_t unit, Workspace workspace)
      : s_(sizes),
        b_(sizes, workspace),
        scores_(a, sizes, unit),
        scale_(static_cast<W>(a.scale)),
        q_(a.q, sizes.batch, unit),
        grad_(t.grad, sizes.batch, unit),
        out_(t.out, sizes.batch, unit),
        dq_(t.dq, sizes.batch, unit),
        dk_(t.dk, sizes.batch, unit),
        dv_(t.dv, sizes.batch, unit),
        log_sum_(t.log_sum.as<W>() + offset_of(sizes.batch, t.log_sum.strides(), unit)),
        log_sum_step_(t.log_sum.strides().back()) {
    const Stored<T> k(a.k, sizes.batch, unit), v(a.v, sizes.batch, unit);
    keys_ = k.read(0, s_.keys, s_.width, b_.keys);
    values_ = v.read(0, s_.keys, s_.values, b_.values);
  }

  void run() {
    std::fill_n(b_.dk, s_.keys * s_.width, W(0));
    std::fill_n(b_.dv, s_.keys * s_.values, W(0));
    for (std::int64_t first = 0; first < s_.queries; first += block_rows) block(first, std::min(block_rows, s_.queries - first));
    dk_.write(0, s_.keys, s_.width, b_.dk, s_.width);
    dv_.write(0, s_.keys, s_.values, b_.dv, s_.values);
  }

 private:
  void block(std::int64_t first, std::int64_t rows) {
    const Matrix<const W> q = q_.read(first, rows, s_.width, b_.queries), grad = grad_.read(first, rows, s_.values, b_.grads);
    for (std::int64_t r = 0; r < rows; ++r) b_.means[r] = mean_flow(grad.data + r * grad.row, first + r);
    std::fill_n(b_.dq, rows * s_.width, W(0));
    const std::int64_t last = scores_.last_key(first + rows), pitch = s_.pitch();
    for (std::int64_t column = 0; column < last; column += block_columns) {
      const std::int64_t n = std::min(block_columns, last - column);
      gemm(rows, n, s_.width, q, across(keys_, column), Matrix<W>{b_.weights, pitch, 1});
      gemm(rows, n, s_.values, grad, across(values_, column), Matrix<W>{b_.flows, pitch, 1});
      for (std::int64_t r = 0; r < rows; ++r) flow_back(first + r, r, column, n);
      const W* used = scores_.drops() ? b_.factors : b_.weights;
      gemm(n, s_.values, rows, Matrix<const W>{used, 1, pitch}, grad, Matrix<W>{b_.dv + column * s_.values, s_.values, 1}, true);
      gemm(rows, s_.width, n, Matrix<const W>{b_.flows, pitch, 1}, {keys_.data + column * keys_.row, keys_.row, 1},
           Matrix<W>{b_.dq, s_.width, 1}, true);
      gemm(n, s_.width, rows, Matrix<const W>{b_.flows, 1, pitch}, q, Matrix<W>{b_.dk + column * s_.width, s_.width, 1}, true);
    }
    dq_.write(first, rows, s_.width, b_.dq, s_.width);
  }

  // The sum of weight times what flows back to it: that of the outputs times theirs.
  W mean_flow(const W* grad, std::int64_t query) const {
    const T* out = out_.data + query * out_.row;
    double sum = 0;
    for (std::int64_t j = 0; j < s_.values; ++j)
      sum += static_cast<double>(grad[j]) * static_cast<double>(static_cast<W>(out[j * out_.col]));
    return static_cast<W>(sum);
  }

  // Products become weights, what flows to the weights becomes what flows to the scores' products; with dropout the factors
  // become the weights that were used.
  void flow_back(std::int64_t query, std::int64_t r, std::int64_t column, std::int64_t n) {
    W *weights = b_.weights + r * s_.pitch(), *flows = b_.flows + r * s_.pitch(), *factors = b_.factors + r * s_.pitch();
    const W log_sum = log_sum_[query * log_sum_step_];
    const std::int64_t visible = log_sum == -std::numeric_limits<W>::infinity() ? 0 : scores_.visible(query, column, n);
    if (visible > 0) {
      row_weights(weights, visible, scores_.apply_mask(weights, query, column, visible), log_sum);
      if (scores_.drops()) {
        scores_.keep(query, column, visible, factors);
        for (std::int64_t j = 0; j < visible; ++j) flows[j] *= factors[j], factors[j] *= weights[j];
      }
      row_score_gradient(weights, flows, visible, b_.means[r], scale_);
    }
    std::fill(weights + visible, weights + n, W(0));
    std::fill(flows + visible, flows + n, W(0));
    if (scores_.drops()) std::fill(factors + visible, factors + n, W(0));
  }

  const Sizes& s_;
  BackwardBuffers<W> b_;
  Scores<T> scores_;
  W scale_;
  Stored<T> q_, grad_, out_, dq_, dk_, dv_;
  const W* log_sum_;
  std::int64_t log_sum_step_;
  Matrix<const W> keys_, values_;
};

template <template <class> class Buffers>
std::size_t bytes_a_part(const Sizes& sizes, DType dtype) {
  Workspace workspace;
  if (dtype == DType::f64)
    Buffers<double>(sizes, workspace);
  else
    Buffers<float>(sizes, workspace);
  return workspace.used();
}

int parts_of(const Sizes& sizes) {
  return static_cast<int>(
      std::clamp<std::int64_t>(parts_for(sizes.macs(), least_per_part), 1, std::max<std::int64_t>(sizes.units(), 1)));
}

// body(unit, workspace) for all units, by as many threads as there is workspace for.
template <template <class> class Buffers, class Body>
void for_units(const Sizes& sizes, DType dtype, std::span<std::byte> workspace, Body&& body) {
  const std::size_t each = bytes_a_part<Buffers>(sizes, dtype);
  require(workspace.size() >= each, "the workspace has {} bytes, {} are needed", workspace.size(), each);
  const auto room = static_cast<int>(std::min<std::size_t>(workspace.size() / std::max<std::size_t>(each, 1), 1024));
  const int parts = std::clamp(room, 1, parts_of(sizes));
  for_parts(parts, [&](int index) {
    const Workspace own(workspace.subspan(each * static_cast<std::size_t>(index), each));
    for (std::int64_t unit = cut(sizes.units(), parts, index); unit < cut(sizes.units(), parts, index + 1); ++unit)
      body(unit, own);
  });
}

}  // namespace

std::size_t attention_workspace(const Desc& q, const Desc& k, const Desc& v) {
  const Sizes sizes(q, k, v);
  return bytes_a_part<ForwardBuffers>(sizes, q.dtype) * static_cast<std::size_t>(parts_of(sizes));
}

std::size_t attention_back_workspace(const Desc& q, const Desc& k, const Desc& v) {
  const Sizes sizes(q, k, v);
  return bytes_a_part<BackwardBuffers>(sizes, q.dtype) * static_cast<std::size_t>(parts_of(sizes));
}

void attention(const Attention& a, const View& out, const View& log_sum, std::span<std::byte> workspace) {
  if (log_sum.count() == 0) return;
  const Sizes sizes(*a.q.desc, *a.k.desc, *a.v.desc);
  with_float(a.q.dtype(), [&]<class T>(T) {
    for_units<ForwardBuffers>(sizes, a.q.dtype(), workspace, [&](std::int64_t unit, const Workspace& own) {
      Forward<T>(a, sizes, out, log_sum, unit, own).run();
    });
  });
}

void attention_back(const Attention& a, const View& grad, const View& out, const View& log_sum, const View& dq, const View& dk,
                    const View& dv, std::span<std::byte> workspace) {
  const Sizes sizes(*a.q.desc, *a.k.desc, *a.v.desc);
  if (sizes.units() == 0) return;
  const BackwardTensors tensors{grad, out, log_sum, dq, dk, dv};
  with_float(a.q.dtype(), [&]<class T>(T) {
    for_units<BackwardBuffers>(sizes, a.q.dtype(), workspace,
                               [&](std::int64_t unit, const Workspace& own) { Backward<T>(a, sizes, tensors, unit, own).run(); });
  });
}

}  // namespace regrow::kernels
