#include "pipeline/job.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/counted.h"
#include "base/files.h"
#include "base/job_limits.h"
#include "base/outputs.h"
#include "media/encoder.h"
#include "media/still.h"
#include "pipeline/job_state.h"
#include "pipeline/journal.h"
#include "pipeline/picture.h"
#include "platform/thread_pool.h"
#include "saccade/profiler.h"
#include "spec/spec.h"

namespace saccade {

namespace {

using namespace job_limits;
constexpr std::array<std::pair<Effect, const char*>, 5> kEffects = {{{Effect::remove, "remove"},
                                                                     {Effect::blur, "blur"},
                                                                     {Effect::replace, "replace"},
                                                                     {Effect::mask, "mask"},
                                                                     {Effect::overlay, "overlay"}}};
constexpr std::array<std::pair<Mode, const char*>, 3> kModes = {
    {{Mode::automatic, "auto"}, {Mode::throughput, "throughput"}, {Mode::latency, "latency"}}};
}  // namespace

const char* mode_name(Mode mode) noexcept {
  for (const auto& [value, name] : kModes) {
    if (value == mode) return name;
  }
  return "?";
}

std::optional<Mode> parse_mode(std::string_view text) noexcept {
  for (const auto& [value, name] : kModes) {
    if (text == name) return value;
  }
  return std::nullopt;
}

const char* effect_name(Effect effect) noexcept {
  for (const auto& [value, name] : kEffects) {
    if (value == effect) return name;
  }
  return "?";
}

std::optional<Effect> parse_effect(std::string_view text) noexcept {
  for (const auto& [value, name] : kEffects) {
    if (text == name) return value;
  }
  return std::nullopt;
}

}  // namespace saccade

namespace saccade::pipeline {

namespace {

std::int64_t peak_memory() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

void require(bool holds, const std::string& message) {
  if (!holds) throw Error(ErrorCode::invalid_argument, message);
}

/// By the header, before any time is spent.
void require_limits(const JobOptions& options, const media::Source& source) {
  const MediaLimits& limits = options.media_limits;
  std::int64_t frames = source.expected_frames();
  if (options.frames) frames = std::min(frames, *options.frames);
  const std::string name = source.path().string();
  // Often a guess from the duration, which may be that of the sound.
  if (frames - frames / 10 - 1 > limits.max_frames) {
    throw Error(ErrorCode::limit, fmt::format("{}: has about {} frames, the limit is {} (--limit frames=N)",
                                              name, frames, limits.max_frames));
  }
  if (!options.frames && source.duration() > static_cast<double>(limits.max_seconds)) {
    throw Error(ErrorCode::limit, fmt::format("{}: lasts {:.3f} seconds, the limit is {} (--limit seconds=N)",
                                              name, source.duration(), limits.max_seconds));
  }
}

/// Times by stage; the encoder's own threads are what the process used beyond the stages.
void report_stages(JobState& state) {
  const StageClocks& clocks = state.clocks;
  const double process_cpu =
      std::chrono::duration<double>(trace::process_cpu_time() - state.cpu_start).count();
  const std::pair<const char*, const trace::StageClock*> stages[] = {
      {"decode", &clocks.decode}, {"convert", &clocks.convert}, {"preprocess", &clocks.preprocess},
      {"infer", &clocks.infer},   {"mask", &clocks.mask},       {"composite", &clocks.composite},
      {"encode", &clocks.encode}, {"write", &clocks.write}};
  double known_cpu = 0;
  for (const auto& [name, clock] : stages) known_cpu += clock->cpu_seconds();
  if (!state.measured.delays_known) state.measured.encoder_cpu = std::max(0.0, process_cpu - known_cpu);
  double most = -1;
  for (const auto& [name, clock] : stages) {
    if (clock->count() == 0) continue;
    StageReport stage{name, clock->seconds(), clock->cpu_seconds(), clock->count()};
    if (clock == &clocks.encode) stage.cpu_seconds += state.measured.encoder_cpu;
    if (stage.cpu_seconds > most) {
      most = stage.cpu_seconds;
      state.report.limiting_stage = name;
    }
    state.report.stages.push_back(std::move(stage));
  }
}

/// A profile that would leave out all there is says so before any work.
void require_frames(const JobOptions& options, const media::Source& source, const trace::Schedule& schedule) {
  const bool whole = options.start == 0 && !options.duration;
  std::int64_t frames = source.still() ? 1 : whole ? source.video().nb_frames : 0;  // 0: unknown
  if (options.frames) frames = frames > 0 ? std::min(frames, *options.frames) : *options.frames;
  if (frames <= 0 || frames > schedule.wait + schedule.warmup) return;
  std::string others;
  if (const std::size_t files = source.series() ? media::other_files(source.path()).size() : 0; files > 0)
    others = fmt::format("; {} beside the pictures {} no part in the video", counted(files, "other file"),
                         by_number(files, "has", "have"));
  require(false, fmt::format("{}: has {}, which {} left out by wait {} and warmup {}; give fewer with --wait "
                             "and --warmup{}",
                             options.input.string(), counted(frames, "frame"),
                             by_number(frames, "is", "are all"), schedule.wait, schedule.warmup, others));
}

StageTime time_of(const trace::StageClock& clock) {
  return {clock.seconds(), clock.cpu_seconds(), clock.delay_seconds()};
}
StageTime without(const StageTime& whole, const StageTime& part) {
  return {std::max(0.0, whole.wall - part.wall), std::max(0.0, whole.cpu - part.cpu),
          std::max(0.0, whole.delay - part.delay)};
}

/// What the stages' clocks say; the job itself filled in the rest.
Measurements measure(const JobState& state) {
  const StageClocks& clocks = state.clocks;
  Measurements m = state.measured;
  m.frames = state.report.frames - state.report.frames_before;
  m.threads = state.threads;
  m.cpus = platform::available_cpus();
  m.live = state.options.live;
  m.read = time_of(clocks.read);
  m.decode = without(time_of(clocks.decode), m.read);
  m.convert = time_of(clocks.convert);
  m.preprocess = time_of(clocks.preprocess);
  m.infer = time_of(clocks.infer);
  m.mask = time_of(clocks.mask);
  m.composite = time_of(clocks.composite);
  m.prepare = time_of(clocks.prepare);
  m.encode = without(time_of(clocks.encode), m.prepare);
  m.write = time_of(clocks.write);
  m.queued_for_process = clocks.queued_for_process.seconds();
  m.queued_for_encode = clocks.queued_for_encode.seconds();
  return m;
}

}  // namespace

bool has_background_file(const JobOptions& options) {
  return options.effect == Effect::replace && !vision::parse_rgb(options.background);
}

std::vector<std::filesystem::path> files_to_protect(const JobOptions& options) {
  std::vector<std::filesystem::path> files;
  if (!media::is_standard_stream(options.input)) files.push_back(options.input);
  for (media::ListedPicture& picture : media::list_pictures(options.input))
    files.push_back(std::move(picture.file));
  if (!options.model.empty()) files.push_back(options.model);
  if (std::filesystem::path yaml = spec::yaml_beside(options.model); !yaml.empty())
    files.push_back(std::move(yaml));
  if (has_background_file(options)) files.emplace_back(options.background);
  for (const std::filesystem::path& pictures : {options.calibration, options.labels}) {
    if (pictures.empty()) continue;
    files.push_back(pictures);
    std::error_code error;  // none where it is a file
    for (std::filesystem::directory_iterator entry(pictures, error), end; !error && entry != end;
         entry.increment(error))
      files.push_back(entry->path());
  }
  files.insert(files.end(), options.protect.begin(), options.protect.end());
  return files;
}

void require_masks_for_depth(const JobOptions& options, bool bare_masks) {
  require(options.mask_depth == 8 || bare_masks || !options.mask_output.empty(),
          fmt::format("a mask depth of {} has no use: no masks are written but as a video's pictures; name a "
                      "file or folder for them with --mask-output, or pictures or .npy as output of --effect "
                      "mask",
                      options.mask_depth));
}

void check_options(const JobOptions& options) {
  require(!options.input.empty(), "no input is named");
  require(!options.output.empty(), "no output is named");
  require(options.strength >= 0 && options.strength <= 100,
          fmt::format("strength {} is out of range 0 to 100", options.strength));
  require(options.opacity >= 0 && options.opacity <= 1,
          fmt::format("opacity {} is out of range 0 to 1", options.opacity));
  require(!options.threshold || (*options.threshold >= 0 && *options.threshold <= 1),
          fmt::format("threshold {} is out of range 0 to 1", options.threshold.value_or(0)));
  require(options.feather >= 0 && options.feather <= kMostFeather,
          fmt::format("feather {} is out of range 0 to {} pixels", options.feather, kMostFeather));
  require(options.refine == 0 || (std::isfinite(options.refine) && options.refine < 0) ||
              (options.refine >= kLeastRefine && options.refine <= kMostRefine),
          fmt::format("refine {} is neither 0 nor a radius of {} to {} pixels", options.refine, kLeastRefine,
                      kMostRefine));
  require(!options.tile || !options.window,
          "tiles and windows are two ways to do one thing: choose one of them");
  for (const std::optional<int>& side : {options.tile, options.window})
    require(
        !side || (*side >= 0 && *side <= kMostPartSide),
        fmt::format("{} pixels are no side of a tile or window, 1 to {}", side.value_or(0), kMostPartSide));
  require(options.window_overlap >= 0 && options.window_overlap <= kMostOverlap,
          fmt::format("window overlap {} is out of range 0 to {}", options.window_overlap, kMostOverlap));
  require(options.window_batch >= 1 && options.window_batch <= kMostWindows,
          fmt::format("a window batch of {} is out of range 1 to {}", options.window_batch, kMostWindows));
  require(std::abs(options.grow) <= kMostGrow,
          fmt::format("grow {} is out of range {} to {} pixels", options.grow, -kMostGrow, kMostGrow));
  require(options.threads >= 0 && options.threads <= kMostThreads,
          fmt::format("threads {} is out of range 0 to {}", options.threads, kMostThreads));
  require(options.streams >= 0 && options.streams <= kMostThreads,
          fmt::format("streams {} is out of range 0 to {}", options.streams, kMostThreads));
  require(options.tokens >= 0 && options.tokens <= kMostTokens,
          fmt::format("tokens {} is out of range 0 to {}", options.tokens, kMostTokens));
  require(options.encoder_threads >= 0 && options.encoder_threads <= kMostThreads,
          fmt::format("encoder threads {} is out of range 0 to {}", options.encoder_threads, kMostThreads));
  require(options.decoder_threads >= 0 && options.decoder_threads <= kMostThreads,
          fmt::format("decoder threads {} is out of range 0 to {}", options.decoder_threads, kMostThreads));
  require(options.max_mask_change >= 0 && options.max_mask_change <= 1,
          fmt::format("a change of masks of {} is no share, 0 to 1", options.max_mask_change));
  require(!options.max_miou_drop || std::isfinite(*options.max_miou_drop),
          "the drop of the mean IoU is not a number");
  require(options.labels.empty() || !options.calibration.empty(),
          "labels are those of the pictures of a folder; name it with calibration");
  require(!options.max_miou_drop || !options.labels.empty(),
          "a drop of the mean IoU needs labels to be measured");
  require(options.jpeg_quality >= 1 && options.jpeg_quality <= 100,
          fmt::format("JPEG quality {} is out of range 1 to 100", options.jpeg_quality));
  require(options.effect != Effect::replace || !options.background.empty(),
          "effect replace needs a background: a colour, a picture or a video");
  require(options.effect != Effect::overlay || options.background.empty() ||
              vision::parse_rgb(options.background),
          fmt::format("'{}' is not a colour; write #rrggbb, r,g,b or a name", options.background));
  require(options.max_process_memory >= 0,
          fmt::format("a memory of {} bytes is negative", options.max_process_memory));
  require(options.mask_depth == 1 || options.mask_depth == 8 || options.mask_depth == 16,
          fmt::format("mask depth {} is none of 1, 8 and 16", options.mask_depth));
  require_masks_for_depth(options, options.effect == Effect::mask);
  require_apart(
      std::array{NamedOutput{options.output, "output"}, NamedOutput{options.mask_output, "mask output"}});
  require(std::isfinite(options.start) && options.start >= 0 && options.start <= kMostSeconds,
          fmt::format("start {} is out of range 0 to {} seconds", options.start, kMostSeconds));
  require(!options.duration || (*options.duration > 0 && *options.duration <= kMostSeconds),
          fmt::format("duration {} is not a number of seconds above 0", options.duration.value_or(0)));
  require(!options.frames || *options.frames > 0,
          fmt::format("{} is not a number of frames above 0", options.frames.value_or(0)));
  require(!options.live || !(options.resumable || options.resume),
          "a live input cannot be read again, so the job cannot be resumable");
  require(std::isfinite(options.segment_seconds) && options.segment_seconds > 0,
          fmt::format("segment length {} is not a number of seconds above 0", options.segment_seconds));
  const std::vector<std::filesystem::path> read = files_to_protect(options);
  struct stat info {};
  if (!options.mask_output.empty() && ::stat(options.mask_output.c_str(), &info) == 0 &&
      !S_ISDIR(info.st_mode)) {
    const bool made = options.resume && made_masks(options.output, options.mask_output);
    media::OutputFile::require_free(options.mask_output, {options.overwrite || made, read});
  }
  if (!media::is_standard_stream(options.output) && ::stat(options.output.c_str(), &info) == 0 &&
      !S_ISDIR(info.st_mode)) {
    const bool finished = options.resume && was_finished(options.output);
    media::OutputFile::require_free(options.output, {options.overwrite || options.resume, read});
    if (options.resume && !options.overwrite && !has_journal(options.output)) {
      throw Error(ErrorCode::invalid_argument,
                  options.output.string() +
                      ": exists already, and no interrupted run is left to go on with: it may be what an "
                      "earlier run has finished; use --overwrite to make it anew");
    }
    if (!finished) media::OutputFile::require_free(options.output, {options.overwrite, read});
  }
  if (has_background_file(options)) {
    if (::stat(options.background.c_str(), &info) != 0) {
      throw Error(
          ErrorCode::not_found,
          fmt::format("background '{}' is neither a colour (#rrggbb, r,g,b or a name) nor a file that exists",
                      options.background));
    }
  }
}

FrameOutputOptions frame_output_options(const JobState& state, const std::filesystem::path& path,
                                        const OutputRequest& request, bool many) {
  const JobOptions& options = state.options;
  return {
      .path = path,
      .input = options.input,
      .request = request,
      .sequence = options.sequence && request.form == OutputForm::pictures,
      .depth = options.mask_depth,
      .many = many,
      .quality = options.jpeg_quality,
      .file = {.overwrite = options.overwrite, .protect = state.protect, .cancel = state.callbacks.cancel}};
}

void commit(JobState& state, FrameOutput& output) {
  output.commit();
  if (const std::string notice = output.notice(); !notice.empty()) state.notice(notice);
}

bool writes_bare_masks(const JobOptions& options, const OutputRequest& request) {
  switch (request.form) {
    case OutputForm::array:
    case OutputForm::runs:
    case OutputForm::outlines:
      if (options.effect != Effect::mask) {
        throw Error(ErrorCode::invalid_argument,
                    options.output.string() +
                        ": holds masks only; choose effect mask, or name it as mask output "
                        "beside a video or picture");
      }
      return true;
    case OutputForm::picture:
    case OutputForm::pictures:
      return options.effect == Effect::mask;
    case OutputForm::video:
      break;
  }
  return false;
}

int mask_bits(const JobOptions& options, const OutputRequest& request) {
  if (!writes_bare_masks(options, request) && options.mask_output.empty()) return 0;
  return options.mask_depth == 16 ? 16 : 8;
}

media::SourceOptions source_options(const JobOptions& options, const std::atomic<bool>* cancel) {
  return {.stream = options.stream,
          .cancel = cancel,
          .range = {options.start, options.duration},
          .limits = options.media_limits,
          .input_options = options.input_options};
}

std::unique_ptr<Background> open_background(const JobState& state, const vision::PictureSpec& work) {
  if (!has_background_file(state.options)) return nullptr;
  return std::make_unique<Background>(state.options.background, work, state.isa, state.callbacks.cancel);
}

void describe_input(JobState& state, const media::Source& source, const media::VideoFormat& decoded) {
  const AVCodecParameters& parameters = *source.video().codecpar;
  std::string summary =
      fmt::format("{}x{} {} {}", decoded.width, decoded.height, avcodec_get_name(parameters.codec_id),
                  av_get_pix_fmt_name(decoded.pixel_format));
  if (!source.still() && decoded.frame_rate.num > 0 && decoded.frame_rate.den > 0) {
    summary += fmt::format(", {:.5g} fps", av_q2d(decoded.frame_rate));
  }
  state.report.input_summary = summary;
  if (source.series()) {
    if (const auto others = media::other_files(source.path()); !others.empty()) {
      state.notice(fmt::format("{} beside the pictures {} no part in the video: {}{}",
                               counted(others.size(), "other file"), by_number(others.size(), "has", "have"),
                               others.front().filename().string(), others.size() == 1 ? "" : ", ..."));
    }
  }
  state.report.assumptions.push_back("colour: " + describe_color(decoded));
  if (decoded.display_matrix) {
    static constexpr const char* kNames[] = {"",
                                             "turned 90 degrees clockwise",
                                             "turned 180 degrees",
                                             "turned 90 degrees counterclockwise",
                                             "mirrored left to right",
                                             "mirrored top to bottom",
                                             "mirrored along its diagonal",
                                             "mirrored along its other diagonal",
                                             ""};
    const media::Orientation orientation = media::orientation_of(*decoded.display_matrix);
    if (orientation == media::Orientation::other) {
      state.notice(
          "the input's display matrix is no multiple of 90 degrees: the model sees the picture as it is "
          "stored");
    } else {
      state.report.assumptions.push_back(std::string("orientation: shown ") +
                                         kNames[static_cast<int>(orientation)]);
    }
  }
}

void describe_parts(JobState& state, const Processor& processor) {
  const PictureParts* parts = processor.parts();
  if (parts == nullptr) return;
  const Network& network = parts->network();
  const vision::PartsAxis& across = parts->mosaic().across();
  const vision::PartsAxis& down = parts->mosaic().down();
  state.network_identity = network.identity();
  state.report.spec.input.width = network.input_width();
  state.report.spec.input.height = network.input_height();
  state.report.assumptions.push_back(fmt::format(
      "{}: {} x {} of {}x{} pixels, at the picture's resolution", state.options.tile ? "tiles" : "windows",
      across.parts.size(), down.parts.size(), across.part, down.part));
  if (state.options.window && state.options.window_batch > 1 && network.batch() == 1 &&
      across.parts.size() > 1) {
    state.notice("the network takes one picture at a time, and so windows come one by one");
  }
  state.measured.batch = network.batch();
  state.measured.columns = static_cast<int>(across.parts.size());
}

PrecisionOptions precision_options(const JobOptions& options, const JobCallbacks& callbacks) {
  PrecisionOptions precision;
  precision.asked = options.precision;
  precision.pictures.path = options.calibration.empty() ? options.input : options.calibration;
  if (options.calibration.empty()) precision.pictures.stream = options.stream;
  precision.pictures.cancel = callbacks.cancel;
  precision.labels = options.labels;
  precision.budget = {options.max_mask_change, options.max_miou_drop};
  precision.resize = options.resize;
  precision.threshold = options.threshold;
  precision.threads = options.threads > 0 ? options.threads : platform::available_cpus();
  // A video gives each thread a picture of its own.
  media::StillKind kind{};
  precision.timing_threads = media::parse_still(options.output.string(), kind) ? precision.threads : 1;
  const auto start = std::chrono::steady_clock::now();
  if (callbacks.progress)
    precision.progress = [&callbacks, start](std::string_view) {
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
      callbacks.progress({0, 0, 0, seconds.count(), "calibrate"});
    };
  return precision;
}

JobReport run(const JobOptions& options, const JobCallbacks& callbacks, const NetworkFactory& make_network,
              Measurements* measured) {
  const auto start = std::chrono::steady_clock::now();
  check_options(options);
  media::Source source(options.input, source_options(options, callbacks.cancel));
  require_limits(options, source);
  if (callbacks.profiler != nullptr)
    require_frames(options, source, callbacks.profiler->recorder().schedule());
  const std::unique_ptr<Network> network = make_network();
  JobState state{.options = options,
                 .protect = files_to_protect(options),
                 .callbacks = callbacks,
                 .network = *network,
                 .start = start,
                 .clocks = {},
                 .report = {},
                 .measured = {},
                 .network_identity = {}};
  if (callbacks.profiler != nullptr) state.clocks.attach(callbacks.profiler->recorder());
  if (measured != nullptr) state.clocks.watch_delays();
  state.isa = options.max_isa ? std::min(*options.max_isa, active_isa()) : active_isa();
  state.threads = options.threads > 0 ? options.threads : platform::available_cpus();
  state.report.spec = network->spec();
  if (options.resize) state.report.spec.input.resize = *options.resize;
  state.report.isa = state.isa;
  state.report.precision = network->precision();
  if (const PrecisionReport& p = state.report.precision;
      p.calibration_pictures == 1 && p.used != Precision::fp32) {
    state.notice(
        fmt::format("{}: the network was calibrated on a single picture, which says little about "
                    "others; name a video or a folder of pictures with --calibration",
                    precision_name(p.used)));
  }
  state.report.threads = state.threads;
  if (source.still()) {
    run_still(state, source);
  } else {
    run_video(state, source);
  }
  JobReport& report = state.report;
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - state.start).count();
  report_stages(state);
  if (measured != nullptr) *measured = measure(state);
  report.peak_memory_bytes = peak_memory();
  if (report.frames_per_second == 0 && report.seconds > 0)
    report.frames_per_second = static_cast<double>(report.frames) / report.seconds;
  return std::move(state.report);
}

}  // namespace saccade::pipeline
