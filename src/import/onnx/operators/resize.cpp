// Resize, Upsample and sampling at given positions.
#include <algorithm>
#include <array>
#include <utility>

#include "import/onnx/operator.h"

namespace saccade::import {

namespace {

/// Until operator set 12 an absent input had to be an empty tensor.
ir::ValueId present(const OnnxOperator& op, std::size_t i) {
  if (!op.has_input(i)) return ir::kNoValue;
  const Tensor* constant = op.constant(i);
  const Shape empty{0};
  const bool absent = constant != nullptr ? constant->count() == 0 : op.shape(op.input(i)) == empty;
  return absent ? ir::kNoValue : op.input(i);
}

std::string interpolation(OnnxOperator& op) {
  std::string mode = op.text("mode", "nearest");
  if (mode == "nearest" || mode == "cubic") return mode;
  if (mode == "linear" || mode == "bilinear") return "linear";  // early exporters wrote the second
  op.invalid("attribute 'mode' is '" + mode + "', expected nearest, linear or cubic");
}

ir::Attributes legacy_attributes(const std::string& mode, const char* nearest_mode) {
  return {{"mode", mode},
          {"coordinate_transformation", std::string("asymmetric")},
          {"nearest_mode", std::string(nearest_mode)}};
}

/// Upsample, and Resize of operator set 10: positions are divided by the scale; nearest means rounding down
/// along an axis that grows, and up along one that shrinks.
void finish_legacy(OnnxOperator& op, ir::ValueId scales) {
  const std::string mode = interpolation(op);
  const Tensor* known = op.constant_of(scales);
  std::vector<float> grow, shrink;
  bool grows = false, shrinks = false;
  for (const double scale : known != nullptr ? to_doubles(*known) : std::vector<double>{}) {
    grows = grows || scale > 1;
    shrinks = shrinks || scale < 1;
    grow.push_back(static_cast<float>(scale > 1 ? scale : 1));
    shrink.push_back(static_cast<float>(scale < 1 ? scale : 1));
  }
  ir::ValueId x = op.input(0);
  if (mode == "nearest" && shrinks && grows) {
    const auto count = static_cast<std::int64_t>(grow.size());
    const ir::ValueId growing = op.tensor_constant(Tensor::of<float>({count}, std::span<const float>(grow)));
    x = op.emit("Resize", {x, ir::kNoValue, growing}, legacy_attributes(mode, "floor"));
    scales = op.tensor_constant(Tensor::of<float>({count}, std::span<const float>(shrink)));
  }
  op.finish("Resize", {x, ir::kNoValue, scales}, legacy_attributes(mode, shrinks ? "ceil" : "floor"));
}

void translate_upsample(OnnxOperator& op) {
  if (op.opset() >= 10)
    op.invalid("Upsample does not exist in this operator set; Resize replaced it in set 10");
  if (op.opset() >= 9) return finish_legacy(op, op.input(1));
  const std::vector<float> scales = op.reals("scales");
  if (scales.empty()) op.invalid("attribute 'scales' is missing");
  finish_legacy(op, op.tensor_constant(Tensor::of<float>({static_cast<std::int64_t>(scales.size())},
                                                         std::span<const float>(scales))));
}

void translate_resize(OnnxOperator& op) {
  if (op.opset() < 11) return finish_legacy(op, op.input(1));
  static constexpr std::array kTransformations = {
      "half_pixel",           "asymmetric",           "align_corners",     "pytorch_half_pixel",
      "half_pixel_symmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"};
  const std::string transformation = op.text("coordinate_transformation_mode", "half_pixel");
  if (std::find(kTransformations.begin(), kTransformations.end(), transformation) == kTransformations.end())
    op.unsupported("coordinate_transformation_mode=" + transformation + " is not supported");
  // PyTorch puts the last sample of the output, whose length is rounded down, onto the input's last one. ONNX
  // counts with the product of length and scale as it is. They differ where that is not whole.
  const bool whole = transformation == "align_corners" && op.from_pytorch;
  ir::Attributes attributes{{"mode", interpolation(op)},
                            {"coordinate_transformation", whole ? "align_whole_corners" : transformation},
                            {"nearest_mode", op.text("nearest_mode", "round_prefer_floor")},
                            {"cubic_coeff_a", op.real("cubic_coeff_a", -0.75f)},
                            {"exclude_outside", op.integer("exclude_outside", 0)},
                            {"extrapolation_value", op.real("extrapolation_value", 0.0f)},
                            {"antialias", op.integer("antialias", 0)},
                            {"keep_aspect_ratio_policy", op.text("keep_aspect_ratio_policy", "stretch")}};
  if (op.has("axes")) attributes.emplace("axes", op.integers("axes"));
  const ir::ValueId scales = present(op, 2), sizes = present(op, 3);
  if ((scales == ir::kNoValue) == (sizes == ir::kNoValue)) op.invalid("expected either scales or sizes");
  const ir::ValueId roi = transformation == "tf_crop_and_resize" ? present(op, 1) : ir::kNoValue;
  op.finish("Resize", {op.input(0), roi, scales, sizes}, std::move(attributes));
}

void translate_grid_sample(OnnxOperator& op) {
  std::string mode = op.text("mode", op.opset() >= 20 ? "linear" : "bilinear");
  if (mode == "bilinear") mode = "linear";
  if (mode == "bicubic") mode = "cubic";
  op.finish("GridSample", op.inputs(),
            {{"mode", mode},
             {"padding_mode", op.text("padding_mode", "zeros")},
             {"align_corners", op.integer("align_corners", 0)}});
}

/// Without the attribute, operator sets before 16 left out the half pixel.
void translate_roi_align(OnnxOperator& op) {
  op.finish("RoiAlign", op.inputs(),
            {{"coordinate_transformation", op.text("coordinate_transformation_mode",
                                                   op.opset() >= 16 ? "half_pixel" : "output_half_pixel")},
             {"mode", op.text("mode", "avg")},
             {"output_height", op.integer("output_height", 1)},
             {"output_width", op.integer("output_width", 1)},
             {"sampling_ratio", op.integer("sampling_ratio", 0)},
             {"spatial_scale", op.real("spatial_scale", 1.0f)}});
}

void translate_affine_grid(OnnxOperator& op) { translate_with(op, {{"align_corners", std::int64_t{0}}}); }

constexpr OnnxTranslation kTranslations[] = {
    {"AffineGrid", translate_affine_grid, 20}, {"GridSample", translate_grid_sample, 16},
    {"Resize", translate_resize, 10},          {"RoiAlign", translate_roi_align, 10},
    {"Upsample", translate_upsample},
};

}  // namespace

std::span<const OnnxTranslation> resize_translations() { return kTranslations; }

}  // namespace saccade::import
