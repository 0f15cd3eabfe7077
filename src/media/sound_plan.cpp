#include "media/sound_plan.h"

#include <algorithm>
#include <climits>
#include <string_view>

#include "media/audio.h"
#include "media/sound_count.h"

namespace saccade::media {

namespace {

constexpr int kMxfRate = 48000;

bool is_mxf(const AVOutputFormat& container) { return std::string_view(container.name).starts_with("mxf"); }

/// 0: any.
int required_rate(const AVOutputFormat& container) { return is_mxf(container) ? kMxfRate : 0; }

/// Whether a copy of the sound is one that the container's muxer takes: it may know the codec, and refuse
/// what is in it.
bool takes(const AVOutputFormat& container, const AVCodecParameters& parameters) {
  if (!container_holds(container, parameters.codec_id)) return false;
  const int rate = required_rate(container);
  if (rate != 0 && parameters.sample_rate != rate) return false;
  if (std::string_view(container.name) == "flv" && parameters.codec_id == AV_CODEC_ID_MP3) {
    static constexpr int kRates[] = {11025, 22050, 44100, 48000};
    return std::find(std::begin(kRates), std::end(kRates), parameters.sample_rate) != std::end(kRates);
  }
  return true;
}

/// Whether a container that only counts can hold a copy: its packets are equally long, and do not start late.
bool can_be_counted(const Source& source, int stream) {
  const AVCodecParameters& parameters = *source.context().streams[stream]->codecpar;
  if (std::string_view(avcodec_get_name(parameters.codec_id)).starts_with("pcm_")) return true;
  const bool even = parameters.block_align > 0 ||
                    av_get_audio_frame_duration2(const_cast<AVCodecParameters*>(&parameters), 0) > 0;
  return even && !starts_late(source, stream);
}

/// AV_CODEC_ID_NONE if there is none.
AVCodecID substitute(const AVOutputFormat& container, const AVCodecParameters& parameters) {
  if (is_mxf(container)) {
    const int bits =
        std::max(av_get_exact_bits_per_sample(parameters.codec_id), parameters.bits_per_raw_sample);
    return bits > 16 ? AV_CODEC_ID_PCM_S24LE : AV_CODEC_ID_PCM_S16LE;
  }
  const bool webm = std::string_view(container.name) == "webm";
  const int channels = parameters.ch_layout.nb_channels;
  AVCodecID best = AV_CODEC_ID_NONE;
  for (const AVCodecID id :
       {AV_CODEC_ID_OPUS, AV_CODEC_ID_AAC, AV_CODEC_ID_VORBIS, AV_CODEC_ID_MP3, AV_CODEC_ID_AC3}) {
    if (!webm && id == AV_CODEC_ID_OPUS) continue;  // AAC is at home in the others
    if (!container_holds(container, id) || sound_encoder(id) == nullptr) continue;
    if (best == AV_CODEC_ID_NONE || converted_channels(id, channels) > converted_channels(best, channels))
      best = id;
  }
  return best;
}

}  // namespace

int converted_channels(AVCodecID codec, int channels) {
  const AVCodec* encoder = sound_encoder(codec);
  if (encoder == nullptr || encoder->ch_layouts == nullptr) return channels;
  int most = 0;
  for (const AVChannelLayout* layout = encoder->ch_layouts; layout->nb_channels != 0; ++layout)
    most = std::max(most, layout->nb_channels);
  return std::min(channels, most);
}

int most_streams(const AVOutputFormat& container, AVMediaType type) {
  const std::string_view name = container.name;
  if (name == "flv" && (type == AVMEDIA_TYPE_AUDIO || type == AVMEDIA_TYPE_VIDEO)) return 1;
  if (is_mxf(container) && type == AVMEDIA_TYPE_VIDEO) return 1;
  return INT_MAX;
}

StreamDecision plan_sound(const Source& source, int stream, const AVOutputFormat& container) {
  const AVCodecParameters& parameters = *source.context().streams[stream]->codecpar;
  const AVCodecID codec = parameters.codec_id;
  const bool held = takes(container, parameters);
  if (held && (!only_counts(container) || can_be_counted(source, stream))) return {StreamAction::copy, codec};
  // Anew in its own codec, where that is right.
  static constexpr AVCodecID kUsual[] = {AV_CODEC_ID_AAC, AV_CODEC_ID_MP3,       AV_CODEC_ID_MP2,
                                         AV_CODEC_ID_AC3, AV_CODEC_ID_PCM_S16LE, AV_CODEC_ID_PCM_S24LE};
  const bool usual = std::find(std::begin(kUsual), std::end(kUsual), codec) != std::end(kUsual);
  const bool resampled = required_rate(container) != 0;
  const bool same =
      usual && (held || resampled) && container_holds(container, codec) && sound_encoder(codec) != nullptr;
  const AVCodecID target = same ? codec : substitute(container, parameters);
  if (target != AV_CODEC_ID_NONE && avcodec_find_decoder(codec) != nullptr)
    return {StreamAction::convert_audio, target, required_rate(container)};
  return {held ? StreamAction::copy : StreamAction::drop, codec};
}

}  // namespace saccade::media
