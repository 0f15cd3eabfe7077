// Resizing.
#include "import/tflite/operator.h"

namespace saccade::import {

namespace {

using Code = tflite::BuiltinOperator;

void finish_resize(TfliteOperator& op, const char* mode, const char* transformation,
                   const char* nearest_mode) {
  const ir::ValueId x = op.planar_input(0);
  op.finish_planar(op.emit("Resize", {x, ir::kNoValue, ir::kNoValue, op.int64_input(1)},
                           {{"mode", std::string(mode)},
                            {"coordinate_transformation", std::string(transformation)},
                            {"nearest_mode", std::string(nearest_mode)},
                            {"axes", std::vector<std::int64_t>{2, 3}}}));
}

void translate_resize_bilinear(TfliteOperator& op) {
  const auto& options = op.options<tflite::ResizeBilinearOptions>();
  if (options.align_corners() && options.half_pixel_centers())
    op.unsupported("align_corners with half_pixel_centers is not supported");
  const char* transformation = options.align_corners()        ? "align_corners"
                               : options.half_pixel_centers() ? "half_pixel"
                                                              : "asymmetric";
  finish_resize(op, "linear", transformation, "round_prefer_floor");
}

/// With half-pixel centres the position is (i + 0.5) * in / out, rounded down; with aligned corners it is
/// rounded.
void translate_resize_nearest(TfliteOperator& op) {
  const auto& options = op.options<tflite::ResizeNearestNeighborOptions>();
  if (options.align_corners() && options.half_pixel_centers())
    op.unsupported("align_corners with half_pixel_centers is not supported");
  if (options.align_corners()) return finish_resize(op, "nearest", "align_corners", "round_prefer_ceil");
  finish_resize(op, "nearest", options.half_pixel_centers() ? "tf_half_pixel_for_nn" : "asymmetric", "floor");
}

constexpr TfliteTranslation kTranslations[] = {
    {Code::RESIZE_BILINEAR, translate_resize_bilinear},
    {Code::RESIZE_NEAREST_NEIGHBOR, translate_resize_nearest},
};

}  // namespace

std::span<const TfliteTranslation> tflite_resize_translations() { return kTranslations; }

}  // namespace saccade::import
