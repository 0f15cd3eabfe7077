// What a model expects and what it returns: the explicit contract between pictures and tensors.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace saccade {

enum class ColorOrder : std::uint8_t { rgb, bgr, gray };
enum class TensorLayout : std::uint8_t { nchw, nhwc };
/// How the picture is brought to the network's size. `mediapipe`: bilinear without the half-pixel offset,
/// weights in steps of 1/32, rounded to bytes (docs/numerics.md).
enum class ResizeRule : std::uint8_t { bilinear, area, mediapipe };
/// stretch: aspect ratio not kept; letterbox: kept, the rest filled with `pad_value`.
enum class Fit : std::uint8_t { stretch, letterbox };
/// What the output tensor means.
enum class OutputKind : std::uint8_t {
  probability,   ///< one channel, 0..1 (or `foreground_channel` of several), or a channel a class
  logits,        ///< one channel, sigmoid to be applied
  class_logits,  ///< one channel a class, arg max decides
  class_map,     ///< integer class index a pixel
  alpha,         ///< one channel of opacity 0..1, not to be thresholded
};

struct InputSpec {
  ColorOrder order = ColorOrder::rgb;
  TensorLayout layout = TensorLayout::nchw;
  float scale = 1.0f / 255.0f;  ///< value = (byte * scale - mean) / std
  std::array<float, 3> mean{0, 0, 0};
  std::array<float, 3> stddev{1, 1, 1};
  ResizeRule resize = ResizeRule::bilinear;
  Fit fit = Fit::stretch;
  float pad_value = 0;        ///< byte value of letterbox bars
  int width = 0, height = 0;  ///< 0: as the model declares
};

struct OutputSpec {
  std::string tensor;  ///< name; empty: the first output
  OutputKind kind = OutputKind::probability;
  TensorLayout layout = TensorLayout::nchw;
  std::vector<std::string> class_names;  ///< by channel or index; may be empty
  std::vector<std::array<std::uint8_t, 3>> class_colors;
  int background_class = 0;  ///< class that is not foreground, for class_logits and class_map
  /// The channel that counts, for probability, logits and alpha of several; -1: not said. Then several
  /// channels of probability are one for each class.
  int foreground_channel = -1;
};

struct ModelSpec {
  std::string name;    ///< "selfie", or the file's stem
  std::string source;  ///< where it came from: "built-in", "model.yaml", "metadata", "defaults"
  InputSpec input;
  OutputSpec output;
};

/// Several lines "key: value" for the user: what was used and where it came from.
std::string describe(const ModelSpec& spec);

}  // namespace saccade
