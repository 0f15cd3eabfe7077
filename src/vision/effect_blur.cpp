// The background blurred without the foreground's colours: samples are averaged with weights that alpha
// gives, over the cells of a coarse grid; both the weighted sums and the weights are blurred there; their
// quotient is the background, enlarged where it is blended. Weights of zero never reach the quotient: a
// sample that shows any background lies in a cell of its own weight, and so do, after the blur, all cells
// that its enlarging reads.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <new>
#include <vector>

#include "vision/effect_rows.h"
#include "vision/spread.h"

namespace saccade::vision {

namespace {

// Smallest standard deviation on the grid, in cells: below, the cells would show through the enlarging.
constexpr double kMinGridSigma = 1.25;
constexpr int kMaxCellShift = 5;
constexpr int kFineShift = 2;  // cells of the kernels are at most 4 samples wide

std::size_t padded(int n) noexcept { return (static_cast<std::size_t>(n) + 31) / 32 * 32; }

std::vector<float> grid_taps(double sigma, int shift) {
  // Averaging over a cell and linear enlarging blur as well: together by half a cell.
  const double cells = sigma / (1 << shift);
  const double variance = std::max(0.04, cells * cells - (shift > 0 ? 0.25 : 0.0));
  const int radius = std::max(1, static_cast<int>(std::ceil(3 * std::sqrt(variance))));
  std::vector<double> exact;
  double total = 0;
  for (int i = 0; i <= radius; ++i) {
    exact.push_back(std::exp(-0.5 * i * i / variance));
    total += (i == 0 ? 1 : 2) * exact.back();
  }
  std::vector<float> taps;
  for (const double e : exact) taps.push_back(static_cast<float>(e / total));
  return taps;
}

// The grid of the components of one size.
struct Grid {
  int component_width = 0, component_height = 0;
  int shift_x = 0, shift_y = 0;
  int width = 0, height = 0;
  std::vector<float> taps_x, taps_y;
  Spread across, down;
  std::size_t pitch() const noexcept { return padded(width); }  // floats of a row of sums
  std::size_t row_pitch() const noexcept {
    return padded(width + kSpreadMargin);
  }  // values of a row of the result
  std::size_t plane() const noexcept { return pitch() * static_cast<std::size_t>(height); }
  std::size_t result() const noexcept { return row_pitch() * static_cast<std::size_t>(height + 1); }
};

Grid make_grid(int width, int height, double sigma_x, double sigma_y, int shift_x, int shift_y) {
  Grid g;
  g.component_width = width;
  g.component_height = height;
  g.shift_x = shift_x;
  g.shift_y = shift_y;
  g.width = (width + (1 << shift_x) - 1) >> shift_x;
  g.height = (height + (1 << shift_y) - 1) >> shift_y;
  g.taps_x = grid_taps(sigma_x, shift_x);
  g.taps_y = grid_taps(sigma_y, shift_y);
  g.across = Spread(width, g.width, std::ldexp(1.0, -shift_x));
  g.down = Spread(height, g.height, std::ldexp(1.0, -shift_y));
  return g;
}

class BlurEffect : public EffectRows {
 public:
  BlurEffect(const PictureSpec& spec, const EffectOptions& options, const SampleOps& ops);
  std::size_t state_bytes() const noexcept override;
  void prepare(FrameRows& rows, std::uint8_t* state) const override;
  void row(const RowJob& job, FrameRows& rows, std::uint8_t* state) const override;

 private:
  // Memory of one frame. Sums of a component are gone once its result stands.
  struct State {
    std::array<float*, 3> values;         // by component
    std::array<float*, 2> weights;        // by grid
    std::array<std::int16_t*, 3> result;  // by component
    float* padded_row;
    float* value_row;
    float* weight_row;
    std::array<std::uint32_t*, 3> fine_values;  // by component
    std::uint32_t* fine_weights;
    std::int16_t* lerped;
    std::size_t bytes;
  };
  State lay_out(std::uint8_t* memory) const noexcept;
  /// What prepare() has left at the head of a frame's memory.
  static const State& state_of(const std::uint8_t* memory) noexcept {
    return *std::launder(reinterpret_cast<const State*>(memory));
  }
  std::size_t grid_of(int c) const noexcept { return two_grids_ && c > 0 ? 1 : 0; }
  void sum_grid(FrameRows& rows, std::size_t which, const State& state) const;
  void fold_row(const Grid& grid, const std::uint32_t* fine, float* padded_row, float* out) const noexcept;
  void blur_down(const Grid& grid, const float* plane, int row, float* out) const noexcept;
  void finish_grid(std::size_t which, const State& state) const noexcept;

  SampleOps ops_;
  int components_;
  bool two_grids_;
  std::array<Grid, 2> grids_;
};

BlurEffect::BlurEffect(const PictureSpec& spec, const EffectOptions& options, const SampleOps& ops)
    : ops_(ops) {
  const FormatInfo& info = format_info(spec.format);
  components_ = info.colors;
  two_grids_ = info.model == ColorModel::yuv && (info.shift_x > 0 || info.shift_y > 0);
  const double sigma = options.blur_sigma > 0 ? options.blur_sigma : blur_sigma(50, spec.width, spec.height);
  int shift = 0;
  while (shift < kMaxCellShift && sigma / (2 << shift) >= kMinGridSigma) ++shift;
  grids_[0] = make_grid(spec.width, spec.height, sigma, sigma, shift, shift);
  if (two_grids_)
    grids_[1] = make_grid(info.width_of(1, spec.width), info.height_of(1, spec.height),
                          sigma / (1 << info.shift_x), sigma / (1 << info.shift_y),
                          std::max(0, shift - info.shift_x), std::max(0, shift - info.shift_y));
}

BlurEffect::State BlurEffect::lay_out(std::uint8_t* memory) const noexcept {
  State s{};
  std::size_t at = 0;
  const auto take = [&](std::size_t bytes) {
    std::uint8_t* p = memory == nullptr ? nullptr : memory + at;
    at += (bytes + 63) / 64 * 64;
    return p;
  };
  const auto floats = [&](std::size_t n) { return reinterpret_cast<float*>(take(n * sizeof(float))); };
  take(sizeof(State));
  std::size_t widest = 0, longest_row = 0, fine = 0;
  for (std::size_t g = 0; g < (two_grids_ ? 2u : 1u); ++g) {
    const Grid& grid = grids_[g];
    s.weights[g] = floats(grid.plane());
    widest = std::max(widest, grid.pitch() + 2 * grid.taps_x.size());
    longest_row = std::max(longest_row, grid.row_pitch());
    fine = std::max(fine, padded((grid.component_width >> std::min(grid.shift_x, kFineShift)) + 1));
  }
  for (int c = 0; c < components_; ++c) {
    const Grid& grid = grids_[grid_of(c)];
    s.values[static_cast<std::size_t>(c)] = floats(grid.plane());
    s.result[static_cast<std::size_t>(c)] =
        reinterpret_cast<std::int16_t*>(take(grid.result() * sizeof(std::int16_t)));
  }
  s.padded_row = floats(widest + 32);
  s.value_row = floats(widest);
  s.weight_row = floats(widest);
  // The last cell of a row may be followed by more fine cells than there are samples.
  for (std::uint32_t*& values : s.fine_values)
    values = reinterpret_cast<std::uint32_t*>(take((fine + 64) * sizeof(std::uint32_t)));
  s.fine_weights = reinterpret_cast<std::uint32_t*>(take((fine + 64) * sizeof(std::uint32_t)));
  s.lerped = reinterpret_cast<std::int16_t*>(take(longest_row * sizeof(std::int16_t)));
  s.bytes = at;
  return s;
}

std::size_t BlurEffect::state_bytes() const noexcept { return lay_out(nullptr).bytes; }

void BlurEffect::prepare(FrameRows& rows, std::uint8_t* memory) const {
  const State& state = *new (memory) State(lay_out(memory));
  for (std::size_t g = 0; g < (two_grids_ ? 2u : 1u); ++g) sum_grid(rows, g, state);
  for (std::size_t g = 0; g < (two_grids_ ? 2u : 1u); ++g) finish_grid(g, state);
}

// Sums over cells, blurred along the rows of the grid. Components that share a grid share its weights, and
// are read side by side, so that their alpha is made once.
void BlurEffect::sum_grid(FrameRows& rows, std::size_t which, const State& state) const {
  const Grid& grid = grids_[which];
  const int first = which == 0 ? 0 : 1, last = two_grids_ && which == 0 ? 0 : components_ - 1;
  const int fine_shift = std::min(grid.shift_x, kFineShift);
  const std::size_t fine = static_cast<std::size_t>(grid.width) << (grid.shift_x - fine_shift);
  for (int gy = 0; gy < grid.height; ++gy) {
    std::fill_n(state.fine_weights, fine, 0u);
    for (int c = first; c <= last; ++c) std::fill_n(state.fine_values[static_cast<std::size_t>(c)], fine, 0u);
    const int end = std::min(grid.component_height, (gy + 1) << grid.shift_y);
    for (int y = gy << grid.shift_y; y < end; ++y) {
      for (int c = first; c <= last; ++c)
        ops_.cell_sums({rows.source(c, y), rows.alpha(c, y), ops_.depth(), fine_shift, grid.component_width,
                        c == first ? state.fine_weights : nullptr,
                        state.fine_values[static_cast<std::size_t>(c)]});
    }
    const std::size_t at = static_cast<std::size_t>(gy) * grid.pitch();
    fold_row(grid, state.fine_weights, state.padded_row, state.weights[which] + at);
    for (int c = first; c <= last; ++c) {
      const auto k = static_cast<std::size_t>(c);
      fold_row(grid, state.fine_values[k], state.padded_row, state.values[k] + at);
    }
  }
}

void BlurEffect::fold_row(const Grid& grid, const std::uint32_t* fine, float* padded_row,
                          float* out) const noexcept {
  const int radius = static_cast<int>(grid.taps_x.size()) - 1,
            per_cell = 1 << (grid.shift_x - std::min(grid.shift_x, kFineShift));
  std::fill_n(padded_row, radius, 0.0f);
  float* cells = padded_row + radius;
  ops_.kernels().fold_cells(fine, per_cell, grid.width, cells);
  std::fill_n(cells + grid.width, radius, 0.0f);
  ops_.kernels().blur_row({cells, grid.taps_x.data(), radius, grid.width, out});
}

void BlurEffect::blur_down(const Grid& grid, const float* plane, int row, float* out) const noexcept {
  constexpr int kMaxRadius = 512;
  std::array<const float*, kMaxRadius> above, below;  // only the first radius + 1 are set and read
  const int radius = std::min(static_cast<int>(grid.taps_y.size()), kMaxRadius) - 1;
  for (int k = 0; k <= radius; ++k) {
    const auto i = static_cast<std::size_t>(k);
    above[i] = row - k >= 0 ? plane + static_cast<std::size_t>(row - k) * grid.pitch() : nullptr;
    below[i] = row + k < grid.height ? plane + static_cast<std::size_t>(row + k) * grid.pitch() : nullptr;
  }
  ops_.kernels().blur_column(above.data(), below.data(), grid.taps_y.data(), radius, grid.width, out);
}

// Blurred down the columns and divided: values << (15 - depth), the last row and column repeated.
void BlurEffect::finish_grid(std::size_t which, const State& state) const noexcept {
  const Grid& grid = grids_[which];
  const int first = which == 0 ? 0 : 1, last = two_grids_ && which == 0 ? 0 : components_ - 1;
  const auto scale = static_cast<float>(1 << (15 - ops_.depth()));
  for (int gy = 0; gy < grid.height; ++gy) {
    blur_down(grid, state.weights[which], gy, state.weight_row);
    for (int c = first; c <= last; ++c) {
      blur_down(grid, state.values[static_cast<std::size_t>(c)], gy, state.value_row);
      std::int16_t* out =
          state.result[static_cast<std::size_t>(c)] + static_cast<std::size_t>(gy) * grid.row_pitch();
      ops_.kernels().normalise(state.value_row, state.weight_row, scale, grid.width, out);
      std::fill_n(out + grid.width, grid.row_pitch() - static_cast<std::size_t>(grid.width),
                  out[grid.width - 1]);
      if (gy + 1 == grid.height)
        std::memcpy(out + grid.row_pitch(), out, grid.row_pitch() * sizeof(std::int16_t));
    }
  }
}

void BlurEffect::row(const RowJob& job, FrameRows&, std::uint8_t* memory) const {
  const State& state = state_of(memory);
  const Grid& grid = grids_[grid_of(job.component)];
  const std::int16_t* upper = state.result[static_cast<std::size_t>(job.component)] +
                              static_cast<std::size_t>(grid.down.index(job.y)) * grid.row_pitch();
  ops_.kernels().lerp_rows(upper, upper + grid.row_pitch(), grid.down.weight(job.y),
                           static_cast<int>(grid.row_pitch()), state.lerped);
  ops_.blend_spread(job.source, state.lerped, grid.across.table(), job.alpha, job.target);
}

}  // namespace

std::unique_ptr<EffectRows> make_blur_effect(const PictureSpec& spec, const EffectOptions& options,
                                             const SampleOps& ops) {
  return std::make_unique<BlurEffect>(spec, options, ops);
}

float blur_sigma(float strength, int width, int height) noexcept {
  return strength * 0.0003f * static_cast<float>(std::min(width, height));
}

}  // namespace saccade::vision
