// What happens to one picture between decoder and encoder: pre-processing, network, mask, effect. Any number
// of threads at once.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "media/convert.h"
#include "media/video_format.h"
#include "pipeline/background.h"
#include "pipeline/network.h"
#include "pipeline/picture_parts.h"
#include "pipeline/stage_clocks.h"
#include "saccade/job.h"
#include "vision/composite.h"
#include "vision/decontaminate.h"
#include "vision/mask.h"
#include "vision/preprocess.h"
#include "vision/refine.h"

namespace saccade::pipeline {

/// How pictures change form on their way: decoded -> (converted, turned) -> work -> result.
struct PictureFlow {
  media::VideoFormat decoded;  ///< as the decoder gives them
  media::VideoFormat work;     ///< what the effect reads: upright if `turn`, else as stored
  media::VideoFormat result;   ///< what the effect writes: work's format, or that with alpha
  bool turn = false;  ///< stored pictures are turned upright, because the output cannot say that they are not
};

/// The options of a job that concern pictures, as vision takes them. Throws Error(invalid_argument) naming
/// the option.
vision::MaskOptions mask_options(const JobOptions& options, const ModelSpec& spec);
vision::EffectOptions effect_options(const JobOptions& options, const ModelSpec& spec,
                                     const PictureFlow& flow);

class Processor;

/// The state of one thread; used by one picture at a time.
class Worker {
 public:
  ~Worker();

 private:
  friend class Processor;
  Worker();
  std::unique_ptr<NetworkRun> network_;
  std::unique_ptr<PictureParts::State> parts_;
  vision::Workspace workspace_;
  vision::Plane alpha_, classes_;
  media::FramePtr source_;        ///< the last picture, which guides its mask
  vision::Plane mask_;            ///< for a mask that is written with another depth than the picture's
  const void* output_ = nullptr;  ///< the network's, of the last picture
  vision::Picture background_;
  std::optional<media::FrameConverter> converter_;
  media::VideoFormat converter_from_;
};

/// Immutable but for its memory pools and clocks: shared by threads, each with a Worker of its own.
class Processor {
 public:
  /// `network`, `background` (may be null) and `clocks` must outlive it. `mask_bits` (8 or 16; 0: none) is
  /// the depth of the masks that mask() gives.
  Processor(const PictureFlow& flow, const JobOptions& options, const Network& network,
            const Background* background, Isa isa, StageClocks& clocks, int mask_bits = 0);
  ~Processor();

  /// `threads` share one picture; 1 for many pictures at once.
  std::unique_ptr<Worker> make_worker(int threads) const;
  /// The finished picture, with the timestamps and side data of `decoded`. `background` is that of this
  /// picture, where backgrounds move.
  media::FramePtr run(const AVFrame& decoded, const AVFrame* background, Worker& worker) const;
  /// The mask of the picture that run() has just finished on this worker: grey, full range, upright, with its
  /// timestamps.
  media::FramePtr mask(const AVFrame& result, Worker& worker) const;
  /// What mask() gives.
  media::VideoFormat mask_format() const;
  /// The network on parts of pictures; null where it sees them whole.
  const PictureParts* parts() const noexcept { return parts_ ? &*parts_ : nullptr; }

 private:
  media::FramePtr prepare(const AVFrame& decoded, Worker& worker) const;
  vision::Masker make_masker(const JobOptions& options, int depth, Isa isa) const;
  void segment(const vision::ConstPictureView& picture, Worker& worker) const;

  PictureFlow flow_;
  vision::PictureSpec work_spec_, result_spec_;
  const Network& network_;
  const Background* background_;
  StageClocks& clocks_;
  std::optional<PictureParts> parts_;
  std::optional<vision::Preprocessor> preprocessor_;  ///< of whole pictures
  vision::Masker masker_;
  bool mask_wanted_;  ///< false: a class map says all
  std::optional<vision::MaskRefiner> refiner_;
  std::optional<vision::Decontaminator> decontaminator_;
  int mask_bits_ = 0;
  std::optional<vision::Masker> mask_masker_;  ///< where masks are written with another depth
  std::optional<vision::ClassMapper> class_mapper_;
  vision::Compositor compositor_;
  mutable media::FramePool converted_pool_, work_pool_, result_pool_;
  mutable std::optional<media::FramePool> mask_pool_, turned_mask_pool_;
};

}  // namespace saccade::pipeline
