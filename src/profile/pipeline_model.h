// How the stages of a job add up to its speed: what the verdict predicts with.
#pragma once

#include "pipeline/measurements.h"

namespace saccade::profile {

/// Of one frame, in seconds: computing, and waiting for something that is not of this program.
struct Cost {
  double cpu = 0, wait = 0;
  double wall() const noexcept { return cpu + wait; }
};

/// The pipeline: reading and decoding one frame at a time, the middle of `streams` frames, encoding and
/// writing one at a time; all these take turns on `lanes` threads. Those of the encoder, the decoder and the
/// network's helpers come on top. No more than `tokens` frames are under way.
struct PipelineModel {
  Cost read, decode;                                          // one at a time
  Cost convert, preprocess, infer, mask, composite, prepare;  // on all threads
  Cost encode, write;                                         // one at a time
  double encoder_cpu = 0;                                     // on the encoder's own threads
  int lanes = 1, streams = 1, tokens = 1;
  int infer_threads = 1;  ///< that share one frame's network
  int decoder_threads = 1, encoder_threads = 1;
  double cpus = 1;      ///< that there are for this job, others' use taken off
  bool overlap = true;  ///< false for a single picture: one stage after another

  /// The least time between two frames: the longest of what the CPUs, the threads, each stage of one frame at
  /// a time, the encoder and the number of frames under way allow.
  double seconds_a_frame() const noexcept;
  /// All CPU time of a frame.
  double cpu() const noexcept;
  /// Which of these is the longest.
  enum class Bound { cpus, lanes, middle, input, output, encoder, tokens };
  Bound bound() const noexcept;
};

/// From what was measured. Waiting in stages that compute counts in full only where CPUs were idle meanwhile:
/// else they may have had none.
PipelineModel model_of(const pipeline::Measurements& measured);

}  // namespace saccade::profile
