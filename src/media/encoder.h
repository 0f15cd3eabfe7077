// Pictures in, packets out: which encoder and sample format fit a container, and the encoder itself.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "media/convert.h"
#include "media/ffmpeg.h"
#include "media/filter.h"
#include "media/video_format.h"

namespace saccade::media {

struct EncoderOptions {
  std::string
      name;  ///< FFmpeg's name of an encoder; empty: chosen by container and by whether alpha is wanted
  std::optional<double> crf;  ///< constant quality, in the encoder's own units; unset: 20 for H.264 and HEVC,
                              ///< 31 for VP9 and AV1
  std::string preset;         ///< empty: veryfast for H.264 and HEVC
  int threads = 0;            ///< 0: as many as the encoder finds good
  AVRational time_base{0, 1};  ///< of the packets; 0: that of the pictures
  bool reorder = true;         ///< pictures may be stored in another order than they are shown
  bool reproducible = false;   ///< the same pictures give the same bytes each time, even if that takes longer
  std::vector<std::pair<std::string, std::string>> extra;  ///< further options of the encoder
};

/// What will be encoded into what. `notices` are for the user: where the result differs from what was asked
/// for, or may surprise.
struct EncoderChoice {
  const AVCodec* codec = nullptr;
  AVPixelFormat pixel_format = AV_PIX_FMT_NONE;  ///< of the pictures that are handed to it
  AVPixelFormat coded_format =
      AV_PIX_FMT_NONE;  ///< what they become inside: a palette, or the same in another order
  bool alpha = false;   ///< pixel_format has an alpha channel that the container carries
  std::vector<std::string> notices;
};

/// The container for a file name, by its extension; `streaming` targets without a known one become Matroska.
/// A `format` ("mp4", "matroska", "nut", "y4m", or what an extension would say) decides instead of the name.
/// Throws Error(unsupported) for an extension that stands for no container of video.
const AVOutputFormat* choose_container(const std::string& file_name, bool streaming,
                                       const std::string& format = {});

/// Picks encoder and pixel format for pictures of `input`. With `alpha` a format that carries it, if the
/// container (or the named encoder) has one: `alpha` of the result says so. Throws Error(unsupported |
/// not_found).
EncoderChoice choose_encoder(const AVOutputFormat& container, const VideoFormat& input, bool alpha,
                             const EncoderOptions& options, std::span<const AVPixelFormat> among = {});

/// Sets what the container asks of the encoder's timing: AVI counts frames and, like ASF, has no place for a
/// time of showing; MPEG-1, MPEG-2, Theora and Y4M know fixed rates only, raw streams no times. Returns what
/// is lost by that, for the user.
std::vector<std::string> fit_container(const AVOutputFormat& container, const AVStream& input,
                                       const EncoderChoice& choice, EncoderOptions& options);

/// Whether interlaced pictures of `format` stay what they are: coded as fields, and marked as such.
bool carries_fields(const AVOutputFormat& container, const EncoderChoice& choice, const VideoFormat& format);

/// Not thread-safe; encodes on threads of its own.
class Encoder {
 public:
  /// `format.pixel_format` must be the choice's. Throws Error(invalid_argument) for a bad option,
  /// Error(media) if the encoder refuses.
  Encoder(const EncoderChoice& choice, const VideoFormat& format, const EncoderOptions& options,
          bool global_header);

  /// Feeds a picture of the encoder's format, `pts` in format.time_base and above the last; null: no more
  /// will come.
  void send(const AVFrame* frame);
  /// The next packet (timestamps in the encoder's time base, duration set), or null if more pictures are
  /// needed or all are out.
  PacketPtr receive();

  const AVCodecContext& context() const noexcept { return *codec_; }
  /// Packets so far; for an encoder that makes one of all pictures, the pictures in it.
  std::int64_t packets() const noexcept { return packets_; }
  /// Pictures that did not come as the nominal rate says.
  std::int64_t uneven() const noexcept { return uneven_; }
  /// How long the last picture that was sent is shown, in seconds.
  double last_duration() const noexcept;

 private:
  void watch_pace(std::int64_t pts);
  void mend_dts(AVPacket& packet);
  void send_coded(const AVFrame* frame);

  CodecPtr codec_;
  AVRational time_base_;                   ///< of the pictures
  std::unique_ptr<FilterChain> palettes_;  ///< a palette for each picture
  std::unique_ptr<FrameConverter> reorder_;
  std::unique_ptr<FramePool> reordered_;
  bool one_packet_ = false;  ///< all pictures come out as one packet (an animated WebP)
  std::int64_t first_pts_ = AV_NOPTS_VALUE, last_pts_ = AV_NOPTS_VALUE, last_duration_ = 0;
  std::int64_t last_dts_ = AV_NOPTS_VALUE;          ///< of the last packet
  std::map<std::int64_t, std::int64_t> durations_;  ///< of the pictures inside, by pts
  std::int64_t packets_ = 0;
  std::int64_t came_ = AV_NOPTS_VALUE, uneven_ = 0;  ///< time of the last picture, as it was sent
};

}  // namespace saccade::media
