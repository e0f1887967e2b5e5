// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/normalization.h"

#include <algorithm>
#include <cmath>

#include "regrow/base/error.h"
#include "regrow/kernels/columns.h"
#include "regrow/kernels/convert.h"
#include "regrow/kernels/parallel.h"
#include "regrow/kernels/reorder_count.h"
#include "regrow/kernels/workspace.h"

namespace regrow::kernels {
namespace {

constexpr std::int64_t block_elements = 1 << 14, most_blocks = 256;
constexpr std::int64_t least_elements = 1 << 15;  // that a thread is woken for

// The same elements with the channels behind all other axes.
Desc channels_behind(const Desc& x) {
  Desc moved = x;
  moved.shape.erase(1), moved.strides.erase(1);
  moved.shape.push_back(x.shape[1]), moved.strides.push_back(x.strides[1]);
  return moved;
}

// A tensor (N, C, ...) as a dense matrix of one column a channel: itself, or a copy.
struct Matrix {
  Desc moved, dense;
  std::byte* copy = nullptr;

  Matrix(const Desc& x, Workspace& workspace) : moved(channels_behind(x)), dense(Desc::dense(x.dtype, moved.shape)) {
    if (!moved.contiguous()) copy = workspace.take(dense.bytes());
  }
  std::byte* read(const View& x) const {
    if (!copy) return x.data;
    count_activation_reorder();
    convert({&moved, x.data}, {&dense, copy});
    return copy;
  }
  std::byte* to_write(const View& out) const { return copy ? copy : out.data; }
  void write_back(const View& out) const {
    if (!copy) return;
    count_activation_reorder();
    convert({&dense, copy}, {&moved, out.data});
  }
  std::int64_t columns() const { return dense.shape.back(); }
  std::int64_t rows() const { return dense.count() / columns(); }
  Columns slice(std::int64_t first, std::int64_t last) const { return {last - first, columns(), dense.dtype}; }
  std::size_t offset(std::int64_t row) const { return static_cast<std::size_t>(row * columns()) * size_of(dense.dtype); }
};

// Rows that are summed together: a function of the shape, so that sums are.
struct Blocks {
  std::int64_t rows, size, count;
  Blocks(std::int64_t all_rows, std::int64_t columns) : rows(all_rows) {
    size = std::max<std::int64_t>({1, block_elements / columns, (rows + most_blocks - 1) / most_blocks});
    count = (rows + size - 1) / size;
  }
  std::int64_t first(std::int64_t block) const { return block * size; }
  std::int64_t last(std::int64_t block) const { return std::min(rows, (block + 1) * size); }
};

template <class Body>
void for_blocks(const Blocks& blocks, std::int64_t columns, Body&& body) {
  const std::int64_t grain = std::max<std::int64_t>(1, least_elements / (blocks.size * columns));
  parallel_for(blocks.count, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t block = begin; block < end; ++block) body(block);
  });
}

// Tables of one number a channel.
double* take_tables(Workspace& workspace, std::int64_t columns, std::int64_t count) {
  return workspace.take_array<double>(column_capacity(columns) * count);
}

// Two tables of each block, added up in the order of the blocks, in the first block's place.
void add_blocks(double* partial, std::int64_t blocks, std::int64_t length) {
  for (std::int64_t block = 1; block < blocks; ++block)
    for (std::int64_t j = 0; j < length; ++j) partial[j] += partial[block * length + j];
}

struct BatchNormSpace {
  Matrix x, out;
  Blocks blocks;
  std::int64_t table;
  double *weight, *bias, *center, *scale, *partial;

  BatchNormSpace(const Desc& from, const Desc& to, Workspace& workspace)
      : x(from, workspace), out(to, workspace), blocks(x.rows(), x.columns()), table(column_capacity(x.columns())) {
    for (double** one : {&weight, &bias, &center, &scale}) *one = take_tables(workspace, table, 1);
    partial = take_tables(workspace, table, 2 * blocks.count);
  }
};

struct BatchNormBackSpace {
  Matrix grad, x, out;
  Blocks blocks;
  std::int64_t table;
  double *weight, *center, *a, *b, *c, *partial;

  BatchNormBackSpace(const Desc& from_grad, const Desc& from, const Desc& to, Workspace& workspace)
      : grad(from_grad, workspace),
        x(from, workspace),
        out(to, workspace),
        blocks(x.rows(), x.columns()),
        table(column_capacity(x.columns())) {
    for (double** one : {&weight, &center, &a, &b, &c}) *one = take_tables(workspace, table, 1);
    partial = take_tables(workspace, table, 2 * blocks.count);
  }
};

void fill(const View& out, double value) {
  std::byte* to = out.data;  // contiguous
  for (std::int64_t i = 0; i < out.count(); ++i, to += size_of(out.dtype())) write_scalar(Scalar(value), out.dtype(), to);
}

void read_first_row(const std::byte* x, DType dtype, std::int64_t columns, double* table) {
  const Desc row = Desc::dense(dtype, {columns});
  read_table({&row, const_cast<std::byte*>(x)}, table);
}

struct Moments {
  double mean, variance;
};

// From sums of distances d from `shift` and of their squares. (std::max of NaN and 0, in this order, is NaN.)
Moments moments_of(double shift, double sum, double square, double count) {
  return {shift + sum / count, std::max((square - sum * (sum / count)) / count, 0.0)};
}
}  // namespace

std::size_t batch_norm_workspace(const Desc& x, const Desc& out) {
  if (x.count() == 0) return 0;
  Workspace workspace;
  (void)BatchNormSpace(x, out, workspace);
  return workspace.used();
}

void batch_norm(const View& x, const View& weight, const View& bias, double epsilon, const View& out, const View& mean,
                const View& variance, std::span<std::byte> bytes) {
  if (x.count() == 0) {
    fill(mean, std::nan("")), fill(variance, std::nan(""));
    return;
  }
  Workspace workspace(bytes);
  const BatchNormSpace s(*x.desc, *out.desc, workspace);
  const std::int64_t columns = s.x.columns();
  const std::byte* from = s.x.read(x);
  read_table(weight, s.weight), read_table(bias, s.bias);
  read_first_row(from, x.dtype(), columns, s.center);
  for_blocks(s.blocks, columns, [&](std::int64_t block) {
    const std::int64_t first = s.blocks.first(block);
    double* sums = s.partial + 2 * s.table * block;
    column_moments(s.x.slice(first, s.blocks.last(block)), from + s.x.offset(first), s.center, sums, sums + s.table);
  });
  add_blocks(s.partial, s.blocks.count, 2 * s.table);
  const auto count = static_cast<double>(s.x.rows());
  for (std::int64_t j = 0; j < columns; ++j) {
    const Moments m = moments_of(s.center[j], s.partial[j], s.partial[s.table + j], count);
    mean.as<double>()[j] = m.mean, variance.as<double>()[j] = m.variance;
    s.center[j] = m.mean, s.scale[j] = s.weight[j] / std::sqrt(m.variance + epsilon);
  }
  std::byte* to = s.out.to_write(out);
  for_blocks(s.blocks, columns, [&](std::int64_t block) {
    const std::int64_t first = s.blocks.first(block);
    column_scale(s.x.slice(first, s.blocks.last(block)), from + s.x.offset(first), s.center, s.scale, s.bias,
                 to + s.x.offset(first));
  });
  s.out.write_back(out);
}

std::size_t batch_norm_back_workspace(const Desc& grad, const Desc& x, const Desc& out) {
  if (x.count() == 0) return 0;
  Workspace workspace;
  (void)BatchNormBackSpace(grad, x, out, workspace);
  return workspace.used();
}

void batch_norm_back(const View& grad, const View& x, const View& weight, const View& mean, const View& variance, double epsilon,
                     const View& out, const View& weight_out, const View& bias_out, std::span<std::byte> bytes) {
  if (x.count() == 0) {
    fill(weight_out, 0), fill(bias_out, 0);
    return;
  }
  Workspace workspace(bytes);
  const BatchNormBackSpace s(*grad.desc, *x.desc, *out.desc, workspace);
  const std::int64_t columns = s.x.columns();
  const std::byte *from_grad = s.grad.read(grad), *from = s.x.read(x);
  read_table(weight, s.weight), read_table(mean, s.center), read_table(variance, s.c);
  for_blocks(s.blocks, columns, [&](std::int64_t block) {
    const std::int64_t first = s.blocks.first(block);
    double* sums = s.partial + 2 * s.table * block;
    column_products(s.x.slice(first, s.blocks.last(block)), from_grad + s.x.offset(first), from + s.x.offset(first), s.center,
                    sums, sums + s.table);
  });
  add_blocks(s.partial, s.blocks.count, 2 * s.table);
  double *sum = s.partial, *product = s.partial + s.table;
  const auto count = static_cast<double>(s.x.rows());
  for (std::int64_t j = 0; j < columns; ++j) {
    const double r = 1 / std::sqrt(s.c[j] + epsilon);
    s.a[j] = s.weight[j] * r;
    s.b[j] = -s.a[j] * r * r * (product[j] / count);
    s.c[j] = -s.a[j] * (sum[j] / count);
    product[j] *= r;
  }
  write_table(product, weight_out), write_table(sum, bias_out);
  std::byte* to = s.out.to_write(out);
  for_blocks(s.blocks, columns, [&](std::int64_t block) {
    const std::int64_t first = s.blocks.first(block);
    column_combine(s.x.slice(first, s.blocks.last(block)), from_grad + s.x.offset(first), from + s.x.offset(first), s.center, s.a,
                   s.b, s.c, to + s.x.offset(first));
  });
  s.out.write_back(out);
}

namespace {

struct GroupNormSpace {
  Matrix x, out;
  std::int64_t images, rows, table;
  double *weight, *bias;
  double* scratch;  // five tables of each image

  GroupNormSpace(const Desc& from, const Desc& to, Workspace& workspace)
      : x(from, workspace),
        out(to, workspace),
        images(from.shape[0]),
        rows(x.rows() / images),
        table(column_capacity(x.columns())) {
    weight = take_tables(workspace, table, 1), bias = take_tables(workspace, table, 1);
    scratch = take_tables(workspace, table, 4 * images);
  }
};

struct GroupNormBackSpace {
  Matrix grad, x, out;
  std::int64_t images, rows, table;
  double* weight;
  double* partial;  // of each image: sum and product
  double* scratch;  // four tables of each image

  GroupNormBackSpace(const Desc& from_grad, const Desc& from, const Desc& to, Workspace& workspace)
      : grad(from_grad, workspace),
        x(from, workspace),
        out(to, workspace),
        images(from.shape[0]),
        rows(x.rows() / images),
        table(column_capacity(x.columns())) {
    weight = take_tables(workspace, table, 1);
    partial = take_tables(workspace, table, 2 * images);
    scratch = take_tables(workspace, table, 4 * images);
  }
};

// Mean and 1 / sqrt(variance + epsilon) of each group of one image, repeated for its channels. `shift`, `sum` and `square` are
// scratch.
void group_statistics(const Columns& m, const std::byte* x, std::int64_t groups, double epsilon, double* sum, double* square,
                      double* center, double* factor) {
  const std::int64_t width = m.columns / groups;
  read_first_row(x, m.dtype, m.columns, center);
  for (std::int64_t j = 0; j < m.columns; ++j) center[j] = center[j / width * width];
  column_moments(m, x, center, sum, square);
  for (std::int64_t g = 0; g < m.columns; g += width) {
    double s = 0, q = 0;
    for (std::int64_t j = g; j < g + width; ++j) s += sum[j], q += square[j];
    const Moments found = moments_of(center[g], s, q, static_cast<double>(m.rows * width));
    std::fill(center + g, center + g + width, found.mean);
    std::fill(factor + g, factor + g + width, 1 / std::sqrt(found.variance + epsilon));
  }
}

template <class Body>
void for_images(std::int64_t images, std::int64_t elements, Body&& body) {
  parallel_for(images, std::max<std::int64_t>(1, least_elements / elements), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t n = begin; n < end; ++n) body(n);
  });
}

}  // namespace

std::size_t group_norm_workspace(const Desc& x, const Desc& out) {
  if (x.count() == 0) return 0;
  Workspace workspace;
  (void)GroupNormSpace(x, out, workspace);
  return workspace.used();
}

void group_norm(const View& x, const View& weight, const View& bias, std::int64_t groups, double epsilon, const View& out,
                std::span<std::byte> bytes) {
  if (x.count() == 0) return;
  Workspace workspace(bytes);
  const GroupNormSpace s(*x.desc, *out.desc, workspace);
  const std::byte* from = s.x.read(x);
  std::byte* to = s.out.to_write(out);
  read_table(weight, s.weight), read_table(bias, s.bias);
  for_images(s.images, s.rows * s.x.columns(), [&](std::int64_t n) {
    const Columns image = s.x.slice(0, s.rows);
    const std::size_t offset = s.x.offset(n * s.rows);
    double *center = s.scratch + 4 * s.table * n, *factor = center + s.table;
    group_statistics(image, from + offset, groups, epsilon, factor + s.table, factor + 2 * s.table, center, factor);
    for (std::int64_t j = 0; j < image.columns; ++j) factor[j] *= s.weight[j];
    column_scale(image, from + offset, center, factor, s.bias, to + offset);
  });
  s.out.write_back(out);
}

std::size_t group_norm_back_workspace(const Desc& grad, const Desc& x, const Desc& out) {
  if (x.count() == 0) return 0;
  Workspace workspace;
  (void)GroupNormBackSpace(grad, x, out, workspace);
  return workspace.used();
}

void group_norm_back(const View& grad, const View& x, const View& weight, std::int64_t groups, double epsilon, const View& out,
                     const View& weight_out, const View& bias_out, std::span<std::byte> bytes) {
  if (x.count() == 0) {
    fill(weight_out, 0), fill(bias_out, 0);
    return;
  }
  Workspace workspace(bytes);
  const GroupNormBackSpace s(*grad.desc, *x.desc, *out.desc, workspace);
  const std::byte *from_grad = s.grad.read(grad), *from = s.x.read(x);
  std::byte* to = s.out.to_write(out);
  read_table(weight, s.weight);
  const std::int64_t width = s.x.columns() / groups;
  const auto count = static_cast<double>(s.rows * width);
  for_images(s.images, s.rows * s.x.columns(), [&](std::int64_t n) {
    const Columns image = s.x.slice(0, s.rows);
    const std::size_t offset = s.x.offset(n * s.rows);
    double *sum = s.partial + 2 * s.table * n, *product = sum + s.table;
    double *center = s.scratch + 4 * s.table * n, *a = center + s.table, *b = a + s.table, *c = b + s.table;
    group_statistics(image, from + offset, groups, epsilon, b, c, center, a);
    column_products(image, from_grad + offset, from + offset, center, sum, product);
    for (std::int64_t g = 0; g < image.columns; g += width) {
      double total = 0, along = 0;
      for (std::int64_t j = g; j < g + width; ++j) total += s.weight[j] * sum[j], along += s.weight[j] * product[j];
      for (std::int64_t j = g; j < g + width; ++j) {
        const double r = a[j];
        a[j] = r * s.weight[j], b[j] = -r * r * r * (along / count), c[j] = -r * (total / count);
        product[j] *= r;
      }
    }
    column_combine(image, from_grad + offset, from + offset, center, a, b, c, to + offset);
  });
  add_blocks(s.partial, s.images, 2 * s.table);
  write_table(s.partial + s.table, weight_out), write_table(s.partial, bias_out);
  s.out.write_back(out);
}

}  // namespace regrow::kernels
