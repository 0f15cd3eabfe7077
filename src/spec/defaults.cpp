// What holds for a model that nothing is known of. docs/model-spec.md states the same rules for users.
#include <algorithm>
#include <array>
#include <string_view>

#include "spec/spec.h"

namespace saccade::spec {

namespace {

constexpr std::array<float, 3> kImageNetMean = {0.485f, 0.456f, 0.406f};
constexpr std::array<float, 3> kImageNetStddev = {0.229f, 0.224f, 0.225f};

/// The classes of PASCAL VOC, which torchvision's segmentation networks are trained on.
constexpr std::array kVocClasses = {
    "background", "aeroplane", "bicycle",     "bird",  "boat",        "bottle", "bus",
    "car",        "cat",       "chair",       "cow",   "diningtable", "dog",    "horse",
    "motorbike",  "person",    "pottedplant", "sheep", "sofa",        "train",  "tvmonitor"};

bool is_float(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::f64;
}

bool few_channels(std::int64_t n) { return n == 1 || n == 3 || n == 4; }

TensorLayout input_layout(const Shape& shape) {
  if (shape.size() != 4) return TensorLayout::nchw;
  return few_channels(shape[3]) && !few_channels(shape[1]) ? TensorLayout::nhwc : TensorLayout::nchw;
}

/// As the input's, unless a single channel says otherwise.
TensorLayout output_layout(const Shape& shape, TensorLayout input) {
  if (shape.size() != 4) return input;
  if (shape[1] == 1 && shape[3] != 1) return TensorLayout::nchw;
  if (shape[3] == 1 && shape[1] != 1) return TensorLayout::nhwc;
  return input;
}

std::int64_t channels(const Shape& shape, TensorLayout layout) {
  if (shape.size() == 4) return layout == TensorLayout::nchw ? shape[1] : shape[3];
  return 1;  // (N, H, W) or (H, W)
}

bool within_zero_and_one(std::string_view producer) {
  constexpr std::array<std::string_view, 4> kBounded = {"Sigmoid", "HardSigmoid", "Softmax", "Clip"};
  return producer.empty() || std::find(kBounded.begin(), kBounded.end(), producer) != kBounded.end();
}

/// Whether channels already are probabilities of classes.
bool is_one_of_several(std::string_view producer) {
  return producer == "Softmax" || producer == "Sigmoid" || producer == "HardSigmoid";
}

OutputKind kind_of(const Declared& output, std::int64_t channel_count) {
  if (!is_float(output.dtype)) return OutputKind::class_map;
  if (channel_count != 1)
    return is_one_of_several(output.producer) ? OutputKind::probability : OutputKind::class_logits;
  return within_zero_and_one(output.producer) ? OutputKind::probability : OutputKind::logits;
}

}  // namespace

ModelSpec defaults(const std::string& stem, const Signature& signature) {
  ModelSpec spec;
  spec.name = stem;
  spec.source = "defaults";
  std::int64_t colors = 3;
  bool several = false;  // classes
  if (!signature.inputs.empty()) {
    const Declared& input = signature.inputs.front();
    spec.input.layout = input_layout(input.shape);
    colors = channels(input.shape, spec.input.layout);
    if (colors == 1) spec.input.order = ColorOrder::gray;
    if (!is_float(input.dtype)) spec.input.scale = 1.0f;
  }
  if (!signature.outputs.empty()) {
    const Declared& output = signature.outputs.front();
    spec.output.layout = output_layout(output.shape, spec.input.layout);
    const std::int64_t count = channels(output.shape, spec.output.layout);
    spec.output.kind = kind_of(output, count);
    several = count != 1 || output.producer == "ArgMax";
    if (several && count == static_cast<std::int64_t>(kVocClasses.size()))
      spec.output.class_names.assign(kVocClasses.begin(), kVocClasses.end());
  }
  const bool torch_like = spec.input.layout == TensorLayout::nchw && colors == 3 && several;
  if (torch_like && spec.input.scale != 1.0f) {
    spec.input.mean = kImageNetMean;
    spec.input.stddev = kImageNetStddev;
  }
  return spec;
}

}  // namespace saccade::spec
