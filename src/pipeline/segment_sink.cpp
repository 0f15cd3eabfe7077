#include "pipeline/segment_sink.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/counted.h"
#include "media/muxer.h"
#include "media/source.h"
#include "pipeline/frame_output.h"
#include "pipeline/segment_join.h"
#include "platform/free_memory.h"

namespace saccade::pipeline {

namespace {

void require_joinable(const std::filesystem::path& output, const AVOutputFormat& container) {
  const std::string_view name = container.name;
  struct stat info {};
  const bool regular =
      !media::is_standard_stream(output) && (::stat(output.c_str(), &info) != 0 || S_ISREG(info.st_mode));
  if (regular && (media::is_mov_family(container) || name == "matroska" || name == "webm")) return;
  throw Error(ErrorCode::unsupported,
              fmt::format("{}: a {} file cannot be made in parts, so the job cannot be resumable; use .mp4, "
                          ".mov, .mkv or .webm",
                          output.string(), regular ? name : "pipe or device instead of a"));
}

}  // namespace

SegmentSink::SegmentSink(JobState& state, ResultPlan plan, std::optional<MaskVideoPlan> masks,
                         std::unique_ptr<WorkFolder> folder, media::OutputFileOptions output)
    : state_(state), folder_(std::move(folder)), output_(std::move(output)) {
  const AVRational unit = plan.format.time_base;
  part_ticks_ =
      std::max<std::int64_t>(1, std::llround(state.options.segment_seconds * static_cast<double>(unit.den) /
                                             static_cast<double>(unit.num)));
  plans_.push_back(std::move(plan));
  outputs_.push_back(state.options.output);
  if (masks) {
    mask_converter_.emplace(*masks);
    plans_.push_back(std::move(masks->result));
    plans_.back().encoder.threads = plans_.front().encoder.threads;
    plans_.back().encoder.reproducible = true;
    outputs_.push_back(state.options.mask_output);
  }
  // The first encoders open now: they say what the parts will be, and whether it can be done at all.
  open_part();
  nlohmann::json identity = identity_of(state, plans_.front(), part_->tracks.front().encoder.context());
  if (masks)
    identity["masks"] =
        identity_of_masks(state.options, plans_.back(), part_->tracks.back().encoder.context());
  journal_ = std::make_unique<Journal>(*folder_, identity, outputs_);
  pictures_before_ = journal_->pictures();
  complete_ = journal_->complete();
  next_part_ = journal_->segments().size();
}

SegmentSink::~SegmentSink() {
  if (drainer_.joinable()) drainer_.join();
}

void SegmentSink::require_possible(const JobOptions& options, const AVOutputFormat& container,
                                   bool seekable_input) {
  require_joinable(options.output, container);
  if (!options.mask_output.empty()) {
    if (parse_mask_output(options, true).form != OutputForm::video) {
      throw Error(
          ErrorCode::unsupported,
          fmt::format("{}: of masks only a video can be made in parts (.mp4, .mov, .mkv or .webm), so the "
                      "job cannot be resumable; make the masks by a job of their own (--effect mask)",
                      options.mask_output.string()));
    }
    require_joinable(options.mask_output,
                     *media::choose_container(options.mask_output.string(),
                                              media::is_standard_stream(options.mask_output)));
  }
  if (!seekable_input) {
    throw Error(ErrorCode::unsupported,
                fmt::format("{}: is no regular file, so the job cannot be resumable: it "
                            "could not be read again",
                            options.input.string()));
  }
}

/// Other streams are read again when the result is put together.
void SegmentSink::copy(media::PacketPtr /*packet*/) {}

void SegmentSink::open_part() {
  part_ = std::make_unique<Part>();
  for (const ResultPlan& plan : plans_) part_->tracks.push_back({plan.open_encoder(), nullptr});
}

void SegmentSink::begin_part(std::int64_t pts) {
  if (!part_) open_part();
  part_->record.first_pts = part_->record.last_pts = pts;
  for (std::size_t i = 0; i < part_->tracks.size(); ++i) {
    const std::filesystem::path file = folder_->segment(next_part_, i);
    part_->tracks[i].file = std::make_unique<media::PacketWriter>(file);
    part_->record.files.push_back({file.filename().string(), 0, 0});
  }
  ++next_part_;
}

void SegmentSink::write(const AVFrame& picture, media::FramePtr mask) {
  if (part_ && part_->begun() && picture.pts - part_->record.first_pts >= part_ticks_) end_part();
  if (!part_ || !part_->begun()) begin_part(picture.pts);
  encode(part_->tracks.front(), picture);
  if (mask_converter_) {
    media::FramePtr converted;
    {
      const trace::StageClock::Scope timing(state_.clocks.encode);  // as masks of other jobs are
      converted = mask_converter_->run(std::move(mask));
    }
    encode(part_->tracks.back(), *converted);
  }
  ++part_->record.pictures;
  part_->record.last_pts = picture.pts;
}

void SegmentSink::encode(Track& track, const AVFrame& picture) {
  {
    const trace::StageClock::Scope timing(state_.clocks.encode);
    track.encoder.send(&picture);
  }
  while (true) {
    media::PacketPtr packet;
    {
      const trace::StageClock::Scope timing(state_.clocks.encode);
      packet = track.encoder.receive();
    }
    if (!packet) return;
    const trace::StageClock::Scope timing(state_.clocks.write);
    track.file->write(*packet);
  }
}

void SegmentSink::drain(Part& part) {
  for (std::size_t i = 0; i < part.tracks.size(); ++i) {
    Track& track = part.tracks[i];
    track.encoder.send(nullptr);
    while (const media::PacketPtr packet = track.encoder.receive()) track.file->write(*packet);
    track.file->close();
    SegmentRecord::File& record = part.record.files[i];
    record.packets = track.file->packets();
    record.bytes = track.file->bytes();
    if (record.packets != part.record.pictures) {
      throw Error(ErrorCode::internal, fmt::format("{} frames went into the encoder, {} came out",
                                                   part.record.pictures, record.packets));
    }
  }
}

/// Throws what went wrong beside the job; what went well is on the disk and counts.
void SegmentSink::wait_for_drain() {
  if (!drainer_.joinable()) return;
  drainer_.join();
  const std::unique_ptr<Part> part = std::move(draining_);
  if (drain_failure_) std::rethrow_exception(std::exchange(drain_failure_, nullptr));
}

void SegmentSink::end_part() {
  wait_for_drain();
  draining_ = std::move(part_);
  open_part();
  drainer_ = std::thread([this] {
    try {
      drain(*draining_);
      journal_->add(draining_->record);
      // An encoder's memory lies between that of the next one: what it leaves adds up over hours.
      draining_.reset();
      platform::return_free_memory();
    } catch (...) {
      drain_failure_ = std::current_exception();
    }
  });
}

SinkResult SegmentSink::finish(bool interrupted) {
  if (journal_->finished()) {  // an earlier run ended between naming the result and removing the folder
    folder_->remove();
    notices_.emplace_back("an earlier run had finished the result: nothing was left to do");
    const auto file = media::identity_of_file(state_.options.output);
    return {state_.options.output, file ? file->bytes : 0, pictures_before_};
  }
  wait_for_drain();
  if (cut_) journal_->set_cut(*cut_);
  if (part_ && part_->begun()) {
    {
      const trace::StageClock::Scope timing(state_.clocks.encode);
      drain(*part_);
    }
    // A part that was cut short is good for the partial file only: resumed, it is made again as a whole.
    if (interrupted) {
      unfinished_.push_back(part_->record);
    } else {
      journal_->add(part_->record);
    }
  }
  if (!interrupted) journal_->set_complete();
  return join(interrupted);
}

SinkResult SegmentSink::join(bool interrupted) {
  const trace::StageClock::Scope timing(state_.clocks.write);
  std::vector<SegmentRecord> segments = journal_->segments();
  segments.insert(segments.end(), unfinished_.begin(), unfinished_.end());
  SinkResult result{state_.options.output, 0, 0};
  for (const SegmentRecord& segment : segments) result.pictures += segment.pictures;
  std::vector<std::unique_ptr<media::OutputFile>> files(outputs_.size());
  std::vector<media::FileIdentity> identities(outputs_.size());
  for (std::size_t i = 0; i < outputs_.size(); ++i) {
    if (!interrupted && journal_->made(i)) {  // by a run that was killed between naming the outputs
      identities[i] = *media::identity_of_file(outputs_[i]);
      if (i == 0) result.bytes = identities[i].bytes;
      continue;
    }
    media::OutputFileOptions options = output_;
    options.temporary = folder_->whole(i);
    files[i] = std::make_unique<media::OutputFile>(outputs_[i], options);
    const media::Encoder encoder = plans_[i].open_encoder();
    const std::vector<std::string> notices = join_segments(
        state_.options, plans_[i], encoder.context(), *folder_, segments, i,
        interrupted ? Ending::where_the_parts_do : Ending::where_the_input_does, journal_->cut(), *files[i]);
    if (i == 0) {
      notices_ = notices;
      result.bytes = files[i]->bytes_written();
    }
  }
  if (interrupted) {
    for (std::size_t i = outputs_.size(); i-- > 0;) result.output = files[i]->commit_partial();
    if (!journal_->segments().empty()) {
      notices_.push_back(fmt::format("{} {} kept in {}: --resume goes on from there",
                                     counted(journal_->pictures(), "frame"),
                                     by_number(journal_->pictures(), "is", "are"), folder_->path().string()));
    }
    return result;
  }
  for (std::size_t i = 0; i < outputs_.size(); ++i)
    if (files[i]) identities[i] = files[i]->settle();
  journal_->set_results(identities);
  // The video goes last: where it is, all of the job is done.
  for (std::size_t i = outputs_.size(); i-- > 0;)
    if (files[i]) files[i]->commit();
  folder_->remove();
  return result;
}

}  // namespace saccade::pipeline
