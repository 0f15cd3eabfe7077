// Channels-last pictures as kernels walk them.
#pragma once

#include <cstdint>

#include "compiler/target.h"

namespace saccade::cpu {

/// Sizes, and distances in elements of neighbouring images, rows and pixels; the channels of a pixel are
/// adjacent.
struct Image {
  std::int64_t batch, channels, height, width;
  std::int64_t image, row, pixel;
};

/// nullptr if the value is f32, rank 4, channels last, not empty, with the channels of a pixel adjacent; else
/// why not.
const char* check_image(const compiler::TensorDesc& desc);
/// The same for i8 and u8.
const char* check_byte_image(const compiler::TensorDesc& desc);
Image read_image(const compiler::TensorDesc& desc);

}  // namespace saccade::cpu
