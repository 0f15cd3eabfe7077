// Whether two runs of a network give the same masks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "saccade/tensor.h"

namespace saccade::quantise {

/// What decides over a pixel of an output tensor.
struct LabelRule {
  enum class Kind : std::uint8_t {
    threshold,  ///< 1 where a channel is above a number, else 0
    classes,    ///< the channel that is largest, the first of equals
    map,        ///< the output is the class
  };
  Kind kind = Kind::threshold;
  std::size_t output = 0;
  std::size_t axis = 1;      ///< the dimension that counts channels; >= rank: there is none
  std::int64_t channel = 0;  ///< of `threshold`
  float threshold = 0.5f;
};

/// A label for each pixel, of all pictures of the tensor. Throws Error(unsupported) for a tensor that has no
/// such dimension, channel or type.
std::vector<std::int32_t> labels_of(const Tensor& output, const LabelRule& rule);

/// The share of pixels that differ. Both have as many.
double changed_share(std::span<const std::int32_t> a, std::span<const std::int32_t> b);

/// The pixels of an output that would be the first to change, and how far others move them.
class Brink {
 public:
  /// Of 100 pixels the one that is nearest to changing. Throws as labels_of.
  Brink(const Tensor& output, const LabelRule& rule);
  /// Mean squared change of what decides over these pixels: errors that have nothing to do with each other
  /// add up. Of class maps the share of all pixels that differ.
  double moved(const Tensor& output) const;

 private:
  struct Pixel {
    std::int64_t winner = 0, other = -1;  // offsets; -1: a number, which does not move
    float margin = 0;
  };
  LabelRule rule_;
  std::vector<Pixel> pixels_;
  std::vector<std::int32_t> labels_;  // of class maps
};

/// Intersections and unions of each class over any number of pictures.
class Overlap {
 public:
  /// Pixels whose truth is negative do not count.
  void add(std::span<const std::int32_t> labels, std::span<const std::int32_t> truth);
  /// Over the classes that either has; 1 where there are none.
  double mean_iou() const;

 private:
  struct Counts {
    std::int64_t both = 0, either = 0;
  };
  Counts& of(std::int32_t label);
  std::vector<Counts> counts_;
};

}  // namespace saccade::quantise
