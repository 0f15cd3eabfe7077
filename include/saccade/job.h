// A job: one video or picture in, one out. What `saccade run` does, as a function.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "saccade/bottleneck.h"
#include "saccade/error.h"
#include "saccade/isa.h"
#include "saccade/limits.h"
#include "saccade/media_limits.h"
#include "saccade/model_spec.h"
#include "saccade/plan_cache.h"
#include "saccade/precision.h"

namespace saccade {

/// What becomes of foreground and background.
enum class Effect : std::uint8_t {
  remove,   ///< the background becomes transparent where the output can carry it, else chroma green
  blur,     ///< the background is blurred, without colours of the foreground
  replace,  ///< by a colour, a picture or a video
  mask,     ///< the mask itself, white on black
  overlay,  ///< a tint over the foreground, or a colour for each class
};
const char* effect_name(Effect effect) noexcept;
std::optional<Effect> parse_effect(std::string_view name) noexcept;

/// What becomes of interlaced video. `automatic`: it stays interlaced where the output can say so, else its
/// fields become whole pictures; `on`: whole pictures always; `off`: never, and the result is called
/// progressive where it cannot say so.
enum class Deinterlace : std::uint8_t { automatic, on, off };

/// How threads are put to use. `throughput`: a picture a thread, several at once; `latency`: all threads on
/// one picture; `automatic`: throughput for videos, latency for single pictures. Results are the same.
enum class Mode : std::uint8_t { automatic, throughput, latency };
const char* mode_name(Mode mode) noexcept;  ///< "auto", "throughput", "latency"
std::optional<Mode> parse_mode(std::string_view name) noexcept;

struct JobOptions {
  /// A video or picture file, a pipe or device, "-" for standard input, or an address ("rtsp://…"). Pictures
  /// that make a video together: a folder of them, a pattern with * ? [ ], or a series ("frames/%06d.png"),
  /// 25 a second or as the input option "framerate" says.
  std::filesystem::path input;
  std::filesystem::path output;  ///< its extension chooses the kind of file; "-" for standard output
                                 ///< (Matroska); a folder or pattern for a picture a frame; .npy, .json (COCO
                                 ///< run lengths) and .geojson (outlines) for masks
  std::string output_format;  ///< a container ("mp4", "nut", "y4m") or kind of picture ("png") that decides
                              ///< instead of the name; needed for folders
  bool sequence = false;      ///< `output` (and `mask_output`) name a picture a frame, by "%06d"
  std::filesystem::path
      mask_output;              ///< a second output: the masks, as a video, pictures, .npy, .json or .geojson
  int mask_depth = 8;           ///< bits of masks that are written as pictures, arrays or FFV1: 1, 8 or 16
  std::filesystem::path model;  ///< a model file
  LoadLimits limits;            ///< what it may ask for
  PlanCacheOptions plan_cache;  ///< compiled plans of earlier jobs
  std::int64_t max_memory = 0;  ///< of the network, as CompileOptions::max_memory
  bool tune = false;            ///< the network's kernels are measured, as CompileOptions::tune
  /// Of the whole process while it works on a video: fewer pictures at once if need be, by planned sizes. 0:
  /// no bound.
  std::int64_t max_process_memory = 0;
  /// Of the network. int8 and automatic are decided on pictures, and remembered in the plan cache.
  Precision precision = Precision::fp32;
  std::filesystem::path calibration;    ///< video, picture or folder of pictures for that; empty: the input
  std::filesystem::path labels;         ///< folder of true labels of the pictures in the folder `calibration`
  double max_mask_change = 0.001;       ///< share of pixels whose class `automatic` may change
  std::optional<double> max_miou_drop;  ///< how much worse it may match the labels

  Effect effect = Effect::remove;
  float strength = 50;   ///< of the blur, 0..100; looks alike at any resolution
  float opacity = 0.5f;  ///< of the overlay, 0..1
  /// For `replace` (and the tint of `overlay`): a colour ("#rrggbb", "r,g,b", "white"), or a picture or video
  /// file.
  std::string background;

  std::vector<std::string>
      classes;  ///< foreground classes, by name or number; empty: all but the background class
  std::optional<float> threshold;  ///< probability above which a pixel is foreground; unset: soft alpha
  float feather = 0;               ///< standard deviation of the softening of the mask, 0 to 128 pixels
  float grow = 0;                  ///< pixels by which the mask grows (> 0) or shrinks (< 0), at most 256
  /// Edges of the mask follow those of the picture, by a guided filter of this radius, 1 to 128 pixels; 0:
  /// off, negative: a radius that suits the picture's size.
  float refine = 0;
  /// The network sees the picture at its own resolution, in tiles of so many pixels a side that overlap as
  /// far as the network looks: the result is that of the whole picture. 0: of a size that suits. For fully
  /// convolutional networks; others are refused, with the node that looks at the whole picture.
  std::optional<int> tile;
  /// The same in windows, for any network: where windows overlap their results are averaged, with the weights
  /// of a Gaussian around their centres. 0: of the network's size.
  std::optional<int> window;
  double window_overlap = 0.5;       ///< least share of a window that its neighbour sees too, 0..0.95
  int window_batch = 1;              ///< windows that the network works on at once, where it can
  bool decontaminate = false;        ///< soft edges lose the colours that the background gave them
  bool invert = false;               ///< foreground and background change places
  std::optional<ResizeRule> resize;  ///< unset: as the model's spec says

  double start = 0;                    ///< seconds from the beginning of the input, where the job begins
  std::optional<double> duration;      ///< seconds, after which it ends
  std::optional<std::int64_t> frames;  ///< pictures, after which it ends
  /// The input cannot wait (a camera): it is read by a thread of its own, and pictures that there is no time
  /// for are dropped, the newest coming first.
  bool live = false;
  std::vector<std::pair<std::string, std::string>> input_options;  ///< of FFmpeg's demuxer or protocol
  MediaLimits media_limits;                                        ///< what the input may ask for
  bool strict = false;  ///< damage in the input is an error; else what is damaged is skipped and counted
  Deinterlace deinterlace = Deinterlace::automatic;
  bool tonemap =
      false;  ///< HLG and PQ become BT.709; without it they stay what they are, if the encoder has 10 bits

  std::optional<int> stream;  ///< video stream to work on; unset: FFmpeg's best
  std::string encoder;        ///< FFmpeg's name; empty: H.264 (x264), or what the container and alpha ask for
  std::optional<double> crf;  ///< constant quality in the encoder's units; unset: 20 for x264
  std::string preset;         ///< empty: veryfast for x264
  std::vector<std::pair<std::string, std::string>> encoder_options;
  int jpeg_quality = 92;  ///< 1..100

  bool overwrite = false;  ///< without it an existing output is refused
  /// More files that no output may replace, beside those that the job reads: that of the settings, a list.
  std::vector<std::filesystem::path> protect;
  bool dry_run = false;  ///< decide and check everything, write nothing
  /// Say at the end what limited the job and what would help (`JobReport::bottleneck`); takes a second or two
  /// of trials.
  bool detect_bottlenecks = false;
  /// A video is encoded in parts, which lie in the folder OUTPUT.resume until the result is put together.
  bool resumable = false;
  /// Goes on with the parts that an earlier run with the same options left (none: begins anew). Implies
  /// `resumable`.
  bool resume = false;
  double segment_seconds = 10;  ///< least length of such a part
  int threads = 0;              ///< CPU threads for all stages together; 0: as many as this process may use
  std::optional<Isa> max_isa;

  Mode mode = Mode::automatic;
  /// Pictures of a video that are worked on at once, threads divided by it on each; 0: as `mode` says.
  int streams = 0;
  int tokens = 0;  ///< pictures of a video between decoder and encoder, which bounds memory; 0: streams and 2
  int encoder_threads = 0;  ///< 0: `threads` if it is given, else as many as the encoder finds good
  int decoder_threads = 1;  ///< each holds a picture
};

/// Handed to the progress callback, one call a frame, from a thread of the job (never two at once).
struct JobProgress {
  std::int64_t frames = 0;           ///< written so far
  std::int64_t frames_before = 0;    ///< of these, finished by an earlier run
  std::int64_t expected_frames = 0;  ///< 0: unknown
  double seconds = 0;                ///< since the first frame was read
  std::string_view stage;            ///< the stage that takes most time at the moment
};

struct JobReport;
class Profiler;

struct JobCallbacks {
  /// Called once, when everything is decided and before the first frame is worked on: the report without its
  /// results.
  std::function<void(const JobReport&)> planned;
  std::function<void(const JobProgress&)> progress;
  /// Once set, the job finishes what is under way and ends; the result is kept as STEM.partial.EXT.
  const std::atomic<bool>* cancel = nullptr;
  /// Gets spans of every stage, layer, queue and copy, by thread and frame; its schedule counts frames. Must
  /// outlive the job. Null: nothing is recorded, at no cost.
  Profiler* profiler = nullptr;
};

struct StageReport {
  std::string name;    ///< "decode", "convert", "preprocess", "infer", "mask", "composite", "encode", "write"
  double seconds = 0;  ///< wall time inside the stage, summed over threads
  double cpu_seconds = 0;  ///< CPU time, for "encode" with that of the encoder's own threads
  std::int64_t count = 0;
};

/// What a video was planned to take, in bytes, before its first frame.
struct MemoryReport {
  std::int64_t before = 0;         ///< resident already: program, model, packed weights, first frame
  std::int64_t weight_bytes = 0;   ///< of these, the packed weights
  std::int64_t context_bytes = 0;  ///< of each picture that is worked on: arena, scratch and planes
  int contexts = 0;
  std::int64_t frame_bytes = 0;  ///< of each frame under way: decoded and finished picture
  int frames = 0;
  std::int64_t coder_bytes = 0;  ///< pictures that decoder and encoder keep, estimated
  std::int64_t total() const noexcept {
    return before + contexts * context_bytes + frames * frame_bytes + coder_bytes;
  }
};

struct JobReport {
  std::int64_t frames = 0;
  std::int64_t frames_before = 0;  ///< of these, finished by an earlier run
  double seconds = 0;              ///< wall time from opening the input to the finished file
  double start_seconds =
      0;  ///< of these, before the first frame was worked on: loading, calibration, waiting
  double frames_per_second = 0;  ///< over the time in which frames were processed
  std::vector<StageReport> stages;
  std::optional<BottleneckReport> bottleneck;  ///< where it was asked for
  std::string limiting_stage;                  ///< where more speed would have helped most
  std::int64_t peak_memory_bytes = 0;          ///< of the process so far
  MemoryReport memory;
  bool interrupted = false;      ///< `cancel` was set before the end
  std::filesystem::path output;  ///< what was written; the partial file of an interrupted job
  std::int64_t output_bytes = 0;

  std::string input_summary;             ///< "1920x1080 h264 yuv420p, 29.97 fps"
  std::string output_summary;            ///< "libx264 yuv420p in mp4"
  ModelSpec spec;                        ///< what the model was taken to expect and return
  std::vector<std::string> assumptions;  ///< colour and orientation as they were understood
  std::vector<std::string> notices;      ///< where the result differs from what may be expected
  std::int64_t damaged_packets = 0;      ///< skipped
  std::int64_t dropped_frames = 0;       ///< of a live input, for lack of time
  int threads = 0;
  Isa isa = Isa::portable;
  PrecisionReport precision;  ///< that the network was run in
};

/// Runs a job to its end. An output file appears under its name only when it is whole; on failure nothing is
/// left. The input is never touched. Throws Error(invalid_argument | not_found | unsupported | media | io |
/// …) with the file or frame in its message; Error(interrupted) if `cancel` was set before there was anything
/// to keep. Thread-safe: jobs are independent.
JobReport run_job(const JobOptions& options, const JobCallbacks& callbacks = {});

}  // namespace saccade
