// How the stages of a job add up to its speed: what the verdict predicts with.
#pragma once

#include <cstdint>

#include "pipeline/measurements.h"

namespace saccade::profile {

/// Of one frame, in seconds: computing on a CPU that is the only one at work, and waiting for something that
/// is not of this program.
struct Cost {
  double cpu = 0, wait = 0;
};

/// The pipeline: reading and decoding one frame at a time, the middle of `streams` frames, encoding and
/// writing one at a time; all these take turns on `lanes` threads. Those of the encoder, the decoder and the
/// network's helpers come on top. No more than `tokens` frames are under way. Who is ready to compute shares
/// the CPUs alike.
struct PipelineModel {
  Cost read, decode;                                          // one at a time
  Cost convert, preprocess, infer, mask, composite, prepare;  // on all threads
  Cost encode, write;                                         // one at a time
  double encoder_cpu = 0;                                     // on the encoder's own threads
  int lanes = 1, streams = 1, tokens = 1;
  int infer_threads = 1;  ///< that share one frame's network
  int decoder_threads = 1, encoder_threads = 1;
  double cpus = 1;      ///< that this job may use
  double others = 0;    ///< threads of other programs that are ready to compute on them, on average
  double spinning = 0;  ///< share of a CPU that a thread without work takes while it looks for some
  double crowding = 1;  ///< CPU time of the same work while all `machine_cpus` work, over that on one alone
  double machine_cpus = 1;
  bool overlap = true;        ///< false for a single picture: one stage after another
  std::int64_t frames = 100;  ///< of the whole job: short ones spend much of their time filling and draining

  /// The time of the job over its frames: what happens is played through, frame by frame.
  double seconds_a_frame() const;
  /// All CPU time of a frame.
  double cpu() const noexcept;
};

/// From what was measured. `crowding` as in the model; measured costs are taken back to a CPU alone by it.
PipelineModel model_of(const pipeline::Measurements& measured, double crowding = 1);

/// Average number of CPUs that other programs kept busy while the job ran; 0 where that is unknown.
double others_cpus(const pipeline::Measurements& measured) noexcept;

}  // namespace saccade::profile
