// Choice and preparation of the transposed convolution kernels.
#include "cpu/kernels/conv_transpose/conv_transpose.h"

#include <algorithm>
#include <vector>

#include "cpu/conv_query.h"
#include "cpu/cost.h"
#include "cpu/kernels/families.h"
#include "cpu/kernels/tile/tile.h"
#include "cpu/packed.h"

namespace saccade::cpu {

namespace {

using compiler::KernelDesc;
using compiler::KernelQuery;
using compiler::PreparedKernel;

// The taps of one axis, by phase.
struct Axis {
  std::vector<TransposePhase> phases;
  std::vector<std::vector<std::int64_t>> taps, offsets;  // per phase: tap number, input offset

  Axis(std::int64_t kernel, std::int64_t stride, std::int64_t dilation, std::int64_t pad, std::int64_t out) {
    const auto count = static_cast<std::size_t>(stride);
    taps.resize(count), offsets.resize(count), phases.resize(count);
    for (std::int64_t r = 0; r < stride; ++r) {
      const auto i = static_cast<std::size_t>(r);
      for (std::int64_t k = 0; k < kernel; ++k) {
        const std::int64_t from = r + pad - k * dilation;
        if (from % stride != 0) continue;
        taps[i].push_back(k);
        offsets[i].push_back(from / stride);
      }
      phases[i] = {(std::max<std::int64_t>(out - r, 0) + stride - 1) / stride,
                   static_cast<std::int64_t>(taps[i].size()), offsets[i].data()};
    }
  }
  std::int64_t most_taps() const {
    std::int64_t most = 0;
    for (const TransposePhase& phase : phases) most = std::max(most, phase.taps);
    return most;
  }
};

// The state and what it points to.
struct Packed {
  Packed(Axis h, Axis w) : rows(std::move(h)), columns(std::move(w)) {}
  ConvTransposeState state{};
  Axis rows, columns;
  PackedFloats weights, bias, zeros;
};

const char* can_run(const KernelQuery& query) { return check_conv(query); }

template <Isa kIsa>
double cost(const KernelQuery& query) {
  const ConvQuery q = read_conv(query);
  const std::int64_t width = lanes(kIsa);
  const double used = static_cast<double>((q.filters + width - 1) / width * width);
  const double work =
      static_cast<double>(q.in_h * q.in_w * q.groups * q.channels * q.kernel_h * q.kernel_w) * used;
  return work / (0.8 * multiply_adds_per_ns(kIsa));
}

void pack(const ConvQuery& q, int lanes, Packed& packed) {
  const ConvTransposeState& s = packed.state;
  float* out = packed.weights.data();
  for (std::int64_t g = 0; g < q.groups; ++g)
    for (std::int64_t b = 0; b < s.blocks; ++b) {
      const std::int64_t f0 = s.vectors * b / s.blocks * lanes, f1 = s.vectors * (b + 1) / s.blocks * lanes;
      for (const auto& rows : packed.rows.taps)
        for (const auto& columns : packed.columns.taps)
          for (const std::int64_t ky : rows)
            for (const std::int64_t kx : columns)
              for (std::int64_t c = 0; c < q.channels; ++c)
                for (std::int64_t f = f0; f < f1; ++f, ++out)
                  if (f < q.filters)
                    *out = q.weights[(((g * q.channels + c) * q.filters + f) * q.kernel_h + ky) * q.kernel_w +
                                     kx];
    }
  for (std::int64_t g = 0; g < q.groups && q.bias != nullptr; ++g)
    std::copy_n(q.bias + g * q.filters, q.filters, packed.bias.data() + g * s.vectors * lanes);
}

template <Isa kIsa>
PreparedKernel prepare(const KernelQuery& query) {
  const ConvQuery q = read_conv(query);
  const int width = lanes(kIsa);
  auto packed = std::make_shared<Packed>(Axis(q.kernel_h, q.stride_h, q.dilation_h, q.pad_top, q.out_h),
                                         Axis(q.kernel_w, q.stride_w, q.dilation_w, q.pad_left, q.out_w));
  ConvTransposeState& s = packed->state;
  s.groups = q.groups, s.channels = q.channels, s.filters = q.filters;
  s.in_h = q.in_h, s.in_w = q.in_w, s.out_w = q.out_w, s.stride_h = q.stride_h, s.stride_w = q.stride_w;
  s.src_image = q.src_image, s.src_row = q.src_row, s.src_pixel = q.src_pixel;
  s.dst_image = q.dst_image, s.dst_pixel = q.dst_pixel;
  s.epilogue = q.epilogue;
  s.phases_h = packed->rows.phases.data(), s.phases_w = packed->columns.phases.data();
  s.most_taps = packed->rows.most_taps() * packed->columns.most_taps();
  s.taps = q.kernel_h * q.kernel_w;
  s.vectors = (q.filters + width - 1) / width;
  s.blocks = filter_blocks(s.vectors, width);
  packed->weights =
      PackedFloats(static_cast<std::size_t>(q.groups * s.vectors * width * s.taps * q.channels));
  packed->bias = PackedFloats(static_cast<std::size_t>(q.groups * s.vectors * width));
  packed->zeros = PackedFloats(static_cast<std::size_t>(q.channels));
  pack(q, width, *packed);
  s.weights = packed->weights.data(), s.bias = packed->bias.data(), s.zeros = packed->zeros.data();
  s.rows = (q.out_h + q.stride_h - 1) / q.stride_h;
  s.band_rows = std::min<std::int64_t>(s.rows, 4);
  s.bands = (s.rows + s.band_rows - 1) / s.band_rows;
  s.splits = std::min<std::int64_t>(s.blocks, std::max<std::int64_t>(1, 8 / s.bands));

  PreparedKernel prepared;
  prepared.weight_bytes = packed->weights.bytes() + packed->bias.bytes();
  prepared.phase_tasks = {q.batch * s.bands * s.groups * s.splits};
  prepared.thread_scratch = tile_scratch(s.most_taps);
  prepared.constants_used.assign(query.inputs.size(), true);
  prepared.constants_used[0] = false;
  prepared.state = std::shared_ptr<const void>(packed, &packed->state);
  return prepared;
}

constexpr KernelDesc kTable[] = {
    {"conv_transpose.avx512.fp32", "ConvTranspose", Isa::avx512, false, can_run, cost<Isa::avx512>,
     prepare<Isa::avx512>, avx512::conv_transpose},
    {"conv_transpose.avx2.fp32", "ConvTranspose", Isa::avx2, false, can_run, cost<Isa::avx2>,
     prepare<Isa::avx2>, avx2::conv_transpose},
    {"conv_transpose.portable.fp32", "ConvTranspose", Isa::portable, false, can_run, cost<Isa::portable>,
     prepare<Isa::portable>, portable::conv_transpose},
};

}  // namespace

std::span<const KernelDesc> conv_transpose_kernels() { return kTable; }

}  // namespace saccade::cpu
