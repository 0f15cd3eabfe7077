#include "media/stream_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <span>
#include <string_view>

#include "base/counted.h"
#include "media/sound_plan.h"

namespace saccade::media {

namespace {

bool is_text(AVCodecID codec) {
  const AVCodecDescriptor* d = avcodec_descriptor_get(codec);
  return d != nullptr && (d->props & AV_CODEC_PROP_TEXT_SUB) != 0;
}

StreamDecision decide(const Source& source, int index, const AVOutputFormat& container) {
  const AVStream& stream = *source.context().streams[index];
  const AVCodecParameters& parameters = *stream.codecpar;
  const std::string_view name = container.name;
  const bool matroska = name == "matroska";
  const AVCodecID codec = parameters.codec_id;
  if ((stream.disposition & AV_DISPOSITION_ATTACHED_PIC) != 0) {
    if (matroska) return {StreamAction::attach, codec};
    const bool mp4 = name == "mp4" || name == "ipod";
    return {mp4 && container_holds(container, codec) ? StreamAction::copy : StreamAction::drop, codec};
  }
  switch (parameters.codec_type) {
    case AVMEDIA_TYPE_ATTACHMENT:
      return {matroska ? StreamAction::copy : StreamAction::drop, codec};
    case AVMEDIA_TYPE_SUBTITLE:
      if (container_holds(container, codec)) return {StreamAction::copy, codec};
      if (is_text(codec)) {
        for (const AVCodecID target :
             {AV_CODEC_ID_MOV_TEXT, AV_CODEC_ID_SUBRIP, AV_CODEC_ID_WEBVTT, AV_CODEC_ID_ASS}) {
          if (container_holds(container, target) && avcodec_find_encoder(target) != nullptr &&
              avcodec_find_decoder(codec) != nullptr) {
            return {StreamAction::convert_text, target};
          }
        }
      }
      return {StreamAction::drop, codec};
    case AVMEDIA_TYPE_AUDIO:
      return plan_sound(source, index, container);
    case AVMEDIA_TYPE_VIDEO:
    case AVMEDIA_TYPE_DATA:
      return {container_holds(container, codec) ? StreamAction::copy : StreamAction::drop, codec};
    default:
      return {StreamAction::drop, codec};
  }
}

/// What a conversion of sound does besides: " at 48000 Hz, with 2 of 6 channels".
std::string losses(const AVStream& stream, const StreamDecision& decision) {
  const AVCodecParameters& from = *stream.codecpar;
  const int channels = converted_channels(decision.codec, from.ch_layout.nb_channels);
  std::string text;
  if (decision.sample_rate != 0 && decision.sample_rate != from.sample_rate)
    text += fmt::format(" at {} Hz", decision.sample_rate);
  if (channels < from.ch_layout.nb_channels)
    text += fmt::format(", its {} channels mixed down to {},", from.ch_layout.nb_channels, channels);
  return text;
}

}  // namespace

bool is_mov_family(const AVOutputFormat& container) {
  const std::string_view name = container.name;
  return name == "mp4" || name == "mov" || name == "ipod" || name == "3gp" || name == "3g2" ||
         name == "psp" || name == "f4v";
}

bool container_holds(const AVOutputFormat& container, AVCodecID codec) {
  if (codec == AV_CODEC_ID_NONE) return false;
  const std::string_view name = container.name;
  const auto among = [codec](std::span<const AVCodecID> list) {
    return std::find(list.begin(), list.end(), codec) != list.end();
  };
  // For these FFmpeg gives no answer but for what it would choose itself, or one that its muxer takes back.
  static constexpr AVCodecID kMp4Only[] = {AV_CODEC_ID_FLAC, AV_CODEC_ID_TRUEHD, AV_CODEC_ID_OPUS,
                                           AV_CODEC_ID_VP9, AV_CODEC_ID_AV1};
  static constexpr AVCodecID kTransport[] = {
      AV_CODEC_ID_H264,  AV_CODEC_ID_HEVC,         AV_CODEC_ID_MPEG2VIDEO,  AV_CODEC_ID_MPEG1VIDEO,
      AV_CODEC_ID_MPEG4, AV_CODEC_ID_AAC,          AV_CODEC_ID_AAC_LATM,    AV_CODEC_ID_MP2,
      AV_CODEC_ID_MP3,   AV_CODEC_ID_AC3,          AV_CODEC_ID_EAC3,        AV_CODEC_ID_DTS,
      AV_CODEC_ID_OPUS,  AV_CODEC_ID_DVB_SUBTITLE, AV_CODEC_ID_DVB_TELETEXT};
  static constexpr AVCodecID kProgram[] = {AV_CODEC_ID_H264, AV_CODEC_ID_MPEG2VIDEO, AV_CODEC_ID_MPEG1VIDEO,
                                           AV_CODEC_ID_MP2,  AV_CODEC_ID_MP3,        AV_CODEC_ID_AC3,
                                           AV_CODEC_ID_DTS};
  static constexpr AVCodecID kFlash[] = {AV_CODEC_ID_H264, AV_CODEC_ID_FLV1, AV_CODEC_ID_AAC,
                                         AV_CODEC_ID_MP3};
  // Their head is not known before the first packet, when this muxer writes the file's.
  static constexpr AVCodecID kLate[] = {AV_CODEC_ID_AC3, AV_CODEC_ID_EAC3};
  if (name == "ismv" && among(kLate)) return false;
  if (name == "flv") return among(kFlash);
  if (name == "mpegts") return among(kTransport);
  if (name == "mpeg" || name == "vob" || name == "dvd" || name == "svcd") return among(kProgram);
  if (name.starts_with("mxf") && codec == AV_CODEC_ID_PCM_S24LE) return true;
  if ((is_mov_family(container) || name == "ismv") && name != "mp4" && among(kMp4Only)) return false;
  if (avformat_query_codec(&container, codec, FF_COMPLIANCE_NORMAL) > 0) return true;
  if (name != "matroska") return false;
  // Matroska takes whatever has a Windows code as well, but its list names only codecs with a code of its
  // own.
  const AVCodecTag* const tables[] = {avformat_get_riff_video_tags(), avformat_get_riff_audio_tags(),
                                      nullptr};
  return av_codec_get_tag(tables, codec) != 0;
}

StreamPlan plan_streams(const Source& source, const AVOutputFormat& container) {
  StreamPlan plan;
  const AVFormatContext& input = source.context();
  std::map<AVMediaType, int> held{{AVMEDIA_TYPE_VIDEO, 1}};  // the one that is worked on
  for (unsigned i = 0; i < input.nb_streams; ++i) {
    const AVStream& stream = *input.streams[i];
    StreamDecision decision{StreamAction::process, stream.codecpar->codec_id};
    if (static_cast<int>(i) != source.video_index())
      decision = decide(source, static_cast<int>(i), container);
    const char* type = av_get_media_type_string(stream.codecpar->codec_type);
    const std::string what = fmt::format("stream {} ({} {})", i, type != nullptr ? type : "unknown",
                                         avcodec_get_name(stream.codecpar->codec_id));
    // QuickTime keeps the chapters' names in a stream; the muxer writes them anew.
    const bool chapter_names = stream.codecpar->codec_id == AV_CODEC_ID_BIN_DATA &&
                               stream.discard == AVDISCARD_ALL && input.nb_chapters > 0;
    // The muxer makes it anew, of the time code that the video's description has.
    const bool time_code =
        stream.codecpar->codec_type == AVMEDIA_TYPE_DATA &&
        stream.codecpar->codec_tag == MKTAG('t', 'm', 'c', 'd') &&
        (std::string_view(container.name) == "mov" || std::string_view(container.name) == "mp4") &&
        (av_dict_get(source.video().metadata, "timecode", nullptr, 0) != nullptr ||
         av_dict_get(input.metadata, "timecode", nullptr, 0) != nullptr);
    const bool unknown_sound =
        stream.codecpar->codec_type == AVMEDIA_TYPE_AUDIO && stream.codecpar->sample_rate <= 0;
    int& streams = held[stream.codecpar->codec_type];
    const bool too_many = decision.action != StreamAction::process && decision.action != StreamAction::drop &&
                          streams >= most_streams(container, stream.codecpar->codec_type);
    if (chapter_names || time_code) {
      decision.action = StreamAction::drop;
    } else if (unknown_sound) {
      decision.action = StreamAction::drop;
      plan.notices.push_back(fmt::format(
          "{} is left out: its sample rate was not found at the beginning of the input (--input-option "
          "probesize=BYTES looks further)",
          what));
    } else if (too_many) {
      decision.action = StreamAction::drop;
      plan.notices.push_back(fmt::format("{} is left out: {} is all that a {} file holds of {}", what,
                                         counted(streams, "stream"), container.name, type));
    } else if (decision.action == StreamAction::drop) {
      plan.notices.push_back(fmt::format("{} is left out: a {} file cannot hold it", what, container.name));
    } else if (decision.action == StreamAction::convert_text) {
      plan.notices.push_back(fmt::format("{} is converted to {}: a {} file cannot hold it as it is", what,
                                         avcodec_get_name(decision.codec), container.name));
    } else if (decision.action == StreamAction::convert_audio) {
      plan.notices.push_back(fmt::format("{} is converted to {}{}: a {} file cannot hold it as it is", what,
                                         avcodec_get_name(decision.codec), losses(stream, decision),
                                         container.name));
    }
    if (decision.action != StreamAction::drop && decision.action != StreamAction::process) ++streams;
    plan.streams.push_back(decision);
  }
  return plan;
}

}  // namespace saccade::media
