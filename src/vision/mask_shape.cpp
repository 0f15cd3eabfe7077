#include "vision/mask_shape.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/job_limits.h"
#include "saccade/error.h"
#include "vision/kernels/kernel_tables.h"

namespace saccade::vision {

namespace {

using job_limits::kMostFeather, job_limits::kMostGrow;
constexpr int kTapBits = 14;

// The kernels of one sample type.
template <class T>
struct Ops;
template <>
struct Ops<std::uint8_t> {
  static auto raise(const MaskKernels& k) noexcept { return k.raise_u8; }
  static auto lower(const MaskKernels& k) noexcept { return k.lower_u8; }
  static auto uniform(const MaskKernels& k) noexcept { return k.uniform_u8; }
  static auto scale(const MaskKernels& k) noexcept { return k.scale_u8; }
  static auto weigh(const MaskKernels& k) noexcept { return k.weigh_u8; }
  static auto settle(const MaskKernels& k) noexcept { return k.settle_u8; }
};
template <>
struct Ops<std::uint16_t> {
  static auto raise(const MaskKernels& k) noexcept { return k.raise_u16; }
  static auto lower(const MaskKernels& k) noexcept { return k.lower_u16; }
  static auto uniform(const MaskKernels& k) noexcept { return k.uniform_u16; }
  static auto scale(const MaskKernels& k) noexcept { return k.scale_u16; }
  static auto weigh(const MaskKernels& k) noexcept { return k.weigh_u16; }
  static auto settle(const MaskKernels& k) noexcept { return k.settle_u16; }
};

template <class T>
T* row_of(const PlaneView& plane, int y) noexcept {
  return reinterpret_cast<T*>(plane.data + plane.stride * y);
}

std::size_t padded(int n) noexcept { return (static_cast<std::size_t>(n) + 63) / 64 * 64; }

// Whole weights that sum to 2^14 exactly, so that a constant plane stays what it is.
std::vector<std::uint32_t> gaussian_taps(double sigma) {
  const int radius = std::max(1, static_cast<int>(std::ceil(3 * sigma)));
  std::vector<double> exact;
  double total = 0;
  for (int i = 0; i <= radius; ++i) {
    exact.push_back(std::exp(-0.5 * i * i / (sigma * sigma)));
    total += (i == 0 ? 1 : 2) * exact.back();
  }
  std::vector<std::uint32_t> taps;
  std::uint32_t outer = 0;
  for (const double e : exact)
    taps.push_back(static_cast<std::uint32_t>(std::lround(e / total * (1 << kTapBits))));
  while (taps.size() > 1 && taps.back() == 0) taps.pop_back();
  for (std::size_t i = 1; i < taps.size(); ++i) outer += 2 * taps[i];
  taps[0] = (1u << kTapBits) - outer;
  return taps;
}

}  // namespace

MaskShape::MaskShape(float grow, float feather, Isa isa) {
  if (!(std::abs(grow) <= kMostGrow))
    throw Error(ErrorCode::invalid_argument,
                fmt::format("grow of {} pixels: must be within {} and {}", grow, -kMostGrow, kMostGrow));
  if (!(feather >= 0 && feather <= kMostFeather))
    throw Error(ErrorCode::invalid_argument,
                fmt::format("feather of {} pixels: must be within 0 and {}", feather, kMostFeather));
  kernels_ = &mask_kernels(isa);
  erode_ = grow < 0;
  const double radius = std::abs(grow);
  if (radius >= 1)
    for (int dy = 0; dy <= radius; ++dy)
      half_widths_.push_back(static_cast<int>(std::sqrt(radius * radius - dy * dy)));
  if (feather > 0.1f) taps_ = gaussian_taps(feather);
}

void MaskShape::run(const PlaneView& alpha, Workspace& workspace) const {
  if (!half_widths_.empty()) {
    if (alpha.depth > 8)
      grow<std::uint16_t>(alpha, workspace);
    else
      grow<std::uint8_t>(alpha, workspace);
  }
  if (!taps_.empty()) {
    if (alpha.depth > 8)
      feather<std::uint16_t>(alpha, workspace);
    else
      feather<std::uint8_t>(alpha, workspace);
  }
}

// Every source row is widened step by step to the disc's half-widths and merged into the target rows that lie
// at the distance where the disc is that wide. A ring holds the target rows that are not complete yet.
template <class T>
void MaskShape::grow(const PlaneView& alpha, Workspace& workspace) const {
  const int radius = static_cast<int>(half_widths_.size()) - 1, widest = half_widths_[0];
  const int ring = 2 * radius + 1, width = alpha.width, height = alpha.height;
  const std::size_t pitch = padded(width);
  // Beyond the edge stands the value that changes nothing.
  const T neutral = erode_ ? static_cast<T>((1 << alpha.depth) - 1) : T{0};
  const std::size_t wide = padded(width + 2 * widest);
  T* rows = reinterpret_cast<T*>(
      workspace.reserve((static_cast<std::size_t>(ring) * pitch + 2 * wide) * sizeof(T), Scratch::shape));
  T* source =
      rows + static_cast<std::size_t>(ring) * pitch;  // the row with `widest` neutral samples on both sides
  T* widened = source + wide;
  const auto merge = erode_ ? Ops<T>::lower(*kernels_) : Ops<T>::raise(*kernels_);
  const auto target = [&](int y) { return rows + static_cast<std::size_t>(y % ring) * pitch; };

  for (int y = 0; y < std::min(radius, height); ++y) std::fill_n(target(y), width, neutral);
  for (int y = 0; y < height + radius; ++y) {
    if (y + radius < height) std::fill_n(target(y + radius), width, neutral);
    if (y < height) {
      std::fill_n(source, width + 2 * widest, neutral);
      std::memcpy(source + widest, row_of<T>(alpha, y), static_cast<std::size_t>(width) * sizeof(T));
      std::memcpy(widened, source + widest, static_cast<std::size_t>(width) * sizeof(T));
      int half_width = 0;
      // From the disc's far rows, which are narrow, to its middle.
      for (int dy = radius; dy >= 0; --dy) {
        for (; half_width < half_widths_[static_cast<std::size_t>(dy)]; ++half_width) {
          merge(source + widest - half_width - 1, widened, width);
          merge(source + widest + half_width + 1, widened, width);
        }
        if (y + dy < height) merge(widened, target(y + dy), width);
        if (dy > 0 && y - dy >= 0) merge(widened, target(y - dy), width);
      }
    }
    const int done = y - radius;
    if (done >= 0)
      std::memcpy(row_of<T>(alpha, done), target(done), static_cast<std::size_t>(width) * sizeof(T));
  }
}

// Blocks of a row whose samples are all equal, and since which row they have been so with the same value:
// where that holds for everything a filter reads, its result is that value, and most of a mask need not be
// filtered.
class MaskShape::Uniform {
 public:
  static constexpr int kBlock = kUniformBlock;
  static int blocks(int width) noexcept { return (width + kBlock - 1) / kBlock; }
  static std::size_t bytes(int width) noexcept {
    return static_cast<std::size_t>(blocks(width)) * 3 * sizeof(std::int32_t);
  }

  Uniform(int width, void* memory) noexcept
      : width_(width),
        value_(static_cast<std::int32_t*>(memory)),
        since_(value_ + blocks(width)),
        fresh_(since_ + blocks(width)) {
    std::fill_n(value_, blocks(width), -1);
  }

  template <class T>
  void add(const MaskKernels& kernels, const T* row, int y) noexcept {
    Ops<T>::uniform(kernels)(row, width_, fresh_);
    for (int b = 0; b < blocks(width_); ++b) {
      if (fresh_[b] != value_[b]) since_[b] = y;
      value_[b] = fresh_[b];
    }
  }

  /// True if block b and all within `reach` samples of it have had one value since row `first`.
  bool settled(int b, int reach, int first) const noexcept {
    const int span = (reach + kBlock - 1) / kBlock;
    const int low = std::max(0, b - span), high = std::min(blocks(width_) - 1, b + span);
    for (int k = low; k <= high; ++k)
      if (value_[k] < 0 || value_[k] != value_[b] || since_[k] > first) return false;
    return true;
  }

 private:
  int width_;
  std::int32_t* value_;  // -1: not uniform
  std::int32_t* since_;
  std::int32_t* fresh_;
};

// Down the columns into 16-bit rows, then along them. A ring keeps copies of the source rows that are still
// needed.
template <class T>
void MaskShape::feather(const PlaneView& alpha, Workspace& workspace) const {
  const int radius = static_cast<int>(taps_.size()) - 1, width = alpha.width, height = alpha.height;
  const int ring = 2 * radius + 1;
  const std::size_t pitch = padded(width), wide = padded(width + 2 * radius);
  const std::size_t ring_bytes = static_cast<std::size_t>(ring) * pitch * sizeof(T);
  const std::size_t sum_bytes = pitch * sizeof(std::uint32_t), middle_bytes = wide * sizeof(std::uint16_t);
  std::uint8_t* memory =
      workspace.reserve(ring_bytes + sum_bytes + middle_bytes + Uniform::bytes(width), Scratch::shape);
  T* rows = reinterpret_cast<T*>(memory);
  auto* sum = reinterpret_cast<std::uint32_t*>(memory + ring_bytes);
  auto* middle = reinterpret_cast<std::uint16_t*>(memory + ring_bytes + sum_bytes) + radius;
  Uniform uniform(width, memory + ring_bytes + sum_bytes + middle_bytes);
  // The middle rows keep all the bits that 16 can hold.
  const int kept = 16 - alpha.depth;
  const auto scale = Ops<T>::scale(*kernels_);
  const auto weigh = Ops<T>::weigh(*kernels_);
  const auto settle = Ops<T>::settle(*kernels_);
  const auto source = [&](int y) {
    return rows + static_cast<std::size_t>(std::clamp(y, 0, height - 1) % ring) * pitch;
  };
  const auto load = [&](int y) {
    if (y >= height) return;
    T* row = rows + static_cast<std::size_t>(y % ring) * pitch;
    std::memcpy(row, row_of<T>(alpha, y), static_cast<std::size_t>(width) * sizeof(T));
    uniform.add(*kernels_, row, y);
  };
  // Samples begin to end of row y.
  const auto filter = [&](int y, int begin, int end) {
    const int low = std::max(0, begin - radius), high = std::min(width, end + radius), n = high - low;
    scale(source(y) + low, taps_[0], sum, n);
    for (int k = 1; k <= radius; ++k)
      weigh(source(y - k) + low, source(y + k) + low, taps_[static_cast<std::size_t>(k)], sum, n);
    kernels_->settle_u16(sum, kTapBits - kept, n, middle + low);
    if (low == 0) std::fill_n(middle - radius, radius, middle[0]);
    if (high == width) std::fill_n(middle + width, radius, middle[width - 1]);
    const int m = end - begin;
    kernels_->scale_u16(middle + begin, taps_[0], sum, m);
    for (int k = 1; k <= radius; ++k)
      kernels_->weigh_u16(middle + begin - k, middle + begin + k, taps_[static_cast<std::size_t>(k)], sum, m);
    settle(sum, kTapBits + kept, m, row_of<T>(alpha, y) + begin);
  };
  for (int y = 0; y < radius; ++y) load(y);
  for (int y = 0; y < height; ++y) {
    load(y + radius);
    const int first = std::max(0, y - radius), blocks = Uniform::blocks(width);
    for (int b = 0; b < blocks;) {
      if (uniform.settled(b, radius, first)) {
        ++b;
        continue;
      }
      const int begin = b;
      while (b < blocks && !uniform.settled(b, radius, first)) ++b;
      filter(y, begin * Uniform::kBlock, std::min(width, b * Uniform::kBlock));
    }
  }
}

}  // namespace saccade::vision
