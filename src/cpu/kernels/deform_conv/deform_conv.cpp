// Choice and preparation of convolutions with moved taps.
#include "cpu/kernels/deform_conv/deform_conv.h"

#include <algorithm>
#include <limits>

#include "cpu/cost.h"
#include "cpu/epilogue.h"
#include "cpu/image.h"
#include "cpu/kernels/families.h"
#include "cpu/kernels/tile/tile.h"
#include "cpu/packed.h"
#include "ops/window.h"

namespace saccade::cpu {

namespace {

using compiler::KernelDesc;
using compiler::KernelQuery;
using compiler::PreparedKernel;
using compiler::TensorDesc;

// The state and what it points to.
struct Packed {
  DeformConvState state{};
  PackedFloats weights, bias;
};

bool has(const KernelQuery& query, std::size_t i) {
  return query.inputs.size() > i && query.inputs[i].present;
}

bool four_floats(const TensorDesc& desc) { return desc.dtype == DType::f32 && desc.rank() == 4; }

const char* can_run(const KernelQuery& query) {
  if (query.precision != compiler::Precision::fp32) return "only fp32";
  if (query.inputs.size() < 3 || query.outputs.size() != 1) return "operands missing";
  if (const char* why = check_image(query.inputs[0])) return why;
  if (const char* why = check_image(query.outputs[0])) return why;
  if (!four_floats(query.inputs[1]) || !four_floats(query.inputs[2])) return "operands of another form";
  if (query.constants[1] == nullptr) return "weights are not constant";
  if (has(query, 3) && (query.constants[3] == nullptr || query.inputs[3].dtype != DType::f32))
    return "bias is not constant";
  if (has(query, 4) && !four_floats(query.inputs[4])) return "mask of another form";
  const Image x = read_image(query.inputs[0]), y = read_image(query.outputs[0]);
  if (y.row != y.pixel * y.width) return "rows of the output lie apart";
  if (x.height * x.row > std::numeric_limits<std::int32_t>::max()) return "pictures too large";
  return check_epilogue(query.node);
}

template <Isa kIsa>
double cost(const KernelQuery& query) {
  const Shape& w = query.inputs[1].dims;
  const Image x = read_image(query.inputs[0]), y = read_image(query.outputs[0]);
  const std::int64_t taps = w[2] * w[3], groups = query.node.integer("group", 1);
  const double samples = static_cast<double>(y.batch * y.height * y.width * taps) *
                         (10 + 1.2 * static_cast<double>((x.channels + lanes(kIsa) - 1) / lanes(kIsa)));
  return samples + static_cast<double>(y.batch * y.height * groups) *
                       tile_row_ns(kIsa, y.width, w[0] / groups, taps * w[1], groups == 1 ? 1 : taps);
}

void pack(const float* weights, std::int64_t taps, int lanes, const DeformConvState& s, float* out) {
  for (std::int64_t g = 0; g < s.groups; ++g)
    for (std::int64_t b = 0; b < s.blocks; ++b) {
      const std::int64_t f0 = s.vectors * b / s.blocks * lanes, f1 = s.vectors * (b + 1) / s.blocks * lanes;
      for (std::int64_t t = 0; t < taps; ++t)
        for (std::int64_t c = 0; c < s.channels; ++c)
          for (std::int64_t f = f0; f < f1; ++f, ++out)
            if (f < s.filters) *out = weights[((g * s.filters + f) * s.channels + c) * taps + t];
    }
}

template <Isa kIsa>
PreparedKernel prepare(const KernelQuery& query) {
  const TensorDesc &w = query.inputs[1], &offsets = query.inputs[2];
  const Image x = read_image(query.inputs[0]), y = read_image(query.outputs[0]);
  const ops::TensorType type{query.inputs[0].dtype, query.inputs[0].dims};
  const ops::TensorType* const types[] = {&type};
  const ops::Window window = ops::forward_window(ops::NodeView(query.node, {types, 1}, {}),
                                                 {x.height, x.width}, {w.dims[2], w.dims[3]});
  const int width = lanes(kIsa);
  auto packed = std::make_shared<Packed>();
  DeformConvState& s = packed->state;
  s.groups = query.node.integer("group", 1);
  s.channels = w.dims[1], s.filters = w.dims[0] / s.groups;
  s.offset_groups = query.node.integer("offset_group", 1);
  s.moved_together = x.channels / s.offset_groups;
  s.in_h = x.height, s.in_w = x.width, s.out_h = y.height, s.out_w = y.width;
  s.kernel_h = w.dims[2], s.kernel_w = w.dims[3];
  s.stride_h = window[0].stride, s.stride_w = window[1].stride;
  s.dilation_h = window[0].dilation, s.dilation_w = window[1].dilation;
  s.pad_top = window[0].pad_begin, s.pad_left = window[1].pad_begin;
  s.src_image = x.image, s.src_row = x.row, s.src_pixel = x.pixel;
  s.offset_image = offsets.strides[0], s.offset_channel = offsets.strides[1];
  s.offset_row = offsets.strides[2], s.offset_pixel = offsets.strides[3];
  s.has_mask = has(query, 4);
  if (s.has_mask) {
    const TensorDesc& mask = query.inputs[4];
    s.mask_image = mask.strides[0], s.mask_channel = mask.strides[1];
    s.mask_row = mask.strides[2], s.mask_pixel = mask.strides[3];
  }
  s.dst_image = y.image, s.dst_pixel = y.pixel;
  s.epilogue = read_epilogue(query.node);
  s.vectors = (s.filters + width - 1) / width;
  s.blocks = filter_blocks(s.vectors, width);
  const std::int64_t taps = s.kernel_h * s.kernel_w, pixel = taps * x.channels;
  packed->weights =
      PackedFloats::packed(query, static_cast<std::size_t>(s.groups * s.vectors * width * taps * s.channels),
                           [&](PackedFloats& weights) {
                             pack(query.constants[1]->data<float>(), taps, width, s, weights.data());
                           });
  packed->bias = PackedFloats(static_cast<std::size_t>(s.groups * s.vectors * width));
  if (has(query, 3))
    for (std::int64_t g = 0; g < s.groups; ++g)
      std::copy_n(query.constants[3]->data<float>() + g * s.filters, s.filters,
                  packed->bias.data() + g * s.vectors * width);
  s.weights = packed->weights.data();
  s.bias = packed->bias.data();
  // The filters of a part stay in the second-level cache, beside the samples of a strip.
  constexpr std::int64_t kPartFloats = 80 * 1024;
  const std::int64_t block_filters = (s.vectors + s.blocks - 1) / s.blocks * width;
  s.tap_parts =
      std::clamp<std::int64_t>((taps * s.channels * block_filters + kPartFloats - 1) / kPartFloats, 1, taps);
  // Samples stay in the second-level cache; whole tiles, of which there are a few.
  constexpr std::int64_t kNearFloats = 96 * 1024, kTiles = 24;
  const std::int64_t plane = s.out_h * s.out_w;
  s.strip = std::clamp<std::int64_t>(kNearFloats / pixel / kTiles, 1, kDeformPixels / kTiles) * kTiles;
  s.strip = std::min(s.strip, plane);
  s.strips = (plane + s.strip - 1) / s.strip;
  PreparedKernel prepared;
  prepared.weight_bytes = packed->weights.bytes() + packed->bias.bytes();
  prepared.phase_tasks = {y.batch * s.strips};
  prepared.thread_scratch = static_cast<std::size_t>((s.strip * pixel + 15) / 16 * 16) * sizeof(float) +
                            static_cast<std::size_t>(taps) * sizeof(Run);
  prepared.constants_used = {false, true, false, true, false};
  prepared.constants_used.resize(query.inputs.size());
  prepared.packed_inputs = 1u << 1;
  prepared.state = std::shared_ptr<const void>(packed, &packed->state);
  return prepared;
}

template <Isa kIsa>
constexpr KernelDesc entry(std::string_view name, compiler::KernelFn fn) {
  return {name, "DeformConv", kIsa, false, can_run, cost<kIsa>, prepare<kIsa>, fn};
}

constexpr KernelDesc kTable[] = {
    entry<Isa::avx512>("deform_conv.avx512.fp32", avx512::deform_conv),
    entry<Isa::avx2>("deform_conv.avx2.fp32", avx2::deform_conv),
    entry<Isa::portable>("deform_conv.portable.fp32", portable::deform_conv),
};

}  // namespace

std::span<const KernelDesc> deform_conv_kernels() { return kTable; }

}  // namespace saccade::cpu
