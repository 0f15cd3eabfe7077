#include "vision/refine.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <utility>

#include "saccade/error.h"
#include "vision/kernels/kernel_tables.h"

namespace saccade::vision {

namespace {

constexpr float kMaxRadius = 128;
/// Added to the variance of luma (0..1): contrasts below its root count as flat. It bounds slopes to 1 / (4 *
/// root), which is what the fixed-point numbers are made for.
constexpr float kSmoothness = 4e-4f;
constexpr int kBlock = 64;   // pixels that are worked on, or left alone, together
constexpr int kMargin = 64;  // values that kernels may read behind a row

std::size_t padded(int n) noexcept { return (static_cast<std::size_t>(n) + 2 * kMargin + 31) / 32 * 32; }

bool uniform(float v) noexcept { return v == 0.0f || v == 1.0f; }

}  // namespace

struct MaskRefiner::Maps {
  std::size_t pitch;
  float *luma, *alpha, *slope, *offset;  // of cells; what lies between is reused
  float *squared, *product, *sums, *window, *wide;
  std::int16_t *slopes, *offsets, *slope_row, *offset_row, *slope_pixels, *offset_pixels;
  std::uint16_t* column_sums;
  std::uint8_t* guide_row;
  std::size_t edge_pitch;
  std::uint8_t *edges, *active;  // flags of blocks: of each row of cells, of the row at work
};

float refine_radius(int width, int height) noexcept {
  return std::max(static_cast<float>(kRefineCell), static_cast<float>(std::min(width, height)) / 100);
}

MaskRefiner::MaskRefiner(const PictureSpec& picture, float radius, Isa isa)
    : picture_(picture),
      kernels_(&refine_kernels(isa)),
      mask_kernels_(&mask_kernels(isa)),
      cells_x_((picture.width + kRefineCell - 1) / kRefineCell),
      cells_y_((picture.height + kRefineCell - 1) / kRefineCell),
      radius_(std::max(1, static_cast<int>(std::lround(radius / kRefineCell)))),
      across_(picture.width, cells_x_, 1.0 / kRefineCell),
      down_(picture.height, cells_y_, 1.0 / kRefineCell) {
  if (!(radius >= 1 && radius <= kMaxRadius))
    throw Error(ErrorCode::invalid_argument,
                "refinement over " + std::to_string(radius) + " pixels: must be within 1 and 128");
}

const std::uint8_t* MaskRefiner::guide(const ConstPictureView& picture, int y,
                                       std::uint8_t* buffer) const noexcept {
  const FormatInfo& info = format_info(picture.format);
  const Component& part = info.component[info.model == ColorModel::rgb ? 1u : 0u];
  const std::uint8_t* row = picture.planes[part.plane] + picture.strides[part.plane] * y;
  if (part.step == 1) return row;
  for (int x = 0; x < picture.width; ++x) buffer[x] = row[part.offset + x * part.step];
  return buffer;
}

/// Means of the cells; those at the border repeat the last pixels.
void MaskRefiner::average(const ConstPictureView& picture, const PlaneView& alpha, const Maps& maps) const {
  const int width = picture.width, whole = cells_x_ * kRefineCell;
  const int luma_shift = format_info(picture.format).depth - 8, alpha_shift = alpha.depth - 8;
  constexpr float kScale = 1.0f / (255.0f * kRefineCell * kRefineCell);
  const auto finish = [&](float* out) {
    std::fill(maps.column_sums + width, maps.column_sums + whole, maps.column_sums[width - 1]);
    kernels_->fold(maps.column_sums, cells_x_, kScale, out);
  };
  for (int cell = 0; cell < cells_y_; ++cell) {
    std::fill_n(maps.column_sums, whole, std::uint16_t{0});
    for (int k = 0; k < kRefineCell; ++k) {
      const int y = std::min(cell * kRefineCell + k, picture.height - 1);
      const std::uint8_t* row = guide(picture, y, maps.guide_row);
      if (luma_shift > 0)
        kernels_->add_row_u16(reinterpret_cast<const std::uint16_t*>(row), luma_shift, width,
                              maps.column_sums);
      else
        kernels_->add_row_u8(row, width, maps.column_sums);
    }
    finish(maps.luma + static_cast<std::size_t>(cell) * maps.pitch);
    std::fill_n(maps.column_sums, whole, std::uint16_t{0});
    for (int k = 0; k < kRefineCell; ++k) {
      const int y = std::min(cell * kRefineCell + k, picture.height - 1);
      const std::uint8_t* row = alpha.data + alpha.stride * y;
      if (alpha_shift > 0)
        kernels_->add_row_u16(reinterpret_cast<const std::uint16_t*>(row), alpha_shift, width,
                              maps.column_sums);
      else
        kernels_->add_row_u8(row, width, maps.column_sums);
    }
    float* means = maps.alpha + static_cast<std::size_t>(cell) * maps.pitch;
    finish(means);
    // A rounding error must not make a uniform cell look like an edge.
    for (int x = 0; x < cells_x_; ++x) means[x] = means[x] > 1.0f - 1e-5f ? 1.0f : means[x];
  }
}

void MaskRefiner::box(const float* in, float* out, const Maps& maps) const {
  const int n = cells_x_;
  const auto row = [&](int y) {
    return in + static_cast<std::size_t>(std::clamp(y, 0, cells_y_ - 1)) * maps.pitch;
  };
  std::memset(maps.sums, 0, static_cast<std::size_t>(n) * sizeof(float));
  for (int k = -radius_; k < radius_; ++k) kernels_->add(row(k), n, maps.sums);
  for (int y = 0; y < cells_y_; ++y) {
    kernels_->add(row(y + radius_), n, maps.sums);
    std::memcpy(maps.wide + radius_, maps.sums, static_cast<std::size_t>(n) * sizeof(float));
    std::fill_n(maps.wide, radius_, maps.sums[0]);
    std::fill_n(maps.wide + radius_ + n, radius_, maps.sums[n - 1]);
    kernels_->box(maps.wide, radius_, n, out + static_cast<std::size_t>(y) * maps.pitch);
    kernels_->subtract(row(y - radius_), n, maps.sums);
  }
}

/// Marks the blocks whose models may differ from the mask as it is: those within reach of a soft cell or of
/// two cells that differ.
void MaskRefiner::find_edges(int y, const Maps& maps) const {
  const int n = cells_x_, reach = 2 * radius_ + 1, blocks = (picture_.width + kBlock - 1) / kBlock;
  constexpr int kCells = kBlock / kRefineCell;
  const float* alpha = maps.alpha + static_cast<std::size_t>(y) * maps.pitch;
  const float* above = y > 0 ? alpha - maps.pitch : alpha;
  std::uint8_t* edges = maps.edges + static_cast<std::size_t>(y) * maps.edge_pitch;
  std::memset(edges, 0, static_cast<std::size_t>(blocks));
  for (int block = 0; block < blocks; ++block) {
    const int begin = block * kCells, end = std::min(begin + kCells, n);
    int different = 0;
    const float first = alpha[std::max(begin - 1, 0)];
    for (int x = begin; x < end; ++x)
      different |= static_cast<int>(alpha[x] != first) | static_cast<int>(above[x] != first);
    if (different == 0 && uniform(first)) continue;
    const int left = std::max(0, (begin - 1 - reach) / kCells),
              right = std::min(blocks - 1, (end + reach) / kCells);
    for (int b = left; b <= right; ++b) edges[b] = 1;
  }
}

/// The models of the windows, averaged over the windows that hold a cell.
void MaskRefiner::fit(Maps& maps) const {
  const int n = cells_x_;
  const float norm = 1.0f / static_cast<float>((2 * radius_ + 1) * (2 * radius_ + 1));
  const auto row = [&](float* map, int y) { return map + static_cast<std::size_t>(y) * maps.pitch; };
  for (int y = 0; y < cells_y_; ++y) {
    kernels_->product(row(maps.luma, y), row(maps.luma, y), n, row(maps.squared, y));
    kernels_->product(row(maps.luma, y), row(maps.alpha, y), n, row(maps.product, y));
    find_edges(y, maps);
  }
  box(maps.luma, maps.slope, maps);
  std::swap(maps.luma, maps.slope);
  box(maps.alpha, maps.slope, maps);
  std::swap(maps.alpha, maps.slope);
  box(maps.squared, maps.slope, maps);
  std::swap(maps.squared, maps.slope);
  box(maps.product, maps.window, maps);
  for (int y = 0; y < cells_y_; ++y) {
    kernels_->solve(row(maps.luma, y), row(maps.alpha, y), row(maps.squared, y), row(maps.window, y), norm,
                    kSmoothness, n, row(maps.slope, y), row(maps.offset, y));
  }
  box(maps.slope, maps.luma, maps);
  box(maps.offset, maps.alpha, maps);
  constexpr float kSlopeScale = 1 << kRefineSlopeBits, kOffsetScale = 255.0f * (1 << kRefineOffsetBits);
  for (int y = 0; y < cells_y_; ++y) {
    std::int16_t* slopes = maps.slopes + static_cast<std::size_t>(y) * maps.pitch;
    std::int16_t* offsets = maps.offsets + static_cast<std::size_t>(y) * maps.pitch;
    kernels_->quantise(row(maps.luma, y), norm * kSlopeScale, n, slopes);
    kernels_->quantise(row(maps.alpha, y), norm * kOffsetScale, n, offsets);
    std::fill_n(slopes + n, kMargin, slopes[n - 1]);
    std::fill_n(offsets + n, kMargin, offsets[n - 1]);
  }
}

/// Blocks of a row's pixels that lie near an edge of the mask: one flag for each kBlock pixels.
void MaskRefiner::mark(int upper, int lower, const Maps& maps) const {
  const int reach = 2 * radius_ + 1, blocks = (picture_.width + kBlock - 1) / kBlock;
  std::memset(maps.active, 0, static_cast<std::size_t>(blocks));
  for (int k = std::max(0, upper - reach); k <= std::min(cells_y_ - 1, lower + reach); ++k) {
    const std::uint8_t* edges = maps.edges + static_cast<std::size_t>(k) * maps.edge_pitch;
    for (int b = 0; b < blocks; ++b) maps.active[b] = static_cast<std::uint8_t>(maps.active[b] | edges[b]);
  }
}

void MaskRefiner::use(const ConstPictureView& picture, const PlaneView& alpha, const Maps& maps) const {
  const int width = picture.width, blocks = (width + kBlock - 1) / kBlock;
  const auto values = std::min(static_cast<int>(maps.pitch) - kMargin, cells_x_ + kSpreadMargin);
  int marked = -1;
  for (int y = 0; y < picture.height; ++y) {
    const int upper = down_.index(y), lower = std::min(upper + 1, cells_y_ - 1);
    if (upper != marked) mark(upper, lower, maps);
    marked = upper;
    bool ready = false;
    const std::uint8_t* luma = nullptr;
    for (int block = 0; block < blocks;) {
      if (maps.active[block] == 0) {
        ++block;
        continue;
      }
      int after = block + 1;
      while (after < blocks && maps.active[after] != 0) ++after;
      if (!ready) {
        const std::size_t at = static_cast<std::size_t>(upper) * maps.pitch,
                          step = lower == upper ? 0 : maps.pitch;
        mask_kernels_->lerp_rows(maps.slopes + at, maps.slopes + at + step, down_.weight(y), values,
                                 maps.slope_row);
        mask_kernels_->lerp_rows(maps.offsets + at, maps.offsets + at + step, down_.weight(y), values,
                                 maps.offset_row);
        luma = guide(picture, y, maps.guide_row);
        ready = true;
      }
      apply(luma, alpha, y, block * kBlock, std::min(after * kBlock, width), maps);
      block = after;
    }
  }
}

/// The pixels `begin` (a multiple of kBlock) to `end` of a row.
void MaskRefiner::apply(const std::uint8_t* luma, const PlaneView& alpha, int y, int begin, int end,
                        const Maps& maps) const {
  SpreadTable table = across_.table();
  table.count = end - begin;
  table.index += begin;
  table.weight += begin;
  if (table.base != nullptr) table.base += begin / 8;
  table.shuffle += 2 * static_cast<std::ptrdiff_t>(begin);
  mask_kernels_->spread(maps.slope_row, table, maps.slope_pixels);
  mask_kernels_->spread(maps.offset_row, table, maps.offset_pixels);
  const int depth = format_info(picture_.format).depth, top = (1 << alpha.depth) - 1, n = end - begin;
  std::uint8_t* out = alpha.data + alpha.stride * y;
  if (alpha.depth > 8 && depth > 8) {
    kernels_->apply_u16(reinterpret_cast<const std::uint16_t*>(luma) + begin, depth - 8, maps.slope_pixels,
                        maps.offset_pixels, top, n, reinterpret_cast<std::uint16_t*>(out) + begin);
    return;
  }
  if (alpha.depth == 8 && depth == 8) {
    kernels_->apply_u8(luma + begin, maps.slope_pixels, maps.offset_pixels, n, out + begin);
    return;
  }
  // A mask that is written with another depth than the picture's: off the hot path.
  std::uint16_t wide[kBlock], refined[kBlock];
  for (int x = begin; x < end; x += kBlock) {
    const int count = std::min(kBlock, end - x);
    for (int i = 0; i < count; ++i) {
      wide[i] =
          depth > 8
              ? static_cast<std::uint16_t>(reinterpret_cast<const std::uint16_t*>(luma)[x + i] >> (depth - 8))
              : luma[x + i];
    }
    kernels_->apply_u16(wide, 0, maps.slope_pixels + (x - begin), maps.offset_pixels + (x - begin), top,
                        count, refined);
    for (int i = 0; i < count; ++i) {
      if (alpha.depth > 8)
        reinterpret_cast<std::uint16_t*>(out)[x + i] = refined[i];
      else
        out[x + i] = static_cast<std::uint8_t>(refined[i]);
    }
  }
}

void MaskRefiner::run(const ConstPictureView& picture, const PlaneView& alpha, Workspace& workspace) const {
  require_match(picture, picture_, "the picture that guides a mask");
  if (alpha.width != picture.width || alpha.height != picture.height || alpha.data == nullptr)
    throw Error(ErrorCode::invalid_argument, "a mask to refine must have the picture's size");
  Maps maps{};
  maps.pitch = padded(cells_x_ + 2 * radius_);
  const std::size_t count = maps.pitch * static_cast<std::size_t>(cells_y_);
  const std::size_t pixels = padded(picture.width) + static_cast<std::size_t>(kRefineCell);
  maps.edge_pitch = static_cast<std::size_t>((picture.width + kBlock - 1) / kBlock);
  const std::size_t floats = 7 * count + 2 * maps.pitch;
  const std::size_t words = 2 * count + 2 * maps.pitch + 3 * pixels;
  std::uint8_t* memory = workspace.reserve(floats * sizeof(float) + words * sizeof(std::int16_t) + pixels +
                                               maps.edge_pitch * (static_cast<std::size_t>(cells_y_) + 1),
                                           Scratch::refine);
  auto* f = reinterpret_cast<float*>(memory);
  const auto take = [&](std::size_t n) { return std::exchange(f, f + n); };
  maps.luma = take(count), maps.alpha = take(count), maps.slope = take(count), maps.offset = take(count);
  maps.squared = take(count), maps.product = take(count), maps.window = take(count);
  maps.sums = take(maps.pitch), maps.wide = take(maps.pitch);
  auto* w = reinterpret_cast<std::int16_t*>(f);
  const auto take_words = [&](std::size_t n) { return std::exchange(w, w + n); };
  maps.slopes = take_words(count), maps.offsets = take_words(count);
  maps.slope_row = take_words(maps.pitch), maps.offset_row = take_words(maps.pitch);
  maps.slope_pixels = take_words(pixels), maps.offset_pixels = take_words(pixels);
  maps.column_sums = reinterpret_cast<std::uint16_t*>(take_words(pixels));
  maps.guide_row = reinterpret_cast<std::uint8_t*>(w);
  maps.edges = maps.guide_row + pixels;
  maps.active = maps.edges + maps.edge_pitch * static_cast<std::size_t>(cells_y_);
  average(picture, alpha, maps);
  fit(maps);
  use(picture, alpha, maps);
}

}  // namespace saccade::vision
