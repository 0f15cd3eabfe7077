#include "pipeline/file_sink.h"

#include <fmt/format.h>

#include <utility>

namespace saccade::pipeline {

FileSink::FileSink(const ResultPlan& plan, const media::Source& source,
                   std::unique_ptr<media::OutputFile> file, StageClocks& clocks)
    : file_(std::move(file)),
      clocks_(clocks),
      encoder_(plan.open_encoder()),
      muxer_(*file_, *plan.container, source, plan.streams, encoder_.context(), plan.format) {}

void FileSink::copy(media::PacketPtr packet) {
  const trace::StageClock::Scope timing(clocks_.write);
  const trace::Span copying(clocks_.recorder, clocks_.copy_packet, packet->size);
  muxer_.write_copy(std::move(packet));
}

void FileSink::write(const AVFrame& picture, media::FramePtr /*mask*/) {
  {
    const trace::StageClock::Scope timing(clocks_.encode);
    encoder_.send(&picture);
  }
  ++pictures_;
  write_packets();
}

void FileSink::write_packets() {
  while (true) {
    media::PacketPtr packet;
    {
      const trace::StageClock::Scope timing(clocks_.encode);
      packet = encoder_.receive();
    }
    if (!packet) return;
    const trace::StageClock::Scope timing(clocks_.write);
    muxer_.write_video(std::move(packet));
  }
}

SinkResult FileSink::finish(bool interrupted) {
  {
    const trace::StageClock::Scope timing(clocks_.encode);
    encoder_.send(nullptr);
  }
  write_packets();
  {
    const trace::StageClock::Scope timing(clocks_.write);
    muxer_.set_last_duration(encoder_.last_duration());
    muxer_.set_uneven(encoder_.uneven());
    muxer_.finish();
  }
  if (encoder_.packets() != pictures_) {
    throw Error(ErrorCode::internal,
                fmt::format("{} frames went into the encoder, {} came out", pictures_, encoder_.packets()));
  }
  SinkResult result{file_->path(), file_->bytes_written(), pictures_};
  if (interrupted) {
    result.output = file_->commit_partial();
  } else {
    file_->commit();
  }
  return result;
}

}  // namespace saccade::pipeline
