#include "vision/refine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "base/job_limits.h"
#include "saccade/error.h"
#include "vision/kernels/kernel_tables.h"

namespace saccade::vision {

namespace {

using job_limits::kLeastRefine, job_limits::kMostRefine;
/// Added to the variance of luma (0..1): contrasts below its root count as flat. It bounds slopes to 1 / (4 *
/// root), which is what the fixed-point numbers are made for.
constexpr float kSmoothness = 4e-4f;
constexpr int kBlock = 64;  // pixels that are worked on, or left alone, together
constexpr int kCells = kBlock / kRefineCell;
constexpr int kMargin = 64;  // values that kernels may read behind a row
constexpr int kLead = 32;    // cells before a row: the largest radius
static_assert(kMostRefine / kRefineCell <= kLead);

std::size_t padded(int n) noexcept { return (static_cast<std::size_t>(n) + 31) / 32 * 32; }

bool uniform(float v) noexcept { return v == 0.0f || v == 1.0f; }

/// Calls body(begin, end) for each run of blocks whose flags are set.
template <class Body>
void for_runs(const std::uint8_t* flags, int blocks, Body body) {
  for (int block = 0; block < blocks;) {
    if (flags[block] == 0) {
      ++block;
      continue;
    }
    int after = block + 1;
    while (after < blocks && flags[after] != 0) ++after;
    body(block, after);
    block = after;
  }
}

/// The same for runs whose blocks were all marked in the row before, too (`slides`: their sums go on from
/// there), or all not.
template <class Body>
void for_sliding_runs(const std::uint8_t* flags, const std::uint8_t* before, int blocks, Body body) {
  const auto slides = [&](int block) { return before != nullptr && before[block] != 0; };
  for_runs(flags, blocks, [&](int begin, int end) {
    for (int block = begin; block < end;) {
      int after = block + 1;
      while (after < end && slides(after) == slides(block)) ++after;
      body(block, after, slides(block));
      block = after;
    }
  });
}

/// What lies beyond a row's ends repeats them.
template <class T>
void repeat_ends(T* row, int n, int before, int behind) noexcept {
  std::fill_n(row - before, before, row[0]);
  std::fill_n(row + n, behind, row[n - 1]);
}

}  // namespace

struct MaskRefiner::Maps {
  std::size_t pitch;  // of rows of cells; each has kLead cells before it and kMargin behind
  float *luma, *alpha, *slope, *offset;  // of cells
  float* sums;                           // four rows of columns' sums
  std::int16_t *slopes, *offsets, *slope_row, *offset_row, *slope_pixels, *offset_pixels;
  std::uint8_t* guide_rows[kRefineCell];
  // Flags of blocks, a row of them for each row of cells: where the mask has edges, where pixels change,
  // where smoothed models, the columns that they are sums of, models, their columns, and means are needed.
  std::size_t flag_pitch;
  std::uint8_t *edges, *active, *smooth, *smooth_columns, *models, *model_columns, *means;

  float* row(float* map, int y) const noexcept { return map + static_cast<std::size_t>(y) * pitch; }
  std::int16_t* row(std::int16_t* map, int y) const noexcept {
    return map + static_cast<std::size_t>(y) * pitch;
  }
  std::uint8_t* flags(std::uint8_t* map, int y) const noexcept {
    return map + static_cast<std::size_t>(y) * flag_pitch;
  }
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
  if (!(radius >= kLeastRefine && radius <= kMostRefine))
    throw Error(ErrorCode::invalid_argument,
                fmt::format("refinement over {} pixels: must be within {} and {}", radius, kLeastRefine,
                            kMostRefine));
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

int MaskRefiner::blocks() const noexcept { return (picture_.width + kBlock - 1) / kBlock; }

/// Means of the cells [begin, end) from rows of samples; those at the border repeat the last pixels.
template <class Rows>
void MaskRefiner::means(const Rows& row, int depth, int begin, int end, float* out) const {
  constexpr float kScale = 1.0f / (255.0f * kRefineCell * kRefineCell);
  const int bytes = depth > 8 ? 2 : 1, whole = std::min(end, picture_.width / kRefineCell), shift = depth - 8;
  const std::uint8_t* rows[kRefineCell];
  for (int k = 0; k < kRefineCell; ++k) rows[k] = row(k) + std::ptrdiff_t{begin} * kRefineCell * bytes;
  const auto run = [&](const std::uint8_t* const* from, int cells, float* to) {
    if (bytes == 1) {
      kernels_->means_u8(from, cells, kScale, to);
      return;
    }
    const std::uint16_t* words[kRefineCell];
    for (int k = 0; k < kRefineCell; ++k) words[k] = reinterpret_cast<const std::uint16_t*>(from[k]);
    kernels_->means_u16(words, shift, cells, kScale, to);
  };
  if (whole > begin) run(rows, whole - begin, out + begin);
  for (int cell = std::max(whole, begin); cell < end; ++cell) {  // the last one, with some pixels only
    alignas(2) std::uint8_t last[kRefineCell][2 * kRefineCell];
    const std::uint8_t* lines[kRefineCell];
    for (int k = 0; k < kRefineCell; ++k) {
      for (int i = 0; i < kRefineCell; ++i) {
        const int x = std::min(cell * kRefineCell + i, picture_.width - 1);
        std::memcpy(last[k] + i * bytes, row(k) + std::ptrdiff_t{x} * bytes, static_cast<std::size_t>(bytes));
      }
      lines[k] = last[k];
    }
    run(lines, 1, out + cell);
  }
}

void MaskRefiner::average_alpha(const PlaneView& alpha, const Maps& maps) const {
  for (int cell = 0; cell < cells_y_; ++cell) {
    float* out = maps.row(maps.alpha, cell);
    means(
        [&](int k) { return alpha.data + alpha.stride * std::min(cell * kRefineCell + k, alpha.height - 1); },
        alpha.depth, 0, cells_x_, out);
    // A rounding error must not make a uniform cell look like an edge.
    for (int x = 0; x < cells_x_; ++x) out[x] = out[x] > 1.0f - 1e-5f ? 1.0f : out[x];
    repeat_ends(out, cells_x_, kLead, kMargin);
  }
}

void MaskRefiner::average_luma(const ConstPictureView& picture, int cell, const Maps& maps) const {
  const std::uint8_t* flags = maps.flags(maps.means, cell);
  const std::uint8_t* rows[kRefineCell] = {};
  float* out = maps.row(maps.luma, cell);
  for_runs(flags, blocks(), [&](int begin, int end) {
    for (int k = 0; k < kRefineCell && rows[kRefineCell - 1] == nullptr; ++k)
      rows[k] = guide(picture, std::min(cell * kRefineCell + k, picture.height - 1), maps.guide_rows[k]);
    means([&](int k) { return rows[k]; }, format_info(picture.format).depth, begin * kCells,
          std::min(end * kCells, cells_x_), out);
  });
  if (flags[0] != 0) std::fill_n(out - kLead, kLead, out[0]);
  if (flags[blocks() - 1] != 0) std::fill_n(out + cells_x_, kMargin, out[cells_x_ - 1]);
}

/// Marks the blocks whose models may differ from the mask as it is: those within reach of a soft cell or of
/// two cells that differ.
void MaskRefiner::find_edges(int y, const Maps& maps) const {
  const int n = cells_x_, reach = 2 * radius_ + 1;
  const float* alpha = maps.row(maps.alpha, y);
  const float* above = y > 0 ? alpha - maps.pitch : alpha;
  std::uint8_t* edges = maps.flags(maps.edges, y);
  for (int block = 0; block < blocks(); ++block) {
    const int begin = block * kCells, end = std::min(begin + kCells, n);
    int different = 0;
    const float first = alpha[std::max(begin - 1, 0)];
    for (int x = begin; x < end; ++x)
      different |= static_cast<int>(alpha[x] != first) | static_cast<int>(above[x] != first);
    if (different == 0 && uniform(first)) continue;
    const int left = std::max(0, (begin - 1 - reach) / kCells),
              right = std::min(blocks() - 1, (end + reach) / kCells);
    std::fill(edges + left, edges + right + 1, std::uint8_t{1});
  }
}

/// Rows of flags, each with those of `radius` rows above and below.
void MaskRefiner::grow_rows(const std::uint8_t* in, int radius, std::uint8_t* out, const Maps& maps) const {
  const int n = blocks();
  for (int b = 0; b < n; ++b) {
    int last = -radius - 1;  // the last row so far with its flag set
    for (int y = -radius; y < cells_y_; ++y) {
      const int ahead = y + radius;
      if (ahead < cells_y_ &&
          in[static_cast<std::size_t>(ahead) * maps.flag_pitch + static_cast<std::size_t>(b)] != 0)
        last = ahead;
      if (y >= 0)
        out[static_cast<std::size_t>(y) * maps.flag_pitch + static_cast<std::size_t>(b)] =
            last >= y - radius ? 1 : 0;
    }
  }
}

/// Blocks within `cells` cells of one that is set.
void MaskRefiner::grow_blocks(std::uint8_t* flags, int cells, const Maps& maps) const {
  const int n = blocks(), reach = (cells + kCells - 1) / kCells;
  for (int y = 0; y < cells_y_; ++y) {
    std::uint8_t* row = maps.flags(flags, y);
    // 2: only near one that is set.
    for (int b = 0, last = -reach - 1; b < n; ++b) {
      if (row[b] == 1)
        last = b;
      else if (b - last <= reach)
        row[b] = 2;
    }
    for (int b = n - 1, last = n + reach; b >= 0; --b) {
      if (row[b] == 1)
        last = b;
      else if (last - b <= reach)
        row[b] = 2;
    }
    for (int b = 0; b < n; ++b) row[b] = row[b] != 0 ? 1 : 0;
  }
}

void MaskRefiner::plan(const Maps& maps) const {
  const std::size_t all = maps.flag_pitch * static_cast<std::size_t>(cells_y_);
  const int reach = 2 * radius_ + 1;
  // Pixels between the rows y and y + 1 of cells change if an edge is in reach of one of them.
  grow_rows(maps.edges, reach, maps.active, maps);
  for (int y = 0; y < cells_y_; ++y) {
    std::uint8_t* here = maps.flags(maps.active, y);
    const std::uint8_t* below = maps.flags(maps.active, std::min(y + 1, cells_y_ - 1));
    for (int b = 0; b < blocks(); ++b) here[b] = static_cast<std::uint8_t>(here[b] | below[b]);
  }
  for (int y = 0; y < cells_y_; ++y) {
    const std::uint8_t* here = maps.flags(maps.active, y);
    const std::uint8_t* above = maps.flags(maps.active, std::max(y - 1, 0));
    std::uint8_t* out = maps.flags(maps.smooth, y);
    for (int b = 0; b < blocks(); ++b) out[b] = static_cast<std::uint8_t>(here[b] | above[b]);
  }
  grow_blocks(maps.smooth, 1, maps);  // bilinear enlarging reads a neighbour
  std::memcpy(maps.smooth_columns, maps.smooth, all);
  grow_blocks(maps.smooth_columns, radius_, maps);
  grow_rows(maps.smooth_columns, radius_, maps.models, maps);
  std::memcpy(maps.model_columns, maps.models, all);
  grow_blocks(maps.model_columns, radius_, maps);
  grow_rows(maps.model_columns, radius_, maps.means, maps);
}

/// The models of the windows.
void MaskRefiner::fit(const Maps& maps) const {
  const int n = cells_x_, last = blocks();
  const float norm = 1.0f / static_cast<float>((2 * radius_ + 1) * (2 * radius_ + 1));
  const auto pitch = static_cast<std::ptrdiff_t>(maps.pitch);
  const auto line = [&](float* map, int y) { return maps.row(map, std::clamp(y, 0, cells_y_ - 1)); };
  // Cells of blocks, those beyond the row's ends included.
  const auto from = [&](int block) { return block == 0 ? -kLead : block * kCells; };
  const auto to = [&](int block) { return block == last ? n + kLead : block * kCells; };
  for (int y = 0; y < cells_y_; ++y) {
    const std::uint8_t* columns = maps.flags(maps.model_columns, y);
    const std::uint8_t* before = y > 0 ? maps.flags(maps.model_columns, y - 1) : nullptr;
    for_sliding_runs(columns, before, last, [&](int block, int after, bool slides) {
      const int begin = from(block), count = to(after) - begin;
      float* sums = maps.sums + begin;
      if (slides) {
        kernels_->slide_moments(line(maps.luma, y + radius_) + begin, line(maps.alpha, y + radius_) + begin,
                                line(maps.luma, y - radius_ - 1) + begin,
                                line(maps.alpha, y - radius_ - 1) + begin, count, pitch, sums);
      } else {
        for (int m = 0; m < 4; ++m) std::fill_n(sums + m * pitch, count, 0.0f);
        for (int k = -radius_; k <= radius_; ++k)
          kernels_->add_moments(line(maps.luma, y + k) + begin, line(maps.alpha, y + k) + begin, count, pitch,
                                sums);
      }
    });
    float* slope = maps.row(maps.slope, y);
    float* offset = maps.row(maps.offset, y);
    const std::uint8_t* models = maps.flags(maps.models, y);
    for_runs(models, last, [&](int block, int after) {
      const int begin = block * kCells, end = std::min(after * kCells, n);
      kernels_->solve(maps.sums + begin - radius_, pitch, radius_, norm, kSmoothness, end - begin,
                      slope + begin, offset + begin);
    });
    for (float* row : {slope, offset}) {
      if (models[0] != 0) std::fill_n(row - kLead, kLead, row[0]);
      if (models[last - 1] != 0) std::fill_n(row + n, kLead, row[n - 1]);
    }
  }
}

/// The models, averaged over the windows that hold a cell.
void MaskRefiner::smooth(const Maps& maps) const {
  const int n = cells_x_, last = blocks();
  const float norm = 1.0f / static_cast<float>((2 * radius_ + 1) * (2 * radius_ + 1));
  constexpr float kSlopeScale = 1 << kRefineSlopeBits, kOffsetScale = 255.0f * (1 << kRefineOffsetBits);
  const auto line = [&](float* map, int y) { return maps.row(map, std::clamp(y, 0, cells_y_ - 1)); };
  float* slope_sums = maps.sums;
  float* offset_sums = maps.sums + maps.pitch;
  for (int y = 0; y < cells_y_; ++y) {
    const std::uint8_t* columns = maps.flags(maps.smooth_columns, y);
    const std::uint8_t* before = y > 0 ? maps.flags(maps.smooth_columns, y - 1) : nullptr;
    for_sliding_runs(columns, before, last, [&](int block, int after, bool slides) {
      const int begin = block == 0 ? -kLead : block * kCells,
                count = (after == last ? n + kLead : after * kCells) - begin;
      for (const auto& [map, sums] :
           {std::pair{maps.slope, slope_sums}, std::pair{maps.offset, offset_sums}}) {
        if (slides) {
          kernels_->slide(line(map, y + radius_) + begin, line(map, y - radius_ - 1) + begin, count,
                          sums + begin);
          continue;
        }
        std::fill_n(sums + begin, count, 0.0f);
        for (int k = -radius_; k <= radius_; ++k)
          kernels_->add(line(map, y + k) + begin, count, sums + begin);
      }
    });
    std::int16_t* slopes = maps.row(maps.slopes, y);
    std::int16_t* offsets = maps.row(maps.offsets, y);
    const std::uint8_t* wanted = maps.flags(maps.smooth, y);
    for_runs(wanted, last, [&](int block, int after) {
      const int begin = block * kCells, end = std::min(after * kCells, n);
      kernels_->box_quantise(slope_sums + begin - radius_, radius_, norm * kSlopeScale, end - begin,
                             slopes + begin);
      kernels_->box_quantise(offset_sums + begin - radius_, radius_, norm * kOffsetScale, end - begin,
                             offsets + begin);
    });
    if (wanted[last - 1] != 0) {
      std::fill_n(slopes + n, kMargin, slopes[n - 1]);
      std::fill_n(offsets + n, kMargin, offsets[n - 1]);
    }
  }
}

void MaskRefiner::use(const ConstPictureView& picture, const PlaneView& alpha, const Maps& maps) const {
  const int width = picture.width;
  for (int y = 0; y < picture.height; ++y) {
    const int upper = down_.index(y);
    const std::uint8_t* luma = nullptr;
    const std::size_t step = upper + 1 < cells_y_ ? maps.pitch : 0;
    for_runs(maps.flags(maps.active, upper), blocks(), [&](int block, int after) {
      const int begin = block == 0 ? 0 : block * kCells - kCells, count = after * kCells + kCells - begin;
      const std::int16_t* slopes = maps.row(maps.slopes, upper) + begin;
      const std::int16_t* offsets = maps.row(maps.offsets, upper) + begin;
      mask_kernels_->lerp_rows(slopes, slopes + step, down_.weight(y), count, maps.slope_row + begin);
      mask_kernels_->lerp_rows(offsets, offsets + step, down_.weight(y), count, maps.offset_row + begin);
      if (luma == nullptr) luma = guide(picture, y, maps.guide_rows[0]);
      apply(luma, alpha, y, block * kBlock, std::min(after * kBlock, width), maps);
    });
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
  if (table.place != nullptr) table.place += begin;
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
  maps.pitch = padded(kLead + cells_x_ + kMargin + kCells);
  maps.flag_pitch = padded(blocks());
  const std::size_t count = maps.pitch * static_cast<std::size_t>(cells_y_);
  const std::size_t pixels = padded(picture.width + 2 * kBlock);
  const std::size_t flags = maps.flag_pitch * static_cast<std::size_t>(cells_y_);
  const std::size_t floats = 4 * count + 4 * maps.pitch;
  const std::size_t words = 2 * count + 2 * maps.pitch + 2 * pixels;
  std::uint8_t* memory = workspace.reserve(
      floats * sizeof(float) + words * sizeof(std::int16_t) + 2 * kRefineCell * pixels + 7 * flags,
      Scratch::refine);
  auto* f = reinterpret_cast<float*>(memory);
  const auto take = [&](std::size_t n) { return std::exchange(f, f + n) + kLead; };
  maps.luma = take(count), maps.alpha = take(count), maps.slope = take(count), maps.offset = take(count);
  maps.sums = take(4 * maps.pitch);
  auto* w = reinterpret_cast<std::int16_t*>(f);
  const auto take_words = [&](std::size_t n) { return std::exchange(w, w + n); };
  maps.slopes = take_words(count) + kLead, maps.offsets = take_words(count) + kLead;
  maps.slope_row = take_words(maps.pitch), maps.offset_row = take_words(maps.pitch);
  maps.slope_pixels = take_words(pixels), maps.offset_pixels = take_words(pixels);
  auto* bytes = reinterpret_cast<std::uint8_t*>(w);
  for (std::uint8_t*& row : maps.guide_rows) row = std::exchange(bytes, bytes + 2 * pixels);
  for (std::uint8_t** map : {&maps.edges, &maps.active, &maps.smooth, &maps.smooth_columns, &maps.models,
                             &maps.model_columns, &maps.means})
    *map = std::exchange(bytes, bytes + flags);
  std::memset(maps.edges, 0, flags);
  average_alpha(alpha, maps);
  for (int y = 0; y < cells_y_; ++y) find_edges(y, maps);
  if (std::find(maps.edges, maps.edges + flags, std::uint8_t{1}) == maps.edges + flags) return;
  plan(maps);
  for (int cell = 0; cell < cells_y_; ++cell) average_luma(picture, cell, maps);
  fit(maps);
  smooth(maps);
  use(picture, alpha, maps);
}

}  // namespace saccade::vision
