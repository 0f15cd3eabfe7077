// Choice and preparation of the exact Winograd convolution of bytes.
#include "cpu/kernels/winograd_bytes/winograd_bytes.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>

#include "cpu/byte_conv_query.h"
#include "cpu/cost.h"
#include "cpu/kernels/families.h"
#include "cpu/packed.h"

namespace saccade::cpu {

namespace {

using compiler::KernelDesc;
using compiler::KernelQuery;
using compiler::PreparedKernel;

// The state and what it points to.
struct Packed {
  WinogradBytesState state{};
  PackedFloats weights, ratio, bias;  // words, floats, integers
};

std::int64_t tiles_along(std::int64_t out, std::int64_t dilation) {
  const std::int64_t in_phase = (out + dilation - 1) / dilation;  // of the first phase, the largest
  return (in_phase + 1) / 2;
}

// Whether 32 bits hold four times every sum, bias apart.
bool sums_fit(const KernelQuery& query) {
  const Tensor& weights = *query.constants[3];
  const std::int64_t each = weights.count() / weights.dim(0);
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max() / 4 / 255;
  if (each * 255 <= kMost) return true;
  const ByteConvQuery q = read_byte_conv(query);
  for (auto at = q.weights.begin(); at != q.weights.end(); at += each) {
    std::int64_t sum = 0;
    for (auto w = at; w != at + each; ++w) sum += std::abs(*w);
    if (sum > kMost) return false;
  }
  return true;
}

template <Isa kIsa>
const char* can_run(const KernelQuery& query) {
  if (query.node.integer("group", 1) != 1) return "grouped";
  if (const char* why = check_byte_conv(query)) return why;
  const ByteConvQuery q = read_byte_conv(query, false);
  if (q.kernel_h != 3 || q.kernel_w != 3) return "not 3x3";
  if (q.stride_h != 1 || q.stride_w != 1) return "strided";
  if (q.channels % (2 * lanes(kIsa)) != 0) return "channels do not fill vectors";
  return sums_fit(query) ? nullptr : "four times a sum may exceed 32 bits";
}

template <Isa kIsa>
double cost(const KernelQuery& query) {
  const ByteConvQuery q = read_byte_conv(query, false);
  const auto tiles = static_cast<double>(q.dilation_h * q.dilation_w * tiles_along(q.out_h, q.dilation_h) *
                                         tiles_along(q.out_w, q.dilation_w));
  const auto channels = static_cast<double>(q.channels), filters = static_cast<double>(q.filters);
  // Vector operations of a tile: products, and some 80 and 90 a vector of its channels and filters.
  const double words = kWinogradPositions * channels / 2 * filters;
  const double transforms = (80 * channels / 2 + 90 * filters) / 2;
  return static_cast<double>(q.batch) * tiles *
         (words / pair_words_per_ns(kIsa) + transforms / multiply_adds_per_ns(kIsa));
}

// The filter of one channel, transformed and times 4.
void transform_filter(const std::int16_t* g, std::int16_t (&u)[kWinogradPositions]) {
  int t[4][3];
  for (int j = 0; j < 3; ++j) {
    const int a = g[j], b = g[3 + j], c = g[6 + j];
    t[0][j] = 2 * a, t[1][j] = a + b + c, t[2][j] = a - b + c, t[3][j] = 2 * c;
  }
  for (int i = 0; i < 4; ++i) {
    const auto [a, b, c] = t[i];
    const int row[4] = {2 * a, a + b + c, a - b + c, 2 * c};
    for (int j = 0; j < 4; ++j) u[i * 4 + j] = static_cast<std::int16_t>(row[j]);
  }
}

void pack(const ByteConvQuery& q, std::int64_t lanes, const WinogradBytesState& s, float* packed) {
  auto* out = reinterpret_cast<std::int16_t*>(packed);
  for (std::int64_t b = 0; b < s.blocks; ++b) {
    const std::int64_t f0 = s.vectors * b / s.blocks * lanes, f1 = s.vectors * (b + 1) / s.blocks * lanes;
    const std::int64_t width = f1 - f0;
    for (std::int64_t f = f0; f < std::min(f1, q.filters); ++f)
      for (std::int64_t c = 0; c < q.channels; ++c) {
        std::int16_t u[kWinogradPositions];
        transform_filter(q.weights.data() + (f * q.channels + c) * 9, u);
        for (std::int64_t p = 0; p < kWinogradPositions; ++p)
          out[((p * q.channels / 2 + c / 2) * width + f - f0) * 2 + c % 2] = u[p];
      }
    out += kWinogradPositions * q.channels * width;
  }
}

template <Isa kIsa>
PreparedKernel prepare(const KernelQuery& query) {
  const ByteConvQuery q = read_byte_conv(query);
  const std::int64_t width = lanes(kIsa);
  auto packed = std::make_shared<Packed>();
  WinogradBytesState& s = packed->state;
  s.channels = q.channels, s.filters = q.filters;
  s.in_h = q.in_h, s.in_w = q.in_w, s.out_h = q.out_h, s.out_w = q.out_w;
  s.pad_top = q.pad_top, s.pad_left = q.pad_left, s.dilation_h = q.dilation_h, s.dilation_w = q.dilation_w;
  s.src_image = q.src_image, s.src_row = q.src_row, s.src_pixel = q.src_pixel;
  s.dst_image = q.dst_image, s.dst_pixel = q.dst_pixel;
  s.is_signed = q.x_signed, s.x_zero = q.x_zero, s.y_zero = q.y_zero;
  s.low = q.low, s.high = q.high;
  s.vectors = (q.filters + width - 1) / width;
  s.blocks = filter_blocks(s.vectors, lanes(kIsa));
  const auto padded = static_cast<std::size_t>(s.vectors * width);
  packed->weights =
      PackedFloats::packed(query, padded * static_cast<std::size_t>(kWinogradPositions * q.channels / 2),
                           [&](PackedFloats& weights) { pack(q, width, s, weights.data()); });
  packed->bias = PackedFloats(padded), packed->ratio = PackedFloats(padded);
  std::copy(q.bias.begin(), q.bias.end(), reinterpret_cast<int*>(packed->bias.data()));
  std::copy(q.ratio.begin(), q.ratio.end(), packed->ratio.data());
  s.weights = reinterpret_cast<const char*>(packed->weights.data());
  s.bias = reinterpret_cast<const int*>(packed->bias.data()), s.ratio = packed->ratio.data();

  // Transformed pixels of a strip stay in the second-level cache, if the strip is long enough for the filters
  // to be worth reading.
  constexpr std::int64_t kNearBytes = 256 * 1024, kShortest = 12, kLongest = 96, kLine = 64, kPage = 4096;
  s.tiles_y = tiles_along(q.out_h, q.dilation_h), s.tiles_x = tiles_along(q.out_w, q.dilation_w);
  s.tiles = s.tiles_y * s.tiles_x * q.dilation_h * q.dilation_w;
  const std::int64_t fitting = kNearBytes / (kWinogradPositions * 2 * q.channels) / kShortest * kShortest;
  s.strip = std::clamp(fitting, kShortest, kLongest);
  s.position_bytes = (s.strip * q.channels * 2 + kLine - 1) / kLine * kLine;
  if (s.position_bytes % kPage == 0) s.position_bytes += kLine;
  s.sums_offset = kWinogradPositions * s.position_bytes;
  const std::int64_t widest = (s.vectors + s.blocks - 1) / s.blocks * width;
  constexpr std::int64_t kTasks = 16;
  const std::int64_t work = s.tiles * kWinogradPositions * q.channels / 2 * s.vectors;
  const std::int64_t wanted = std::min(kTasks, tasks_of_work(work));
  s.parts =
      even_tasks(std::max(wanted, s.tiles / (4 * s.strip)), std::max<std::int64_t>(1, s.tiles / s.strip));
  s.splits = even_tasks(wanted / s.parts, s.blocks);

  PreparedKernel prepared;
  prepared.multiply_adds = q.batch * s.tiles * kWinogradPositions * q.channels * q.filters;
  prepared.weight_bytes = packed->weights.bytes() + packed->bias.bytes() + packed->ratio.bytes();
  prepared.phase_tasks = {q.batch * s.parts * s.splits};
  prepared.thread_scratch = static_cast<std::size_t>(
      s.sums_offset + kWinogradPositions * s.strip * widest * static_cast<std::int64_t>(sizeof(int)));
  prepared.constants_used.assign(query.inputs.size(), true);
  prepared.constants_used[0] = false;
  prepared.state = std::shared_ptr<const void>(packed, &packed->state);
  return prepared;
}

constexpr KernelDesc kTable[] = {
    {"conv.winograd2.avx512.int8", "QLinearConv", Isa::avx512, false, can_run<Isa::avx512>, cost<Isa::avx512>,
     prepare<Isa::avx512>, avx512::winograd_bytes},
    {"conv.winograd2.avx2.int8", "QLinearConv", Isa::avx2, false, can_run<Isa::avx2>, cost<Isa::avx2>,
     prepare<Isa::avx2>, avx2::winograd_bytes},
    {"conv.winograd2.portable.int8", "QLinearConv", Isa::portable, false, can_run<Isa::portable>,
     cost<Isa::portable>, prepare<Isa::portable>, portable::winograd_bytes},
};

}  // namespace

std::span<const KernelDesc> winograd_bytes_kernels() { return kTable; }

}  // namespace saccade::cpu
