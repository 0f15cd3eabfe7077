#include "cpu/conv_query.h"

#include <algorithm>

#include "cpu/cost.h"
#include "cpu/epilogue.h"

namespace saccade::cpu {

namespace {

using compiler::KernelQuery;
using compiler::Layout;
using compiler::TensorDesc;

// Rank 4, channels last, a pixel's channels adjacent.
const char* check_image(const TensorDesc& desc, Storage storage) {
  if (desc.dtype != DType::f32 && (storage == Storage::f32 || desc.dtype != DType::bf16))
    return storage == Storage::f32 ? "not float32" : "neither float32 nor bfloat16";
  if (desc.rank() != 4) return "not two-dimensional";
  if (desc.layout != Layout::channels_last) return "not channels last";
  if (desc.dims[1] > 1 && desc.strides[1] != 1) return "channels of a pixel are not adjacent";
  return nullptr;
}

// A picture as models get it: three planes of floats, pixels of a row adjacent.
bool is_planar(const TensorDesc& desc) {
  return desc.dtype == DType::f32 && desc.rank() == 4 && desc.layout == Layout::plain && desc.dims[1] == 3 &&
         (desc.dims[3] <= 1 || desc.strides[3] == 1);
}

// Distance of neighbouring pixels; where there are none, anything that a row of pixels could have.
std::int64_t pixel_stride(const TensorDesc& desc) {
  if (desc.dims[3] > 1) return desc.strides[3];
  if (desc.dims[2] > 1) return desc.strides[2];
  return desc.dims[1];
}

bool rows_adjacent(const TensorDesc& desc) {
  return desc.dims[2] <= 1 || desc.strides[2] == pixel_stride(desc) * desc.dims[3];
}

std::int64_t image_stride(const TensorDesc& desc) { return desc.dims[0] > 1 ? desc.strides[0] : 0; }

bool present(const KernelQuery& query, std::size_t i) {
  return i < query.inputs.size() && query.inputs[i].present;
}

const Tensor* constant(const KernelQuery& query, std::size_t i) {
  return i < query.constants.size() ? query.constants[i] : nullptr;
}

// Whether the residual is one pixel a picture, added to all.
bool is_spread(const KernelQuery& query) {
  const Shape &residual = query.inputs[3].dims, &y = query.outputs[0].dims;
  return residual != y && residual == Shape{y[0], y[1], 1, 1};
}

// Whether input, result, residual or gate is.
bool stores_bf16(const KernelQuery& query) {
  if (query.outputs[0].dtype == DType::bf16) return true;
  for (const std::size_t i : {0u, 3u, 4u})
    if (present(query, i) && query.inputs[i].dtype == DType::bf16) return true;
  return false;
}

}  // namespace

const char* check_conv(const KernelQuery& query, Storage storage, bool gates, bool residual_last,
                       bool planar) {
  const bool transposed = query.node.op == "ConvTranspose";
  if (query.precision != compiler::Precision::fp32) return "only fp32";
  if (query.inputs.size() < 2 || query.outputs.size() != 1) return "operands missing";
  if (!planar || !is_planar(query.inputs[0]) || query.node.integer("group", 1) != 1)
    if (const char* why = check_image(query.inputs[0], storage)) return why;
  if (const char* why = check_image(query.outputs[0], storage)) return why;
  const Tensor* weights = constant(query, 1);
  if (weights == nullptr) return "weights are not constant";
  if (weights->dtype() != DType::f32 || weights->rank() != 4) return "weights are not float32 of rank 4";
  if (present(query, 2) && constant(query, 2) == nullptr) return "bias is not constant";
  if (present(query, 2) && constant(query, 2)->dtype() != DType::f32) return "bias is not float32";
  if (query.node.text("auto_pad", "explicit") != "explicit") return "automatic padding is not resolved";
  if (query.node.has("output_shape") && !query.node.integers("output_shape").empty())
    return "output shape is not resolved";
  if (!rows_adjacent(query.outputs[0])) return "output rows are not adjacent";
  if (present(query, 3)) {
    if (transposed) return "residual of a transposed convolution";
    if (!residual_last && query.node.integer("residual_last", 0) != 0)
      return "residual behind the activation";
    if (const char* why = check_image(query.inputs[3], storage)) return why;
    if (query.inputs[3].dims != query.outputs[0].dims && !is_spread(query)) return "residual is broadcast";
    if (!rows_adjacent(query.inputs[3])) return "residual rows are not adjacent";
  }
  if (present(query, 4)) {
    if (!gates) return "gated";
    const TensorDesc& gate = query.inputs[4];
    if ((gate.dtype != DType::f32 && (storage == Storage::f32 || gate.dtype != DType::bf16)) ||
        gate.rank() != 4)
      return "gate is not of rank 4 and a type of the kernel";
    if (constant(query, 4) != nullptr) return "gate is constant";
    if (gate.dims[1] > 1 && gate.strides[1] != 1) return "gates are not adjacent";
  }
  if (storage == Storage::bf16 && !stores_bf16(query)) return "nothing is bfloat16";
  const std::int64_t groups = query.node.integer("group", 1);
  if (groups < 1 || query.inputs[0].dims[1] % groups != 0 || query.outputs[0].dims[1] % groups != 0)
    return "channels are no multiple of the groups";
  for (std::int64_t d : query.outputs[0].dims)
    if (d < 1) return "empty output";
  for (std::int64_t d : query.inputs[0].dims)
    if (d < 1) return "empty input";
  if (weights->count() < 1) return "empty weights";
  return check_epilogue(query.node);
}

ConvQuery read_conv(const KernelQuery& query) {
  const TensorDesc &x = query.inputs[0], &y = query.outputs[0];
  const Tensor& weights = *query.constants[1];
  const auto strides = query.node.integers("strides", {1, 1}),
             dilations = query.node.integers("dilations", {1, 1});
  const auto pads = query.node.integers("pads", {0, 0, 0, 0});
  ConvQuery q{};
  q.groups = query.node.integer("group", 1);
  q.batch = x.dims[0];
  q.channels = x.dims[1] / q.groups;
  q.filters = y.dims[1] / q.groups;
  q.in_h = x.dims[2], q.in_w = x.dims[3], q.out_h = y.dims[2], q.out_w = y.dims[3];
  q.kernel_h = weights.dim(2), q.kernel_w = weights.dim(3);
  q.stride_h = strides.at(0), q.stride_w = strides.at(1);
  q.dilation_h = dilations.at(0), q.dilation_w = dilations.at(1);
  q.pad_top = pads.at(0), q.pad_left = pads.at(1);
  q.src_image = image_stride(x), q.src_pixel = pixel_stride(x);
  q.src_row = x.dims[2] > 1 ? x.strides[2] : q.src_pixel * x.dims[3];
  q.planar = is_planar(x);
  if (q.planar) {
    q.src_plane = x.strides[1], q.src_pixel = 1;
    q.src_row = x.dims[2] > 1 ? x.strides[2] : x.dims[3];
  }
  q.dst_image = image_stride(y), q.dst_pixel = pixel_stride(y);
  q.has_residual = present(query, 3);
  q.residual_last = q.has_residual && query.node.integer("residual_last", 0) != 0;
  if (q.has_residual)
    q.residual_image = image_stride(query.inputs[3]),
    q.residual_pixel = is_spread(query) ? 0 : pixel_stride(query.inputs[3]);
  q.has_gate = present(query, 4);
  q.src_bf16 = x.dtype == DType::bf16, q.dst_bf16 = y.dtype == DType::bf16;
  q.residual_bf16 = q.has_residual && query.inputs[3].dtype == DType::bf16;
  q.gate_bf16 = q.has_gate && query.inputs[4].dtype == DType::bf16;
  if (q.has_gate) q.gate_image = image_stride(query.inputs[4]);
  q.epilogue = read_epilogue(query.node);
  q.weights = weights.data<float>();
  q.bias = present(query, 2) ? query.constants[2]->data<float>() : nullptr;
  return q;
}

double share_inside(const ConvQuery& q) noexcept {
  const auto share = [](std::int64_t out, std::int64_t in, std::int64_t kernel, std::int64_t stride,
                        std::int64_t dilation, std::int64_t pad) {
    std::int64_t hits = 0;
    for (std::int64_t k = 0; k < kernel; ++k)
      for (std::int64_t o = 0; o < out; ++o) {
        const std::int64_t i = o * stride + k * dilation - pad;
        hits += i >= 0 && i < in ? 1 : 0;
      }
    return static_cast<double>(hits) / static_cast<double>(out * kernel);
  };
  return share(q.out_h, q.in_h, q.kernel_h, q.stride_h, q.dilation_h, q.pad_top) *
         share(q.out_w, q.in_w, q.kernel_w, q.stride_w, q.dilation_w, q.pad_left);
}

std::vector<std::int64_t> row_segments(const ConvQuery& q, std::int64_t tile_pixels) {
  std::vector<std::int64_t> bounds = {0, q.out_w};
  for (std::int64_t k = 0; k < q.kernel_w; ++k) {
    const std::int64_t before = q.pad_left - k * q.dilation_w;  // columns of the tap left of the picture
    for (const std::int64_t columns : {before, before + q.in_w})
      bounds.push_back(std::clamp<std::int64_t>((columns + q.stride_w - 1) / q.stride_w, 0, q.out_w));
  }
  std::sort(bounds.begin(), bounds.end());
  bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
  const auto tiles = [&](std::int64_t pixels) { return (pixels + tile_pixels - 1) / tile_pixels; };
  std::int64_t cut = 0;
  for (std::size_t i = 1; i < bounds.size(); ++i) cut += tiles(bounds[i] - bounds[i - 1]);
  const std::int64_t whole = tiles(q.out_w);
  if (cut > whole + whole / 4 + 1) return {0, q.out_w};
  return bounds;
}

double storage_ns(const ConvQuery& q, Isa isa, std::int64_t times) noexcept {
  // Two or three operations a vector on the way in, about as many to bring planes together, a handful on the
  // way out.
  const double vectors_per_ns = multiply_adds_per_ns(isa) / lanes(isa);
  double operations = 0;
  if (q.src_bf16 || q.planar)
    operations += 3.0 * static_cast<double>(q.in_h * q.in_w * q.groups * q.channels * times);
  if (q.dst_bf16 || q.residual_bf16)  // one instruction rounds, or nine
    operations +=
        (isa == Isa::avx512_bf16 ? 2.0 : 8.0) * static_cast<double>(q.out_h * q.out_w * q.groups * q.filters);
  return operations / (lanes(isa) * vectors_per_ns);
}

}  // namespace saccade::cpu
