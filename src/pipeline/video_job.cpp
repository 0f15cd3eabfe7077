// A video: stages as a token-limited, ordered pipeline. Decoding and encoding run one picture at a time and
// in order, everything between them on as many threads as there are; the encoder has threads of its own.
#include <fmt/format.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_pipeline.h>
#include <oneapi/tbb/task_arena.h>

#include <atomic>
#include <deque>
#include <exception>
#include <mutex>
#include <utility>

#include "base/counted.h"
#include "media/convert.h"
#include "media/encoder.h"
#include "media/muxer.h"
#include "media/picture_filter.h"
#include "media/stream_plan.h"
#include "pipeline/encode_trial.h"
#include "pipeline/file_sink.h"
#include "pipeline/frame_output.h"
#include "pipeline/frame_reader.h"
#include "pipeline/job_state.h"
#include "pipeline/live_reader.h"
#include "pipeline/mask_video.h"
#include "pipeline/memory_plan.h"
#include "pipeline/picture.h"
#include "pipeline/segment_sink.h"
#include "pipeline/worker_pool.h"
#include "platform/cpu_use.h"
#include "platform/thread_pool.h"

namespace saccade::pipeline {

namespace {

namespace tbb = oneapi::tbb;

constexpr int kBoundPerCpu = 4;
/// Pictures of a live input that wait for the job.
constexpr std::size_t kMostWaiting = 2;
/// Of packets of other streams that travel with one picture, or without one.
constexpr std::size_t kMostCopiedBytes = std::size_t{1} << 20;
/// With fewer a sample, HLG and PQ show steps.
constexpr int kHighDynamicRangeBits = 10;

/// A picture on its way. Handed from stage to stage as a raw pointer; `turn` is stored with release by the
/// stage that leaves it and loaded with acquire by the next, since the scheduler's own hand-over is not
/// visible to the thread sanitizer.
struct Token {
  media::FramePtr decoded, background, result;
  FrameOutput::Prepared picture, mask;  ///< for outputs that are no stream of video
  std::vector<media::PacketPtr>
      copied;  ///< packets of other streams that lay before this picture in the file
  FrameLabel label;
  bool packets_only = false;                   ///< there was no picture among many packets
  std::chrono::steady_clock::time_point left;  ///< the last stage
  std::atomic<std::uint32_t> turn{0};

  void enter() const noexcept { (void)turn.load(std::memory_order_acquire); }
  void leave() noexcept {
    left = std::chrono::steady_clock::now();
    turn.fetch_add(1, std::memory_order_release);
  }
};

AVPixelFormat turnable(AVPixelFormat format) {
  if (media::can_turn(format)) return format;
  const AVPixFmtDescriptor* d = av_pix_fmt_desc_get(format);
  return d->comp[0].depth <= 8    ? AV_PIX_FMT_YUV444P
         : d->comp[0].depth <= 10 ? AV_PIX_FMT_YUV444P10
                                  : AV_PIX_FMT_YUV444P12;
}

bool has_flag(AVPixelFormat format, std::uint64_t flag) {
  return (av_pix_fmt_desc_get(format)->flags & flag) != 0;
}

class VideoJob {
 public:
  VideoJob(JobState& state, media::Source& source);
  ~VideoJob();
  void run();

  /// A stage's stay in the job: behind what was prepared before the start, before what follows the end.
  class Visit {
   public:
    explicit Visit(VideoJob& job) noexcept : job_(job) { (void)job.started_.load(std::memory_order_acquire); }
    ~Visit() { job_.visits_.fetch_add(1, std::memory_order_release); }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

   private:
    VideoJob& job_;
  };
  bool decode_stage(Token*& token);
  void process_stage(Token* token);
  void encode_stage(Token* token);

 private:
  bool resumable() const noexcept { return state_.options.resumable || state_.options.resume; }
  media::OutputFileOptions output_options() const {
    return {state_.options.overwrite, files_to_protect(state_.options)};
  }
  void open_output();
  void read_first_frame();
  void plan_pictures();
  void plan_flow();
  void plan_masks_only();
  void open_encoder();
  void open_frames();
  void plan_concurrency();
  std::shared_ptr<EncodeTrial> usual_video() const;
  void run_stages();
  void finish_video();
  void finish();

  bool decode(Token& token);
  media::PictureFilterOptions needed_filter() const;
  void start_filter(const media::PictureFilterOptions& options);
  void process(Token& token);
  void process(Token& token, Worker& worker);
  void encode(Token& token);
  void measure(int token_count);
  void measure_threads();
  double cpu_outside_stages() const;
  void report_progress();
  template <class F>
  void guarded(F&& work) noexcept;

  JobState& state_;
  media::Source& source_;
  FrameReader reader_;
  OutputRequest request_;
  ResultPlan result_;  ///< of an output that is a stream of video, else without container
  std::unique_ptr<media::OutputFile> file_;
  media::FramePtr first_;
  std::vector<media::PacketPtr> early_;  ///< read before the first picture came out of the decoder
  PictureFlow flow_;
  std::unique_ptr<Background> background_;
  std::unique_ptr<Processor> processor_;
  std::unique_ptr<WorkFolder> folder_;
  std::unique_ptr<VideoSink> sink_;
  std::shared_ptr<EncodeTrial> trial_;  ///< where a verdict on the job is asked for
  std::size_t notices_told_ = 0;
  std::unique_ptr<FrameOutput> frames_;  ///< an output that is no stream of video
  std::unique_ptr<FrameOutput> masks_;   ///< the second output
  bool bare_masks_ = false;              ///< `frames_` gets masks, not pictures

  std::deque<Token> tokens_;
  std::mutex tokens_mutex_;
  std::vector<Token*> free_tokens_;
  Concurrency concurrency_;
  std::optional<WorkerPool> workers_;
  std::mutex decode_mutex_,
      encode_mutex_;  ///< never contended: they order a serial stage's visits from different threads
  std::int64_t next_number_ = 0;
  std::int64_t skip_ = 0;  ///< pictures still to come that an earlier run has finished
  std::int64_t expected_frames_ = 0;
  bool complete_ = false;             ///< an earlier run has finished all pictures
  std::unique_ptr<LiveReader> live_;  ///< while it exists, only its thread reads and decodes
  std::chrono::steady_clock::time_point first_time_;
  double idle_before_ = -1;                  ///< seconds of the CPUs
  std::chrono::nanoseconds cpu_before_{0};   ///< of the process
  double outside_before_ = 0, outside_ = 0;  ///< CPU seconds of the process that are no stage's

  std::atomic<bool> started_{false};
  std::atomic<std::uint64_t> visits_{0};
  std::atomic<bool> failed_{false};
  std::mutex failure_mutex_;
  std::exception_ptr failure_;
};

VideoJob::VideoJob(JobState& state, media::Source& source)
    : state_(state), source_(source), reader_(state, source) {}

VideoJob::~VideoJob() = default;

void VideoJob::run() {
  open_output();
  read_first_frame();
  plan_pictures();
  open_encoder();
  plan_concurrency();
  if (state_.callbacks.planned) state_.callbacks.planned(state_.report);
  if (state_.options.dry_run) return;
  if (sink_ && sink_->complete()) {
    complete_ = true;
    first_time_ = std::chrono::steady_clock::now();
  } else {
    run_stages();
  }
  finish();
}

void VideoJob::open_output() {
  const JobOptions& options = state_.options;
  request_ = parse_output(options.output, options.output_format, options.sequence, true);
  bare_masks_ = writes_bare_masks(options, request_);
  if (request_.form != OutputForm::video) {
    if (resumable()) {
      throw Error(
          ErrorCode::unsupported,
          options.output.string() + ": only a job with one stream of video as output can be resumable");
    }
    return;
  }
  std::error_code ignored;
  const auto status = std::filesystem::status(options.output, ignored);
  const bool streaming = media::is_standard_stream(options.output) ||
                         (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status) &&
                          !std::filesystem::is_directory(status));
  result_.container = media::choose_container(options.output.string(), streaming, options.output_format);
  if (streaming && options.dry_run) return;
  if (resumable()) {
    if (!options.mask_output.empty())
      throw Error(ErrorCode::unsupported,
                  "a job with a second output cannot be resumable; make the masks by a job of their own "
                  "(--effect mask), which can be");
    SegmentSink::require_possible(options, *result_.container, source_.regular() && !streaming);
    if (!options.dry_run)
      folder_ = std::make_unique<WorkFolder>(options.output, options.resume, options.overwrite);
  } else {
    file_ = std::make_unique<media::OutputFile>(options.output, output_options());
  }
}

void VideoJob::read_first_frame() {
  media::StreamPlan& plan = result_.streams;
  if (result_.container != nullptr) {
    plan = media::plan_streams(source_, *result_.container);
  } else {
    plan.streams.assign(source_.context().nb_streams, {media::StreamAction::drop, AV_CODEC_ID_NONE});
    plan.streams[static_cast<std::size_t>(source_.video_index())].action = media::StreamAction::process;
  }
  for (std::size_t i = 0; i < plan.streams.size(); ++i) {
    const media::StreamAction action = plan.streams[i].action;
    if (action == media::StreamAction::drop || action == media::StreamAction::attach)
      source_.ignore(static_cast<int>(i));
  }
  state_.notice(result_.streams.notices);
  const trace::StageClock::Scope timing(state_.clocks.decode);
  first_ = reader_.first(early_);
}

void VideoJob::plan_pictures() {
  flow_.decoded = media::describe_video(source_.context(), source_.video(), *first_);
  expected_frames_ = source_.expected_frames();
  if (const auto most = state_.options.frames)
    expected_frames_ = expected_frames_ > 0 ? std::min(expected_frames_, *most) : *most;
  describe_input(state_, source_, flow_.decoded);
  // What has to be done to the pictures first may depend on what the output can carry.
  const std::size_t notices = state_.report.notices.size();
  plan_flow();
  if (const media::PictureFilterOptions filter = needed_filter(); filter.needed()) {
    state_.report.notices.resize(notices);
    start_filter(filter);
    plan_flow();
  }
}

/// Deinterlacing and tone mapping that are asked for, or that the plan made so far cannot do without.
media::PictureFilterOptions VideoJob::needed_filter() const {
  const JobOptions& options = state_.options;
  const media::VideoFormat& decoded = flow_.decoded;
  media::PictureFilterOptions filter;
  const bool interlaced = decoded.field_order == AV_FIELD_TT || decoded.field_order == AV_FIELD_BB;
  const bool carried =
      result_.container != nullptr && media::carries_fields(*result_.container, result_.choice, flow_.result);
  if (options.deinterlace == Deinterlace::on) filter.deinterlace = media::Deinterlace::all;
  if (options.deinterlace == Deinterlace::automatic && interlaced && !carried)
    filter.deinterlace = media::Deinterlace::flagged;
  if (media::is_high_dynamic_range(decoded)) {
    const bool pictures = request_.form == OutputForm::pictures || request_.form == OutputForm::video;
    const bool too_few_bits =
        pictures && av_pix_fmt_desc_get(flow_.result.pixel_format)->comp[0].depth < kHighDynamicRangeBits;
    filter.tone_map = options.tonemap || too_few_bits;
  }
  return filter;
}

void VideoJob::start_filter(const media::PictureFilterOptions& options) {
  if (options.deinterlace != media::Deinterlace::none)
    state_.notice("the input is interlaced: the fields of each frame become one whole picture");
  if (options.tone_map) {
    state_.notice(state_.options.tonemap ? "high dynamic range is mapped to BT.709"
                                         : "high dynamic range is mapped to BT.709: the output has 8 bits a "
                                           "sample, which are too few for it");
  }
  auto filter = std::make_unique<media::PictureFilter>(options, flow_.decoded);
  const media::PictureFilter& started = *filter;
  reader_.filter(std::move(filter), *first_);
  first_ = reader_.next(early_);
  if (!first_) throw Error(ErrorCode::interrupted, "interrupted before the first frame");
  flow_.decoded = started.result();
}

/// From decoded pictures to those that are written.
void VideoJob::plan_flow() {
  const JobOptions& options = state_.options;
  const media::VideoFormat decoded = flow_.decoded;
  flow_ = {};
  flow_.decoded = decoded;
  if (request_.form == OutputForm::pictures) {
    flow_ = plan_picture_files(state_, flow_.decoded, request_.still);
    return;
  }
  if (result_.container == nullptr) {
    plan_masks_only();
    return;
  }
  media::VideoFormat wanted = flow_.decoded;
  if (has_flag(wanted.pixel_format, AV_PIX_FMT_FLAG_PAL))
    wanted.pixel_format = media::without_palette(*first_);
  const bool rgb_in = has_flag(wanted.pixel_format, AV_PIX_FMT_FLAG_RGB);
  const vision::Rotation rotation = rotation_of(flow_.decoded);
  flow_.turn = rotation != vision::Rotation::none && !media::Muxer::carries_rotation(*result_.container);
  if (flow_.turn) {
    wanted.pixel_format = turnable(wanted.pixel_format);
    wanted = media::upright_format(wanted);
    state_.notice(
        fmt::format("a {} file cannot say how a picture is to be turned: the pictures themselves are",
                    result_.container->name));
  }
  const bool alpha_in = has_flag(wanted.pixel_format, AV_PIX_FMT_FLAG_ALPHA);
  const bool gray = av_pix_fmt_desc_get(wanted.pixel_format)->nb_components < 3;
  if (gray)
    wanted.pixel_format = av_pix_fmt_desc_get(wanted.pixel_format)->comp[0].depth > 8 ? AV_PIX_FMT_YUV420P10
                                                                                      : AV_PIX_FMT_YUV420P;
  const bool want_alpha = options.effect == Effect::remove || alpha_in;

  result_.encoder = {.name = options.encoder,
                     .crf = options.crf,
                     .preset = options.preset,
                     .threads = 0,
                     .extra = options.encoder_options};
  if (options.threads > 0) result_.encoder.threads = options.threads;
  if (options.encoder_threads > 0) result_.encoder.threads = options.encoder_threads;
  result_.encoder.reproducible = resumable();
  if (resumable() && result_.encoder.threads == 0) {
    // What an encoder makes may depend on its threads: their number must not be left to chance.
    result_.encoder.threads = state_.threads + state_.threads / 2;
    if (folder_)
      result_.encoder.threads = journaled_encoder_threads(*folder_).value_or(result_.encoder.threads);
  }
  result_.choice =
      media::choose_encoder(*result_.container, wanted, want_alpha, result_.encoder, supported_formats());
  state_.notice(result_.choice.notices);
  if (options.effect == Effect::remove && !result_.choice.alpha) {
    state_.notice(
        fmt::format("{} in a {} file has no transparency: the background becomes chroma green (.mov, "
                    ".webm and .mkv carry transparency)",
                    result_.choice.codec->name, result_.container->name));
  } else if (alpha_in && !result_.choice.alpha) {
    state_.notice(fmt::format("{} in a {} file has no transparency: that of the input is lost",
                              result_.choice.codec->name, result_.container->name));
  }

  flow_.result = wanted;
  flow_.result.pixel_format = result_.choice.pixel_format;
  flow_.work = flow_.result;
  if (result_.choice.alpha && !alpha_in)
    flow_.work.pixel_format = to_ffmpeg(vision::without_alpha(to_vision(result_.choice.pixel_format)));
  const bool rgb_out = has_flag(result_.choice.pixel_format, AV_PIX_FMT_FLAG_RGB);
  if (rgb_in && !rgb_out) {
    for (media::VideoFormat* format : {&flow_.work, &flow_.result}) {
      format->matrix = AVCOL_SPC_BT709;
      format->range = AVCOL_RANGE_MPEG;
      format->chroma_location = AVCHROMA_LOC_LEFT;
    }
  } else if (rgb_out) {
    for (media::VideoFormat* format : {&flow_.work, &flow_.result}) {
      format->matrix = AVCOL_SPC_RGB;
      format->range = AVCOL_RANGE_JPEG;
    }
  }
  if (flow_.decoded.field_order == AV_FIELD_TT || flow_.decoded.field_order == AV_FIELD_BB) {
    state_.notice(media::carries_fields(*result_.container, result_.choice, flow_.result)
                      ? "the input is interlaced and stays so: both fields of a frame are worked on together"
                      : "the input is interlaced; the result holds its fields but cannot say so");
  }
}

/// No picture is written, so the one that effects and network see need not be one that an encoder takes.
void VideoJob::plan_masks_only() {
  flow_.work = flow_.decoded;
  const auto formats = supported_formats();
  if (std::find(formats.begin(), formats.end(), flow_.work.pixel_format) == formats.end() ||
      has_flag(flow_.work.pixel_format, AV_PIX_FMT_FLAG_ALPHA)) {
    const bool rgb = has_flag(flow_.work.pixel_format, AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL);
    flow_.work.pixel_format = rgb ? AV_PIX_FMT_RGB24 : AV_PIX_FMT_YUV444P;
  }
  flow_.result = flow_.work;
}

/// The outputs that are no streams of video, and the second one.
void VideoJob::open_frames() {
  const JobOptions& options = state_.options;
  const media::VideoFormat masks =
      options.mask_output.empty() && !bare_masks_ ? flow_.result : processor_->mask_format();
  std::string summary;
  if (result_.container == nullptr) {
    state_.notice("sound and other streams are left out: this kind of output holds pictures only");
    const FrameOutputOptions frame_options = frame_output_options(state_, options.output, request_, true);
    if (!options.dry_run) frames_ = make_frame_output(frame_options, bare_masks_ ? masks : flow_.result);
    const media::VideoFormat& written = bare_masks_ ? masks : flow_.result;
    state_.report.output_summary =
        fmt::format("{}x{} {}", written.width, written.height, frames_ ? frames_->summary() : "as asked for");
    state_.report.output = options.output;
  }
  if (options.mask_output.empty()) return;
  const OutputRequest request = parse_mask_output(options, true);
  const FrameOutputOptions mask_options = frame_output_options(state_, options.mask_output, request, true);
  if (options.dry_run) return;
  if (request.form == OutputForm::video) {
    std::vector<std::string> notices;
    masks_ = make_mask_video(mask_options, {}, source_, masks, notices);
    state_.notice(notices);
  } else {
    masks_ = make_frame_output(mask_options, masks);
  }
  state_.report.output_summary += "; masks: " + masks_->summary();
}

/// What a video would take where the job writes none: the usual encoder, on the pictures or masks that are
/// written.
std::shared_ptr<EncodeTrial> VideoJob::usual_video() const {
  const media::VideoFormat written = bare_masks_ ? processor_->mask_format() : flow_.result;
  ResultPlan plan;
  plan.container = media::choose_container("usual.mp4", false);
  plan.encoder.crf = state_.options.crf;
  plan.encoder.threads = state_.options.threads;
  plan.format = flow_.decoded;
  plan.format.width = written.width;
  plan.format.height = written.height;
  plan.choice = media::choose_encoder(*plan.container, plan.format, false, plan.encoder, supported_formats());
  plan.format.pixel_format = plan.choice.pixel_format;
  return std::make_shared<EncodeTrial>(plan, written);
}

void VideoJob::open_encoder() {
  background_ = open_background(state_, picture_spec(flow_.work));
  processor_ = std::make_unique<Processor>(flow_, state_.options, state_.network, background_.get(),
                                           state_.isa, state_.clocks, mask_bits(state_.options, request_));
  describe_parts(state_, *processor_);
  if (result_.container == nullptr) {
    open_frames();
    if (state_.options.detect_bottlenecks && frames_) trial_ = usual_video();
    return;
  }
  state_.notice(media::fit_container(*result_.container, source_.video(), result_.choice, result_.encoder));
  result_.format = flow_.result;
  state_.report.output_summary =
      fmt::format("{}x{} {} {} in {}", flow_.result.width, flow_.result.height, result_.choice.codec->name,
                  av_get_pix_fmt_name(result_.choice.pixel_format), result_.container->name);
  state_.report.output = state_.options.output;
  open_frames();
  if (state_.options.dry_run) {
    (void)result_.open_encoder();  // it may refuse
    return;
  }
  if (folder_) {
    sink_ = std::make_unique<SegmentSink>(state_, result_, std::move(folder_), output_options());
  } else {
    sink_ = std::make_unique<FileSink>(result_, source_, std::move(file_), state_.clocks);
  }
  if (state_.options.detect_bottlenecks) trial_ = std::make_shared<EncodeTrial>(result_, result_.format);
  skip_ = sink_->pictures_before();
  state_.report.frames = state_.report.frames_before = skip_;
  notices_told_ = sink_->notices().size();
  state_.notice(sink_->notices());
  if (skip_ > 0)
    state_.notice(
        fmt::format("{} {} finished by an earlier run", counted(skip_, "frame"), verb(skip_, "was", "were")));
}

/// Keeps the first failure and makes the stages run dry.
template <class F>
void VideoJob::guarded(F&& work) noexcept {
  if (failed_.load(std::memory_order_acquire)) return;
  try {
    work();
  } catch (...) {
    const std::lock_guard lock(failure_mutex_);
    if (!failure_) failure_ = std::current_exception();
    failed_.store(true, std::memory_order_release);
  }
}

/// False when there is no further picture.
bool VideoJob::decode(Token& token) {
  std::optional<trace::StageClock::Scope> timing;
  if (!live_) timing.emplace(state_.clocks.decode);
  if (first_) {
    token.copied = std::move(early_);
    token.decoded = std::move(first_);
  } else {
    token.decoded = live_ ? live_->get(token.copied) : reader_.next(token.copied);
  }
  while (skip_ > 0 && (token.decoded || reader_.paused())) {
    if (token.decoded) {
      ++next_number_;
      --skip_;
    }
    token.decoded = reader_.next(token.copied);
    token.copied.clear();  // a job that is resumed reads them again
  }
  token.packets_only = !token.decoded && !live_ && reader_.paused();
  if (token.packets_only) return true;
  if (!token.decoded) {
    early_ = std::move(token.copied);  // what lies behind the last picture
    return false;
  }
  token.label = {next_number_++, static_cast<double>(token.decoded->pts - reader_.first_pts()) *
                                     av_q2d(flow_.decoded.time_base)};
  if (background_ && background_->moving()) {
    token.background = background_->at(token.label.seconds);
  }
  return true;
}

void VideoJob::process(Token& token) {
  if (token.packets_only) return;
  workers_->run([&](Worker& worker) { process(token, worker); });
  token.decoded.reset();
  token.background.reset();
}

void VideoJob::process(Token& token, Worker& worker) {
  try {
    token.result = processor_->run(*token.decoded, token.background.get(), worker);
    media::FramePtr mask = masks_ || bare_masks_ ? processor_->mask(*token.result, worker) : nullptr;
    std::optional<trace::StageClock::Scope> timing, preparing;
    if (masks_ || frames_) {
      timing.emplace(state_.clocks.encode);
      preparing.emplace(state_.clocks.prepare);
    }
    if (masks_) token.mask = masks_->prepare(media::share(*mask), token.label);
    if (frames_) {
      if (trial_) trial_->keep(bare_masks_ ? *mask : *token.result, token.label.number);
      token.picture = frames_->prepare(bare_masks_ ? std::move(mask) : std::move(token.result), token.label);
      token.result.reset();
    }
  } catch (const Error& e) {
    throw e.within(fmt::format("frame {}", token.label.number));
  }
}

void VideoJob::encode(Token& token) {
  if (sink_) {
    for (media::PacketPtr& packet : token.copied) sink_->copy(std::move(packet));
  }
  token.copied.clear();
  if (token.packets_only) return;
  if (masks_ || frames_) {
    const trace::StageClock::Scope timing(state_.clocks.encode);
    if (masks_) masks_->write(std::move(token.mask), token.label);
    if (frames_) frames_->write(std::move(token.picture), token.label);
  }
  if (trial_ && sink_) trial_->keep(*token.result, token.label.number);
  if (sink_) sink_->write(*token.result);
  token.result.reset();
  ++state_.report.frames;
  report_progress();
}

void VideoJob::report_progress() {
  if (!state_.callbacks.progress) return;
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - first_time_).count();
  state_.callbacks.progress({state_.report.frames, state_.report.frames_before, expected_frames_, seconds,
                             state_.clocks.busiest(state_.threads)});
}

/// False when there is no further picture.
bool VideoJob::decode_stage(Token*& token) {
  const std::lock_guard serial(decode_mutex_);
  {
    const std::lock_guard lock(tokens_mutex_);
    token = free_tokens_.back();  // never empty: the pipeline admits no more than there are
    free_tokens_.pop_back();
  }
  bool more = false;
  const trace::FrameScope frame(state_.clocks.recorder, next_number_);
  guarded([&] { more = decode(*token); });
  token->leave();
  return more;
}

void VideoJob::process_stage(Token* token) {
  token->enter();
  const trace::FrameScope frame(state_.clocks.recorder, token->label.number);
  state_.clocks.queued_for_process.add_since(token->left);
  guarded([&] { process(*token); });
  token->leave();
}

void VideoJob::encode_stage(Token* token) {
  const std::lock_guard serial(encode_mutex_);
  token->enter();
  const trace::FrameScope frame(state_.clocks.recorder, token->label.number);
  state_.clocks.queued_for_encode.add_since(token->left);
  guarded([&] { encode(*token); });
  token->decoded.reset();
  token->background.reset();
  token->result.reset();
  token->picture = {};
  token->mask = {};
  token->copied.clear();
  token->leave();
  const std::lock_guard lock(tokens_mutex_);
  free_tokens_.push_back(token);
}

// What the scheduler calls. Nothing else may happen here: between the scheduler's threads and ours only Visit
// orders memory in a way that the thread sanitizer sees, and tests/pipeline/thread_sanitizer.cpp exempts
// these three operators.
struct DecodeStage {
  VideoJob* job;
  Token* operator()(tbb::flow_control& control) const {
    const VideoJob::Visit visit(*job);
    Token* token = nullptr;
    if (!job->decode_stage(token)) control.stop();
    return token;
  }
};
struct ProcessStage {
  VideoJob* job;
  Token* operator()(Token* token) const {
    const VideoJob::Visit visit(*job);
    job->process_stage(token);
    return token;
  }
};
struct EncodeStage {
  VideoJob* job;
  void operator()(Token* token) const {
    const VideoJob::Visit visit(*job);
    job->encode_stage(token);
  }
};

/// How many pictures are worked on and under way at once, and the memory for them.
void VideoJob::plan_concurrency() {
  const media::EncoderOptions& encoder = result_.encoder;
  const int held = sink_ ? encoder_pictures(result_.choice.codec->name, encoder.preset, encoder.threads) : 0;
  const Network& network = processor_->parts() != nullptr ? processor_->parts()->network() : state_.network;
  concurrency_ =
      plan_memory(memory_needs(network.plan(), flow_.decoded, flow_.result, state_.threads, held), state_);
  workers_.emplace(*processor_, concurrency_.streams, std::max(1, state_.threads / concurrency_.streams));
}

void VideoJob::run_stages() {
  const int token_count = concurrency_.tokens;
  for (int i = 0; i < token_count; ++i) free_tokens_.push_back(&tokens_.emplace_back());
  first_time_ = std::chrono::steady_clock::now();
  // The scheduler would have no more threads than there are CPUs. The least of all jobs' bounds counts, so it
  // is no measure of what this job needs: its arena is.
  const auto parallelism =
      static_cast<std::size_t>(std::max(state_.threads, kBoundPerCpu * platform::available_cpus()));
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, parallelism + 1);
  // With one picture at a time another thread decodes the next one and encodes the last one meanwhile. A live
  // input is waited for by a thread that would be missing elsewhere.
  const bool one_at_a_time = concurrency_.streams == 1 && state_.threads > 1;
  tbb::task_arena arena(concurrency_.streams + (one_at_a_time ? 1 : 0) + (state_.options.live ? 1 : 0));
  const tbb::filter_mode process_mode =
      one_at_a_time ? tbb::filter_mode::serial_in_order : tbb::filter_mode::parallel;
  if (state_.options.live) {
    live_ = std::make_unique<LiveReader>(
        [this](std::vector<media::PacketPtr>& copied) {
          const trace::StageClock::Scope timing(state_.clocks.decode);
          return reader_.next(copied);
        },
        [this] { source_.stop(); }, kMostWaiting,
        [backlog = Backlog(source_)](const AVFrame& frame) mutable { return backlog.holds(frame); });
  } else {
    reader_.bound_copied(kMostCopiedBytes);
  }
  idle_before_ = platform::idle_cpu_seconds();
  cpu_before_ = trace::process_cpu_time();
  outside_before_ = cpu_outside_stages();
  started_.store(true, std::memory_order_release);
  arena.execute([&] {
    tbb::parallel_pipeline(
        static_cast<std::size_t>(token_count),
        tbb::make_filter<void, Token*>(tbb::filter_mode::serial_in_order, DecodeStage{this}) &
            tbb::make_filter<Token*, Token*>(process_mode, ProcessStage{this}) &
            tbb::make_filter<Token*, void>(tbb::filter_mode::serial_in_order, EncodeStage{this}));
  });
  (void)visits_.load(std::memory_order_acquire);
  measure(token_count);
  if (live_) {
    state_.report.dropped_frames = live_->dropped();
    live_.reset();
  }
  const std::lock_guard lock(failure_mutex_);
  if (failure_) std::rethrow_exception(failure_);
}

/// What only the job itself knows about its time.
void VideoJob::measure(int token_count) {
  Measurements& m = state_.measured;
  m.video = true;
  m.tokens = token_count;
  m.streams = concurrency_.streams;
  m.lanes = m.streams + (m.streams == 1 && state_.threads > 1 ? 1 : 0);
  m.decoder_threads = std::max(1, state_.options.decoder_threads);
  m.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - first_time_).count();
  const double idle = platform::idle_cpu_seconds();
  m.idle_cpus =
      idle_before_ >= 0 && idle >= idle_before_ && m.seconds > 0 ? (idle - idle_before_) / m.seconds : -1;
  if (m.seconds > 0)
    m.own_cpus = std::chrono::duration<double>(trace::process_cpu_time() - cpu_before_).count() / m.seconds;
  measure_threads();
  m.width = flow_.decoded.width;
  m.height = flow_.decoded.height;
  m.decoded_bits = av_pix_fmt_desc_get(flow_.decoded.pixel_format)->comp[0].depth;
  m.codec = avcodec_get_name(source_.video().codecpar->codec_id);
  if (result_.container != nullptr) {
    m.encoder = result_.choice.codec->name;
    m.preset = result_.encoder.preset;
    m.encoder_threads = result_.encoder.threads;
  }
  if (trial_) {
    m.encode_trial = [trial = trial_](const std::string& preset, double pixels) {
      return trial->run(preset, pixels);
    };
    m.encode_speedup = [trial = trial_](int threads) { return trial->speedup(threads); };
  }
  m.pictures = request_.form == OutputForm::pictures;
  if (m.pictures) m.picture_kind = media::still_name(request_.still);
}

/// CPU time of threads that are not the stages' own. Parts of a resumable job have had encoders of their own,
/// which are gone.
void VideoJob::measure_threads() {
  Measurements& m = state_.measured;
  if (resumable() || trace::thread_run_delay().count() < 0) return;
  for (const platform::ThreadUse& thread : platform::thread_use()) {
    m.delays_known = true;
    if (thread.name == kEncoderThreads) m.encoder_cpu += thread.ran;
    if (thread.name == kDecoderThreads || thread.name.starts_with("av:")) m.decoder_cpu += thread.ran;
    if (thread.name == platform::kTeamThreads) m.helper_cpu += thread.ran;
  }
  outside_ = cpu_outside_stages();
  m.spin_cpu = std::max(0.0, outside_ - outside_before_ - m.encoder_cpu - m.decoder_cpu - m.helper_cpu);
}

double VideoJob::cpu_outside_stages() const {
  return std::chrono::duration<double>(trace::process_cpu_time()).count() - state_.clocks.cpu_in_stages();
}

/// Drains the encoder and ends the file.
void VideoJob::finish_video() {
  JobReport& report = state_.report;
  if (reader_.cut()) sink_->cut(*reader_.cut());
  if (!report.interrupted) {
    for (media::PacketPtr& packet : early_) sink_->copy(std::move(packet));
  }
  const SinkResult result = sink_->finish(report.interrupted);
  report.output = result.output;
  report.output_bytes = result.bytes;
  const std::vector<std::string> notices = sink_->notices();
  for (std::size_t i = notices_told_; i < notices.size(); ++i) state_.notice(notices[i]);
}

void VideoJob::finish() {
  JobReport& report = state_.report;
  report.interrupted = !complete_ && !reader_.ended();
  if (masks_) masks_->finish();
  if (sink_) {
    finish_video();
    if (state_.measured.delays_known)  // nobody else is at work any more
      state_.measured.encoder_cpu += std::max(0.0, cpu_outside_stages() - outside_);
  } else {
    frames_->finish();
    report.output_bytes = frames_->bytes_written();
    if (report.interrupted) {
      report.output = frames_->commit_partial();
    } else {
      frames_->commit();
    }
  }
  if (masks_ && report.interrupted) {
    masks_->commit_partial();
  } else if (masks_) {
    masks_->commit();
  }
  report.start_seconds = std::chrono::duration<double>(first_time_ - state_.start).count();
  const double busy = std::chrono::duration<double>(std::chrono::steady_clock::now() - first_time_).count();
  state_.measured.drain = std::max(0.0, busy - state_.measured.seconds);
  if (busy > 0) report.frames_per_second = static_cast<double>(report.frames - report.frames_before) / busy;
  if (workers_ && workers_->ran_out())
    state_.notice("memory ran out: for a while fewer pictures were worked on at once");
  if (report.dropped_frames > 0) {
    state_.notice(fmt::format("{} of the live input {} dropped: there was no time for more",
                              counted(report.dropped_frames, "frame"),
                              verb(report.dropped_frames, "was", "were")));
  }
  reader_.report();
}

}  // namespace

void run_video(JobState& state, media::Source& source) { VideoJob(state, source).run(); }

}  // namespace saccade::pipeline
