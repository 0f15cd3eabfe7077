#include "vision/decontaminate.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "saccade/error.h"

namespace saccade::vision {

namespace {

/// Means are taken over cells of this many samples a side, and over the cells within this distance.
constexpr int kCell = 8, kReach = 2;
/// Below this weight there is nothing of a kind around.
constexpr float kNothing = 1e-3f;

/// One component of a picture and the alpha that belongs to its samples.
class Part {
 public:
  Part(const PictureView& picture, const ConstPlaneView& alpha, int component)
      : picture_(picture),
        alpha_(alpha),
        info_(format_info(picture.format)),
        place_(info_.component[static_cast<std::size_t>(component)]),
        width_(info_.width_of(component, picture.width)),
        height_(info_.height_of(component, picture.height)),
        shift_x_(info_.is_chroma(component) ? info_.shift_x : 0),
        shift_y_(info_.is_chroma(component) ? info_.shift_y : 0),
        scale_(1.0f / static_cast<float>((1 << alpha.depth) - 1)) {}

  int width() const noexcept { return width_; }
  int height() const noexcept { return height_; }
  float value(int x, int y) const noexcept {
    const std::uint8_t* row = picture_.planes[place_.plane] + picture_.strides[place_.plane] * y;
    const int at = place_.offset + x * place_.step;
    return info_.depth > 8 ? static_cast<float>(reinterpret_cast<const std::uint16_t*>(row)[at])
                           : static_cast<float>(row[at]);
  }
  void set(int x, int y, float v) const noexcept {
    std::uint8_t* row = picture_.planes[place_.plane] + picture_.strides[place_.plane] * y;
    const int at = place_.offset + x * place_.step;
    const auto rounded = static_cast<int>(std::clamp(v, 0.0f, static_cast<float>(info_.max_value())) + 0.5f);
    if (info_.depth > 8)
      reinterpret_cast<std::uint16_t*>(row)[at] = static_cast<std::uint16_t>(rounded);
    else
      row[at] = static_cast<std::uint8_t>(rounded);
  }
  /// The mean over the luma pixels that share this sample.
  float alpha(int x, int y) const noexcept {
    int sum = 0;
    for (int j = 0; j < 1 << shift_y_; ++j) {
      const int row = std::min((y << shift_y_) + j, alpha_.height - 1);
      for (int i = 0; i < 1 << shift_x_; ++i) sum += at(std::min((x << shift_x_) + i, alpha_.width - 1), row);
    }
    return static_cast<float>(sum) * scale_ / static_cast<float>(1 << (shift_x_ + shift_y_));
  }

 private:
  int at(int x, int y) const noexcept {
    const std::uint8_t* row = alpha_.data + alpha_.stride * y;
    return alpha_.depth > 8 ? reinterpret_cast<const std::uint16_t*>(row)[x] : row[x];
  }

  const PictureView& picture_;
  const ConstPlaneView& alpha_;
  const FormatInfo& info_;
  const Component place_;
  int width_, height_, shift_x_, shift_y_;
  float scale_;
};

/// Sums over a cell, and over the cells around it: of alpha, of alpha times value, and of the same of the
/// rest.
struct Sums {
  float weight = 0, value = 0, rest_weight = 0, rest_value = 0;
  void operator+=(const Sums& o) noexcept {
    weight += o.weight;
    value += o.value;
    rest_weight += o.rest_weight;
    rest_value += o.rest_value;
  }
};

void work_on(const Part& part, Workspace& workspace) {
  const int nx = (part.width() + kCell - 1) / kCell, ny = (part.height() + kCell - 1) / kCell;
  const auto count = static_cast<std::size_t>(nx) * static_cast<std::size_t>(ny);
  std::uint8_t* memory = workspace.reserve(2 * count * sizeof(Sums) + count, Scratch::refine);
  auto* cells = reinterpret_cast<Sums*>(memory);
  auto* around = cells + count;
  auto* soft = reinterpret_cast<std::uint8_t*>(around + count);
  // A cell is of use only where soft pixels are near.
  std::memset(soft, 0, count);
  const auto index = [nx](int x, int y) {
    return static_cast<std::size_t>(y) * static_cast<std::size_t>(nx) + static_cast<std::size_t>(x);
  };
  for (int cy = 0; cy < ny; ++cy) {
    for (int cx = 0; cx < nx; ++cx) {
      Sums sums;
      bool any_soft = false;
      for (int y = cy * kCell; y < std::min((cy + 1) * kCell, part.height()); ++y) {
        for (int x = cx * kCell; x < std::min((cx + 1) * kCell, part.width()); ++x) {
          const float a = part.alpha(x, y), v = part.value(x, y);
          any_soft = any_soft || (a > 0 && a < 1);
          // Sure pixels say most about either side: squares.
          sums += {a * a, a * a * v, (1 - a) * (1 - a), (1 - a) * (1 - a) * v};
        }
      }
      cells[index(cx, cy)] = sums;
      soft[index(cx, cy)] = any_soft ? 1 : 0;
    }
  }
  for (int cy = 0; cy < ny; ++cy) {
    for (int cx = 0; cx < nx; ++cx) {
      Sums sums;
      for (int y = std::max(0, cy - kReach); y <= std::min(ny - 1, cy + kReach); ++y) {
        for (int x = std::max(0, cx - kReach); x <= std::min(nx - 1, cx + kReach); ++x)
          sums += cells[index(x, y)];
      }
      around[index(cx, cy)] = sums;
    }
  }
  for (int cy = 0; cy < ny; ++cy) {
    for (int cx = 0; cx < nx; ++cx) {
      if (soft[index(cx, cy)] == 0) continue;
      const Sums& s = around[index(cx, cy)];
      if (s.weight < kNothing || s.rest_weight < kNothing) continue;
      const float foreground = s.value / s.weight, background = s.rest_value / s.rest_weight;
      for (int y = cy * kCell; y < std::min((cy + 1) * kCell, part.height()); ++y) {
        for (int x = cx * kCell; x < std::min((cx + 1) * kCell, part.width()); ++x) {
          const float a = part.alpha(x, y);
          if (!(a > 0 && a < 1)) continue;
          // What the pixel has beyond the mixture of both means is its own, as far as it is foreground.
          const float mixture = a * foreground + (1 - a) * background;
          part.set(x, y, foreground + a * (part.value(x, y) - mixture));
        }
      }
    }
  }
}

}  // namespace

void Decontaminator::run(const PictureView& picture, const ConstPlaneView& alpha,
                         Workspace& workspace) const {
  require_match(picture, picture_, "the picture to decontaminate");
  if (alpha.width != picture.width || alpha.height != picture.height || alpha.data == nullptr)
    throw Error(ErrorCode::invalid_argument, "a mask to decontaminate by must have the picture's size");
  for (int c = 0; c < format_info(picture.format).colors; ++c) work_on(Part(picture, alpha, c), workspace);
}

}  // namespace saccade::vision
