// A network on a picture at the picture's own resolution: tile by tile, or window by window.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "pipeline/network.h"
#include "pipeline/stage_clocks.h"
#include "saccade/job.h"
#include "vision/mosaic.h"
#include "vision/preprocess.h"

namespace saccade::pipeline {

/// Immutable, shared by threads, each with a State of its own.
class PictureParts {
 public:
  /// `network` must outlive it. `class_map`: run() makes one too; without `mask`, alone. Throws
  /// Error(unsupported | invalid_argument) where the options do not fit the network.
  PictureParts(const vision::PictureSpec& picture, const JobOptions& options, const Network& network,
               bool class_map, bool mask, Isa isa);

  class State {
   public:
    /// As NetworkRun::record.
    void record(trace::Recorder& recorder) { run_->record(recorder); }

   private:
    friend class PictureParts;
    std::unique_ptr<NetworkRun> run_;
    vision::Mosaic::State mosaic_;
    std::vector<float> band_;  ///< rows of the picture that a row of parts lies on, as the network wants them
    vision::Workspace workspace_;
  };
  /// `threads` share one execution of the network.
  std::unique_ptr<State> make_state(int threads) const;

  /// Returns the probabilities that a Masker reads with mask_spec(), mask_layout() and geometry().
  const float* run(const vision::ConstPictureView& picture, State& state, StageClocks& clocks) const;
  const std::uint8_t* classes(const State& state) const noexcept { return state.mosaic_.classes(); }

  const vision::Geometry& geometry() const noexcept { return geometry_; }
  const vision::Mosaic& mosaic() const noexcept { return *mosaic_; }
  /// The network that is run, and what the result depends on.
  const Network& network() const noexcept { return *network_; }

 private:
  vision::PartsAxis axis(bool across, int pixels, const JobOptions& options) const;
  void fit_input(const JobOptions& options, int width, int height);
  void gather(const State& state, const vision::Part& x, const vision::Part& y, float* input) const noexcept;

  const Network* network_;
  std::unique_ptr<Network> own_;  ///< where the size of inputs had to be another
  std::optional<TileRules> rules_;
  InputSpec input_;
  std::optional<vision::Preprocessor> preprocessor_;
  std::optional<vision::Mosaic> mosaic_;
  vision::Geometry geometry_;
};

}  // namespace saccade::pipeline
