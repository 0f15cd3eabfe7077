// From the network's output to an alpha plane of the stored picture's size, or to a map of classes.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "saccade/isa.h"
#include "saccade/model_spec.h"
#include "saccade/tensor.h"
#include "vision/geometry.h"
#include "vision/picture.h"
#include "vision/workspace.h"

namespace saccade::vision {

/// How several classes become one alpha. `probability`: the sum of their softmax probabilities, so edges are
/// soft; `argmax`: 1 where one of them has the largest logit, else 0. A class map knows only the latter.
enum class ClassRule : std::uint8_t { probability, argmax };

struct MaskOptions {
  std::vector<int> classes;  ///< foreground classes; empty: all but the OutputSpec's background class
  ClassRule rule = ClassRule::probability;
  std::optional<float> threshold;  ///< alpha 1 above it, else 0; softened over `softness`
  float softness = 0;   ///< width of the ramp around the threshold, in units of probability (0: hard)
  bool invert = false;  ///< after the threshold
  float grow = 0;       ///< radius in pixels of the disc that dilates (> 0) or erodes (< 0) the mask
  float feather = 0;    ///< standard deviation in pixels of the Gaussian that softens the result
};

/// The output tensor of one picture as it lies in memory: one picture, dense, in the OutputSpec's layout.
struct OutputLayout {
  DType dtype = DType::f32;  ///< f32; for class maps also u8, i32, i64
  int channels = 1, width = 0, height = 0;
};
/// Reads the layout off a tensor's shape ([N,]C,H,W or [N,]H,W,C or [N,]H,W). Throws Error(shape_mismatch).
OutputLayout output_layout(const OutputSpec& spec, DType dtype, const Shape& shape);

/// Whether the output tells classes apart: so that there is an arg max.
bool has_classes(const OutputSpec& spec, const OutputLayout& layout);

/// Prepared for outputs and pictures of one kind. Immutable: shared by threads, each with a Workspace of its
/// own.
class Masker {
 public:
  /// `geometry` is the Preprocessor's; `depth` is that of the alpha plane (8, or the picture's 10 or 12; 16
  /// for masks that are written). Throws Error(invalid_argument) for options out of range, naming the option.
  Masker(const Geometry& geometry, const OutputSpec& spec, const OutputLayout& layout,
         const MaskOptions& options, int depth = 8, Isa isa = active_isa());
  ~Masker();
  Masker(Masker&&) noexcept;
  Masker& operator=(Masker&&) noexcept;

  /// `output` points at the data of one picture; `alpha` has the stored picture's size and this object's
  /// depth.
  void run(const void* output, const PlaneView& alpha, Workspace& workspace) const;

 private:
  struct Impl;
  std::unique_ptr<const Impl> impl_;
};

/// The class of every pixel: exactly the arg max of the bilinearly upsampled logits (lowest index wins a
/// tie), or the nearest entry of a class map. At most 256 classes.
class ClassMapper {
 public:
  /// Throws Error(unsupported) for outputs that carry no classes or more than 256.
  ClassMapper(const Geometry& geometry, const OutputSpec& spec, const OutputLayout& layout,
              Isa isa = active_isa());
  ~ClassMapper();
  ClassMapper(ClassMapper&&) noexcept;
  ClassMapper& operator=(ClassMapper&&) noexcept;

  /// `classes` has the stored picture's size and depth 8.
  void run(const void* output, const PlaneView& classes, Workspace& workspace) const;

 private:
  struct Impl;
  std::unique_ptr<const Impl> impl_;
};

}  // namespace saccade::vision
