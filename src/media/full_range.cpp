#include "media/full_range.h"

#include <algorithm>
#include <string_view>

namespace saccade::media {

namespace {

/// Codecs whose streams say it, as their encoders in FFmpeg write them.
constexpr AVCodecID kInTheStream[] = {AV_CODEC_ID_H264, AV_CODEC_ID_HEVC, AV_CODEC_ID_VP9, AV_CODEC_ID_AV1,
                                      AV_CODEC_ID_MJPEG};

/// Whose decoders believe themselves that samples are of limited range, whatever a container says.
constexpr AVCodecID kAlwaysLimited[] = {AV_CODEC_ID_MPEG1VIDEO, AV_CODEC_ID_MPEG2VIDEO, AV_CODEC_ID_PRORES,
                                        AV_CODEC_ID_THEORA, AV_CODEC_ID_VP8};

template <class List>
bool is_in(const List& list, AVCodecID codec) {
  return std::find(std::begin(list), std::end(list), codec) != std::end(list);
}

}  // namespace

bool carries_full_range(const AVOutputFormat& container, const EncoderChoice& choice,
                        const VideoFormat& format) {
  const AVPixFmtDescriptor* d = av_pix_fmt_desc_get(choice.pixel_format);
  if (d != nullptr && (d->flags & AV_PIX_FMT_FLAG_RGB) != 0) return true;
  const AVCodecID codec = choice.codec->id;
  if (is_in(kInTheStream, codec)) return true;
  if (is_in(kAlwaysLimited, codec)) return false;
  const std::string_view name = container.name;
  if (name == "matroska" || name == "webm" || name == "yuv4mpegpipe") return true;
  // The "colr" box of MP4 has a bit for it; FFmpeg writes the box where all three of these are known, and
  // for QuickTime one without that bit.
  return name == "mp4" && format.primaries != AVCOL_PRI_UNSPECIFIED &&
         format.transfer != AVCOL_TRC_UNSPECIFIED && format.matrix != AVCOL_SPC_UNSPECIFIED;
}

}  // namespace saccade::media
