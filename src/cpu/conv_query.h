// What the convolution families read out of a query, checked once for all of them.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/target.h"
#include "cpu/activation.h"

namespace saccade::cpu {

/// What a kernel takes: everything f32, or input, result, residual or gate (one of them at least) bf16.
/// Weights and bias are f32 in either.
enum class Storage { f32, bf16 };

/// A 2-D Conv or ConvTranspose in channels_last with constant weights. Strides in elements.
struct ConvQuery {
  std::int64_t batch, groups;
  std::int64_t channels, filters;  ///< per group
  std::int64_t in_h, in_w, out_h, out_w;
  std::int64_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
  /// `residual_pixel` 0: one pixel is added to all of a picture.
  std::int64_t src_image, src_row, src_pixel, dst_image, dst_pixel, residual_image, residual_pixel;
  bool planar;             ///< the input is a picture of three planes, as models get it; src_pixel is 1 then
  std::int64_t src_plane;  ///< distance of these
  bool has_residual, residual_last, has_gate;
  bool src_bf16, dst_bf16, residual_bf16, gate_bf16;
  std::int64_t gate_image;
  Epilogue epilogue;
  const float* weights;
  const float* bias;  ///< nullptr if absent

  /// Multiply-adds of one image, taps in the padding included.
  double multiply_adds() const {
    return static_cast<double>(out_h * out_w * groups * filters) *
           static_cast<double>(channels * kernel_h * kernel_w);
  }
};

/// nullptr if `read_conv` can read the query, else why not. Few kernels can multiply the input by a gate,
/// add the residual behind the activation, or read planes.
const char* check_conv(const compiler::KernelQuery& query, Storage storage = Storage::f32, bool gates = false,
                       bool residual_last = false, bool planar = false);
ConvQuery read_conv(const compiler::KernelQuery& query);

/// The share of the products that are with pixels of the picture, not with its padding.
double share_inside(const ConvQuery& query) noexcept;

/// A row of outputs cut where taps begin or cease to meet the picture, as the bounds of its segments from 0
/// to out_w: within one, pixels have the same taps. Only where the segments take hardly more tiles of
/// `tile_pixels` pixels than the row, else the row is one.
std::vector<std::int64_t> row_segments(const ConvQuery& query, std::int64_t tile_pixels);

/// What bfloat16 operands add to the predicted time of one image in kernels that compute in floats and read
/// the input `times` times.
double storage_ns(const ConvQuery& query, Isa isa, std::int64_t times) noexcept;

}  // namespace saccade::cpu
