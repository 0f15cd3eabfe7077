#include "cpu/conv_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <sstream>

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

constexpr float kUnwritten = 12345.0f;  // what gaps and outputs hold before the run

std::int64_t out_size(const ConvCase& c, bool height) {
  const std::int64_t in = height ? c.in_h : c.in_w, k = height ? c.kernel_h : c.kernel_w,
                     s = height ? c.stride_h : c.stride_w, d = height ? c.dilation_h : c.dilation_w,
                     pads = c.pads[height ? 0 : 1] + c.pads[height ? 2 : 3];
  if (c.transposed) return (in - 1) * s + c.output_padding[height ? 0 : 1] + (k - 1) * d + 1 - pads;
  return (in + pads - (k - 1) * d - 1) / s + 1;
}

// Channels last with a gap behind each pixel's channels.
TensorDesc image_desc(Shape dims, std::int64_t gap) {
  TensorDesc desc;
  desc.present = true;
  desc.layout = Layout::channels_last;
  const std::int64_t pixel = dims[1] + gap;
  desc.strides = {pixel * dims[3] * dims[2], 1, pixel * dims[3], pixel};
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

struct Problem {
  ConvCase c;
  ir::Node node;
  TensorDesc x, y, r;
  Tensor weights, bias;
  std::vector<float> src, residual;  // with gaps
  std::vector<double> sums;          // before the activation, logical NHWC order
  std::vector<double> magnitude;     // sum of the products' absolute values
  double largest = 0;                // absolute sum
};

void multiply_direct(Problem& p) {
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
              const float* s =
                  p.src.data() + n * p.x.strides[0] + iy * p.x.strides[2] + ix * p.x.strides[3] + f / fg * cg;
              const float* w =
                  p.weights.data<float>() + f * cg * c.kernel_h * c.kernel_w + ky * c.kernel_w + kx;
              for (std::int64_t k = 0; k < cg; ++k) {
                const double product = static_cast<double>(s[k]) * w[k * c.kernel_h * c.kernel_w];
                p.sums[at] += product;
                p.magnitude[at] += std::fabs(product);
              }
            }
}

void multiply_transposed(Problem& p) {
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
                    static_cast<double>(p.src[static_cast<std::size_t>(
                        n * p.x.strides[0] + iy * p.x.strides[2] + ix * p.x.strides[3] + k)]) *
                    p.weights.data<float>()[((k * fg + f) * c.kernel_h + ky) * c.kernel_w + kx];
                p.sums[at] += product;
                p.magnitude[at] += std::fabs(product);
              }
          }
}

Problem make_problem(const ConvCase& c) {
  Problem p;
  p.c = c;
  p.x = image_desc({c.batch, c.channels, c.in_h, c.in_w}, c.src_gap);
  p.y = image_desc({c.batch, c.filters, out_size(c, true), out_size(c, false)}, c.dst_gap);
  p.r = image_desc(p.y.dims, c.in_place ? c.dst_gap : c.residual_gap);
  p.node.op = c.transposed ? "ConvTranspose" : "Conv";
  auto& a = p.node.attributes;
  a["strides"] = std::vector<std::int64_t>{c.stride_h, c.stride_w};
  a["dilations"] = std::vector<std::int64_t>{c.dilation_h, c.dilation_w};
  a["pads"] = c.pads;
  a["group"] = c.groups;
  if (c.transposed) a["output_padding"] = c.output_padding;
  a["activation"] = c.activation;
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

  p.sums.assign(static_cast<std::size_t>(p.y.count()), 0.0);
  p.magnitude = p.sums;
  if (c.transposed)
    multiply_transposed(p);
  else
    multiply_direct(p);
  const std::int64_t plane = p.y.dims[2] * p.y.dims[3];
  for (std::size_t i = 0; i < p.sums.size(); ++i) {
    const std::int64_t f = static_cast<std::int64_t>(i) % c.filters,
                       pixel = static_cast<std::int64_t>(i) / c.filters;
    const std::int64_t n = pixel / plane, at = pixel % plane;
    if (c.bias) p.sums[i] += p.bias.data<float>()[f];
    if (c.residual)
      p.sums[i] += p.residual[static_cast<std::size_t>(n * p.r.strides[0] + at * p.r.strides[3] + f)];
    p.magnitude[i] += 2;
    p.largest = std::max(p.largest, std::fabs(p.sums[i]));
  }
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

// Runs image range [0, batch) with tasks in groups of `step`, from the last group to the first if
// `backwards`; then prepared as from a cached plan.
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

  GuardedBuffer src(extent(x)), dst(extent(y)), residual(extent(r));
  std::memcpy(src.data(), p.src.data(), extent(x) * sizeof(float));
  std::memcpy(residual.data(), p.residual.data(), extent(r) * sizeof(float));
  if (c.in_place)
    std::memcpy(dst.data(), p.residual.data(), extent(r) * sizeof(float));
  else
    std::fill_n(dst.data(), extent(y), kUnwritten);
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
      kernel.fn({prepared.state.get(), srcs, dsts, scratch.data, shared.data, static_cast<int>(phase),
                 g * step, std::min(tasks, (g + 1) * step), nullptr});
    }
  }
  EXPECT_TRUE(dst.intact()) << kernel.name << " wrote before its output";
  EXPECT_EQ(std::memcmp(src.data(), p.src.data(), extent(x) * sizeof(float)), 0)
      << kernel.name << " wrote to its input";
  return {dst.data(), dst.data() + extent(y)};
}

void compare(const KernelDesc& kernel, const Problem& p, const std::vector<float>& got) {
  const ConvCase& c = p.c;
  // Winograd's transforms add and cancel: its error is relative to the largest sum.
  const auto is = [&](const char* text) { return kernel.name.find(text) != std::string_view::npos; };
  const double winograd = is("winograd4") ? 2e-5 : is("winograd6") ? 8e-5 : 0;
  const std::int64_t plane = p.y.dims[2] * p.y.dims[3], pixel = p.y.strides[3];
  std::vector<bool> written(got.size(), false);
  int reported = 0;
  for (std::size_t i = 0; i < p.sums.size() && reported < 5; ++i) {
    const std::int64_t f = static_cast<std::int64_t>(i) % c.filters,
                       n = static_cast<std::int64_t>(i) / c.filters / plane,
                       at = static_cast<std::int64_t>(i) / c.filters % plane;
    const std::size_t place = static_cast<std::size_t>(n * p.y.strides[0] + at * pixel + f);
    written[place] = true;
    const double want = activate(c, p.sums[i]);
    const double tolerance = winograd > 0 ? winograd * p.largest + 1e-6 : 1e-6 * p.magnitude[i];
    // No activation here has a slope beyond 1.1 but a steep hard sigmoid or leaky ReLU.
    const double slope = std::max(1.1, std::fabs(static_cast<double>(c.alpha)));
    if (!(std::fabs(got[place] - want) <= tolerance * slope)) {
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

void check_kernel(const KernelDesc& kernel, const Problem& p) {
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
    << " gaps " << c.src_gap << "," << c.dst_gap << "," << c.residual_gap;
  return s.str();
}

std::vector<std::string> check_conv_kernels(const ConvCase& c) {
  const Problem p = make_problem(c);
  std::vector<const KernelDesc*> kernels;
  for (const compiler::Target* target : {&cpu::target(), &cpu::emulated_target()})
    for (const KernelDesc* kernel : target->kernels(detected_isa()))
      if (kernel->op == p.node.op) kernels.push_back(kernel);
  std::vector<std::string> ran;
  for (const KernelDesc* kernel : kernels) {
    if (kernel->fn == nullptr) {
      ADD_FAILURE() << kernel->name << " has no emulation";
      continue;
    }
    if (c.in_place && (kernel->in_place & 1u << 3) == 0) continue;
    const TensorDesc absent;
    const std::vector<TensorDesc> inputs = {
        p.x, constant_desc(p.weights), c.bias ? constant_desc(p.bias) : absent, c.residual ? p.r : absent};
    const std::vector<const Tensor*> constants = {nullptr, &p.weights, c.bias ? &p.bias : nullptr, nullptr};
    const std::vector<TensorDesc> outputs = {p.y};
    const compiler::KernelQuery query{p.node, inputs, constants, outputs, compiler::Precision::fp32};
    if (kernel->can_run(query) != nullptr) continue;
    EXPECT_GT(kernel->cost(query), 0) << kernel->name;
    check_kernel(*kernel, p);
    ran.emplace_back(kernel->name);
  }
  return ran;
}

}  // namespace saccade::test
