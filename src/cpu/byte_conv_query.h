// What the families of quantised convolutions read out of a QLinearConv, checked once for all of them.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/target.h"
#include "cpu/byte_stage.h"

namespace saccade::cpu {

/// A 2-D convolution in channels_last bytes; everything but the picture is constant. Strides in bytes.
struct ByteConvQuery {
  std::int64_t batch, groups, channels, filters;  ///< channels and filters of all groups
  std::int64_t in_h, in_w, out_h, out_w;
  std::int64_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
  std::int64_t src_image, src_row, src_pixel, dst_image, dst_pixel;
  bool x_signed;
  int x_zero, y_zero;
  float low, high;                    ///< bounds of the result, y_zero taken off
  std::vector<float> ratio;           ///< x_scale * w_scale / y_scale of each filter
  std::vector<std::int32_t> bias;     ///< of each filter
  std::vector<std::int16_t> weights;  ///< [filter][channel][ky][kx], zero points taken off

  /// Multiply-adds of one image, taps in the padding included.
  double multiply_adds() const {
    return static_cast<double>(out_h * out_w * filters) *
           static_cast<double>(channels / groups * kernel_h * kernel_w);
  }
};

/// nullptr if `read_byte_conv` can read the query and no sum can exceed 32 bits, else why not.
const char* check_byte_conv(const compiler::KernelQuery& query);
/// Without weights if only the shape is of interest.
ByteConvQuery read_byte_conv(const compiler::KernelQuery& query, bool with_weights = true);

/// How the input is staged, and how much of it at a time.
struct StripPlan {
  ByteStage stage;
  std::int64_t rows, columns;  ///< outputs
  std::int64_t bytes;          ///< of the largest strip
};
/// For pixels `pitch` elements of `element` bytes apart. Strips of at most `rows` outputs stay in the
/// second-level cache.
StripPlan plan_strips(const ByteConvQuery& q, std::int64_t pitch, std::int64_t element, std::int64_t rows);

}  // namespace saccade::cpu
