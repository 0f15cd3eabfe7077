// The class of every pixel: arg max of the upsampled logits without upsampling most of them. An upsampled
// logit is a convex combination of the four logits around it. Where the same class is ahead at all four by
// more than rounding can undo, it is ahead in between; elsewhere only the classes that no corner's best class
// beats at all four corners are evaluated.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "saccade/error.h"
#include "vision/kernels/kernel_tables.h"
#include "vision/mask.h"
#include "vision/network_rows.h"

namespace saccade::vision {

namespace {

constexpr int kMaxClasses = 256;

// Consecutive targets that lie between the same two sources.
struct Run {
  int begin, end;
};
std::vector<Run> runs_of(const Spread& spread, int targets, int sources) {
  std::vector<Run> runs(static_cast<std::size_t>(sources), Run{0, 0});
  for (int i = 0; i < targets; ++i) {
    Run& run = runs[static_cast<std::size_t>(spread.index(i))];
    if (run.end == run.begin) run.begin = i;
    run.end = i + 1;
  }
  return runs;
}

constexpr int kNoClass = 255;

}  // namespace

struct ClassMapper::Impl {
  Impl(const Geometry& g, const OutputSpec& spec, const OutputLayout& output_layout, Isa isa)
      : geometry(g),
        kind(spec.kind),
        layout(output_layout),
        kernels(&mask_kernels(isa)),
        rows(g, output_layout, spec.layout),
        across(rows.across()),
        down(rows.down()),
        columns(runs_of(across, g.stored_width, rows.width())),
        lines(runs_of(down, g.stored_height, rows.height())) {}

  Geometry geometry;
  OutputKind kind;
  OutputLayout layout;
  const MaskKernels* kernels;
  NetworkRows rows;
  Spread across, down;
  std::vector<Run> columns, lines;  // of target columns and rows, by network column and row

  template <class T>
  void copy_map(const void* output, const PlaneView& classes) const noexcept;
  void evaluate(const float* const (&corner)[4], std::ptrdiff_t step, const std::uint8_t (&leader)[4],
                float doubt, Run column, Run line, const PlaneView& classes) const noexcept;
  void run_logits(const float* output, const PlaneView& classes, Workspace& workspace) const;
};

ClassMapper::ClassMapper(const Geometry& geometry, const OutputSpec& spec, const OutputLayout& layout,
                         Isa isa) {
  if (!has_classes(spec, layout))
    throw Error(ErrorCode::unsupported, "the model's output carries no classes: it has one foreground only");
  if (layout.channels > kMaxClasses)
    throw Error(ErrorCode::unsupported,
                "a class map of " + std::to_string(layout.channels) + " classes: at most 256 are supported");
  impl_ = std::make_unique<Impl>(geometry, spec, layout, isa);
}

ClassMapper::~ClassMapper() = default;
ClassMapper::ClassMapper(ClassMapper&&) noexcept = default;
ClassMapper& ClassMapper::operator=(ClassMapper&&) noexcept = default;

void ClassMapper::run(const void* output, const PlaneView& classes, Workspace& workspace) const {
  const Geometry& g = impl_->geometry;
  if (classes.width != g.stored_width || classes.height != g.stored_height || classes.depth != 8 ||
      classes.data == nullptr)
    throw Error(ErrorCode::invalid_argument,
                "class plane of " + std::to_string(classes.width) + "x" + std::to_string(classes.height) +
                    ", expected " + std::to_string(g.stored_width) + "x" + std::to_string(g.stored_height));
  if (impl_->kind != OutputKind::class_map)
    return impl_->run_logits(static_cast<const float*>(output), classes, workspace);
  switch (impl_->layout.dtype) {
    case DType::u8:
      return impl_->copy_map<std::uint8_t>(output, classes);
    case DType::i32:
      return impl_->copy_map<std::int32_t>(output, classes);
    case DType::i64:
      return impl_->copy_map<std::int64_t>(output, classes);
    default:
      return impl_->copy_map<float>(output, classes);
  }
}

// The nearest entry: the left neighbour below half of the way, the right one from there on.
template <class T>
void ClassMapper::Impl::copy_map(const void* output, const PlaneView& classes) const noexcept {
  for (int y = 0; y < classes.height; ++y) {
    std::uint8_t* out = classes.data + classes.stride * y;
    const int row = down.index(y) + (down.fraction(y) >= 0.5f ? 1 : 0);
    const T* p = static_cast<const T*>(output) + rows.start(row);
    for (int x = 0; x < classes.width; ++x) {
      const int column = across.index(x) + (across.fraction(x) >= 0.5f ? 1 : 0);
      const int c = class_index(p[column * rows.pixel_step()]);
      out[x] = static_cast<std::uint8_t>(c < 0 ? kNoClass : c);
    }
  }
}

/// `step` lies between the classes of each corner.
void ClassMapper::Impl::evaluate(const float* const (&corner)[4], std::ptrdiff_t step,
                                 const std::uint8_t (&leader)[4], float doubt, Run column, Run line,
                                 const PlaneView& classes) const noexcept {
  std::array<std::array<float, kMaxClasses>, 4> value, logit;  // of all classes, of candidates
  std::array<std::int32_t, kMaxClasses> beaten{};
  std::array<std::uint8_t, kMaxClasses> candidate;
  for (std::size_t i = 0; i < 4; ++i)
    for (int c = 0; c < layout.channels; ++c) value[i][static_cast<std::size_t>(c)] = corner[i][c * step];
  for (int k = 0; k < 4; ++k) {
    if (std::find(leader, leader + k, leader[k]) == leader + k)
      kernels->mark_beaten(value[0].data(), value[1].data(), value[2].data(), value[3].data(), leader[k],
                           doubt, layout.channels, beaten.data());
  }
  std::size_t candidates = 0;
  for (std::size_t c = 0; c < static_cast<std::size_t>(layout.channels); ++c) {
    if (beaten[c] != 0) continue;
    for (std::size_t i = 0; i < 4; ++i) logit[i][candidates] = value[i][c];
    candidate[candidates++] = static_cast<std::uint8_t>(c);
  }
  kernels->argmax_cell({logit[0].data(), logit[1].data(), logit[2].data(), logit[3].data(), candidate.data(),
                        static_cast<int>(candidates), across.fractions() + column.begin,
                        down.fractions() + line.begin, column.end - column.begin, line.end - line.begin,
                        classes.data + classes.stride * line.begin + column.begin, classes.stride});
}

void ClassMapper::Impl::run_logits(const float* output, const PlaneView& classes,
                                   Workspace& workspace) const {
  const int width = rows.width(), height = rows.height(), channels = layout.channels;
  const auto columns_count = static_cast<std::size_t>(width);
  const std::size_t pixels = columns_count * static_cast<std::size_t>(height);
  // Planes of two rows, no power of two apart: what the classes of a cell are read from.
  const std::ptrdiff_t pitch = width + kSpreadMargin;
  const std::size_t row_values = static_cast<std::size_t>(pitch) * static_cast<std::size_t>(channels);
  std::uint8_t* memory =
      workspace.reserve((pixels + 2 * row_values) * sizeof(float) + pixels, Scratch::class_map);
  auto* leads = reinterpret_cast<float*>(memory);
  float* const planes = leads + pixels;
  auto* numbers = reinterpret_cast<std::uint8_t*>(planes + 2 * row_values);
  int held[2] = {-1, -1};
  const auto planes_of = [&](int row) {
    const auto place = static_cast<std::size_t>(row % 2);
    float* out = planes + place * row_values;
    if (held[place] != row)
      kernels->to_planes(output + rows.start(row), rows.pixel_step(), rows.channel_step(), channels, width,
                         out, pitch);
    held[place] = row;
    return out;
  };
  float largest = 0;
  for (int j = 0; j < height; ++j) {
    const bool side_by_side = rows.pixel_step() == 1;
    const float* row = side_by_side ? output + rows.start(j) : planes_of(j);
    const std::size_t at = static_cast<std::size_t>(j) * columns_count;
    kernels->leaders(row, side_by_side ? rows.channel_step() : pitch, channels, width, leads + at,
                     numbers + at, &largest);
  }
  // Six roundings of half a unit in the last place separate an upsampled logit from its exact value; a lead
  // above `doubt` survives them. With infinities no lead does, and everything is evaluated.
  const float doubt = largest * 0x1p-20f;
  for (int j = 0; j < height; ++j) {
    const Run line = lines[static_cast<std::size_t>(j)];
    if (line.begin == line.end) continue;
    const int below = std::min(j + 1, height - 1);
    const std::size_t upper = static_cast<std::size_t>(j) * columns_count,
                      lower = static_cast<std::size_t>(below) * columns_count;
    Run agreed{0, 0};  // target columns of neighbouring cells that agree on one class
    std::uint8_t agreed_class = 0;
    const auto flush = [&] {
      for (int y = line.begin; y < line.end && agreed.begin < agreed.end; ++y)
        std::memset(classes.data + classes.stride * y + agreed.begin, agreed_class,
                    static_cast<std::size_t>(agreed.end - agreed.begin));
      agreed = {0, 0};
    };
    for (int i = 0; i < width; ++i) {
      const Run column = columns[static_cast<std::size_t>(i)];
      if (column.begin == column.end) continue;
      const int right = std::min(i + 1, width - 1);
      const auto left_column = static_cast<std::size_t>(i), right_column = static_cast<std::size_t>(right);
      const std::size_t place[4] = {upper + left_column, upper + right_column, lower + left_column,
                                    lower + right_column};
      const std::uint8_t number = numbers[place[0]];
      bool same = true;
      for (const std::size_t p : place) same = same && numbers[p] == number && leads[p] > doubt;
      if (same) {
        if (agreed.begin < agreed.end && number != agreed_class) flush();
        if (agreed.begin == agreed.end) agreed.begin = column.begin;
        agreed.end = column.end;
        agreed_class = number;
        continue;
      }
      flush();
      const float* const above = planes_of(j);
      const float* const under = planes_of(below);
      const float* const corner[4] = {above + i, above + right, under + i, under + right};
      const std::uint8_t leader[4] = {numbers[place[0]], numbers[place[1]], numbers[place[2]],
                                      numbers[place[3]]};
      evaluate(corner, pitch, leader, doubt, column, line, classes);
    }
    flush();
  }
}

}  // namespace saccade::vision
