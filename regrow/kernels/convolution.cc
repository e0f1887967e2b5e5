// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/convolution.h"

#include <algorithm>

#include "regrow/kernels/convert.h"
#include "regrow/kernels/depthwise_convolution.h"
#include "regrow/kernels/dnnl_convolution.h"
#include "regrow/kernels/narrow_convolution.h"
#include "regrow/kernels/parts.h"
#include "regrow/kernels/reorder_count.h"
#include "regrow/kernels/unrolled_convolution.h"
#include "regrow/kernels/workspace.h"

namespace regrow::kernels {
namespace {

constexpr double least_macs = 1 << 21;  // that a thread is woken for

// How one call is computed: a function of its shapes, types and the number of threads.
struct Method {
  ConvolutionPass pass;
  Convolution shape;
  DType dtype = DType::f32;      // computed in
  DType out_dtype = DType::f32;  // computed to
  bool onednn = false;
  bool narrow = false;
  bool depthwise = false;
  int parts = 1;
};

// The images of one thread.
Convolution part_of(const Method& m, int index) {
  Convolution part = m.shape;
  part.batch = cut(m.shape.batch, m.parts, index + 1) - cut(m.shape.batch, m.parts, index);
  return part;
}

// All threads' shares are available, or none is.
bool onednn_does(const Method& m) {
  if (m.dtype == DType::f64) return false;
  for (int i = 0; i < m.parts; ++i)
    if (!dnnl::plan_convolution(m.pass, m.dtype, part_of(m, i)).available) return false;
  return true;
}

Method method_for(ConvolutionPass pass, const Convolution& shape, DType stored, int most_parts) {
  Method m{.pass = pass, .shape = shape};
  m.dtype = stored == DType::f16 ? DType::f32 : stored;
  m.parts = std::min(parts_for(shape.macs(), least_macs), most_parts);
  const int parts = m.parts;
  m.parts = static_cast<int>(std::min<std::int64_t>(parts, shape.batch));
  m.narrow = pass == ConvolutionPass::result && m.dtype == DType::f32 && is_narrow(shape);
  m.depthwise = pass == ConvolutionPass::weight && m.dtype == DType::f32 && is_depthwise(shape);
  if (m.depthwise) m.parts = static_cast<int>(std::min<std::int64_t>(parts, shape.groups / depthwise_channels));
  m.onednn = !m.narrow && !m.depthwise && onednn_does(m);
  if (!m.onednn && !m.narrow && !m.depthwise) {
    m.parts = parts;
    if (m.dtype == DType::bf16) m.dtype = DType::f32;
  }
  m.out_dtype = pass == ConvolutionPass::weight && m.dtype == DType::bf16 ? DType::f32 : m.dtype;
  return m;
}

bool is_weight(ConvolutionPass pass, int operand) { return pass != ConvolutionPass::weight && operand == 1; }

// The descriptor under which the method reads an operand or writes the result; equal to `desc` if that serves.
Desc wanted(const Method& m, const Desc& desc, bool weight, DType dtype) {
  Desc want = desc;
  want.dtype = dtype;
  if (weight && !desc.contiguous()) want.strides = contiguous_strides(desc.shape);
  if (!weight && (desc.dtype != dtype || ((m.onednn || m.depthwise) && !is_channels_last(desc.shape, desc.strides))))
    want.strides = channels_last_strides(desc.shape);
  return want;
}

struct Operands {
  Desc a, b, out;  // as computed with
  std::byte* a_copy = nullptr;
  std::byte* b_copy = nullptr;
  std::byte* out_copy = nullptr;
  std::byte* scratch = nullptr;
  std::byte* partial = nullptr;  // gradients of the weight by the second thread, the third, …
};

std::size_t scratch_of(const Method& m, int index) {
  if (m.onednn) return dnnl::plan_convolution(m.pass, m.dtype, part_of(m, index)).scratch;
  if (m.narrow) return narrow_scratch(m.shape);
  if (m.depthwise) return depthwise_scratch(m.shape);
  return m.dtype == DType::f64 ? unrolled_scratch<double>(m.shape) : unrolled_scratch<float>(m.shape);
}

Operands place(const Method& m, const Desc& a, const Desc& b, const Desc& out, Workspace& workspace) {
  Operands o;
  o.a = wanted(m, a, false, m.dtype);
  o.b = wanted(m, b, is_weight(m.pass, 1), m.dtype);
  o.out = out;
  o.out.dtype = m.out_dtype;
  if (!(o.a == a)) o.a_copy = workspace.take(o.a.bytes());
  if (!(o.b == b)) o.b_copy = workspace.take(o.b.bytes());
  if (!(o.out == out)) o.out_copy = workspace.take(o.out.bytes());
  if (m.onednn && m.pass == ConvolutionPass::weight)
    o.partial = workspace.take(o.out.bytes() * static_cast<std::size_t>(m.parts - 1));
  for (int i = 0; i < m.parts; ++i) {
    std::byte* scratch = workspace.take(scratch_of(m, i));
    if (i == 0) o.scratch = scratch;
  }
  return o;
}

View staged(const View& view, const Desc& desc, std::byte* copy) {
  if (!copy) return view;
  if (view.dtype() == desc.dtype) count_activation_reorder();  // or a weight that is a view: as slow
  convert(view, {&desc, copy});
  return {&desc, copy};
}

// Each thread takes some of the images; gradients of the weight are then added up in the order of the threads.
void run_onednn(const Method& m, const View& a, const View& b, const View& out, const Operands& o) {
  const bool weight = m.pass == ConvolutionPass::weight;
  auto image_bytes = [](const Desc& desc) {
    return static_cast<std::int64_t>(desc.bytes()) / std::max<std::int64_t>(desc.shape[0], 1);
  };
  const std::int64_t a_image = image_bytes(*a.desc), b_image = weight ? image_bytes(*b.desc) : 0,
                     out_image = weight ? 0 : image_bytes(*out.desc);
  for_parts(m.parts, [&](int index) {
    const std::int64_t first = cut(m.shape.batch, m.parts, index);
    std::byte* scratch = o.scratch;
    for (int i = 0; i < index; ++i) scratch += (scratch_of(m, i) + 63) / 64 * 64;
    std::byte* to = out.data + first * out_image;
    if (weight && index > 0) to = o.partial + static_cast<std::size_t>(index - 1) * out.desc->bytes();
    dnnl::run_convolution(m.pass, m.dtype, part_of(m, index), a.data + first * a_image, b.data + first * b_image, to, scratch);
  });
  if (!weight) return;
  float* sum = out.as<float>();
  for (int i = 1; i < m.parts; ++i) {
    const float* part = reinterpret_cast<const float*>(o.partial) + (i - 1) * out.count();
    for (std::int64_t j = 0; j < out.count(); ++j) sum[j] += part[j];
  }
}

}  // namespace

double Convolution::macs() const {
  return static_cast<double>(batch * out_channels * out[0] * out[1]) *
         static_cast<double>(in_channels / groups * kernel[0] * kernel[1]);
}

std::size_t convolution_workspace(ConvolutionPass pass, const Convolution& shape, const Desc& a, const Desc& b, const Desc& out) {
  if (out.count() == 0 || shape.macs() == 0) return 0;
  Workspace workspace;
  place(method_for(pass, shape, out.dtype, 1 << 20), a, b, out, workspace);
  return workspace.used();
}

void convolve(ConvolutionPass pass, const Convolution& shape, const View& a, const View& b, const View& out,
              std::span<std::byte> bytes) {
  if (out.count() == 0) return;
  if (shape.macs() == 0) {
    std::fill_n(out.data, out.desc->bytes(), std::byte{0});  // dense; a sum over nothing
    return;
  }
  // The number of threads may have been raised since the workspace was measured.
  Method m = method_for(pass, shape, out.dtype(), 1 << 20);
  for (;; m = method_for(pass, shape, out.dtype(), m.parts - 1)) {
    Workspace measured;
    place(m, *a.desc, *b.desc, *out.desc, measured);
    if (measured.used() <= bytes.size() || m.parts == 1) break;
  }
  Workspace workspace(bytes);
  const Operands o = place(m, *a.desc, *b.desc, *out.desc, workspace);
  const View from_a = staged(a, o.a, o.a_copy), from_b = staged(b, o.b, o.b_copy);
  const View to = o.out_copy ? View{&o.out, o.out_copy} : out;
  if (m.onednn) run_onednn(m, from_a, from_b, to, o);
  else if (m.narrow) narrow_convolution(shape, from_a, from_b, to, m.parts, o.scratch);
  else if (m.depthwise) depthwise_weight_gradient(shape, from_a.as<float>(), from_b.as<float>(), to.as<float>(), m.parts, o.scratch);
  else if (m.dtype == DType::f64) unrolled_convolution<double>(pass, shape, from_a, from_b, to, m.parts, o.scratch);
  else unrolled_convolution<float>(pass, shape, from_a, from_b, to, m.parts, o.scratch);
  if (o.out_copy) convert(to, out);  // to another type: results are written where they belong
}

}  // namespace regrow::kernels
