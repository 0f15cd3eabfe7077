#include "pipeline/segment_sink.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/counted.h"
#include "media/muxer.h"
#include "media/source.h"
#include "pipeline/segment_join.h"
#include "platform/free_memory.h"

namespace saccade::pipeline {

SegmentSink::SegmentSink(JobState& state, ResultPlan plan, std::unique_ptr<WorkFolder> folder,
                         media::OutputFileOptions output)
    : state_(state), plan_(std::move(plan)), folder_(std::move(folder)), output_(std::move(output)) {
  const AVRational unit = plan_.format.time_base;
  part_ticks_ =
      std::max<std::int64_t>(1, std::llround(state.options.segment_seconds * static_cast<double>(unit.den) /
                                             static_cast<double>(unit.num)));
  // The first encoder opens now: it says what the parts will be, and whether it can be done at all.
  part_.reset(new Part{plan_.open_encoder(), std::nullopt, {}});
  journal_ = std::make_unique<Journal>(*folder_, identity_of(state, plan_, part_->encoder.context()));
  pictures_before_ = journal_->pictures();
  complete_ = journal_->complete();
  next_part_ = journal_->segments().size();
}

SegmentSink::~SegmentSink() {
  if (drainer_.joinable()) drainer_.join();
}

void SegmentSink::require_possible(const JobOptions& options, const AVOutputFormat& container,
                                   bool seekable_input) {
  const std::string_view name = container.name;
  const bool joinable = media::is_mov_family(container) || name == "matroska" || name == "webm";
  if (!joinable) {
    throw Error(
        ErrorCode::unsupported,
        fmt::format("{}: a {} file cannot be made in parts, so the job cannot be resumable; use .mp4, "
                    ".mov, .mkv or .webm",
                    options.output.string(), name));
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

void SegmentSink::begin_part(std::int64_t pts) {
  if (!part_) part_.reset(new Part{plan_.open_encoder(), std::nullopt, {}});
  const std::filesystem::path file = folder_->segment(next_part_++);
  part_->file.emplace(file);
  part_->record = {.file = file.filename().string(), .first_pts = pts, .last_pts = pts};
}

void SegmentSink::write(const AVFrame& picture) {
  if (part_ && part_->file && picture.pts - part_->record.first_pts >= part_ticks_) end_part();
  if (!part_ || !part_->file) begin_part(picture.pts);
  {
    const trace::StageClock::Scope timing(state_.clocks.encode);
    part_->encoder.send(&picture);
  }
  ++part_->record.pictures;
  part_->record.last_pts = picture.pts;
  write_packets(*part_);
}

void SegmentSink::write_packets(Part& part) {
  while (true) {
    media::PacketPtr packet;
    {
      const trace::StageClock::Scope timing(state_.clocks.encode);
      packet = part.encoder.receive();
    }
    if (!packet) return;
    const trace::StageClock::Scope timing(state_.clocks.write);
    part.file->write(*packet);
  }
}

void SegmentSink::drain(Part& part) {
  part.encoder.send(nullptr);
  while (const media::PacketPtr packet = part.encoder.receive()) part.file->write(*packet);
  part.file->close();
  part.record.packets = part.file->packets();
  part.record.bytes = part.file->bytes();
  if (part.record.packets != part.record.pictures) {
    throw Error(ErrorCode::internal, fmt::format("{} frames went into the encoder, {} came out",
                                                 part.record.pictures, part.record.packets));
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
  part_.reset(new Part{plan_.open_encoder(), std::nullopt, {}});
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
  if (part_ && part_->file) {
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
  output_.temporary = folder_->whole();
  auto file = std::make_unique<media::OutputFile>(state_.options.output, output_);
  const media::Encoder encoder = plan_.open_encoder();
  notices_ = join_segments(state_.options, plan_, encoder.context(), *folder_, segments,
                           interrupted ? Ending::where_the_parts_do : Ending::where_the_input_does,
                           journal_->cut(), *file);
  SinkResult result{state_.options.output, file->bytes_written(), 0};
  for (const SegmentRecord& segment : segments) result.pictures += segment.pictures;
  if (interrupted) {
    result.output = file->commit_partial();
    if (!journal_->segments().empty()) {
      notices_.push_back(fmt::format("{} {} kept in {}: --resume goes on from there",
                                     counted(journal_->pictures(), "frame"),
                                     by_number(journal_->pictures(), "is", "are"), folder_->path().string()));
    }
  } else {
    journal_->set_result(file->settle());
    file->commit();
    folder_->remove();
  }
  return result;
}

}  // namespace saccade::pipeline
