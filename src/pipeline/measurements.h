// What a job did with its time, as the verdict on its bottleneck needs it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace saccade::pipeline {

/// Seconds over all frames together. `cpu` is what the threads computed, `delay` the time that they could
/// have and had no CPU, the rest of `wall` they waited.
struct StageTime {
  double wall = 0, cpu = 0, delay = 0;
};

struct Measurements {
  bool video = false;  ///< else a single picture: no stages overlap
  bool live = false;
  std::int64_t frames = 0;
  double seconds = 0;  ///< from the first frame until the last one left the last stage
  double drain = 0;    ///< from there until the output was complete
  int threads = 1;     ///< that the job was given
  int streams = 1;     ///< frames that are worked on at once, `threads` shared out among them
  int lanes = 1;       ///< threads that run stages
  int decoder_threads = 1;
  int cpus = 1;          ///< that the process may use
  int tokens = 1;        ///< frames under way at most
  double idle_cpus = 0;  ///< of these, on average, while frames were under way; negative: unknown
  double own_cpus = 0;   ///< that this process kept busy meanwhile, on average; 0: unknown
  /// Whether `delay` of stages and the CPU time of other threads are known: else the latter are all counted
  /// as the encoder's, with whatever else the process did.
  bool delays_known = false;

  // One thread at a time each: `read` waits for the input's bytes, `decode` is without it; `encode` hands
  // pictures over and takes packets, `write` brings them into the file.
  StageTime read, decode, encode, write;
  // On all threads: `prepare` makes pictures of outputs that are no stream of video.
  StageTime convert, preprocess, infer, mask, composite, prepare;
  double encoder_cpu = 0;  ///< of the encoder's own threads
  double decoder_cpu = 0;  ///< of the decoder's
  double spin_cpu = 0;     ///< of threads that look for a stage to run, where `delays_known`
  double helper_cpu = 0;   ///< of threads that share a frame with the one that runs its network
  int encoder_threads = 0;
  double queued_for_process = 0, queued_for_encode = 0;

  int width = 0, height = 0, decoded_bits = 8;
  int batch = 1, columns = 1;  ///< windows that the network works on at once, of so many in a row
  std::string codec;           ///< of the input
  std::string encoder;         ///< FFmpeg's name; empty: no stream of video is written
  std::string preset;          ///< that the encoder was opened with
  bool pictures = false;       ///< the output is a picture for each frame
  std::string picture_kind;
  /// CPU seconds a frame that the encoder takes with another preset and with a share of the pixels, on some
  /// of the job's finished pictures; the usual encoder on decoded ones where the job has none. Null where
  /// none were kept.
  std::function<std::optional<double>(const std::string& preset, double pixels)> encode_trial;
  /// How many times as fast the encoder is with so many threads (0: as many as it likes). Null likewise.
  std::function<std::optional<double>(int threads)> encode_speedup;
};

}  // namespace saccade::pipeline
