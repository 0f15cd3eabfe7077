// Choice and preparation of the depthwise kernels.
#include "cpu/kernels/depthwise/depthwise.h"

#include <algorithm>
#include <memory>

#include "base/half.h"
#include "cpu/conv_query.h"
#include "cpu/cost.h"
#include "cpu/kernels/families.h"
#include "cpu/packed.h"
#include "cpu/rates.h"
#include "cpu/storage.h"

namespace saccade::cpu {

namespace {

using compiler::KernelDesc;
using compiler::KernelQuery;
using compiler::PreparedKernel;

struct State {
  DepthwiseParams params;
  PackedFloats weights;
  PackedFloats bias;
  PackedFloats zeros;
};

std::int64_t up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

bool activates_in_registers(Activation activation) {
  return activation == Activation::none || activation == Activation::relu || activation == Activation::clip ||
         activation == Activation::hard_swish;
}

const char* can_run(const KernelQuery& query) {
  if (const char* why = check_conv(query, Storage::f32, false, true)) return why;
  const ConvQuery q = read_conv(query);
  // The costlier activations work on what is stored, perhaps over the residual.
  if (q.residual_last && !activates_in_registers(q.epilogue.activation))
    return "residual behind a costly activation";
  if (q.channels != 1 || q.groups == 1) return "not depthwise";
  return nullptr;
}

// Products of bfloat16 for the windows that have tiles.
const char* can_run_paired(const KernelQuery& query) {
  if (const char* why = can_run(query)) return why;
  const ConvQuery q = read_conv(query);
  if (q.filters != 1) return "more than one output channel an input channel";
  if (q.kernel_h != q.kernel_w || (q.kernel_h != 3 && q.kernel_h != 5))
    return "window is neither 3x3 nor 5x5";
  if (q.stride_h != q.stride_w || q.stride_h > 2) return "strides are not both 1 or 2";
  if (q.stride_h == 2 && (q.dilation_h > 1 || q.dilation_w > 1)) return "strided and dilated";
  return nullptr;
}

// A group is a multiple of `step` vectors.
DepthwiseParams describe(const ConvQuery& q, int lane_count, std::int64_t step) {
  DepthwiseParams p{};
  p.channels = q.groups * q.filters;
  p.multiplier = q.filters;
  p.src_height = q.in_h, p.src_width = q.in_w, p.dst_height = q.out_h, p.dst_width = q.out_w;
  p.src_image = q.src_image, p.src_row = q.src_row, p.src_pixel = q.src_pixel;
  p.dst_image = q.dst_image, p.dst_row = q.dst_pixel * q.out_w, p.dst_pixel = q.dst_pixel;
  p.residual_image = q.residual_image, p.residual_row = q.residual_pixel * q.out_w;
  p.residual_pixel = q.residual_pixel, p.has_residual = q.has_residual;
  p.residual_last = q.residual_last;
  p.kernel_y = q.kernel_h, p.kernel_x = q.kernel_w;
  p.stride_y = q.stride_h, p.stride_x = q.stride_w;
  p.dilation_y = q.dilation_h, p.dilation_x = q.dilation_w;
  p.pad_top = q.pad_top, p.pad_left = q.pad_left;
  p.epilogue = q.epilogue;
  const bool dense = q.stride_h == 1 && q.stride_w == 1;
  p.phases_y = dense ? q.dilation_h : 1, p.phases_x = dense ? q.dilation_w : 1;
  const std::int64_t height = up(p.dst_height, p.phases_y), width = up(p.dst_width, p.phases_x);
  // Groups small enough that the rows of a strip stay in L1 while it is walked, equal as far as vectors
  // allow. Phases of a few pixels are all edges, whose taps are found once a group.
  constexpr std::int64_t kChannels = 64, kPhase = 4096;
  const bool small_phases = p.phases_y * p.phases_x > 1 && p.multiplier == 1;
  const std::int64_t channels = small_phases ? std::max(kChannels, kPhase / (width * height)) : kChannels;
  const std::int64_t vectors = up(p.channels, lane_count);
  p.groups = up(p.channels, channels);
  p.group = up(up(vectors, p.groups), step) * step * lane_count;
  p.groups = up(p.channels, p.group);
  // A band is an eighth of the map, between 40,000 multiply-adds, which are long against starting a task, and
  // 300,000: short enough to share large maps out evenly.
  const std::int64_t row_work = std::max<std::int64_t>(1, width * p.group * p.kernel_y * p.kernel_x);
  const std::int64_t map_work = row_work * height * p.groups * p.phases_y * p.phases_x;
  const std::int64_t work = std::clamp<std::int64_t>(map_work / 8, 40'000, 300'000);
  p.band = std::clamp<std::int64_t>(work / row_work / 2 * 2, 2, std::max<std::int64_t>(2, height));
  p.bands = up(height, p.band);
  if (p.phases_y > 1 && p.bands > 1) {
    // Of one size, and an even number: two threads have a half of the picture each.
    p.bands = up(p.bands, 2) * 2;
    p.band = std::max<std::int64_t>(2, up(up(height, p.bands), 2) * 2);
    p.bands = up(height, p.band);
  }
  constexpr std::int64_t kPiece = 2048;  // of six or more rows, in L1 or close to it
  p.piece = std::max<std::int64_t>(4, kPiece / p.group / 4 * 4);
  // Nine pointers a tap (EdgeTap), in whole cache lines.
  p.table_floats = up(p.kernel_y * p.kernel_x * 9 * 8, 64) * 16;
  return p;
}

// What the tasks write, in their order; nothing where they write every so many rows or columns.
std::vector<compiler::PicturePart> parts_of(const DepthwiseParams& p) {
  std::vector<compiler::PicturePart> parts;
  if (p.phases_y * p.phases_x > 1) return parts;
  for (std::int64_t band = 0; band < p.bands; ++band)
    for (std::int64_t c = 0; c < p.channels; c += p.group)
      parts.push_back({band * p.band * p.dst_width, std::min((band + 1) * p.band, p.dst_height) * p.dst_width,
                       c, std::min(c + p.group, p.channels)});
  return parts;
}

// The words of a channel, weights for two input rows at a time, as DepthwiseParams says. place(i): where word
// i goes.
template <class Place>
void pack_words(const ConvQuery& q, std::int64_t channel, std::int64_t count, BFloat16* words, Place place) {
  const std::int64_t kernel = q.kernel_h;
  const float* const weights = q.weights + channel * kernel * kernel;
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t half = 0; half < 2; ++half) {
      const std::int64_t pair = i / (2 * kernel), output = i / kernel % 2;
      const std::int64_t row = 2 * pair + half - output * q.stride_h;
      const bool inside = row >= 0 && row < kernel;
      words[2 * place(i) + half] = to_bfloat16(inside ? weights[row * kernel + i % kernel] : 0.0f);
    }
}

// One vector of channels after the other.
void pack_lanes(const ConvQuery& q, const DepthwiseParams& p, float* out) {
  constexpr std::int64_t kLanes = 16;
  for (std::int64_t c = 0; c < p.channels; ++c)
    pack_words(q, c, p.channel_words,
               reinterpret_cast<BFloat16*>(out + c / kLanes * kLanes * p.channel_words),
               [&](std::int64_t i) { return i * kLanes + c % kLanes; });
}

// Two vectors at a time, of whole ones.
void pack_halves(const ConvQuery& q, const DepthwiseParams& p, float* out) {
  constexpr std::int64_t kLanes = 16, kChannels = 2 * kLanes;
  for (std::int64_t c = 0; c < p.channels / kChannels * kChannels; ++c) {
    float* const block = out + c / kChannels * kChannels * (p.channel_words + 1);
    const std::int64_t half = c % 8 / 4, lane = c % kChannels / 8 * 4 + c % 4;
    block[half * kLanes + lane] = q.bias != nullptr ? q.bias[c] : 0.0f;
    const std::int64_t kernel = q.kernel_h, row = 2 * kernel;
    pack_words(q, c, p.channel_words, reinterpret_cast<BFloat16*>(block + kChannels),
               [&](std::int64_t i) { return ((i / row * 2 + half) * row + i % row) * kLanes + lane; });
  }
}

// `paired`: for PairedBf16.
PreparedKernel prepare(const KernelQuery& query, int lane_count, bool paired) {
  auto state = std::make_shared<State>();
  const ConvQuery q = read_conv(query);
  DepthwiseParams& p = state->params;
  p = describe(q, lane_count, paired ? 2 : 1);
  const std::int64_t blocks = up(p.channels, lane_count), taps = p.kernel_y * p.kernel_x;
  if (paired) p.channel_words = (p.kernel_y + p.stride_y + 1) / 2 * 2 * p.kernel_x;
  const std::int64_t words = blocks * taps * lane_count,
                     halves = words + blocks * p.channel_words * lane_count;
  const std::int64_t end = paired ? halves + p.channels / 32 * 32 * (p.channel_words + 1) : words;
  state->weights = PackedFloats::packed(query, static_cast<std::size_t>(end), [&](PackedFloats& weights) {
    for (std::int64_t c = 0; c < p.channels; ++c)
      for (std::int64_t t = 0; t < taps; ++t) {
        const float w = q.weights[c * taps + t];
        weights[static_cast<std::size_t>((c / lane_count * taps + t) * lane_count + c % lane_count)] =
            paired ? to_float(to_bfloat16(w)) : w;
      }
    if (!paired) return;
    pack_lanes(q, p, weights.data() + words);
    pack_halves(q, p, weights.data() + halves);
  });
  if (paired) p.words = state->weights.data() + words, p.halves = state->weights.data() + halves;
  state->bias = PackedFloats(static_cast<std::size_t>(blocks * lane_count));
  if (q.bias != nullptr) std::copy_n(q.bias, p.channels, state->bias.data());
  p.weights = state->weights.data();
  p.bias = state->bias.data();
  state->zeros = PackedFloats(static_cast<std::size_t>(p.group));
  p.zeros = state->zeros.data();

  PreparedKernel prepared;
  prepared.weight_bytes = state->weights.bytes() + state->bias.bytes();
  prepared.phase_tasks = {q.batch * p.phases_y * p.phases_x * p.bands * p.groups};
  prepared.parts = parts_of(p);
  prepared.thread_scratch = static_cast<std::size_t>(p.table_floats) * sizeof(float);
  if (p.multiplier > 1) {
    const std::int64_t rows = (p.band - 1) * p.stride_y + (p.kernel_y - 1) * p.dilation_y + 1;
    prepared.thread_scratch += static_cast<std::size_t>(rows * p.src_width * p.group) * sizeof(float);
  }
  prepared.constants_used = {false, true, true, false};
  prepared.constants_used.resize(query.inputs.size());
  prepared.packed_inputs = 1u << 1;
  prepared.state = std::shared_ptr<const void>(state, &state->params);
  return prepared;
}

template <Isa kIsa>
double cost(const KernelQuery& query) {
  const ConvQuery q = read_conv(query);
  const auto values = static_cast<double>(q.groups * (q.in_h * q.in_w + q.filters * q.out_h * q.out_w));
  const double efficiency = kIsa == Isa::avx512_bf16 ? 0.7 : 0.6;  // one instruction rounds, not nine
  return static_cast<double>(q.batch) * (q.multiply_adds() / (efficiency * multiply_adds_per_ns(kIsa)) +
                                         values * element_size(query) / bytes_per_ns(kIsa));
}

double cost_paired(const KernelQuery& query) {
  const ConvQuery q = read_conv(query);
  const auto values = static_cast<double>(q.groups * (q.in_h * q.in_w + q.out_h * q.out_w));
  return static_cast<double>(q.batch) *
         (depthwise_paired_ns(q) + values * element_size(query) / bytes_per_ns(Isa::avx512_bf16));
}

template <Isa kIsa>
PreparedKernel prepare_for(const KernelQuery& query) {
  return prepare(query, lanes(kIsa), false);
}
PreparedKernel prepare_paired(const KernelQuery& query) {
  return prepare(query, lanes(Isa::avx512_bf16), true);
}

// A residual is read before the output is written, element by element.
constexpr std::uint32_t kInPlace = 1u << 3;
// Inputs that are data: the picture and the residual.
constexpr std::uint32_t kData = 1u << 0 | 1u << 3;

constexpr KernelDesc kKernels[] = {
    {"depthwise.avx512.fp32", "Conv", Isa::avx512, false, can_run, cost<Isa::avx512>,
     prepare_for<Isa::avx512>, avx512::depthwise_conv, kInPlace},
    {"depthwise.avx2.fp32", "Conv", Isa::avx2, false, can_run, cost<Isa::avx2>, prepare_for<Isa::avx2>,
     avx2::depthwise_conv, kInPlace},
    {"depthwise.portable.fp32", "Conv", Isa::portable, false, can_run, cost<Isa::portable>,
     prepare_for<Isa::portable>, portable::depthwise_conv, kInPlace},
    {"depthwise.avx512_bf16.bf16", "Conv", Isa::avx512_bf16, false, can_run_bf16<can_run_paired, kData>,
     cost_paired, prepare_bf16<prepare_paired>, avx512::depthwise_conv_bf16_paired, kInPlace},
    {"depthwise.avx512_bf16.stored.bf16", "Conv", Isa::avx512_bf16, false, can_run_bf16<can_run, kData>,
     cost<Isa::avx512_bf16>, prepare_bf16<prepare_for<Isa::avx512>>, avx512::depthwise_conv_bf16_rounded,
     kInPlace},
    {"depthwise.avx512.bf16", "Conv", Isa::avx512, false, can_run_bf16<can_run, kData>, cost<Isa::avx512>,
     prepare_bf16<prepare_for<Isa::avx512>>, avx512::depthwise_conv_bf16, kInPlace},
    {"depthwise.avx2.bf16", "Conv", Isa::avx2, false, can_run_bf16<can_run, kData>, cost<Isa::avx2>,
     prepare_bf16<prepare_for<Isa::avx2>>, avx2::depthwise_conv_bf16, kInPlace},
    {"depthwise.portable.bf16", "Conv", Isa::portable, false, can_run_bf16<can_run, kData>,
     cost<Isa::portable>, prepare_bf16<prepare_for<Isa::portable>>, portable::depthwise_conv_bf16, kInPlace},
};

}  // namespace

std::span<const KernelDesc> depthwise_kernels() { return kKernels; }

const char* check_depthwise(const KernelQuery& query) { return can_run(query); }

const char* check_depthwise_paired(const KernelQuery& query) { return can_run_paired(query); }

double depthwise_paired_ns(const ConvQuery& q) {
  return q.multiply_adds() / (0.65 * bf16_speedup() * multiply_adds_per_ns(Isa::avx512_bf16));
}

compiler::PreparedKernel prepare_depthwise_paired(const KernelQuery& query) { return prepare_paired(query); }

compiler::PreparedKernel prepare_depthwise(const KernelQuery& query, int lanes) {
  return prepare(query, lanes, false);
}

}  // namespace saccade::cpu
