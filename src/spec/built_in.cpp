// Specs of the models that Saccade knows by their content.
#include <array>
#include <string_view>

#include "spec/spec.h"

namespace saccade::spec {

namespace {

/// MediaPipe's selfie segmentation: RGB bytes / 255, channels last; the sigmoid is part of the network.
ModelSpec selfie(const char* name) {
  ModelSpec spec;
  spec.name = name;
  spec.input.layout = TensorLayout::nhwc;
  spec.output.kind = OutputKind::probability;
  spec.output.layout = TensorLayout::nhwc;
  spec.output.class_names = {"person"};
  return spec;
}

/// U-2-Netp: the first of its seven maps is the fused one. Two things differ from the usual way to run it,
/// because they depend on the frame and so flicker in a video: the picture is divided by 255, not by its
/// largest byte, and the map is used as it is, not stretched to 0..1 (docs/model-spec.md).
ModelSpec u2netp() {
  ModelSpec spec;
  spec.name = "u2netp";
  spec.input.mean = {0.485f, 0.456f, 0.406f};
  spec.input.stddev = {0.229f, 0.224f, 0.225f};
  spec.output.kind = OutputKind::alpha;
  spec.output.class_names = {"salient object"};
  return spec;
}

struct Known {
  std::string_view sha256;
  ModelSpec (*make)();
};

constexpr std::array kKnown = {
    // As in the package mediapipe, with a metadata buffer and a zip behind the tables; then the same networks
    // without.
    Known{"9ee168ec7c8f2a16c56fe8e1cfbc514974cbbb7e434051b455635f1bd1462f5c",
          [] { return selfie("selfie"); }},
    Known{"8d13b7fae74af625c641226813616a2117bd6bca19eb3b75574621fc08557f27",
          [] { return selfie("selfie"); }},
    Known{"a77d03f4659b9f6b6c1f5106947bf40e99d7655094b6527f214ea7d451106edd",
          [] { return selfie("selfie-landscape"); }},
    Known{"4aafe6223bb8dac6fac8ca8ed56852870a33051ef3f6238822d282a109962894",
          [] { return selfie("selfie-landscape"); }},
    Known{"309c8469258dda742793dce0ebea8e6dd393174f89934733ecc8b14c76f4ddd8", u2netp},
};

}  // namespace

std::optional<ModelSpec> built_in(const std::string& sha256) {
  for (const Known& known : kKnown) {
    if (known.sha256 != sha256) continue;
    ModelSpec spec = known.make();
    spec.source = "built-in";
    return spec;
  }
  return std::nullopt;
}

}  // namespace saccade::spec
