// A video: what its stages do with each picture, and what comes before and behind them.
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/counted.h"
#include "media/encoder.h"
#include "media/picture_filter.h"
#include "media/stream_plan.h"
#include "pipeline/encode_trial.h"
#include "pipeline/file_sink.h"
#include "pipeline/frame_output.h"
#include "pipeline/frame_reader.h"
#include "pipeline/frame_stages.h"
#include "pipeline/job_meter.h"
#include "pipeline/job_state.h"
#include "pipeline/live_reader.h"
#include "pipeline/mask_video.h"
#include "pipeline/memory_plan.h"
#include "pipeline/picture.h"
#include "pipeline/segment_sink.h"
#include "pipeline/video_plan.h"
#include "pipeline/worker_pool.h"

namespace saccade::pipeline {

namespace {

/// Pictures of a live input that wait for the job.
constexpr std::size_t kMostWaiting = 2;
/// Of packets of other streams that travel with one picture, or without one.
constexpr std::size_t kMostCopiedBytes = std::size_t{1} << 20;

class VideoJob : public FrameWork {
 public:
  VideoJob(JobState& state, media::Source& source);
  ~VideoJob() override;
  void run();

  std::int64_t next_number() const override { return next_number_; }
  bool decode(Token& token) override;
  void process(Token& token) override;
  void encode(Token& token) override;

 private:
  media::OutputFileOptions output_options() const {
    return {
        .overwrite = state_.options.overwrite, .protect = state_.protect, .cancel = state_.callbacks.cancel};
  }
  void open_output();
  void read_first_frame();
  void plan_pictures();
  void open_encoder();
  void open_frames();
  void plan_concurrency();
  std::shared_ptr<EncodeTrial> usual_video() const;
  void run_stages();
  void finish_video();
  void finish();

  void start_filter(const media::PictureFilterOptions& options);
  void process(Token& token, Worker& worker);
  void describe();
  void report_progress();

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
  std::unique_ptr<FrameOutput> frames_;     ///< an output that is no stream of video
  std::unique_ptr<FrameOutput> masks_;      ///< the second output
  std::optional<MaskVideoPlan> mask_plan_;  ///< of one that the sink makes
  bool bare_masks_ = false;                 ///< `frames_` gets masks, not pictures

  Concurrency concurrency_;
  std::optional<WorkerPool> workers_;
  std::int64_t next_number_ = 0;
  std::int64_t skip_ = 0;  ///< pictures still to come that an earlier run has finished
  std::int64_t expected_frames_ = 0;
  bool complete_ = false;             ///< an earlier run has finished all pictures
  std::unique_ptr<LiveReader> live_;  ///< while it exists, only its thread reads and decodes
  JobMeter meter_;
};

VideoJob::VideoJob(JobState& state, media::Source& source)
    : state_(state), source_(source), reader_(state, source), meter_(state) {}

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
    meter_.begin();
  } else {
    run_stages();
  }
  finish();
}

void VideoJob::open_output() {
  const JobOptions& options = state_.options;
  request_ = parse_output(options.output, options.output_format, options.sequence, true);
  bare_masks_ = writes_bare_masks(options, request_);
  require_masks_for_depth(options, bare_masks_);
  if (request_.form != OutputForm::video) {
    if (is_resumable(options)) {
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
  if (is_resumable(options)) {
    SegmentSink::require_possible(options, *result_.container, source_.regular() && !streaming);
    if (!options.dry_run)
      folder_ = std::make_unique<WorkFolder>(options.output, options.resume, options.overwrite);
  } else {
    media::OutputFileOptions file = output_options();
    // Its head says how many pictures follow.
    file.spool = std::string_view(result_.container->name) == "apng";
    file_ = std::make_unique<media::OutputFile>(options.output, std::move(file));
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
  const media::VideoFormat decoded = flow_.decoded;
  flow_ = plan_video(state_, decoded, *first_, request_, folder_.get(), result_);
  if (const auto filter = needed_filter(state_.options, flow_, request_, result_); filter.needed()) {
    state_.report.notices.resize(notices);
    start_filter(filter);
    flow_ = plan_video(state_, flow_.decoded, *first_, request_, folder_.get(), result_);
    if (filter.deinterlace != media::Deinterlace::none) return;
  }
  reader_.set_field_change(plan_field_change(state_.options, flow_, result_, reader_.filters()),
                           flow_.decoded);
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

/// The outputs that are no streams of video, and the second one.
void VideoJob::open_frames() {
  const JobOptions& options = state_.options;
  const media::VideoFormat masks =
      options.mask_output.empty() && !bare_masks_ ? flow_.result : processor_->mask_format();
  std::string summary;
  if (result_.container == nullptr) {
    state_.notice(std::string(kOnlyPictures));
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
    MaskVideoPlan plan = plan_mask_video(mask_options, source_, masks, notices);
    state_.notice(notices);
    state_.report.output_summary += "; masks: " + plan.summary();
    if (folder_) {
      mask_plan_ = std::move(plan);
    } else {
      masks_ = make_mask_video(mask_options, std::move(plan), source_);
    }
    return;
  }
  masks_ = make_frame_output(mask_options, masks);
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
  result_.streams.video_start = av_rescale_q(first_->pts, flow_.decoded.time_base, source_.video().time_base);
  if (const auto frames = state_.options.frames) {
    // Of pictures that come evenly the end is known already.
    const AVRational rate = source_.video().r_frame_rate, average = source_.video().avg_frame_rate;
    constexpr double kTolerance = 0.01;
    if (rate.num > 0 && average.num > 0 && std::abs(av_q2d(average) / av_q2d(rate) - 1) < kTolerance) {
      result_.streams.subtitle_end = av_rescale_q(first_->pts, flow_.decoded.time_base, AV_TIME_BASE_Q) +
                                     av_rescale_q(*frames, av_inv_q(average), AV_TIME_BASE_Q);
    }
  }
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
    sink_ = std::make_unique<SegmentSink>(state_, result_, mask_plan_, std::move(folder_), output_options());
  } else {
    sink_ = std::make_unique<FileSink>(result_, source_, std::move(file_), state_.clocks);
  }
  if (state_.options.detect_bottlenecks) trial_ = std::make_shared<EncodeTrial>(result_, result_.format);
  skip_ = sink_->pictures_before();
  state_.report.frames = state_.report.frames_before = skip_;
  notices_told_ = sink_->notices().size();
  state_.notice(sink_->notices());
  if (skip_ > 0)
    state_.notice(fmt::format("{} {} finished by an earlier run", counted(skip_, "frame"),
                              by_number(skip_, "was", "were")));
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
    media::FramePtr mask =
        masks_ || mask_plan_ || bare_masks_ ? processor_->mask(*token.result, worker) : nullptr;
    std::optional<trace::StageClock::Scope> timing, preparing;
    if (masks_ || frames_) {
      timing.emplace(state_.clocks.encode);
      preparing.emplace(state_.clocks.prepare);
    }
    if (masks_) token.mask = masks_->prepare(media::share(*mask), token.label);
    if (mask_plan_) token.mask.frame = std::move(mask);
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
  if (sink_) sink_->write(*token.result, std::move(token.mask.frame));
  token.result.reset();
  ++state_.report.frames;
  report_progress();
}

void VideoJob::report_progress() {
  if (!state_.callbacks.progress) return;
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - meter_.began()).count();
  state_.callbacks.progress({state_.report.frames, state_.report.frames_before, expected_frames_, seconds,
                             state_.clocks.busiest(state_.threads)});
}

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
  meter_.begin();
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
  FrameStages stages(*this, state_.clocks);
  meter_.start_counting();
  stages.run(concurrency_, state_.threads, state_.options.live);
  // Parts of a resumable job have had encoders of their own, which are gone.
  meter_.stop(!is_resumable(state_.options));
  describe();
  if (live_) {
    state_.report.dropped_frames = live_->dropped();
    live_.reset();
  }
  stages.rethrow_failure();
}

/// What only the job itself knows about its work.
void VideoJob::describe() {
  Measurements& m = state_.measured;
  m.video = true;
  m.tokens = concurrency_.tokens;
  m.streams = concurrency_.streams;
  m.lanes = m.streams + (m.streams == 1 && state_.threads > 1 ? 1 : 0);
  m.decoder_threads = std::max(1, state_.options.decoder_threads);
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
    meter_.encoder_drained();
  } else {
    frames_->finish();
    report.output_bytes = frames_->bytes_written();
    if (report.interrupted) {
      report.output = frames_->commit_partial();
    } else {
      commit(state_, *frames_);
    }
  }
  if (masks_ && report.interrupted) {
    masks_->commit_partial();
  } else if (masks_) {
    commit(state_, *masks_);
  }
  const double busy = meter_.finish();
  if (busy > 0) report.frames_per_second = static_cast<double>(report.frames - report.frames_before) / busy;
  if (workers_ && workers_->ran_out())
    state_.notice("memory ran out: for a while fewer pictures were worked on at once");
  if (report.dropped_frames > 0) {
    state_.notice(fmt::format("{} of the live input {} dropped: there was no time for more",
                              counted(report.dropped_frames, "frame"),
                              by_number(report.dropped_frames, "was", "were")));
  }
  reader_.report();
}

}  // namespace

void run_video(JobState& state, media::Source& source) { VideoJob(state, source).run(); }

}  // namespace saccade::pipeline
