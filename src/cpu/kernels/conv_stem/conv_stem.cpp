// Choice and preparation of the kernels of first convolutions.
#include "cpu/kernels/conv_stem/conv_stem.h"

#include <algorithm>

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

// The state and what it points to.
struct Packed {
  ConvStemState state{};
  PackedFloats weights, bias;
};

// How rows of a window lie in memory: in a line of each plane, or in one of pixels.
struct Lines {
  std::int64_t lines, length, distance;
};

Lines lines_of(const ConvQuery& q) {
  if (q.planar) return {q.channels, q.kernel_w, q.stride_w};
  return {1, q.kernel_w * q.channels, q.stride_w * q.channels};
}

// Of kStemForms; -1: none.
int form_of(const Lines& lines) {
  for (int i = 0; i < kStemFormCount; ++i)
    if (kStemForms[i].length == lines.length && kStemForms[i].distance == lines.distance) return i;
  return -1;
}

template <Isa kIsa>
const char* can_run(const KernelQuery& query) {
  if (const char* why = check_conv(query, Storage::f32, false, false, true)) return why;
  const ConvQuery q = read_conv(query);
  if (q.groups != 1) return "grouped";
  if (q.channels > 4) return "more than 4 channels";
  if (q.has_residual) return "residual";
  if (q.dilation_h != 1 || q.dilation_w != 1) return "dilated";
  if (!q.planar && q.src_pixel != q.channels) return "pixels are not adjacent";
  const int form = form_of(lines_of(q));
  if (form < 0) return "no form of this window";
  if (lanes(kIsa) < 16 && kStemForms[form].length > 3) return "filters of a run do not fit the registers";
  // One sum in registers, hardly longer than kSumLength.
  if (q.channels * q.kernel_h * q.kernel_w > kSumLength + kSumLength / 4) return "too many products";
  if (q.out_w < stem_pixels(lanes(kIsa))) return "rows shorter than a tile";
  return nullptr;
}

template <Isa kIsa>
double cost(const KernelQuery& query) {
  // Tiles whose pixels lie at fixed distances take four fifths of the time of others, where there are
  // registers for them.
  const ConvQuery q = read_conv(query);
  return (lanes(kIsa) == 16 ? 0.8 : 0.95) * share_inside(q) * static_cast<double>(q.batch * q.out_h) *
         tile_row_ns(kIsa, q.out_w, q.filters, q.channels * q.kernel_h * q.kernel_w, 0);
}

void pack(const ConvQuery& q, std::int64_t width, const ConvStemState& s, float* out) {
  const std::int64_t taps = q.kernel_h * q.kernel_w;
  const auto weight = [&](std::int64_t f, std::int64_t c, std::int64_t y, std::int64_t x) {
    return f < q.filters ? q.weights[(f * q.channels + c) * taps + y * q.kernel_w + x] : 0;
  };
  const std::int64_t length = kStemForms[s.form].length;
  for (std::int64_t v = 0; v < s.vectors; ++v)
    for (std::int64_t y = 0; y < q.kernel_h; ++y)
      for (std::int64_t line = 0; line < s.lines; ++line)
        for (std::int64_t i = 0; i < length; ++i)
          for (std::int64_t f = v * width; f < (v + 1) * width; ++f)
            *out++ = q.planar ? weight(f, line, y, i) : weight(f, i % q.channels, y, i / q.channels);
}

template <Isa kIsa>
PreparedKernel prepare(const KernelQuery& query) {
  const ConvQuery q = read_conv(query);
  const std::int64_t width = lanes(kIsa);
  auto packed = std::make_shared<Packed>();
  ConvStemState& s = packed->state;
  s.filters = q.filters;
  s.in_h = q.in_h, s.in_w = q.in_w, s.out_h = q.out_h, s.out_w = q.out_w;
  s.kernel_h = q.kernel_h, s.kernel_w = q.kernel_w, s.stride_h = q.stride_h, s.stride_w = q.stride_w;
  s.pad_top = q.pad_top, s.pad_left = q.pad_left;
  s.src_image = q.src_image, s.src_row = q.src_row, s.src_pixel = q.src_pixel;
  s.src_plane = q.planar ? q.src_plane : 0;
  s.dst_image = q.dst_image, s.dst_pixel = q.dst_pixel;
  s.epilogue = q.epilogue;
  const Lines lines = lines_of(q);
  s.form = form_of(lines), s.lines = lines.lines;
  s.vectors = (q.filters + width - 1) / width;
  const std::int64_t products = q.channels * q.kernel_h * q.kernel_w;
  packed->weights = PackedFloats::packed(query, static_cast<std::size_t>(s.vectors * width * products),
                                         [&](PackedFloats& weights) { pack(q, width, s, weights.data()); });
  packed->bias = PackedFloats(static_cast<std::size_t>(s.vectors * width));
  if (q.bias != nullptr) std::copy_n(q.bias, q.filters, packed->bias.data());
  s.weights = packed->weights.data(), s.bias = packed->bias.data();
  // Bands of about eight rows.
  constexpr std::int64_t kRows = 8, kTasks = 16;
  const std::int64_t wanted = std::min(kTasks, tasks_of_work(q.out_h * q.out_w * s.vectors * products));
  s.bands = even_tasks(std::max((q.out_h + kRows - 1) / kRows, wanted), q.out_h);
  const std::int64_t most = stem_pixels(static_cast<int>(width));
  const std::int64_t columns = (most - 1) * q.stride_w + q.kernel_w;
  s.window_floats = (columns * q.src_pixel + width - 1) / width * width + width;

  PreparedKernel prepared;
  prepared.weight_bytes = packed->weights.bytes() + packed->bias.bytes();
  prepared.phase_tasks = {q.batch * s.bands};
  prepared.thread_scratch = static_cast<std::size_t>(q.kernel_h * s.lines * s.window_floats) * sizeof(float) +
                            2 * static_cast<std::size_t>(q.kernel_h * s.lines) * sizeof(float*);
  prepared.constants_used.assign(query.inputs.size(), false);
  for (std::size_t i = 1; i < query.inputs.size() && i < 3; ++i) prepared.constants_used[i] = true;
  prepared.packed_inputs = 1u << 1;
  prepared.state = std::shared_ptr<const void>(packed, &packed->state);
  return prepared;
}

constexpr KernelDesc kTable[] = {
    {"conv.stem.avx512.fp32", "Conv", Isa::avx512, false, can_run<Isa::avx512>, cost<Isa::avx512>,
     prepare<Isa::avx512>, avx512::conv_stem},
    {"conv.stem.avx2.fp32", "Conv", Isa::avx2, false, can_run<Isa::avx2>, cost<Isa::avx2>, prepare<Isa::avx2>,
     avx2::conv_stem},
    {"conv.stem.portable.fp32", "Conv", Isa::portable, false, can_run<Isa::portable>, cost<Isa::portable>,
     prepare<Isa::portable>, portable::conv_stem},
};

}  // namespace

std::span<const KernelDesc> conv_stem_kernels() { return kTable; }

}  // namespace saccade::cpu
