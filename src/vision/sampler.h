// Rows of a picture's components at the places of a target grid, as floats: what pre-processing and
// conversion share.
#pragma once

#include <cstddef>

#include "saccade/model_spec.h"
#include "vision/axis.h"
#include "vision/geometry.h"
#include "vision/kernels/preprocess/preprocess_kernels.h"
#include "vision/picture.h"

namespace saccade::vision {

/// The targets along one direction of the upright picture; see AxisSpec.
struct TargetAxis {
  int count = 0;
  double first = 0;
  double step = 1;
  double ratio = 1;
  double origin = 0;
};

/// Samples in the stored picture's orientation: work row j runs along the stored columns. Where the rotation
/// swaps axes, work rows are columns of the upright picture, so `width` is the count of the vertical targets.
class Sampler {
 public:
  Sampler() = default;
  Sampler(const PictureSpec& picture, const TargetAxis& across, const TargetAxis& down, ResizeRule rule,
          const PreprocessKernels& kernels);

  int width() const noexcept { return width_; }
  int height() const noexcept { return height_; }
  /// Floats that `source_row` of `sample` must hold.
  std::size_t source_row_floats() const noexcept;

  /// Component c along work row `row`: width() values.
  void sample(const ConstPictureView& view, int c, int row, float* out, float* source_row) const noexcept;
  /// Where luma's samples come from, for rules that are not area.
  const LinearAxis& luma_x() const noexcept { return luma_.x; }
  const LinearAxis& luma_y() const noexcept { return luma_.y; }
  /// Fetches what `row` will read into the caches.
  void prefetch(const ConstPictureView& view, int row) const noexcept;

  /// Factors below 1 where MediaPipe's filter reaches beyond the picture; null: none.
  const float* coverage() const noexcept {
    return luma_.x.coverage.empty() ? nullptr : luma_.x.coverage.data();
  }
  float row_coverage(int row) const noexcept {
    return luma_.y.coverage.empty() ? 1.0f : luma_.y.coverage[static_cast<std::size_t>(row)];
  }

 private:
  // Both directions of one component.
  struct Axes {
    LinearAxis x, y;
    BoxAxis box_x, box_y;
    bool is_box_x = false, is_box_y = false;
    int samples_x = 0;
  };
  static Axes make_axes(const AxisSpec& x, const AxisSpec& y, ResizeRule rule);
  void sample_bytes(const ConstPictureView& view, int c, int row, float* out) const noexcept;
  const Axes& axes_of(int c) const noexcept { return info_->is_chroma(c) ? chroma_ : luma_; }

  const FormatInfo* info_ = nullptr;
  const PreprocessKernels* kernels_ = nullptr;
  int width_ = 0, height_ = 0;
  bool bytes_ = false;  // 8-bit RGB under the rule bilinear: whole bytes come out
  Axes luma_, chroma_;
};

/// Luma position of the first chroma sample along one direction.
double first_chroma_position(const FormatInfo& info, ChromaLocation location, bool vertical) noexcept;

}  // namespace saccade::vision
