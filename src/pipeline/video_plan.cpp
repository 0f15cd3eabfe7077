#include "pipeline/video_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "media/colour_tags.h"
#include "media/convert.h"
#include "media/encoder.h"
#include "media/full_range.h"
#include "media/muxer.h"
#include "pipeline/picture.h"

namespace saccade::pipeline {

namespace {

/// With fewer a sample, HLG and PQ show steps.
constexpr int kHighDynamicRangeBits = 10;

AVPixelFormat turnable(AVPixelFormat format) {
  if (media::can_turn(format)) return format;
  const AVPixFmtDescriptor* d = av_pix_fmt_desc_get(format);
  return d->comp[0].depth <= 8    ? AV_PIX_FMT_YUV444P
         : d->comp[0].depth <= 10 ? AV_PIX_FMT_YUV444P10
                                  : AV_PIX_FMT_YUV444P12;
}

bool has_flag(AVPixelFormat format, std::uint64_t flag) {
  return (av_pix_fmt_desc_get(format)->flags & flag) != 0;
}

/// FFV1 from its version 3 on writes whether a picture is interlaced with each; x264 says it of all.
bool marks_each_picture(const ResultPlan& result) {
  if (result.choice.codec->id != AV_CODEC_ID_FFV1) return false;
  for (const auto& [name, value] : result.encoder.extra) {
    if (name == "level") return value == "3" || value == "4";
  }
  return false;
}

/// No picture is written, so the one that effects and network see need not be one that an encoder takes.
void plan_masks_only(PictureFlow& flow) {
  flow.work = flow.decoded;
  const auto formats = supported_formats();
  if (std::find(formats.begin(), formats.end(), flow.work.pixel_format) == formats.end() ||
      has_flag(flow.work.pixel_format, AV_PIX_FMT_FLAG_ALPHA)) {
    const bool rgb = has_flag(flow.work.pixel_format, AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL);
    flow.work.pixel_format = rgb ? AV_PIX_FMT_RGB24 : AV_PIX_FMT_YUV444P;
  }
  flow.result = flow.work;
}

}  // namespace

media::PictureFilterOptions needed_filter(const JobOptions& options, const PictureFlow& flow,
                                          const OutputRequest& request, const ResultPlan& result) {
  const media::VideoFormat& decoded = flow.decoded;
  media::PictureFilterOptions filter;
  const bool interlaced = is_interlaced(decoded);
  const bool carried =
      result.container != nullptr && media::carries_fields(*result.container, result.choice, flow.result);
  if (options.deinterlace == Deinterlace::on) filter.deinterlace = media::Deinterlace::all;
  if (options.deinterlace == Deinterlace::automatic && interlaced && !carried)
    filter.deinterlace = media::Deinterlace::flagged;
  if (media::is_high_dynamic_range(decoded)) {
    const bool pictures = request.form == OutputForm::pictures || request.form == OutputForm::video;
    const bool too_few_bits =
        pictures && av_pix_fmt_desc_get(flow.result.pixel_format)->comp[0].depth < kHighDynamicRangeBits;
    filter.tone_map = options.tonemap || too_few_bits;
  }
  return filter;
}

FieldChange plan_field_change(const JobOptions& options, const PictureFlow& flow, const ResultPlan& result,
                              bool filtered) {
  const bool carried =
      result.container != nullptr && media::carries_fields(*result.container, result.choice, flow.result);
  if (carried && marks_each_picture(result)) return FieldChange::none;
  if (is_interlaced(flow.decoded)) return carried ? FieldChange::all_marked : FieldChange::none;
  const bool whole = options.deinterlace == Deinterlace::automatic && !filtered;
  return whole ? FieldChange::made_whole : FieldChange::unmarked;
}

PictureFlow plan_video(JobState& state, const media::VideoFormat& decoded, const AVFrame& first,
                       const OutputRequest& request, const WorkFolder* folder, ResultPlan& result) {
  const JobOptions& options = state.options;
  if (request.form == OutputForm::pictures) return plan_picture_files(state, decoded, request.still);
  PictureFlow flow;
  flow.decoded = decoded;
  if (result.container == nullptr) {
    plan_masks_only(flow);
    return flow;
  }
  media::VideoFormat wanted = flow.decoded;
  if (has_flag(wanted.pixel_format, AV_PIX_FMT_FLAG_PAL)) wanted.pixel_format = media::without_palette(first);
  const bool rgb_in = has_flag(wanted.pixel_format, AV_PIX_FMT_FLAG_RGB);
  const vision::Rotation rotation = rotation_of(flow.decoded);
  flow.turn = rotation != vision::Rotation::none && !media::Muxer::carries_rotation(*result.container);
  if (flow.turn) {
    wanted.pixel_format = turnable(wanted.pixel_format);
    wanted = media::upright_format(wanted);
    state.notice(
        fmt::format("a {} file cannot say how a picture is to be turned: the pictures themselves are",
                    result.container->name));
  }
  const bool alpha_in = has_flag(wanted.pixel_format, AV_PIX_FMT_FLAG_ALPHA);
  const bool gray = av_pix_fmt_desc_get(wanted.pixel_format)->nb_components < 3;
  if (gray) {
    const int depth = av_pix_fmt_desc_get(wanted.pixel_format)->comp[0].depth;
    wanted.pixel_format = depth > 10  ? AV_PIX_FMT_YUV420P12
                          : depth > 8 ? AV_PIX_FMT_YUV420P10
                                      : AV_PIX_FMT_YUV420P;
  }
  const bool want_alpha = options.effect == Effect::remove || alpha_in;

  result.encoder = {.name = options.encoder,
                    .crf = options.crf,
                    .preset = options.preset,
                    .threads = 0,
                    .extra = options.encoder_options};
  if (options.threads > 0) result.encoder.threads = options.threads;
  if (options.encoder_threads > 0) result.encoder.threads = options.encoder_threads;
  result.encoder.reproducible = is_resumable(options);
  if (is_resumable(options) && result.encoder.threads == 0) {
    // What an encoder makes may depend on its threads: their number must not be left to chance.
    result.encoder.threads = state.threads + state.threads / 2;
    if (folder != nullptr)
      result.encoder.threads = journaled_encoder_threads(*folder).value_or(result.encoder.threads);
  }
  result.choice =
      media::choose_encoder(*result.container, wanted, want_alpha, result.encoder, supported_formats());
  state.notice(result.choice.notices);
  // What they are first made into may have fewer bits already.
  const int depth_in = av_pix_fmt_desc_get(flow.decoded.pixel_format)->comp[0].depth,
            depth_wanted = av_pix_fmt_desc_get(wanted.pixel_format)->comp[0].depth;
  if (depth_wanted < depth_in &&
      av_pix_fmt_desc_get(result.choice.pixel_format)->comp[0].depth == depth_wanted) {
    state.notice(
        fmt::format("effects on {} pictures work with {} bits a sample at most, the input has {}: "
                    "precision is lost",
                    av_get_pix_fmt_name(flow.decoded.pixel_format), depth_wanted, depth_in));
  }
  if (options.effect == Effect::remove && !result.choice.alpha) {
    state.notice(
        fmt::format("{} in a {} file has no transparency: the background becomes chroma green (.mov, "
                    ".webm and .mkv carry transparency)",
                    result.choice.codec->name, result.container->name));
  } else if (alpha_in && !result.choice.alpha) {
    state.notice(fmt::format("{} in a {} file has no transparency: that of the input is lost",
                             result.choice.codec->name, result.container->name));
  }

  flow.result = wanted;
  flow.result.pixel_format = result.choice.pixel_format;
  flow.work = flow.result;
  if (result.choice.alpha && !alpha_in)
    flow.work.pixel_format = to_ffmpeg(vision::without_alpha(to_vision(result.choice.pixel_format)));
  const bool rgb_out = has_flag(result.choice.pixel_format, AV_PIX_FMT_FLAG_RGB);
  if (rgb_in && !rgb_out) {
    for (media::VideoFormat* format : {&flow.work, &flow.result}) {
      format->matrix = AVCOL_SPC_BT709;
      format->range = AVCOL_RANGE_MPEG;
      format->chroma_location = AVCHROMA_LOC_LEFT;
    }
  } else if (rgb_out) {
    for (media::VideoFormat* format : {&flow.work, &flow.result}) {
      format->matrix = AVCOL_SPC_RGB;
      format->range = AVCOL_RANGE_JPEG;
    }
  } else if (flow.result.range == AVCOL_RANGE_JPEG &&
             !media::carries_full_range(*result.container, result.choice, flow.result)) {
    flow.work.range = flow.result.range = AVCOL_RANGE_MPEG;
    state.notice(fmt::format(
        "{} in a {} file cannot say that samples are of full range: they are converted to limited "
        "range",
        result.choice.codec->name, result.container->name));
  }
  state.notice(media::lost_colour_tags(*result.container, result.choice, flow.result));
  if (is_interlaced(flow.decoded)) {
    state.notice(media::carries_fields(*result.container, result.choice, flow.result)
                     ? "the input is interlaced and stays so: both fields of a frame are worked on together"
                     : "the input is interlaced; the result holds its fields but cannot say so");
  }
  return flow;
}

}  // namespace saccade::pipeline
