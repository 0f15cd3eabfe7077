// A single picture: one frame, all threads on it, upright in and out.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "media/convert.h"
#include "media/decoder.h"
#include "media/still.h"
#include "pipeline/job_state.h"
#include "pipeline/picture.h"

namespace saccade::pipeline {

namespace {

constexpr const char* kAsVideo =
    "to work on all, give them as a folder, or as a video (with ffmpeg: -f nut instead of image2pipe)";

/// What files of one kind begin with.
std::string signature_of(const AVPacket& packet) {
  constexpr int kBytes = 3;
  return {reinterpret_cast<const char*>(packet.data),
          static_cast<std::size_t>(std::min(packet.size, kBytes))};
}

/// Whether another picture lies behind the first, as programs write them to a pipe. JPEG files hold smaller
/// ones for previews.
bool more_follow(media::Source& source, const std::string& signature) {
  if (source.regular() && source.video().codecpar->codec_id == AV_CODEC_ID_MJPEG) return false;
  while (const media::PacketPtr packet = source.read()) {
    if (packet->stream_index == source.video_index() && signature_of(*packet) == signature) return true;
  }
  return false;
}

media::FramePtr decode_picture(JobState& state, media::Source& source, bool& more) {
  std::string signature;
  const trace::StageClock::Scope timing(state.clocks.decode);
  media::Decoder decoder(source.video());
  while (true) {
    const media::PacketPtr packet = source.read();
    if (packet && packet->stream_index != source.video_index()) continue;
    if (packet && signature.empty()) signature = signature_of(*packet);
    decoder.send(packet.get());
    if (media::FramePtr frame = decoder.receive()) {
      more = packet && more_follow(source, signature);
      if (source.further_pages() > 0) {
        state.notice(
            fmt::format("the picture has {} pages: only the first is worked on, the others are left out",
                        source.further_pages() + 1));
      }
      const bool cut = source.cut_pictures() > 0;
      if (cut || decoder.concealed() > 0) {
        const char* what = cut ? "the picture is cut off" : "the picture is damaged";
        if (state.options.strict) {
          throw Error(ErrorCode::media,
                      fmt::format("{}: {}; without --strict it is repaired as well as possible",
                                  source.path().string(), what));
        }
        state.notice(fmt::format("{} and was repaired as well as possible", what));
        state.report.damaged_packets = 1;
      }
      return frame;
    }
    if (!packet) break;
  }
  if (state.cancelled()) throw Error(ErrorCode::interrupted, "interrupted");
  throw Error(ErrorCode::media,
              source.path().string() + ": the picture cannot be decoded; the file is damaged or cut off");
}

}  // namespace

PictureFlow plan_picture_files(JobState& state, const media::VideoFormat& decoded, media::StillKind kind) {
  const JobOptions& options = state.options;
  PictureFlow flow;
  flow.decoded = decoded;
  const AVPixFmtDescriptor& in = *av_pix_fmt_desc_get(decoded.pixel_format);
  const bool alpha_in = (in.flags & AV_PIX_FMT_FLAG_ALPHA) != 0 || (in.flags & AV_PIX_FMT_FLAG_PAL) != 0;
  const bool carries_alpha = media::carries_alpha(kind);
  const bool alpha_out = carries_alpha && (alpha_in || options.effect == Effect::remove);
  flow.turn = rotation_of(decoded) != vision::Rotation::none;

  media::VideoFormat stored = decoded;
  stored.pixel_format = media::still_format(kind, decoded.pixel_format, carries_alpha && alpha_in);
  if (flow.turn && !media::can_turn(stored.pixel_format)) stored.pixel_format = AV_PIX_FMT_YUV444P;
  if (carries_alpha) {
    stored.matrix = AVCOL_SPC_RGB;
  } else if (stored.matrix != AVCOL_SPC_BT470BG && stored.matrix != AVCOL_SPC_SMPTE170M) {
    stored.matrix = AVCOL_SPC_BT470BG;  // JPEG files know no other
  }
  stored.range = AVCOL_RANGE_JPEG;
  if (kind == media::StillKind::jpeg) stored.chroma_location = AVCHROMA_LOC_CENTER;
  flow.work = flow.turn ? media::upright_format(stored) : stored;
  flow.result = flow.work;
  if (alpha_out) flow.result.pixel_format = media::still_format(kind, decoded.pixel_format, true);

  if (in.comp[0].depth > 8)
    state.notice(fmt::format("the pictures have {} bits a sample, the result 8", in.comp[0].depth));
  if (kind == media::StillKind::jpeg && options.effect == Effect::remove) {
    state.notice(
        "a JPEG file has no transparency: the background becomes chroma green (.png carries transparency)");
  } else if (kind == media::StillKind::jpeg && alpha_in) {
    state.notice("a JPEG file has no transparency: that of the input is lost");
  }
  return flow;
}

void run_still(JobState& state, media::Source& source) {
  const JobOptions& options = state.options;
  JobReport& report = state.report;
  const OutputRequest request = parse_output(options.output, options.output_format, options.sequence, false);
  bool more = false;
  if (request.form == OutputForm::video) {
    try {
      (void)decode_picture(state, source, more);
    } catch (const Error&) {
      more = false;  // it is no video in any case
    }
    if (more) {
      throw Error(
          ErrorCode::unsupported,
          fmt::format("{}: holds several pictures, one behind the other, of which only the first can be "
                      "read; {}",
                      options.input.string(), kAsVideo));
    }
    throw Error(
        ErrorCode::unsupported,
        fmt::format("{}: the input is a single picture, so the output must be a picture too; use .png, .jpg, "
                    ".webp or .tiff",
                    options.output.string()));
  }
  const bool bare = writes_bare_masks(options, request);
  media::FramePtr decoded = decode_picture(state, source, more);
  if (more) {
    if (options.strict) {
      throw Error(
          ErrorCode::media,
          fmt::format("{}: several pictures, one behind the other; without --strict only the first is "
                      "worked on; {}",
                      options.input.string(), kAsVideo));
    }
    state.notice(fmt::format("further pictures follow the first one and are left out; {}", kAsVideo));
  }
  const media::VideoFormat format = media::describe_video(source.context(), source.video(), *decoded);
  describe_input(state, source, format);
  const bool picture = request.form == OutputForm::picture || request.form == OutputForm::pictures;
  const PictureFlow flow = plan_picture_files(state, format, picture ? request.still : media::StillKind::png);
  const std::unique_ptr<Background> background = open_background(state, picture_spec(flow.work));
  const Processor processor(flow, options, state.network, background.get(), state.isa, state.clocks,
                            mask_bits(options, request));
  describe_parts(state, processor);
  const auto output = make_frame_output(frame_output_options(state, options.output, request, false),
                                        bare ? processor.mask_format() : flow.result);
  std::unique_ptr<FrameOutput> mask_output;
  if (!options.mask_output.empty()) {
    const OutputRequest masks = parse_mask_output(options, false);
    if (masks.form == OutputForm::video) {
      throw Error(
          ErrorCode::unsupported,
          fmt::format(
              "{}: the input is a single picture, so its mask must be a picture, .npy, .json or .geojson",
              options.mask_output.string()));
    }
    mask_output = make_frame_output(frame_output_options(state, options.mask_output, masks, false),
                                    processor.mask_format());
  }
  report.output = options.output;
  report.output_summary =
      fmt::format("{}x{} {}{}", flow.result.width, flow.result.height, output->summary(),
                  bare ? "" : std::string(" ") + av_get_pix_fmt_name(flow.result.pixel_format));
  if (mask_output) report.output_summary += fmt::format("; masks: {}", mask_output->summary());
  if (state.callbacks.planned) state.callbacks.planned(report);
  if (options.dry_run) return;
  const auto worker = processor.make_worker(state.threads);
  const media::FramePtr moving = background && background->moving() ? background->at(0) : nullptr;
  const media::FramePtr result = processor.run(*decoded, moving.get(), *worker);
  if (state.cancelled()) throw Error(ErrorCode::interrupted, "interrupted");
  media::FramePtr mask = bare || mask_output ? processor.mask(*result, *worker) : nullptr;
  {
    const trace::StageClock::Scope timing(state.clocks.encode);
    if (mask_output) {
      mask_output->write(mask_output->prepare(media::share(*mask), {}), {});
      mask_output->finish();
    }
    output->write(output->prepare(bare ? std::move(mask) : media::share(*result), {}), {});
    output->finish();
  }
  report.output_bytes = output->bytes_written();
  if (mask_output) commit(state, *mask_output);
  commit(state, *output);
  report.frames = 1;
  if (state.callbacks.progress) state.callbacks.progress({1, 0, 1, 0, "encode"});
}

}  // namespace saccade::pipeline
