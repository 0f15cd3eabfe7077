#include "media/muxer.h"

extern "C" {
#include <libavutil/display.h>
#include <libavutil/mathematics.h>
#include <libavutil/timecode.h>
}

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string_view>

#include "base/counted.h"
#include "media/animation.h"
#include "media/packet_size.h"

namespace saccade::media {

namespace {

constexpr std::int64_t kMaxHeldBytes = std::int64_t{4} << 20;
constexpr std::int64_t kMaxMovieTimescale = 100'000'000;
/// What an edit list cuts away is sound all the same where a container has none, and would delay the
/// pictures. Some packets before the first that is heard are what its decoder starts with.
constexpr std::size_t kMostUnheard = 2;
constexpr std::int64_t kMuxerDelayMicroseconds = 500'000;

/// Facts about the input's own coding or container that would be false in the result.
constexpr std::string_view kStaleTags[] = {
    "major_brand", "minor_version", "compatible_brands", "encoder",         "rotate",   "alpha_mode",
    "DURATION",    "BPS",           "NUMBER_OF_FRAMES",  "NUMBER_OF_BYTES", "vendor_id"};

void copy_metadata(AVDictionary** to, const AVDictionary* from) {
  const AVDictionaryEntry* entry = nullptr;
  while ((entry = av_dict_get(from, "", entry, AV_DICT_IGNORE_SUFFIX)) != nullptr) {
    const std::string_view key = entry->key;
    const bool stale =
        key.starts_with("_STATISTICS") ||
        std::any_of(std::begin(kStaleTags), std::end(kStaleTags), [&](std::string_view tag) {
          return key == tag || (key.starts_with(tag) && key.substr(tag.size()).starts_with("-"));
        });
    if (!stale) av_dict_set(to, entry->key, entry->value, 0);
  }
}

/// The time code of the first picture of a range is not that of the input's.
void move_timecode(AVDictionary** metadata, AVRational rate, double seconds) {
  const AVDictionaryEntry* entry = av_dict_get(*metadata, "timecode", nullptr, 0);
  if (entry == nullptr || seconds <= 0 || rate.num <= 0 || rate.den <= 0) return;
  AVTimecode code;
  if (av_timecode_init_from_string(&code, rate, entry->value, nullptr) < 0) return;
  code.start += static_cast<int>(std::ceil(seconds * av_q2d(rate) - 0.5));
  char text[AV_TIMECODE_STR_SIZE] = {};
  av_timecode_make_string(&code, text, 0);
  av_dict_set(metadata, "timecode", text, 0);
}

template <class T>
void add_side_data(AVStream& stream, AVPacketSideDataType type, const T& value) {
  std::uint8_t* data = av_stream_new_side_data(&stream, type, sizeof(T));
  if (data == nullptr) throw Error(ErrorCode::limit, "out of memory for stream information");
  std::memcpy(data, &value, sizeof(T));
}

/// What a new encoding of the pictures says about them anew, or no longer holds (Dolby Vision's own layer).
bool is_of_the_coding(AVPacketSideDataType type) {
  return type == AV_PKT_DATA_DISPLAYMATRIX || type == AV_PKT_DATA_MASTERING_DISPLAY_METADATA ||
         type == AV_PKT_DATA_CONTENT_LIGHT_LEVEL || type == AV_PKT_DATA_DOVI_CONF ||
         type == AV_PKT_DATA_CPB_PROPERTIES;
}

void copy_side_data(AVStream& to, const AVStream& from, bool same_coding) {
  for (int i = 0; i < from.nb_side_data; ++i) {
    const AVPacketSideData& side = from.side_data[i];
    if (!same_coding && is_of_the_coding(side.type)) continue;
    std::uint8_t* data = av_stream_new_side_data(&to, side.type, side.size);
    if (data == nullptr) throw Error(ErrorCode::limit, "out of memory for stream information");
    std::memcpy(data, side.data, side.size);
  }
}

bool is_matroska_family(const AVOutputFormat& container) {
  const std::string_view name = container.name;
  return name == "matroska" || name == "webm";
}

/// H.264 and HEVC as MP4 and Matroska hold them.
bool has_length_prefixes(const AVCodecParameters& parameters) {
  const bool known = parameters.codec_id == AV_CODEC_ID_H264 || parameters.codec_id == AV_CODEC_ID_HEVC;
  return known && parameters.extradata_size > 0 && parameters.extradata[0] == 1;
}

/// Containers that hold these with start codes, and whose muxers do not make them themselves.
bool wants_start_codes(const AVOutputFormat& container) {
  constexpr std::string_view kNames[] = {"avi", "asf", "mpeg", "vob", "dvd", "svcd"};
  return std::find(std::begin(kNames), std::end(kNames), container.name) != std::end(kNames);
}

PacketFilterPtr start_code_filter(const AVStream& from) {
  const bool h264 = from.codecpar->codec_id == AV_CODEC_ID_H264;
  AVBSFContext* raw = nullptr;
  check(av_bsf_alloc(av_bsf_get_by_name(h264 ? "h264_mp4toannexb" : "hevc_mp4toannexb"), &raw),
        "cannot copy a stream");
  PacketFilterPtr filter(raw);
  check(avcodec_parameters_copy(filter->par_in, from.codecpar), "cannot copy a stream's description");
  filter->time_base_in = from.time_base;
  check(av_bsf_init(filter.get()), "cannot copy a stream");
  return filter;
}

/// The input's tag where the container knows it for this codec; else 0, and the muxer picks its own.
std::uint32_t matching_tag(const AVOutputFormat& container, const AVCodecParameters& parameters) {
  if (container.codec_tag == nullptr) return 0;
  unsigned tag = 0;
  if (av_codec_get_id(container.codec_tag, parameters.codec_tag) == parameters.codec_id ||
      av_codec_get_tag2(container.codec_tag, parameters.codec_id, &tag) == 0) {
    return parameters.codec_tag;
  }
  return 0;
}

}  // namespace

bool Muxer::carries_rotation(const AVOutputFormat& container) { return is_mov_family(container); }

Muxer::Muxer(OutputFile& file, const AVOutputFormat& container, const Source& source, StreamPlan plan,
             const AVCodecContext& encoder, const VideoFormat& format)
    : file_(file), name_(file.path().string()), subtitle_end_(plan.subtitle_end) {
  capture_log();
  AVFormatContext* raw = nullptr;
  check(avformat_alloc_output_context2(&raw, &container, nullptr, nullptr),
        name_ + ": cannot set up the container");
  output_.reset(raw);
  output_->pb = file.context();
  // Without random numbers in it, so that the same job gives the same bytes.
  output_->flags |= AVFMT_FLAG_CUSTOM_IO | AVFMT_FLAG_BITEXACT;
  output_->max_interleave_delta = kMuxerDelayMicroseconds;
  // FLAC in MP4 has long been specified, but this version of FFmpeg calls it experimental.
  output_->strict_std_compliance = FF_COMPLIANCE_EXPERIMENTAL;
  const AVFormatContext& input = source.context();
  if (only_counts(container)) count_from_start(source, plan, encoder.time_base);
  // Streams that appear later, while the first picture is read, are not in the plan.
  tracks_.resize(plan.streams.size());
  // MXF wants the video first.
  const bool video_first = std::string_view(container.name).starts_with("mxf");
  if (video_first) add_video(source, encoder, format);
  for (unsigned i = 0; i < plan.streams.size(); ++i) {
    tracks_[i].action = plan.streams.at(i).action;
    tracks_[i].time_base = input.streams[i]->time_base;
    if (tracks_[i].action == StreamAction::process) {
      if (!video_first) add_video(source, encoder, format);
    } else if (tracks_[i].action != StreamAction::drop) {
      add_other(*input.streams[i], plan.streams[i]);
    }
  }
  copy_metadata(&output_->metadata, input.metadata);
  move_timecode(&output_->metadata, source.video().avg_frame_rate, source.range().start_seconds());
  copy_chapters(input, source.range());

  Dictionary options;
  if (is_mov_family(container)) {
    if (!file.seekable()) options.set("movflags", "frag_keyframe+delay_moov+default_base_moof");
  }
  if (is_animation(container)) {
    const std::optional<Animation> animation = read_animation(source.path());
    set_plays(container, animation ? animation->plays : 0, options);
  }
  set_start(source, plan, options);
  const int code = avformat_write_header(output_.get(), options.address());
  file_.check_written();
  check(code, name_ + ": cannot write the header");
  if (is_matroska_family(container)) {
    for (Track& track : tracks_) {
      if (track.action != StreamAction::copy && track.action != StreamAction::convert_audio) continue;
      const AVStream& stream = *output_->streams[track.index];
      if (stream.codecpar->codec_id != AV_CODEC_ID_OPUS) continue;
      track.lead_in = av_rescale_q(stream.codecpar->initial_padding, {1, 48000}, stream.time_base);
    }
  }
}

void Muxer::count_from_start(const Source& source, const StreamPlan& plan, AVRational unit) {
  const bool empty_pictures = std::string_view(output_->oformat->name) == "avi";
  counted_.emplace(source, plan, empty_pictures ? std::optional<AVRational>(unit) : std::nullopt);
  output_->avoid_negative_ts = AVFMT_AVOID_NEG_TS_DISABLED;
  constexpr std::int64_t kToldMicroseconds = 500;
  if (std::abs(counted_->origin) < kToldMicroseconds) return;
  notices_.push_back(fmt::format("an {} file begins at time zero: all streams start {} by {:.3f} s",
                                 output_->oformat->name, counted_->origin > 0 ? "earlier" : "later",
                                 std::abs(static_cast<double>(counted_->origin)) / AV_TIME_BASE));
}

/// Streams need not start at zero. MP4 writes where they do in units of its own, Matroska knows no negative
/// times.
void Muxer::set_start(const Source& source, const StreamPlan& plan, Dictionary& options) {
  if (counted_) return;
  const AVFormatContext& input = source.context();
  std::int64_t scale = 1;
  bool negative = false;
  // Where the clock of a transport stream starts anew, what came before has times below zero, and an MP4 file
  // would not show it.
  const std::int64_t video_start = source.first_pts(source.video_index());
  std::int64_t shift = 0;
  if (video_start != AV_NOPTS_VALUE && video_start < 0 && !source.begins_unseen() &&
      !source.range().moves()) {
    shift = -av_rescale_q(video_start, source.video().time_base, AV_TIME_BASE_Q);
    output_->output_ts_offset = shift;
    notices_.push_back(
        fmt::format("the video starts {:.3f} s before time zero: all streams start later by that much",
                    static_cast<double>(shift) / AV_TIME_BASE));
  }
  for (unsigned i = 0; i < plan.streams.size(); ++i) {
    const AVStream& stream = *input.streams[i];
    const StreamAction action = plan.streams[i].action;
    if (action == StreamAction::drop || action == StreamAction::attach) continue;
    const std::int64_t start = source.first_pts(static_cast<int>(i));
    const bool late = source.range().moves() || (start != AV_NOPTS_VALUE && start > 0) ||
                      (stream.start_time != AV_NOPTS_VALUE && stream.start_time > 0);
    if (late && stream.time_base.num == 1 && scale < kMaxMovieTimescale)
      scale = std::lcm(scale, std::int64_t{stream.time_base.den});
    // An Opus track's lead-in has a field of its own there.
    if (action != StreamAction::process && start != AV_NOPTS_VALUE &&
        av_rescale_q(start, stream.time_base, AV_TIME_BASE_Q) + shift < 0 &&
        stream.codecpar->codec_id != AV_CODEC_ID_OPUS && action != StreamAction::convert_audio)
      negative = true;
  }
  if (is_mov_family(*output_->oformat)) {
    // By default the unit of start offsets is a millisecond, which would shift every frame of a late stream.
    if (scale > 1 && scale <= kMaxMovieTimescale)
      options.set("movie_timescale", std::to_string(std::max<std::int64_t>(scale, 1000)));
  } else if (is_matroska_family(*output_->oformat)) {
    if (!negative) {
      output_->avoid_negative_ts = AVFMT_AVOID_NEG_TS_DISABLED;
    } else {
      notices_.push_back("sound starts before time zero, which a " + std::string(output_->oformat->name) +
                         " file cannot express: all streams start later by that much");
    }
  }
}

AVStream& Muxer::add_stream() {
  AVStream* stream = avformat_new_stream(output_.get(), nullptr);
  if (stream == nullptr) throw Error(ErrorCode::limit, "out of memory for a stream");
  return *stream;
}

void Muxer::add_video(const Source& source, const AVCodecContext& encoder, const VideoFormat& format) {
  AVStream& stream = add_stream();
  const AVStream& from = source.video();
  check(avcodec_parameters_from_context(stream.codecpar, &encoder), "cannot describe the video");
  if (is_mov_family(*output_->oformat) && encoder.codec_id == AV_CODEC_ID_HEVC)
    stream.codecpar->codec_tag = MKTAG('h', 'v', 'c', '1');
  stream.time_base = encoder.time_base;
  stream.avg_frame_rate = from.avg_frame_rate;
  stream.r_frame_rate = from.r_frame_rate;
  stream.sample_aspect_ratio = format.sample_aspect;
  stream.disposition = from.disposition;
  copy_metadata(&stream.metadata, from.metadata);
  move_timecode(&stream.metadata, from.avg_frame_rate, source.range().start_seconds());
  if (const AVPixFmtDescriptor* d = av_pix_fmt_desc_get(encoder.pix_fmt);
      d != nullptr && (d->flags & AV_PIX_FMT_FLAG_ALPHA) != 0 &&
      (encoder.codec_id == AV_CODEC_ID_VP8 || encoder.codec_id == AV_CODEC_ID_VP9)) {
    av_dict_set(&stream.metadata, "alpha_mode", "1", 0);
  }
  copy_side_data(stream, from, false);
  if (format.display_matrix) add_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, *format.display_matrix);
  if (format.mastering) add_side_data(stream, AV_PKT_DATA_MASTERING_DISPLAY_METADATA, *format.mastering);
  if (format.light) add_side_data(stream, AV_PKT_DATA_CONTENT_LIGHT_LEVEL, *format.light);
  video_.action = StreamAction::process;
  video_.index = stream.index;
  video_.time_base = encoder.time_base;
}

void Muxer::add_other(const AVStream& from, const StreamDecision& decision) {
  Track& track = tracks_[static_cast<std::size_t>(from.index)];
  AVStream& stream = add_stream();
  track.index = stream.index;
  stream.time_base = from.time_base;
  stream.avg_frame_rate = from.avg_frame_rate;
  stream.r_frame_rate = from.r_frame_rate;
  stream.sample_aspect_ratio = from.sample_aspect_ratio;
  stream.disposition = from.disposition;
  stream.duration = av_rescale_q(from.duration, from.time_base, stream.time_base);
  copy_metadata(&stream.metadata, from.metadata);
  AVCodecParameters& parameters = *stream.codecpar;
  if (decision.action == StreamAction::convert_text) {
    track.subtitles = std::make_unique<SubtitleConverter>(from, decision.codec);
    check(avcodec_parameters_from_context(&parameters, &track.subtitles->encoder()),
          "cannot describe the subtitles");
    return;
  }
  if (decision.action == StreamAction::convert_audio) {
    const bool global_header = (output_->oformat->flags & AVFMT_GLOBALHEADER) != 0;
    track.audio = std::make_unique<AudioConverter>(
        from, decision, global_header,
        counted_ ? std::optional<std::int64_t>(counted_->origin) : std::nullopt);
    check(avcodec_parameters_from_context(&parameters, &track.audio->encoder()), "cannot describe the sound");
    track.time_base = stream.time_base = track.audio->encoder().time_base;
    if (counted_) track.count = std::make_unique<SoundCount>(parameters, track.time_base, counted_->origin);
    return;
  }
  check(avcodec_parameters_copy(&parameters, from.codecpar), "cannot copy a stream's description");
  if (decision.action == StreamAction::attach) {
    const AVPacket& picture = from.attached_pic;
    parameters.codec_type = AVMEDIA_TYPE_ATTACHMENT;
    av_freep(&parameters.extradata);
    parameters.extradata = static_cast<std::uint8_t*>(
        av_mallocz(static_cast<std::size_t>(picture.size) + AV_INPUT_BUFFER_PADDING_SIZE));
    if (parameters.extradata == nullptr) throw Error(ErrorCode::limit, "out of memory for a cover picture");
    std::memcpy(parameters.extradata, picture.data, static_cast<std::size_t>(picture.size));
    parameters.extradata_size = picture.size;
    stream.disposition = 0;
    const bool png = parameters.codec_id == AV_CODEC_ID_PNG;
    if (av_dict_get(stream.metadata, "filename", nullptr, 0) == nullptr) {
      av_dict_set(&stream.metadata, "filename", png ? "cover.png" : "cover.jpg", 0);
    }
    av_dict_set(&stream.metadata, "mimetype", png ? "image/png" : "image/jpeg", 0);
    return;
  }
  if (has_length_prefixes(*from.codecpar) && wants_start_codes(*output_->oformat)) {
    track.filter = start_code_filter(from);
    check(avcodec_parameters_copy(&parameters, track.filter->par_out), "cannot copy a stream's description");
  }
  parameters.codec_tag = matching_tag(*output_->oformat, parameters);
  if (counted_ && parameters.codec_type == AVMEDIA_TYPE_AUDIO)
    track.count = std::make_unique<SoundCount>(parameters, track.time_base, counted_->origin);
  copy_side_data(stream, from, true);
}

void Muxer::copy_chapters(const AVFormatContext& input, const RangeFilter& range) {
  if (input.nb_chapters == 0) return;
  output_->chapters = static_cast<AVChapter**>(av_calloc(input.nb_chapters, sizeof(AVChapter*)));
  if (output_->chapters == nullptr) throw Error(ErrorCode::limit, "out of memory for chapters");
  for (unsigned i = 0; i < input.nb_chapters; ++i) {
    const AVChapter& from = *input.chapters[i];
    std::int64_t start = from.start, end = from.end;
    if (!range.clip(from.time_base, start, end)) continue;
    auto* chapter = static_cast<AVChapter*>(av_mallocz(sizeof(AVChapter)));
    if (chapter == nullptr) throw Error(ErrorCode::limit, "out of memory for chapters");
    chapter->id = from.id;
    chapter->time_base = from.time_base;
    chapter->start = start;
    chapter->end = end;
    av_dict_copy(&chapter->metadata, from.metadata, 0);
    output_->chapters[output_->nb_chapters++] = chapter;
  }
}

void Muxer::write_video(PacketPtr packet) {
  release_until(av_rescale_q(packet->dts, video_.time_base, AV_TIME_BASE_Q));
  packet->stream_index = video_.index;
  if (counted_) {
    if (video_.last_dts == AV_NOPTS_VALUE) video_shift_ = counted_->lead - packet->dts;
    packet->pts += video_shift_;
    packet->dts += video_shift_;
  }
  av_packet_rescale_ts(packet.get(), video_.time_base, output_->streams[video_.index]->time_base);
  video_end_ = std::max(video_end_, packet->pts + packet->duration);
  write(std::move(packet), video_);
}

void Muxer::write_copy(PacketPtr packet) {
  const int source = packet->stream_index;
  Track& track = tracks_.at(static_cast<std::size_t>(source));
  switch (track.action) {
    case StreamAction::copy:
      if ((packet->flags & AV_PKT_FLAG_DISCARD) != 0 && !is_mov_family(*output_->oformat)) {
        track.unheard.push_back(std::move(packet));
        if (track.unheard.size() > kMostUnheard) track.unheard.pop_front();
        break;
      }
      for (PacketPtr& each : track.unheard) hold(std::move(each), source);
      track.unheard.clear();
      if (!track.filter) {
        hold(std::move(packet), source);
        break;
      }
      if (av_bsf_send_packet(track.filter.get(), packet.get()) < 0) break;  // it is damaged
      for (PacketPtr done = make_packet(); av_bsf_receive_packet(track.filter.get(), done.get()) >= 0;
           done = make_packet())
        hold(std::move(done), source);
      break;
    case StreamAction::convert_text:
      if (PacketPtr converted = track.subtitles->convert(*packet)) hold(std::move(converted), source);
      break;
    case StreamAction::convert_audio:
      for (PacketPtr& converted : track.audio->convert(packet.get())) hold(std::move(converted), source);
      break;
    default:
      break;
  }
}

/// Keeps a packet, timestamps in its track's time base, until the video has come as far.
void Muxer::hold(PacketPtr packet, int source) {
  Track& track = tracks_[static_cast<std::size_t>(source)];
  packet->stream_index = source;
  if (packet->dts == AV_NOPTS_VALUE)
    packet->dts = track.next_dts != AV_NOPTS_VALUE ? track.next_dts : packet->pts;
  if (packet->dts == AV_NOPTS_VALUE) packet->dts = 0;
  if (packet->pts == AV_NOPTS_VALUE) packet->pts = packet->dts;
  track.next_dts = packet->dts + packet->duration;
  const std::int64_t time = av_rescale_q(packet->dts, track.time_base, AV_TIME_BASE_Q);
  held_bytes_ += bytes_of(*packet);
  held_.push_back({std::move(packet), time});
  while (held_bytes_ > kMaxHeldBytes) release_until(held_.front().time);
}

void Muxer::release_until(std::int64_t microseconds) {
  while (!held_.empty() && held_.front().time <= microseconds) {
    PacketPtr packet = std::move(held_.front().packet);
    held_.pop_front();
    held_bytes_ -= bytes_of(*packet);
    Track& track = tracks_[static_cast<std::size_t>(packet->stream_index)];
    if (cut_ != INT64_MAX && av_rescale_q(packet->pts, track.time_base, AV_TIME_BASE_Q) >= cut_) continue;
    end_subtitle(*packet, track);
    if (track.count) {
      write_sound(std::move(packet), track);
      continue;
    }
    if (counted_) {
      const std::int64_t moved = av_rescale_q(counted_->origin, AV_TIME_BASE_Q, track.time_base);
      packet->pts -= moved;
      packet->dts = std::max<std::int64_t>(packet->dts - moved, 0);
    }
    const AVStream& stream = *output_->streams[track.index];
    const AVCodecParameters& parameters = *stream.codecpar;
    packet->stream_index = track.index;
    packet->pos = -1;
    if (parameters.codec_type == AVMEDIA_TYPE_AUDIO && parameters.sample_rate > 0 &&
        packet->pts == packet->dts && av_cmp_q(track.time_base, stream.time_base) > 0) {
      // Milliseconds of Matroska become samples without jitter: the packet's own length decides where the
      // rounding allows it.
      const AVRational samples{1, parameters.sample_rate};
      int length = av_get_audio_frame_duration2(stream.codecpar, packet->size);
      if (length <= 0) length = static_cast<int>(av_rescale_q(packet->duration, track.time_base, samples));
      const std::int64_t at = av_rescale_delta(track.time_base, packet->dts, samples, length,
                                               &track.rescale_state, stream.time_base);
      packet->duration = av_rescale_q(packet->duration, track.time_base, stream.time_base);
      packet->pts = packet->dts = at;
    } else {
      av_packet_rescale_ts(packet.get(), track.time_base, stream.time_base);
    }
    packet->pts += track.lead_in;
    packet->dts += track.lead_in;
    write(std::move(packet), track);
  }
}

/// A subtitle does not last longer than the video.
void Muxer::end_subtitle(AVPacket& packet, const Track& track) const {
  const std::int64_t last = std::min(cut_, subtitle_end_);
  if (last == INT64_MAX || packet.duration <= 0 ||
      output_->streams[track.index]->codecpar->codec_type != AVMEDIA_TYPE_SUBTITLE)
    return;
  const std::int64_t end = av_rescale_q(last, AV_TIME_BASE_Q, track.time_base);
  packet.duration = std::clamp<std::int64_t>(end - packet.pts, 1, packet.duration);
}

/// Where only samples are counted.
void Muxer::write_sound(PacketPtr packet, Track& track) {
  const AVStream& stream = *output_->streams[track.index];
  for (PacketPtr& placed : track.count->place(std::move(packet))) {
    placed->stream_index = track.index;
    placed->pos = -1;
    av_packet_rescale_ts(placed.get(), {1, stream.codecpar->sample_rate}, stream.time_base);
    write(std::move(placed), track);
  }
}

void Muxer::write(PacketPtr packet, Track& track) {
  // Containers insist on rising decoding times; rounding to their unit or a faulty input may have made two
  // equal.
  const bool strict = (output_->oformat->flags & AVFMT_TS_NONSTRICT) == 0;
  if (track.last_dts != AV_NOPTS_VALUE) {
    const std::int64_t least = track.last_dts + (strict ? 1 : 0);
    if (packet->dts < least) {
      packet->dts = least;
      packet->pts = std::max(packet->pts, packet->dts);
    }
  }
  // FFmpeg puts the first picture at the beginning, whatever its time.
  if (counted_ && track.last_dts == AV_NOPTS_VALUE && packet->dts > 0 &&
      output_->streams[track.index]->codecpar->codec_type == AVMEDIA_TYPE_VIDEO) {
    PacketPtr empty = make_packet();
    empty->stream_index = packet->stream_index;
    empty->pts = empty->dts = 0;
    write_now(std::move(empty));
  }
  track.last_dts = packet->dts;
  write_endless(track, packet->dts);
  // Bitmap subtitles may last until the next one comes, for which Matroska has a number that MP4 refuses.
  if (packet->duration > INT32_MAX && is_mov_family(*output_->oformat)) {
    track.endless = std::move(packet);
  } else {
    write_now(std::move(packet));
  }
}

void Muxer::write_endless(Track& track, std::int64_t end) {
  if (!track.endless) return;
  track.endless->duration = std::max<std::int64_t>(1, end - track.endless->dts);
  write_now(std::move(track.endless));
}

void Muxer::write_now(PacketPtr packet) {
  const int code = av_interleaved_write_frame(output_.get(), packet.get());
  file_.check_written();
  check(code, name_ + ": cannot write a packet");
}

void Muxer::set_last_duration(double seconds) { set_last_delay(*output_, seconds); }

void Muxer::finish() {
  if (finished_) return;
  finished_ = true;
  for (std::size_t i = 0; i < tracks_.size(); ++i) {
    if (!tracks_[i].audio) continue;
    for (PacketPtr& rest : tracks_[i].audio->convert(nullptr)) hold(std::move(rest), static_cast<int>(i));
  }
  release_until(INT64_MAX);
  for (Track& track : tracks_) {
    if (!track.endless) continue;
    write_endless(track, av_rescale_q(video_end_, output_->streams[video_.index]->time_base,
                                      output_->streams[track.index]->time_base));
  }
  const std::string_view name = output_->oformat->name;
  const bool y4m = name == "yuv4mpegpipe";
  if (uneven_ > 0 && (y4m || (output_->oformat->flags & AVFMT_NOTIMESTAMPS) != 0)) {
    notices_.push_back(
        fmt::format("{} did not come evenly; a {} file knows no times, so all are shown equally long",
                    counted(uneven_, "picture"), y4m ? "Y4M" : name));
  }
  for (std::size_t i = 0; i < tracks_.size(); ++i) {
    if (!tracks_[i].subtitles || tracks_[i].subtitles->refused() == 0) continue;
    notices_.push_back(fmt::format("{} of stream {} of the input cannot be read or converted and {} left out",
                                   counted(tracks_[i].subtitles->refused(), "subtitle"), i,
                                   by_number(tracks_[i].subtitles->refused(), "is", "are")));
  }
  for (std::size_t i = 0; i < tracks_.size(); ++i) {
    if (!tracks_[i].count || tracks_[i].count->gaps() == 0) continue;
    notices_.push_back(fmt::format(
        "{} in the sound of stream {} of the input cannot be kept in an {} file: what follows is heard up "
        "to {:.3f} s early",
        counted(tracks_[i].count->gaps(), "gap"), i, output_->oformat->name,
        tracks_[i].count->early_seconds()));
  }
  if (is_mov_family(*output_->oformat)) {
    for (std::size_t i = 0; i < tracks_.size(); ++i) {
      const Track& track = tracks_[i];
      if (track.action == StreamAction::drop || track.action == StreamAction::process ||
          track.last_dts != AV_NOPTS_VALUE)
        continue;
      if ((output_->streams[track.index]->disposition & AV_DISPOSITION_ATTACHED_PIC) != 0) continue;
      notices_.push_back(fmt::format("stream {} of the input has no packets here: a {} file leaves it out", i,
                                     output_->oformat->name));
    }
  }
  const int code = av_write_trailer(output_.get());
  avio_flush(output_->pb);
  file_.check_written();
  check(code, name_ + ": cannot finish the file");
}

}  // namespace saccade::media
