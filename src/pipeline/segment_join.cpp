#include "pipeline/segment_join.h"

extern "C" {
#include <libavutil/mathematics.h>
}

#include <algorithm>
#include <deque>
#include <utility>

#include "media/muxer.h"
#include "media/packet_file.h"
#include "media/source.h"

namespace saccade::pipeline {

namespace {

/// Packets of the input that are looked at before the header is written, to learn when streams start.
constexpr int kMostPacketsAhead = 2000;

/// The streams of the input that are carried over, in the order of the file.
class OtherStreams {
 public:
  OtherStreams(media::Source& source, const media::StreamPlan& plan) : source_(source) {
    waiting_.assign(plan.streams.size(), false);
    for (std::size_t i = 0; i < plan.streams.size(); ++i) {
      const media::StreamAction action = plan.streams[i].action;
      if (action == media::StreamAction::drop || action == media::StreamAction::attach) {
        source_.ignore(static_cast<int>(i));
      } else if (action != media::StreamAction::process) {
        any_ = true;
        waiting_[i] = true;
      }
    }
    const auto is_dense = [&](std::size_t i) {
      return source_.context().streams[i]->codecpar->codec_type == AVMEDIA_TYPE_AUDIO;
    };
    for (std::size_t i = 0; i < waiting_.size(); ++i) waiting_[i] = waiting_[i] && is_dense(i);
    waiting_[static_cast<std::size_t>(source_.video_index())] = true;
    for (int i = 0;
         i < kMostPacketsAhead && std::find(waiting_.begin(), waiting_.end(), true) != waiting_.end(); ++i) {
      if (!fetch()) break;
    }
  }
  /// The next packet that lies before the input's video of `microseconds`, or null.
  media::PacketPtr next(std::int64_t microseconds) {
    while (ahead_.empty()) {
      if (!any_ || ended_ || video_time_ > microseconds || !fetch()) return nullptr;
    }
    media::PacketPtr packet = std::move(ahead_.front());
    ahead_.pop_front();
    return packet;
  }

  /// Whether a packet lies behind `microseconds`: some are read ahead.
  bool behind(const AVPacket& packet, std::int64_t microseconds) const {
    const std::int64_t time = packet.dts != AV_NOPTS_VALUE ? packet.dts : packet.pts;
    const AVRational base = source_.context().streams[packet.stream_index]->time_base;
    return microseconds != INT64_MAX && time != AV_NOPTS_VALUE &&
           av_rescale_q(time, base, AV_TIME_BASE_Q) > microseconds;
  }

 private:
  /// False at the end.
  bool fetch() {
    media::PacketPtr packet = source_.read();
    if (!packet) {
      ended_ = true;
      return false;
    }
    const auto stream = static_cast<std::size_t>(packet->stream_index);
    if (stream >= waiting_.size())
      throw Error(ErrorCode::io, source_.path().string() + ": changed while it was read");
    waiting_[stream] = false;
    if (packet->stream_index == source_.video_index()) {
      const std::int64_t time = packet->dts != AV_NOPTS_VALUE ? packet->dts : packet->pts;
      if (time != AV_NOPTS_VALUE) video_time_ = av_rescale_q(time, source_.video().time_base, AV_TIME_BASE_Q);
    } else {
      ahead_.push_back(std::move(packet));
    }
    return true;
  }

  media::Source& source_;
  std::deque<media::PacketPtr> ahead_;
  std::vector<bool> waiting_;  ///< by stream: whether its first packet is still to come
  bool any_ = false, ended_ = false;
  std::int64_t video_time_ = INT64_MIN;
};

}  // namespace

std::vector<std::string> join_segments(const JobOptions& options, const ResultPlan& plan,
                                       const AVCodecContext& encoder, const WorkFolder& folder,
                                       const std::vector<SegmentRecord>& segments, std::size_t output,
                                       Ending ending, std::int64_t cut, media::OutputFile& file) {
  media::Source source(options.input, source_options(options, nullptr));
  OtherStreams others(source, plan.streams);
  media::Muxer muxer(file, *plan.container, source, plan.streams, encoder, plan.format);
  muxer.cut(cut);
  for (std::size_t i = 0; i < segments.size(); ++i) {
    media::PacketReader reader(folder.segment(i, output), segments[i].files[output].bytes);
    while (media::PacketPtr packet = reader.read()) {
      const std::int64_t time = av_rescale_q(packet->dts, encoder.time_base, AV_TIME_BASE_Q);
      while (media::PacketPtr other = others.next(time)) muxer.write_copy(std::move(other));
      muxer.write_video(std::move(packet));
    }
  }
  const std::int64_t last = segments.empty() ? INT64_MIN : segments.back().last_pts;
  const std::int64_t end = ending == Ending::where_the_input_does ? INT64_MAX
                           : segments.empty()                     ? INT64_MIN
                                              : av_rescale_q(last, plan.format.time_base, AV_TIME_BASE_Q);
  while (media::PacketPtr other = others.next(end)) {
    if (!others.behind(*other, end)) muxer.write_copy(std::move(other));
  }
  muxer.finish();
  return muxer.notices();
}

}  // namespace saccade::pipeline
