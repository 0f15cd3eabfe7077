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

// What a network pixel says of itself.
struct Leader {
  float lead;           // of the best class over the second
  std::uint8_t number;  // of the best class, the lowest among equals
};

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
  void evaluate(const float* const (&corner)[4], const Leader* const (&leader)[4], float doubt, Run column,
                Run line, const PlaneView& classes) const noexcept;
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

void ClassMapper::Impl::evaluate(const float* const (&corner)[4], const Leader* const (&leader)[4],
                                 float doubt, Run column, Run line, const PlaneView& classes) const noexcept {
  std::array<std::array<float, kMaxClasses>, 4> logit;
  std::array<std::uint8_t, kMaxClasses> candidate;
  int candidates = 0;
  for (int c = 0; c < layout.channels; ++c) {
    bool beaten = false;
    for (int k = 0; k < 4 && !beaten; ++k) {
      const std::uint8_t best = leader[k]->number;
      beaten = best != c;
      for (int i = 0; i < 4 && beaten; ++i) beaten = corner[i][best] - corner[i][c] > doubt;
    }
    if (beaten) continue;
    for (std::size_t i = 0; i < 4; ++i) logit[i][static_cast<std::size_t>(candidates)] = corner[i][c];
    candidate[static_cast<std::size_t>(candidates++)] = static_cast<std::uint8_t>(c);
  }
  kernels->argmax_cell({logit[0].data(), logit[1].data(), logit[2].data(), logit[3].data(), candidate.data(),
                        candidates, across.fractions() + column.begin, down.fractions() + line.begin,
                        column.end - column.begin, line.end - line.begin,
                        classes.data + classes.stride * line.begin + column.begin, classes.stride});
}

void ClassMapper::Impl::run_logits(const float* output, const PlaneView& classes,
                                   Workspace& workspace) const {
  const int width = rows.width(), height = rows.height(), channels = layout.channels;
  const auto pixels = static_cast<std::size_t>(width) * static_cast<std::size_t>(height);
  std::uint8_t* memory = workspace.reserve(
      pixels * (static_cast<std::size_t>(channels) * sizeof(float) + sizeof(Leader)), Scratch::class_map);
  auto* logits = reinterpret_cast<float*>(memory);  // by pixel, then class
  auto* leaders = reinterpret_cast<Leader*>(logits + pixels * static_cast<std::size_t>(channels));
  float largest = 0;
  for (int j = 0; j < height; ++j) {
    const float* in = output + rows.start(j);
    float* out = logits + static_cast<std::size_t>(j) * static_cast<std::size_t>(width * channels);
    Leader* leader = leaders + static_cast<std::size_t>(j) * static_cast<std::size_t>(width);
    for (int i = 0; i < width; ++i, out += channels) {
      const float* p = in + i * rows.pixel_step();
      float best = p[0], second = -INFINITY;
      int number = 0;
      out[0] = best;
      largest = std::max(largest, std::abs(best));
      for (int c = 1; c < channels; ++c) {
        const float v = p[c * rows.channel_step()];
        out[c] = v;
        largest = std::max(largest, std::abs(v));
        if (v > best) {
          second = best;
          best = v;
          number = c;
        } else if (v > second) {
          second = v;
        }
      }
      leader[i] = {best - second, static_cast<std::uint8_t>(number)};
    }
  }
  // Six roundings of half a unit in the last place separate an upsampled logit from its exact value; a lead
  // above `doubt` survives them. With infinities no lead does, and everything is evaluated.
  const float doubt = largest * 0x1p-20f;
  for (int j = 0; j < height; ++j) {
    const Run line = lines[static_cast<std::size_t>(j)];
    if (line.begin == line.end) continue;
    const int below = std::min(j + 1, height - 1);
    const Leader* upper = leaders + static_cast<std::size_t>(j) * static_cast<std::size_t>(width);
    const Leader* lower = leaders + static_cast<std::size_t>(below) * static_cast<std::size_t>(width);
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
      const Leader* const leader[4] = {upper + i, upper + right, lower + i, lower + right};
      const std::uint8_t number = leader[0]->number;
      bool same = true;
      for (const Leader* l : leader) same = same && l->number == number && l->lead > doubt;
      if (same) {
        if (agreed.begin < agreed.end && number != agreed_class) flush();
        if (agreed.begin == agreed.end) agreed.begin = column.begin;
        agreed.end = column.end;
        agreed_class = number;
        continue;
      }
      flush();
      const auto at = [&](int x, int y) {
        return logits +
               (static_cast<std::size_t>(y) * static_cast<std::size_t>(width) + static_cast<std::size_t>(x)) *
                   static_cast<std::size_t>(channels);
      };
      const float* const corner[4] = {at(i, j), at(right, j), at(i, below), at(right, below)};
      evaluate(corner, leader, doubt, column, line, classes);
    }
    flush();
  }
}

}  // namespace saccade::vision
