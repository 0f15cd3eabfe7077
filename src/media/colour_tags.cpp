#include "media/colour_tags.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace saccade::media {

namespace {

bool is_matroska(std::string_view container) { return container == "matroska" || container == "webm"; }

/// Codecs whose streams hold all three, as their encoders in FFmpeg write them.
bool stream_says_all(AVCodecID codec) {
  constexpr AVCodecID kCodecs[] = {AV_CODEC_ID_H264, AV_CODEC_ID_HEVC, AV_CODEC_ID_AV1,
                                   AV_CODEC_ID_MPEG2VIDEO, AV_CODEC_ID_PRORES};
  return std::find(std::begin(kCodecs), std::end(kCodecs), codec) != std::end(kCodecs);
}

/// MP4's box for it is written where all three are known.
bool container_says_all(std::string_view container, AVCodecID codec, const VideoFormat& format) {
  if (codec == AV_CODEC_ID_VP9 && container == "mp4") return true;  // a box of its own
  const bool whole = format.primaries != AVCOL_PRI_UNSPECIFIED && format.transfer != AVCOL_TRC_UNSPECIFIED &&
                     format.matrix != AVCOL_SPC_UNSPECIFIED;
  return is_matroska(container) || (whole && (container == "mp4" || container == "mov"));
}

/// RGB that says nothing is taken for sRGB, which is near enough to these.
bool is_usual(AVColorPrimaries primaries) {
  constexpr AVColorPrimaries kUsual[] = {AVCOL_PRI_BT709, AVCOL_PRI_BT470M, AVCOL_PRI_BT470BG,
                                         AVCOL_PRI_SMPTE170M, AVCOL_PRI_SMPTE240M};
  return std::find(std::begin(kUsual), std::end(kUsual), primaries) != std::end(kUsual);
}
bool is_usual(AVColorTransferCharacteristic transfer) {
  return transfer != AVCOL_TRC_SMPTE2084 && transfer != AVCOL_TRC_ARIB_STD_B67 &&
         transfer != AVCOL_TRC_LINEAR && transfer != AVCOL_TRC_SMPTE428;
}

void add(std::string& list, const std::string& word) { list += (list.empty() ? "" : ", ") + word; }

std::string lost_tags(std::string_view container, const EncoderChoice& choice, const VideoFormat& format) {
  if (container_says_all(container, choice.codec->id, format) || stream_says_all(choice.codec->id)) return "";
  const AVPixFmtDescriptor* d = av_pix_fmt_desc_get(choice.pixel_format);
  const bool rgb = d != nullptr && (d->flags & AV_PIX_FMT_FLAG_RGB) != 0;
  std::string lost;
  if (format.primaries != AVCOL_PRI_UNSPECIFIED && !(rgb && is_usual(format.primaries)))
    add(lost, fmt::format("primaries {}", av_color_primaries_name(format.primaries)));
  if (format.transfer != AVCOL_TRC_UNSPECIFIED && !(rgb && is_usual(format.transfer)))
    add(lost, fmt::format("transfer {}", av_color_transfer_name(format.transfer)));
  if (format.matrix != AVCOL_SPC_UNSPECIFIED && !rgb && choice.codec->id != AV_CODEC_ID_VP9)
    add(lost, fmt::format("matrix {}", av_color_space_name(format.matrix)));
  return lost;
}

std::string lost_display(std::string_view container, const EncoderChoice& choice, const VideoFormat& format) {
  const std::string_view encoder = choice.codec->name;
  const bool in_stream = encoder == "libx264" || encoder == "libx265";
  const bool in_boxes = container == "mp4" || container == "mov";
  std::string lost;
  if (format.mastering) {
    const bool whole = format.mastering->has_primaries != 0 && format.mastering->has_luminance != 0;
    if (!is_matroska(container) && !(whole && (in_stream || in_boxes))) add(lost, "the mastering display");
  }
  if (format.light && !is_matroska(container) && !in_stream && !in_boxes)
    add(lost, "the content light level");
  return lost;
}

}  // namespace

std::vector<std::string> lost_colour_tags(const AVOutputFormat& container, const EncoderChoice& choice,
                                          const VideoFormat& format) {
  std::vector<std::string> notices;
  if (const std::string lost = lost_tags(container.name, choice, format); !lost.empty()) {
    notices.push_back(
        fmt::format("{} in a {} file cannot say which colours are meant ({}), so players guess; a mkv file "
                    "says it",
                    choice.codec->name, container.name, lost));
  }
  if (const std::string lost = lost_display(container.name, choice, format); !lost.empty()) {
    notices.push_back(fmt::format("{} in a {} file has no place for what the input says of {}: left out",
                                  choice.codec->name, container.name, lost));
  }
  return notices;
}

}  // namespace saccade::media
