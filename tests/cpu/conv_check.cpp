#include "cpu/conv_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <sstream>

#include "base/half.h"
#include "cpu/emulated_target.h"
#include "cpu/guarded_buffer.h"
#include "cpu/stored_kernel.h"
#include "cpu/target.h"
#include "saccade/isa.h"

namespace saccade::test {

namespace {

using compiler::KernelDesc;
using compiler::Layout;
using compiler::TensorDesc;

constexpr float kUnwritten = 12288.0f;  // what gaps and outputs hold before the run

std::int64_t out_size(const ConvCase& c, bool height) {
  const std::int64_t in = height ? c.in_h : c.in_w, k = height ? c.kernel_h : c.kernel_w,
                     s = height ? c.stride_h : c.stride_w, d = height ? c.dilation_h : c.dilation_w,
                     pads = c.pads[height ? 0 : 1] + c.pads[height ? 2 : 3];
  if (c.transposed) return (in - 1) * s + c.output_padding[height ? 0 : 1] + (k - 1) * d + 1 - pads;
  return (in + pads - (k - 1) * d - 1) / s + 1;
}

// Channels last with a gap behind each pixel's channels.
TensorDesc image_desc(Shape dims, std::int64_t gap, bool bf16) {
  TensorDesc desc;
  desc.dtype = bf16 ? DType::bf16 : DType::f32;
  desc.present = true;
  desc.layout = Layout::channels_last;
  const std::int64_t pixel = dims[1] + gap;
  desc.strides = {pixel * dims[3] * dims[2], 1, pixel * dims[3], pixel};
  desc.dims = std::move(dims);
  return desc;
}

// Planes with a gap behind each row.
TensorDesc planar_desc(Shape dims, std::int64_t gap) {
  TensorDesc desc;
  desc.present = true;
  desc.layout = Layout::plain;
  const std::int64_t row = dims[3] + gap;
  desc.strides = {dims[1] * dims[2] * row, dims[2] * row, row, 1};
  desc.dims = std::move(dims);
  return desc;
}

// From the first element to the last, without the gap behind the last pixel.
std::size_t extent(const TensorDesc& desc) {
  std::int64_t last = 0;
  for (std::size_t i = 0; i < desc.dims.size(); ++i) last += (desc.dims[i] - 1) * desc.strides[i];
  return static_cast<std::size_t>(last + 1);
}

TensorDesc constant_desc(const Tensor& t) {
  TensorDesc desc;
  desc.present = true;
  desc.dims = t.shape();
  desc.strides = compiler::dense_strides(desc.dims, Layout::plain);
  return desc;
}

double activate(const ConvCase& c, double x) {
  const auto hard = [](double v) { return std::max(0.0, std::min(1.0, v)); };
  if (c.activation == "relu") return std::max(0.0, x);
  if (c.activation == "clip") return std::min<double>(c.beta, std::max<double>(c.alpha, x));
  if (c.activation == "leaky_relu") return x < 0 ? x * c.alpha : x;
  if (c.activation == "sigmoid") return 1 / (1 + std::exp(-x));
  if (c.activation == "hard_sigmoid") return hard(c.alpha * x + c.beta);
  if (c.activation == "hard_swish") return x * hard(x / 6 + 0.5);
  if (c.activation == "silu") return x / (1 + std::exp(-x));
  if (c.activation == "tanh") return std::tanh(x);
  return x;
}

// Numbers in the memory of an operand.
void put(const std::vector<float>& from, std::size_t count, const TensorDesc& desc, void* to) {
  if (desc.dtype == DType::f32) {
    std::memcpy(to, from.data(), count * sizeof(float));
    return;
  }
  for (std::size_t i = 0; i < count; ++i) static_cast<BFloat16*>(to)[i] = to_bfloat16(from[i]);
}
std::vector<float> get(const void* from, std::size_t count, const TensorDesc& desc) {
  std::vector<float> to(count);
  if (desc.dtype == DType::f32) std::memcpy(to.data(), from, count * sizeof(float));
  for (std::size_t i = 0; i < count && desc.dtype == DType::bf16; ++i)
    to[i] = to_float(static_cast<const BFloat16*>(from)[i]);
  return to;
}
float rounded(float x) { return to_float(to_bfloat16(x)); }

// What a convolution sums up before the activation, in logical NHWC order.
struct Sums {
  std::vector<double> sums;
  std::vector<double> magnitude;  // sum of the products' absolute values
  double largest = 0;             // absolute sum
};

struct Problem {
  ConvCase c;
  ir::Node node;
  TensorDesc x, y, r;
  Tensor weights, bias;
  std::vector<float> src, residual;  // with gaps
  Sums exact;                        // of the operands as they are
  Sums narrow;                       // of operands rounded to bfloat16; empty until asked for
  Sums coarse;                       // after F(4x4, 3x3) with such products; the same
};

void multiply_direct(const Problem& p, const std::vector<float>& src, const float* weights, Sums& out) {
  const ConvCase& c = p.c;
  const std::int64_t oh = p.y.dims[2], ow = p.y.dims[3], cg = c.channels / c.groups,
                     fg = c.filters / c.groups;
  std::size_t at = 0;
  for (std::int64_t n = 0; n < c.batch; ++n)
    for (std::int64_t y = 0; y < oh; ++y)
      for (std::int64_t x = 0; x < ow; ++x)
        for (std::int64_t f = 0; f < c.filters; ++f, ++at)
          for (std::int64_t ky = 0; ky < c.kernel_h; ++ky)
            for (std::int64_t kx = 0; kx < c.kernel_w; ++kx) {
              const std::int64_t iy = y * c.stride_h - c.pads[0] + ky * c.dilation_h,
                                 ix = x * c.stride_w - c.pads[1] + kx * c.dilation_w;
              if (iy < 0 || iy >= c.in_h || ix < 0 || ix >= c.in_w) continue;
              const std::int64_t channel = p.x.strides[1];
              const float* s = src.data() + n * p.x.strides[0] + iy * p.x.strides[2] + ix * p.x.strides[3] +
                               f / fg * cg * channel;
              const float* w = weights + f * cg * c.kernel_h * c.kernel_w + ky * c.kernel_w + kx;
              for (std::int64_t k = 0; k < cg; ++k) {
                const double product = static_cast<double>(s[k * channel]) * w[k * c.kernel_h * c.kernel_w];
                out.sums[at] += product;
                out.magnitude[at] += std::fabs(product);
              }
            }
}

void multiply_transposed(const Problem& p, const std::vector<float>& src, const float* weights, Sums& out) {
  const ConvCase& c = p.c;
  const std::int64_t oh = p.y.dims[2], ow = p.y.dims[3], cg = c.channels / c.groups,
                     fg = c.filters / c.groups;
  for (std::int64_t n = 0; n < c.batch; ++n)
    for (std::int64_t iy = 0; iy < c.in_h; ++iy)
      for (std::int64_t ix = 0; ix < c.in_w; ++ix)
        for (std::int64_t ky = 0; ky < c.kernel_h; ++ky)
          for (std::int64_t kx = 0; kx < c.kernel_w; ++kx) {
            const std::int64_t y = iy * c.stride_h - c.pads[0] + ky * c.dilation_h,
                               x = ix * c.stride_w - c.pads[1] + kx * c.dilation_w;
            if (y < 0 || y >= oh || x < 0 || x >= ow) continue;
            for (std::int64_t k = 0; k < c.channels; ++k)
              for (std::int64_t f = 0; f < fg; ++f) {
                const std::size_t at =
                    static_cast<std::size_t>(((n * oh + y) * ow + x) * c.filters + k / cg * fg + f);
                const double product =
                    static_cast<double>(src[static_cast<std::size_t>(
                        n * p.x.strides[0] + iy * p.x.strides[2] + ix * p.x.strides[3] + k)]) *
                    weights[((k * fg + f) * c.kernel_h + ky) * c.kernel_w + kx];
                out.sums[at] += product;
                out.magnitude[at] += std::fabs(product);
              }
          }
}

// Bias and residual.
void add_ends(const Problem& p, Sums& out) {
  const ConvCase& c = p.c;
  const std::int64_t plane = p.y.dims[2] * p.y.dims[3];
  for (std::size_t i = 0; i < out.sums.size(); ++i) {
    const std::int64_t f = static_cast<std::int64_t>(i) % c.filters,
                       pixel = static_cast<std::int64_t>(i) / c.filters;
    const std::int64_t n = pixel / plane, at = pixel % plane;
    if (c.bias) out.sums[i] += p.bias.data<float>()[f];
    if (c.residual)
      out.sums[i] += p.residual[static_cast<std::size_t>(n * p.r.strides[0] + at * p.r.strides[3] + f)];
  }
}

Sums sums_of(const Problem& p, const std::vector<float>& src, const float* weights) {
  const ConvCase& c = p.c;
  Sums out;
  out.sums.assign(static_cast<std::size_t>(p.y.count()), 0.0);
  out.magnitude = out.sums;
  if (c.transposed)
    multiply_transposed(p, src, weights, out);
  else
    multiply_direct(p, src, weights, out);
  add_ends(p, out);
  for (std::size_t i = 0; i < out.sums.size(); ++i) {
    out.magnitude[i] += 2;
    out.largest = std::max(out.largest, std::fabs(out.sums[i]));
  }
  return out;
}

// The sums of a kernel that multiplies bfloat16: it rounds weights, and an input that is not.
const Sums& narrow_sums(Problem& p) {
  if (!p.narrow.sums.empty()) return p.narrow;
  std::vector<float> src = p.src,
                     weights(p.weights.data<float>(), p.weights.data<float>() + p.weights.count());
  std::transform(src.begin(), src.end(), src.begin(), rounded);
  std::transform(weights.begin(), weights.end(), weights.begin(), rounded);
  p.narrow = sums_of(p, src, weights.data());
  return p.narrow;
}

// ---- F(4x4, 3x3) of bfloat16, in plain loops: with the points 0, +-5/8, +-3/2 and infinity, transformed
// operands rounded, all else in double.

/// An array that is indexed with signed numbers.
template <class T, int kCount>
struct Line {
  T values[kCount] = {};
  constexpr T& operator[](std::int64_t i) { return values[i]; }
  constexpr const T& operator[](std::int64_t i) const { return values[i]; }
};

constexpr Line<double, 5> kPoints = {{0, 0.625, -0.625, 1.5, -1.5}};
using Square = Line<Line<double, 6>, 6>;

// Coefficients of the product of all (t - point), but the one that is left out.
Line<double, 6> product_but(int left_out) {
  Line<double, 6> c{{1}};
  for (int i = 0, degree = 0; i < 5; ++i) {
    if (i == left_out) continue;
    ++degree;
    for (int k = degree; k >= 0; --k) c[k] = (k > 0 ? c[k - 1] : 0) - c[k] * kPoints[i];
  }
  return c;
}

// Rows of the three transforms: of a line of 6 inputs, of 3 weights, and (transposed) of 6 sums.
Line<double, 6> input_row(int i) { return product_but(i < 5 ? i : -1); }
Line<double, 3> weight_row(int i) {
  if (i == 5) return {{0, 0, 1}};
  double norm = 1;
  for (int k = 0; k < 5; ++k)
    if (k != i) norm *= kPoints[i] - kPoints[k];
  return {{1 / norm, kPoints[i] / norm, kPoints[i] * kPoints[i] / norm}};
}
double output_factor(int position, int output) {
  if (position == 5) return output == 3 ? 1 : 0;
  return std::pow(kPoints[position], output);
}

std::vector<Square> transformed_weights(const Problem& p) {
  const ConvCase& c = p.c;
  std::vector<Square> result(static_cast<std::size_t>(c.filters * c.channels));
  for (std::size_t at = 0; at < result.size(); ++at)
    for (int i = 0; i < 6; ++i)
      for (int j = 0; j < 6; ++j) {
        double sum = 0;
        const float* window = p.weights.data<float>() + at * 9;
        for (int y = 0; y < 3; ++y)
          for (int x = 0; x < 3; ++x)
            sum += weight_row(i)[y] * weight_row(j)[x] * static_cast<double>(window[y * 3 + x]);
        result[at][i][j] = rounded(static_cast<float>(sum));
      }
  return result;
}

// The transformed channels of the tile whose first output is (y0, x0).
std::vector<Square> transformed_inputs(const Problem& p, std::int64_t n, std::int64_t y0, std::int64_t x0) {
  const ConvCase& c = p.c;
  Line<Line<double, 6>, 6> rows;
  for (int i = 0; i < 6; ++i) rows[i] = input_row(i);
  std::vector<Square> result(static_cast<std::size_t>(c.channels));
  for (std::int64_t k = 0; k < c.channels; ++k) {
    Square d{}, half{};
    for (int i = 0; i < 6; ++i)
      for (int j = 0; j < 6; ++j) {
        const std::int64_t y = y0 - c.pads[0] + i * c.dilation_h, x = x0 - c.pads[1] + j * c.dilation_w;
        if (y < 0 || y >= c.in_h || x < 0 || x >= c.in_w) continue;
        d[i][j] =
            p.src[static_cast<std::size_t>(n * p.x.strides[0] + y * p.x.strides[2] + x * p.x.strides[3] + k)];
      }
    for (int i = 0; i < 6; ++i)
      for (int j = 0; j < 6; ++j)
        for (int m = 0; m < 6; ++m) half[i][j] += rows[i][m] * d[m][j];
    for (int i = 0; i < 6; ++i)
      for (int j = 0; j < 6; ++j) {
        double sum = 0;
        for (int m = 0; m < 6; ++m) sum += rows[j][m] * half[i][m];
        result[static_cast<std::size_t>(k)][i][j] = rounded(static_cast<float>(sum));
      }
  }
  return result;
}

// Fills p.coarse.
void add_tile(Problem& p, const std::vector<Square>& weights, std::int64_t n, std::int64_t y0,
              std::int64_t x0) {
  const ConvCase& c = p.c;
  const std::int64_t oh = p.y.dims[2], ow = p.y.dims[3];
  const std::vector<Square> inputs = transformed_inputs(p, n, y0, x0);
  for (std::int64_t f = 0; f < c.filters; ++f) {
    Square sums{};
    for (std::int64_t k = 0; k < c.channels; ++k)
      for (int i = 0; i < 6; ++i)
        for (int j = 0; j < 6; ++j)
          sums[i][j] += inputs[static_cast<std::size_t>(k)][i][j] *
                        weights[static_cast<std::size_t>(f * c.channels + k)][i][j];
    for (int a = 0; a < 4; ++a)
      for (int b = 0; b < 4; ++b) {
        const std::int64_t y = y0 + a * c.dilation_h, x = x0 + b * c.dilation_w;
        if (y >= oh || x >= ow) continue;
        double sum = 0;
        for (int i = 0; i < 6; ++i)
          for (int j = 0; j < 6; ++j) sum += output_factor(i, a) * output_factor(j, b) * sums[i][j];
        p.coarse.sums[static_cast<std::size_t>(((n * oh + y) * ow + x) * c.filters + f)] = sum;
      }
  }
}

// The sums of the Winograd convolution with products of bfloat16; `largest` is that of its errors.
const Sums& coarse_sums(Problem& p) {
  if (!p.coarse.sums.empty()) return p.coarse;
  const ConvCase& c = p.c;
  p.coarse.sums.assign(p.exact.sums.size(), 0.0);
  const std::vector<Square> weights = transformed_weights(p);
  for (std::int64_t n = 0; n < c.batch; ++n)
    for (std::int64_t py = 0; py < std::min(c.dilation_h, p.y.dims[2]); ++py)
      for (std::int64_t px = 0; px < std::min(c.dilation_w, p.y.dims[3]); ++px)
        for (std::int64_t y = py; y < p.y.dims[2]; y += 4 * c.dilation_h)
          for (std::int64_t x = px; x < p.y.dims[3]; x += 4 * c.dilation_w) add_tile(p, weights, n, y, x);
  add_ends(p, p.coarse);
  for (std::size_t i = 0; i < p.coarse.sums.size(); ++i)
    p.coarse.largest = std::max(p.coarse.largest, std::fabs(p.coarse.sums[i] - p.exact.sums[i]));
  return p.coarse;
}

Problem make_problem(const ConvCase& c) {
  Problem p;
  p.c = c;
  const Shape x = {c.batch, c.channels, c.in_h, c.in_w};
  p.x = c.planar ? planar_desc(x, c.src_gap) : image_desc(x, c.src_gap, c.src_bf16);
  p.y = image_desc({c.batch, c.filters, out_size(c, true), out_size(c, false)}, c.dst_gap, c.dst_bf16);
  p.r = image_desc(p.y.dims, c.in_place ? c.dst_gap : c.residual_gap, c.residual_bf16);
  p.node.op = c.transposed ? "ConvTranspose" : "Conv";
  auto& a = p.node.attributes;
  a["strides"] = std::vector<std::int64_t>{c.stride_h, c.stride_w};
  a["dilations"] = std::vector<std::int64_t>{c.dilation_h, c.dilation_w};
  a["pads"] = c.pads;
  a["group"] = c.groups;
  if (c.transposed) a["output_padding"] = c.output_padding;
  a["activation"] = c.activation;
  a["coarse"] = std::int64_t{c.coarse};
  a["activation_alpha"] = c.alpha;
  a["activation_beta"] = c.beta;

  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  const auto fill = [&](float* data, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) data[i] = uniform(random);
  };
  p.src.assign(extent(p.x), 0.0f);
  fill(p.src.data(), p.src.size());
  p.weights = c.transposed ? Tensor(DType::f32, {c.channels, c.filters / c.groups, c.kernel_h, c.kernel_w})
                           : Tensor(DType::f32, {c.filters, c.channels / c.groups, c.kernel_h, c.kernel_w});
  fill(p.weights.data<float>(), static_cast<std::size_t>(p.weights.count()));
  p.bias = Tensor(DType::f32, {c.filters});
  fill(p.bias.data<float>(), static_cast<std::size_t>(c.filters));
  p.residual.assign(extent(p.r), 0.0f);
  fill(p.residual.data(), p.residual.size());

  if (c.src_bf16) std::transform(p.src.begin(), p.src.end(), p.src.begin(), rounded);
  if (c.residual_bf16) std::transform(p.residual.begin(), p.residual.end(), p.residual.begin(), rounded);
  p.exact = sums_of(p, p.src, p.weights.data<float>());
  return p;
}

struct Scratch {
  explicit Scratch(std::size_t bytes) : storage(bytes + 128, 0xCD) {
    void* p = storage.data();
    std::size_t space = storage.size();
    data = std::align(64, bytes, p, space);
  }
  std::vector<std::uint8_t> storage;
  void* data;
};

// A task that turned `before` into `after` must have written the part that the kernel told and nothing else.
void expect_part(const KernelDesc& kernel, const Problem& p, const compiler::PreparedKernel& prepared,
                 std::int64_t task, const std::vector<float>& before, const std::vector<float>& after) {
  const auto parts = static_cast<std::int64_t>(prepared.parts.size());
  const compiler::PicturePart& part = prepared.parts[static_cast<std::size_t>(task % parts)];
  const std::int64_t image = p.y.strides[0], pixel = p.y.strides[3];
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (std::memcmp(&before[i], &after[i], sizeof(float)) == 0) continue;
    const auto at = static_cast<std::int64_t>(i);
    const std::int64_t n = at / image, x = at % image / pixel, c = at % image % pixel;
    if (n == task / parts && x >= part.first_pixel && x < part.end_pixel && c >= part.first_channel &&
        c < part.end_channel)
      continue;
    ADD_FAILURE() << kernel.name << " on " << describe(p.c) << ": task " << task << " wrote pixel " << x
                  << " filter " << c << " of image " << n;
    return;
  }
}

// Runs image range [0, batch) with tasks in groups of `step`, from the last group to the first if
// `backwards`; then prepared as from a cached plan. Parts are looked at where groups are of one task.
std::vector<float> run_kernel(const KernelDesc& kernel, const Problem& p, std::int64_t batch,
                              std::int64_t step, bool backwards) {
  const ConvCase& c = p.c;
  TensorDesc x = p.x, y = p.y, r = p.r;
  x.dims[0] = y.dims[0] = r.dims[0] = batch;
  const TensorDesc absent;
  std::vector<TensorDesc> inputs = {x, constant_desc(p.weights), c.bias ? constant_desc(p.bias) : absent,
                                    c.residual ? r : absent};
  const std::vector<const Tensor*> constants = {nullptr, &p.weights, c.bias ? &p.bias : nullptr, nullptr};
  const std::vector<TensorDesc> outputs = {y};
  const compiler::KernelQuery query{p.node, inputs, constants, outputs, compiler::Precision::fp32};
  const compiler::PreparedKernel prepared =
      backwards ? cpu::prepare_from_store(kernel, query) : kernel.prepare(query);

  const auto bytes = [](const TensorDesc& desc) { return extent(desc) * dtype_size(desc.dtype); };
  GuardedBuffer src(bytes(x)), dst(bytes(y)), residual(bytes(r));
  put(p.src, extent(x), x, src.data());
  put(p.residual, extent(r), r, residual.data());
  if (c.in_place)
    put(p.residual, extent(r), r, dst.data());
  else
    put(std::vector<float>(extent(y), kUnwritten), extent(y), y, dst.data());
  const void* const srcs[] = {src.data(), nullptr, nullptr,
                              !c.residual  ? nullptr
                              : c.in_place ? dst.data()
                                           : residual.data()};
  void* const dsts[] = {dst.data()};
  Scratch shared(prepared.shared_scratch);
  for (std::size_t phase = 0; phase < prepared.phase_tasks.size(); ++phase) {
    const std::int64_t tasks = prepared.phase_tasks[phase];
    const std::int64_t groups = (tasks + step - 1) / step;
    for (std::int64_t i = 0; i < groups; ++i) {
      const std::int64_t g = backwards ? groups - 1 - i : i;
      Scratch scratch(prepared.thread_scratch);
      constexpr std::size_t kMost = 1 << 22;  // elements looked at
      const bool told = step == 1 && !prepared.parts.empty() && phase + 1 == prepared.phase_tasks.size() &&
                        static_cast<std::size_t>(tasks) * extent(y) < kMost;
      const std::vector<float> before = told ? get(dst.data(), extent(y), y) : std::vector<float>{};
      kernel.fn({prepared.state.get(), srcs, dsts, scratch.data, shared.data, static_cast<int>(phase),
                 g * step, std::min(tasks, (g + 1) * step), nullptr});
      if (told) expect_part(kernel, p, prepared, g, before, get(dst.data(), extent(y), y));
    }
  }
  EXPECT_TRUE(dst.intact()) << kernel.name << " wrote before its output";
  EXPECT_TRUE(std::equal(p.src.begin(), p.src.begin() + static_cast<std::ptrdiff_t>(extent(x)),
                         get(src.data(), extent(x), x).begin()))
      << kernel.name << " wrote to its input";
  return get(dst.data(), extent(y), y);
}

// Whether the kernel multiplies bfloat16, and not floats made of them.
bool multiplies_bf16(const KernelDesc& kernel) {
  const auto is = [&](const char* text) { return kernel.name.find(text) != std::string_view::npos; };
  return is(".avx512_bf16.bf16") || is(".amx.bf16");
}
// The less exact kind, which has to be asked for.
bool is_coarse(const KernelDesc& kernel) {
  return kernel.name.find("winograd4.avx512_bf16.bf16") != std::string_view::npos;
}

void compare(const KernelDesc& kernel, Problem& p, const std::vector<float>& got) {
  const bool coarse = is_coarse(kernel);
  const Sums& sums = coarse ? coarse_sums(p) : multiplies_bf16(kernel) ? narrow_sums(p) : p.exact;
  const ConvCase& c = p.c;
  // Winograd's transforms add and cancel: its error is relative to the largest sum.
  const auto is = [&](const char* text) { return kernel.name.find(text) != std::string_view::npos; };
  const bool eights = is("winograd8") || (is("winograd_mixed") && (c.src_bf16 || c.dst_bf16));
  const double winograd = coarse                                    ? 0
                          : is("winograd_short")                    ? 4e-6
                          : is("winograd4")                         ? 2e-5
                          : eights                                  ? 2e-4
                          : is("winograd6") || is("winograd_mixed") ? 8e-5
                                                                    : 0;
  const std::int64_t plane = p.y.dims[2] * p.y.dims[3], pixel = p.y.strides[3];
  std::vector<bool> written(got.size(), false);
  int reported = 0;
  for (std::size_t i = 0; i < sums.sums.size() && reported < 5; ++i) {
    const std::int64_t f = static_cast<std::int64_t>(i) % c.filters,
                       n = static_cast<std::int64_t>(i) / c.filters / plane,
                       at = static_cast<std::int64_t>(i) / c.filters % plane;
    const std::size_t place = static_cast<std::size_t>(n * p.y.strides[0] + at * pixel + f);
    written[place] = true;
    const double want = activate(c, sums.sums[i]);
    // A transformed operand next to the middle between two bfloat16 may be rounded to the other one.
    const double tolerance = coarse         ? 0.5 * sums.largest + 2e-5 * p.exact.largest
                             : winograd > 0 ? winograd * sums.largest + 1e-6
                                            : 1e-6 * sums.magnitude[i];
    // No activation here has a slope beyond 1.1 but a steep hard sigmoid or leaky ReLU.
    const double slope = std::max(1.1, std::fabs(static_cast<double>(c.alpha)));
    const double rounding = c.dst_bf16 ? std::fabs(want) / 256 : 0;
    if (!(std::fabs(got[place] - want) <= tolerance * slope + rounding)) {
      ADD_FAILURE() << kernel.name << " on " << describe(c) << ": image " << n << " pixel "
                    << at / p.y.dims[3] << "," << at % p.y.dims[3] << " filter " << f << ": got "
                    << got[place] << ", expected " << want;
      ++reported;
    }
  }
  for (std::size_t i = 0; i < got.size(); ++i)
    if (!written[i] && got[i] != (c.in_place ? p.residual[i] : kUnwritten)) {
      ADD_FAILURE() << kernel.name << " on " << describe(c) << " wrote into the gap at " << i;
      break;
    }
}

void check_kernel(const KernelDesc& kernel, Problem& p) {
  const std::int64_t batch = p.c.batch;
  const std::vector<float> whole = run_kernel(kernel, p, batch, 1 << 30, false);
  compare(kernel, p, whole);
  const std::vector<float> single = run_kernel(kernel, p, batch, 1, true),
                           triple = run_kernel(kernel, p, batch, 3, false);
  const auto same = [](const std::vector<float>& a, const std::vector<float>& b, std::size_t count) {
    return std::memcmp(a.data(), b.data(), count * sizeof(float)) == 0;
  };
  EXPECT_TRUE(same(whole, single, whole.size()))
      << kernel.name << " on " << describe(p.c) << ": bits depend on tasks";
  EXPECT_TRUE(same(whole, triple, whole.size()))
      << kernel.name << " on " << describe(p.c) << ": bits depend on tasks";
  if (batch > 1) {
    const std::vector<float> first = run_kernel(kernel, p, 1, 1 << 30, false);
    EXPECT_TRUE(same(whole, first, first.size()))
        << kernel.name << " on " << describe(p.c) << ": bits depend on the batch";
  }
}

}  // namespace

std::string describe(const ConvCase& c) {
  std::ostringstream s;
  s << (c.transposed ? "transposed " : "") << c.batch << "x" << c.channels << "x" << c.in_h << "x" << c.in_w
    << " -> " << c.filters << " g" << c.groups << " k" << c.kernel_h << "x" << c.kernel_w << " s"
    << c.stride_h << "x" << c.stride_w << " d" << c.dilation_h << "x" << c.dilation_w << " p" << c.pads[0]
    << "," << c.pads[1] << "," << c.pads[2] << "," << c.pads[3] << " " << c.activation
    << (c.bias ? "" : " no bias") << (c.residual ? " residual" : "") << (c.in_place ? " in place" : "")
    << (c.planar ? " planes" : "") << (c.src_bf16 ? " src bf16" : "") << (c.dst_bf16 ? " dst bf16" : "")
    << (c.residual_bf16 ? " residual bf16" : "") << " gaps " << c.src_gap << "," << c.dst_gap << ","
    << c.residual_gap;
  return s.str();
}

namespace {

// Those of both targets that can run here and accept the problem.
std::vector<const KernelDesc*> kernels_for(const Problem& p) {
  const ConvCase& c = p.c;
  const TensorDesc absent;
  const std::vector<TensorDesc> inputs = {p.x, constant_desc(p.weights),
                                          c.bias ? constant_desc(p.bias) : absent, c.residual ? p.r : absent};
  const std::vector<const Tensor*> constants = {nullptr, &p.weights, c.bias ? &p.bias : nullptr, nullptr};
  const std::vector<TensorDesc> outputs = {p.y};
  const compiler::KernelQuery query{p.node, inputs, constants, outputs, compiler::Precision::fp32};
  std::vector<const KernelDesc*> found;
  for (const compiler::Target* target : {&cpu::target(), &cpu::emulated_target()})
    for (const KernelDesc* kernel : target->kernels(detected_isa())) {
      if (kernel->op != p.node.op) continue;
      if (kernel->fn == nullptr) {
        ADD_FAILURE() << kernel->name << " has no emulation";
        continue;
      }
      if (c.in_place && (kernel->in_place & 1u << 3) == 0) continue;
      if (kernel->can_run(query) != nullptr) continue;
      EXPECT_GT(kernel->cost(query), 0) << kernel->name;
      found.push_back(kernel);
    }
  return found;
}

void check_case(const ConvCase& c, std::vector<std::string>& ran) {
  Problem p = make_problem(c);
  for (const KernelDesc* kernel : kernels_for(p)) {
    check_kernel(*kernel, p);
    ran.emplace_back(kernel->name);
  }
}

}  // namespace

std::vector<std::string> check_conv_kernels(const ConvCase& c) {
  std::vector<std::string> ran;
  check_case(c, ran);
  ConvCase narrow = c;
  narrow.src_bf16 = !c.planar;
  narrow.dst_bf16 = narrow.residual_bf16 = true;
  check_case(narrow, ran);
  // One of the other combinations, each in turn over the cases.
  const std::string text = describe(c);
  std::size_t turn = 0;
  for (const char letter : text) turn = turn * 31 + static_cast<unsigned char>(letter);
  ConvCase mixed = c;
  mixed.src_bf16 = turn % 3 != 0 && !c.planar;
  mixed.dst_bf16 = turn % 3 == 0;
  mixed.residual_bf16 = c.in_place ? mixed.dst_bf16 : turn % 2 == 0;
  check_case(mixed, ran);
  return ran;
}

std::map<std::string, double> bf16_errors(const ConvCase& c) {
  ConvCase narrow = c;
  narrow.src_bf16 = narrow.dst_bf16 = true;
  Problem p = make_problem(narrow);
  // As in networks: inputs behind a ReLU, weights that keep the scale.
  std::mt19937 random(11);
  std::normal_distribution<float> normal;
  const auto scale = static_cast<float>(
      std::sqrt(2.0 / static_cast<double>(c.channels / c.groups * c.kernel_h * c.kernel_w)));
  for (float& x : p.src) x = std::max(0.0f, normal(random));
  for (std::int64_t i = 0; i < p.weights.count(); ++i) p.weights.data<float>()[i] = scale * normal(random);
  const std::vector<float> src = p.src;
  const Sums wanted = sums_of(p, src, p.weights.data<float>());
  std::transform(p.src.begin(), p.src.end(), p.src.begin(), rounded);
  const Sums& direct = narrow_sums(p);
  std::map<std::string, double> errors;
  const auto record = [&](const std::string& name, const auto& result_of) {
    double squares = 0;
    for (std::size_t i = 0; i < wanted.sums.size(); ++i) {
      const double error = result_of(i) - activate(c, wanted.sums[i]);
      squares += error * error;
    }
    errors[name] = std::sqrt(squares / static_cast<double>(wanted.sums.size()));
  };
  record("", [&](std::size_t i) {
    return static_cast<double>(rounded(static_cast<float>(activate(c, direct.sums[i]))));
  });
  for (const KernelDesc* kernel : kernels_for(p)) {
    const std::vector<float> got = run_kernel(*kernel, p, c.batch, 1 << 30, false);
    record(std::string(kernel->name), [&](std::size_t i) { return static_cast<double>(got[i]); });
  }
  return errors;
}

}  // namespace saccade::test
