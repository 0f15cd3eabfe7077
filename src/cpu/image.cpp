#include "cpu/image.h"

namespace saccade::cpu {

namespace {

const char* check_form(const compiler::TensorDesc& desc) {
  if (desc.rank() != 4) return "not two-dimensional";
  if (desc.layout != compiler::Layout::channels_last) return "not channels last";
  if (desc.dims[1] > 1 && desc.strides[1] != 1) return "channels of a pixel are not adjacent";
  for (const std::int64_t dim : desc.dims)
    if (dim < 1) return "empty";
  return nullptr;
}

}  // namespace

const char* check_image(const compiler::TensorDesc& desc) {
  if (!desc.present) return "operand missing";
  return desc.dtype == DType::f32 ? check_form(desc) : "not float32";
}

const char* check_byte_image(const compiler::TensorDesc& desc) {
  if (!desc.present) return "operand missing";
  return desc.dtype == DType::i8 || desc.dtype == DType::u8 ? check_form(desc) : "not of 8 bits";
}

Image read_image(const compiler::TensorDesc& desc) {
  Image image{desc.dims[0], desc.dims[1], desc.dims[2], desc.dims[3], 0, 0, 0};
  // Where there is one pixel or row only, anything that a row of pixels could have.
  image.pixel = image.width > 1 ? desc.strides[3] : image.channels;
  image.row = image.height > 1 ? desc.strides[2] : image.pixel * image.width;
  image.image = image.batch > 1 ? desc.strides[0] : image.row * image.height;
  return image;
}

}  // namespace saccade::cpu
