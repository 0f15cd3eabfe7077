#include "pipeline/picture_parts.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "pipeline/processor.h"

namespace saccade::pipeline {

namespace {

/// Times of one stage, taken in pieces and told at once.
class PieceClock {
 public:
  explicit PieceClock(trace::StageClock& clock) noexcept : clock_(clock) {}
  ~PieceClock() {
    clock_.add(wall_, cpu_);
    clock_.add_delay(delay_);
  }
  PieceClock(const PieceClock&) = delete;
  PieceClock& operator=(const PieceClock&) = delete;

  class Piece {
   public:
    explicit Piece(PieceClock& clock) noexcept
        : clock_(clock),
          delay_start_(clock.clock_.run_delay()),
          start_(std::chrono::steady_clock::now()),
          cpu_start_(trace::thread_cpu_time()) {}
    ~Piece() {
      clock_.wall_ += std::chrono::steady_clock::now() - start_;
      clock_.cpu_ += trace::thread_cpu_time() - cpu_start_;
      clock_.delay_ += clock_.clock_.run_delay() - delay_start_;
    }
    Piece(const Piece&) = delete;
    Piece& operator=(const Piece&) = delete;

   private:
    PieceClock& clock_;
    std::chrono::nanoseconds delay_start_;
    std::chrono::steady_clock::time_point start_;
    std::chrono::nanoseconds cpu_start_;
  };

 private:
  trace::StageClock& clock_;
  std::chrono::nanoseconds wall_{0}, cpu_{0}, delay_{0};
};

int channels_of(const InputSpec& input) noexcept { return input.order == ColorOrder::gray ? 1 : 3; }

std::size_t bytes_of(const vision::OutputLayout& layout) noexcept {
  return dtype_size(layout.dtype) * static_cast<std::size_t>(layout.channels) *
         static_cast<std::size_t>(layout.width) * static_cast<std::size_t>(layout.height);
}

}  // namespace

PictureParts::PictureParts(const vision::PictureSpec& picture, const JobOptions& options,
                           const Network& network, bool class_map, bool mask, Isa isa)
    : network_(&network), input_(network.spec().input) {
  int width = picture.width, height = picture.height;
  if (vision::swaps_axes(picture.rotation)) std::swap(width, height);
  if (options.tile) rules_ = network.tile_rules();
  fit_input(options, width, height);
  if (options.resize) input_.resize = *options.resize;
  input_.fit = Fit::stretch;
  preprocessor_.emplace(picture, input_, width, height, isa);
  mosaic_.emplace(axis(true, width, options), axis(false, height, options), network_->spec().output,
                  network_->output(), mask_options(options, network.spec()).classes, class_map, mask, isa);
  geometry_ = mosaic_->geometry(picture);
}

/// Pictures smaller than a tile are one, and windows may come several at a time.
void PictureParts::fit_input(const JobOptions& options, int width, int height) {
  int input_width = network_->input_width(), input_height = network_->input_height();
  int batch = 1;
  if (options.window) {
    // Those of one row go together: never more than there are, and as evenly as can be.
    const int columns = static_cast<int>(axis(true, width, options).parts.size());
    const int turns = (columns - 1) / std::max(1, options.window_batch) + 1;
    batch = (columns - 1) / turns + 1;
  }
  if (rules_) {
    const auto side = [](int pixels, int tile, const vision::TileRule& rule) {
      return std::min(tile, (pixels + rule.period - 1) / rule.period * rule.period);
    };
    input_width = side(width, input_width, rules_->x);
    input_height = side(height, input_height, rules_->y);
  }
  if (input_width == network_->input_width() && input_height == network_->input_height() &&
      batch == network_->batch())
    return;
  own_ = network_->with_input(input_width, input_height, batch);
  if (own_) network_ = own_.get();
}

vision::PartsAxis PictureParts::axis(bool across, int pixels, const JobOptions& options) const {
  const int input = across ? network_->input_width() : network_->input_height();
  if (rules_) return vision::tile_axis(pixels, input, across ? rules_->x : rules_->y);
  const vision::OutputLayout output = network_->output();
  return vision::window_axis(pixels, input, across ? output.width : output.height, options.window_overlap,
                             vision::can_average(network_->spec().output));
}

std::unique_ptr<PictureParts::State> PictureParts::make_state(int threads) const {
  auto state = std::make_unique<State>();
  state->run_ = network_->make_run(threads);
  state->mosaic_ = mosaic_->make_state();
  const std::size_t values =
      static_cast<std::size_t>(network_->batch()) * static_cast<std::size_t>(channels_of(input_)) *
      static_cast<std::size_t>(network_->input_width()) * static_cast<std::size_t>(network_->input_height());
  std::fill_n(state->run_->input(), values, 0.0f);  // a batch need not be full
  const vision::PartsAxis& down = mosaic_->down();
  state->band_.resize(static_cast<std::size_t>(channels_of(input_)) *
                      static_cast<std::size_t>(mosaic_->across().pixels) *
                      static_cast<std::size_t>(std::min(down.part, down.pixels)));
  return state;
}

/// A part of the band; what lies beyond the picture repeats its last pixels.
void PictureParts::gather(const State& state, const vision::Part& x, const vision::Part& y,
                          float* input) const noexcept {
  const vision::PartsAxis& across = mosaic_->across();
  const vision::PartsAxis& down = mosaic_->down();
  const bool interleaved = input_.layout == TensorLayout::nhwc;
  const int channels = channels_of(input_);
  const int planes = interleaved ? 1 : channels, depth = interleaved ? channels : 1;
  const int rows = std::min(down.part, down.pixels - y.begin);
  const int inside = std::min(across.part, across.pixels - x.begin);
  const std::size_t row_values = static_cast<std::size_t>(across.pixels) * static_cast<std::size_t>(depth);
  for (int c = 0; c < planes; ++c) {
    for (int r = 0; r < down.part; ++r) {
      const float* from = state.band_.data() +
                          (static_cast<std::size_t>(c) * static_cast<std::size_t>(rows) +
                           static_cast<std::size_t>(std::min(r, rows - 1))) *
                              row_values +
                          static_cast<std::size_t>(x.begin) * static_cast<std::size_t>(depth);
      std::memcpy(input, from, static_cast<std::size_t>(inside * depth) * sizeof(float));
      input += inside * depth;
      const float* last = from + (inside - 1) * depth;
      for (int i = inside; i < across.part; ++i, input += depth)
        std::memcpy(input, last, static_cast<std::size_t>(depth) * sizeof(float));
    }
  }
}

const float* PictureParts::run(const vision::ConstPictureView& picture, State& state,
                               StageClocks& clocks) const {
  PieceClock preprocess(clocks.preprocess), infer(clocks.infer), mask(clocks.mask);
  const vision::PartsAxis& across = mosaic_->across();
  const vision::PartsAxis& down = mosaic_->down();
  const int batch = network_->batch(), columns = static_cast<int>(across.parts.size());
  const std::size_t part_values = static_cast<std::size_t>(channels_of(input_)) *
                                  static_cast<std::size_t>(across.part) * static_cast<std::size_t>(down.part);
  const std::size_t result_bytes = bytes_of(network_->output());
  for (int row = 0; row < static_cast<int>(down.parts.size()); ++row) {
    const vision::Part& y = down.parts[static_cast<std::size_t>(row)];
    {
      const PieceClock::Piece timing(preprocess);
      preprocessor_->run_rows(picture, state.band_.data(), state.workspace_, y.begin,
                              std::min(y.begin + down.part, down.pixels));
    }
    for (int column = 0; column < columns; column += batch) {
      const int count = std::min(batch, columns - column);
      {
        const PieceClock::Piece timing(preprocess);
        for (int i = 0; i < count; ++i)
          gather(state, across.parts[static_cast<std::size_t>(column + i)], y,
                 state.run_->input() + static_cast<std::size_t>(i) * part_values);
      }
      const void* output = nullptr;
      {
        const PieceClock::Piece timing(infer);
        output = state.run_->run();
      }
      const PieceClock::Piece timing(mask);
      for (int i = 0; i < count; ++i)
        mosaic_->add(static_cast<const std::byte*>(output) + static_cast<std::size_t>(i) * result_bytes, row,
                     column + i, state.mosaic_);
    }
    const PieceClock::Piece timing(mask);
    mosaic_->finish_row(row, state.mosaic_);
  }
  return state.mosaic_.mask();
}

}  // namespace saccade::pipeline
