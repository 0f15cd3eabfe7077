// Writing the result: the encoded video, and everything of the input that is carried over.
#pragma once

extern "C" {
#include <libavcodec/bsf.h>
}

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "media/audio.h"
#include "media/ffmpeg.h"
#include "media/file_io.h"
#include "media/sound_count.h"
#include "media/source.h"
#include "media/stream_plan.h"
#include "media/subtitles.h"
#include "media/video_format.h"

namespace saccade::media {

struct PacketFilterDeleter {
  void operator()(AVBSFContext* filter) const noexcept { av_bsf_free(&filter); }
};
using PacketFilterPtr = std::unique_ptr<AVBSFContext, PacketFilterDeleter>;

/// Not thread-safe. Packets of copied streams are held back until the video has come as far, so that the file
/// is interleaved although the encoder looks ahead; what is held is bounded.
class Muxer {
 public:
  /// Writes the header. `source` and `file` must outlive the muxer. Throws Error(media | io).
  Muxer(OutputFile& file, const AVOutputFormat& container, const Source& source, StreamPlan plan,
        const AVCodecContext& encoder, const VideoFormat& format);

  /// An encoded packet, timestamps in the encoder's time base. Throws Error(io | media).
  void write_video(PacketPtr packet);
  /// A packet of another stream, as Source::read() gave it. Packets of streams that are not carried over are
  /// ignored.
  void write_copy(PacketPtr packet);
  /// How long the last picture is shown, in seconds, for containers that only know when the next one comes
  /// (animated pictures). Before finish().
  void set_last_duration(double seconds);
  /// How many pictures did not come evenly: told where the container knows no times. Before finish().
  void set_uneven(std::int64_t pictures) noexcept { uneven_ = std::max(uneven_, pictures); }
  /// Packets of other streams that start at this time of the result or later are left out, and subtitles end
  /// there.
  void cut(std::int64_t microseconds) noexcept { cut_ = microseconds; }
  /// Writes what is held back and the trailer.
  void finish();

  /// For the user: where the file differs from what was wanted.
  const std::vector<std::string>& notices() const noexcept { return notices_; }

  /// Whether the container has a place for a display matrix.
  static bool carries_rotation(const AVOutputFormat& container);

 private:
  struct Track {
    StreamAction action = StreamAction::drop;
    int index = -1;                          ///< in the output
    AVRational time_base{1, 1};              ///< of the input's packets
    std::int64_t last_dts = AV_NOPTS_VALUE;  ///< as written, in the output's time base
    std::int64_t next_dts = AV_NOPTS_VALUE;  ///< where a packet without time goes, in the input's time base
    std::int64_t lead_in = 0;  ///< what the container subtracts again from every time (Opus in Matroska)
    std::int64_t rescale_state = AV_NOPTS_VALUE;
    std::deque<PacketPtr> unheard;  ///< the last packets that are not to be shown
    PacketPtr endless;              ///< the last one, which lasts until the next comes, as written
    PacketFilterPtr filter;         ///< of a copied stream, to the form that the container wants
    std::unique_ptr<SubtitleConverter> subtitles;
    std::unique_ptr<AudioConverter> audio;
    std::unique_ptr<SoundCount> count;  ///< in a container that knows no times
  };

  AVStream& add_stream();
  void add_video(const Source& source, const AVCodecContext& encoder, const VideoFormat& format);
  void add_other(const AVStream& stream, const StreamDecision& decision);
  void count_from_start(const Source& source, const StreamPlan& plan, AVRational unit);
  void set_start(const Source& source, const StreamPlan& plan, Dictionary& options);
  void copy_chapters(const AVFormatContext& input, const RangeFilter& range);
  void hold(PacketPtr packet, int source);
  void release_until(std::int64_t microseconds);
  void end_subtitle(AVPacket& packet, const Track& track) const;
  void write_sound(PacketPtr packet, Track& track);
  void write(PacketPtr packet, Track& track);
  void write_endless(Track& track, std::int64_t end);
  void write_now(PacketPtr packet);

  OutputFile& file_;
  std::string name_;
  std::vector<std::string> notices_;
  OutputPtr output_;
  Track video_;
  std::vector<Track> tracks_;  ///< by index in the input
  struct Held {
    PacketPtr packet;
    std::int64_t time;  ///< dts in microseconds
  };
  std::deque<Held> held_;
  std::int64_t held_bytes_ = 0;
  std::optional<CountedStart> counted_;  ///< of a container that knows no times
  std::int64_t video_shift_ = 0;         ///< there, in the encoder's time base
  std::int64_t cut_ = INT64_MAX, subtitle_end_ = INT64_MAX;
  std::int64_t video_end_ = 0;  ///< in the unit of the video's stream
  std::int64_t uneven_ = 0;
  bool finished_ = false;
};

}  // namespace saccade::media
