#include "cpu/byte_conv_query.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/quantised.h"
#include "cpu/image.h"

namespace saccade::cpu {

namespace {

using compiler::byte_at;
using compiler::is_byte;
using compiler::KernelQuery;

constexpr std::size_t kX = 0, kXScale = 1, kXZero = 2, kW = 3, kWScale = 4, kWZero = 5, kYScale = 6,
                      kYZero = 7, kBias = 8;

const Tensor* constant(const KernelQuery& query, std::size_t i) {
  return i < query.constants.size() ? query.constants[i] : nullptr;
}

bool present(const KernelQuery& query, std::size_t i) {
  return i < query.inputs.size() && query.inputs[i].present;
}

/// The value for a filter of a constant that has one value or one for each; bytes, 0 where it is absent.
int zero_of(const KernelQuery& query, std::size_t i, std::int64_t filter) {
  const Tensor* tensor = constant(query, i);
  if (tensor == nullptr || tensor->count() == 0) return 0;
  return byte_at(*tensor, tensor->count() == 1 ? 0 : filter);
}

float scale_of(const KernelQuery& query, std::size_t i, std::int64_t filter) {
  const Tensor& tensor = *constant(query, i);
  return tensor.data<float>()[tensor.count() == 1 ? 0 : filter];
}

std::int64_t bias_of(const KernelQuery& query, std::int64_t filter) {
  return present(query, kBias) ? constant(query, kBias)->data<std::int32_t>()[filter] : 0;
}

const char* check_constants(const KernelQuery& query) {
  for (const std::size_t i : {kXScale, kWScale, kYScale}) {
    const Tensor* scale = constant(query, i);
    if (scale == nullptr || scale->dtype() != DType::f32) return "a scale is not a float32 constant";
    for (const float s : scale->values<float>())
      if (!(s > 0) || !std::isfinite(s)) return "a scale is not positive";
  }
  for (const std::size_t i : {kXZero, kWZero, kYZero}) {
    if (!present(query, i)) continue;
    const Tensor* zero = constant(query, i);
    if (zero == nullptr || !is_byte(zero->dtype())) return "a zero point is not a constant of 8 bits";
  }
  const Tensor* weights = constant(query, kW);
  if (weights == nullptr) return "weights are not constant";
  if (!is_byte(weights->dtype()) || weights->rank() != 4) return "weights are not of 8 bits and rank 4";
  if (weights->count() < 1) return "empty weights";
  if (present(query, kBias) &&
      (constant(query, kBias) == nullptr || constant(query, kBias)->dtype() != DType::i32))
    return "bias is not a constant of int32";
  return nullptr;
}

}  // namespace

const char* check_byte_conv(const KernelQuery& query) {
  if (query.inputs.size() < 8 || query.outputs.size() != 1) return "operands missing";
  if (const char* why = check_byte_image(query.inputs[kX])) return why;
  if (const char* why = check_byte_image(query.outputs[0])) return why;
  if (query.node.text("auto_pad", "explicit") != "explicit") return "automatic padding is not resolved";
  if (const char* why = check_constants(query)) return why;
  const Image y = read_image(query.outputs[0]);
  if (y.height > 1 && y.row != y.pixel * y.width) return "output rows are not adjacent";
  const std::int64_t groups = query.node.integer("group", 1);
  if (groups < 1 || query.inputs[kX].dims[1] % groups != 0 || y.channels % groups != 0)
    return "channels are no multiple of the groups";
  for (std::int64_t f = 0; f < y.channels; ++f)
    if (!std::isfinite(scale_of(query, kXScale, 0) * scale_of(query, kWScale, f) /
                       scale_of(query, kYScale, 0)))
      return "the ratio of the scales overflows";
  return compiler::sums_fit(*constant(query, kW), constant(query, kWZero),
                            present(query, kBias) ? constant(query, kBias) : nullptr)
             ? nullptr
             : "sums may exceed 32 bits";
}

ByteConvQuery read_byte_conv(const KernelQuery& query, bool with_weights) {
  const Image x = read_image(query.inputs[kX]), y = read_image(query.outputs[0]);
  const Tensor& weights = *constant(query, kW);
  const auto strides = query.node.integers("strides", {1, 1}),
             dilations = query.node.integers("dilations", {1, 1});
  const auto pads = query.node.integers("pads", {0, 0, 0, 0});
  ByteConvQuery q{};
  q.batch = x.batch, q.groups = query.node.integer("group", 1);
  q.channels = x.channels, q.filters = y.channels;
  q.in_h = x.height, q.in_w = x.width, q.out_h = y.height, q.out_w = y.width;
  q.kernel_h = weights.dim(2), q.kernel_w = weights.dim(3);
  q.stride_h = strides.at(0), q.stride_w = strides.at(1);
  q.dilation_h = dilations.at(0), q.dilation_w = dilations.at(1);
  q.pad_top = pads.at(0), q.pad_left = pads.at(1);
  q.src_image = x.image, q.src_row = x.row, q.src_pixel = x.pixel;
  q.dst_image = y.image, q.dst_pixel = y.pixel;
  q.x_signed = query.inputs[kX].dtype == DType::i8;
  q.x_zero = zero_of(query, kXZero, 0), q.y_zero = zero_of(query, kYZero, 0);
  const bool y_signed = query.outputs[0].dtype == DType::i8;
  const std::int64_t least = y_signed ? -128 : 0, most = y_signed ? 127 : 255;
  const auto bound = [&](const char* name, std::int64_t otherwise) {
    return static_cast<float>(std::clamp(query.node.integer(name, otherwise), least, most) - q.y_zero);
  };
  q.low = bound("low", least), q.high = bound("high", most);
  if (!with_weights) return q;
  const std::int64_t each = weights.count() / q.filters;
  q.weights.resize(static_cast<std::size_t>(weights.count()));
  for (std::int64_t f = 0; f < q.filters; ++f) {
    q.ratio.push_back(scale_of(query, kXScale, 0) * scale_of(query, kWScale, f) /
                      scale_of(query, kYScale, 0));
    q.bias.push_back(static_cast<std::int32_t>(bias_of(query, f)));
    const int zero = zero_of(query, kWZero, f);
    for (std::int64_t i = f * each; i < (f + 1) * each; ++i)
      q.weights[static_cast<std::size_t>(i)] = static_cast<std::int16_t>(byte_at(weights, i) - zero);
  }
  return q;
}

StripPlan plan_strips(const ByteConvQuery& q, std::int64_t pitch, std::int64_t element, std::int64_t rows) {
  constexpr std::int64_t kNearBytes = 160 * 1024, kLine = 64, kPage = 4096;
  constexpr std::int64_t kFewestColumns = 24, kWholeTiles = 12;  // which holds whole tiles
  StripPlan plan{};
  ByteStage& s = plan.stage;
  s.channels = q.channels, s.in_h = q.in_h, s.in_w = q.in_w;
  s.src_row = q.src_row, s.src_pixel = q.src_pixel;
  s.pad_top = q.pad_top, s.pad_left = q.pad_left, s.stride_h = q.stride_h, s.stride_w = q.stride_w;
  s.dilation_h = q.dilation_h, s.reach_w = (q.kernel_w - 1) * q.dilation_w;
  s.kernel_h = q.kernel_h;
  s.pitch = pitch;
  s.is_signed = q.x_signed, s.zero = q.x_zero;
  // A word may be read beyond the last pixel.
  const auto slot_bytes = [&](std::int64_t columns) {
    const std::int64_t bytes = ((columns - 1) * q.stride_w + s.reach_w + 1) * pitch * element + kLine;
    const std::int64_t lines = (bytes + kLine - 1) / kLine * kLine;
    return lines % kPage == 0 ? lines + kLine : lines;
  };
  const auto whole = [&](std::int64_t r) {
    return (r - 1) * q.stride_h + (q.kernel_h - 1) * q.dilation_h + 1;
  };
  const auto slots = [&](std::int64_t r) { return std::min(whole(r), r * q.kernel_h); };
  // Of the strips that stay near, those that stage the fewest bytes: rows and columns where strips meet are
  // staged twice.
  const std::int64_t band = std::clamp<std::int64_t>(rows, 1, q.out_h);
  double least = std::numeric_limits<double>::infinity();
  for (std::int64_t r = band; r >= 1; --r) {
    std::int64_t columns = q.out_w;
    while (columns > kFewestColumns && slots(r) * slot_bytes(columns) > kNearBytes)
      columns = std::max((columns - 1) / kWholeTiles * kWholeTiles, kFewestColumns);
    const std::int64_t across = (q.out_w + columns - 1) / columns, rest = band % r;
    const std::int64_t down = band / r * slots(r) + (rest > 0 ? slots(rest) : 0);
    const double staged = static_cast<double>(down * (q.out_w * q.stride_w + across * s.reach_w));
    if (slots(r) * slot_bytes(columns) > kNearBytes && r > 1) continue;
    if (staged >= least) continue;
    least = staged;
    const std::int64_t even = ((q.out_w + across - 1) / across + kWholeTiles - 1) / kWholeTiles * kWholeTiles;
    plan.rows = r, plan.columns = std::min(columns, even);
  }
  s.gathered = whole(plan.rows) > plan.rows * q.kernel_h;
  s.slot_y = s.gathered ? q.kernel_h : q.stride_h;
  s.slot_ky = s.gathered ? 1 : q.dilation_h;
  s.slot_bytes = slot_bytes(plan.columns);
  plan.bytes = slots(plan.rows) * s.slot_bytes;
  return plan;
}

}  // namespace saccade::cpu
