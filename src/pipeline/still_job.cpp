// A single picture: one frame, all threads on it, upright in and out.
#include <fmt/format.h>

#include <utility>

#include "media/convert.h"
#include "media/decoder.h"
#include "media/still.h"
#include "pipeline/job_state.h"
#include "pipeline/picture.h"

namespace saccade::pipeline {

namespace {

media::FramePtr decode_picture(JobState& state, media::Source& source) {
  const trace::StageClock::Scope timing(state.clocks.decode);
  media::Decoder decoder(source.video());
  while (true) {
    const media::PacketPtr packet = source.read();
    if (packet && packet->stream_index != source.video_index()) continue;
    decoder.send(packet.get());
    if (media::FramePtr frame = decoder.receive()) {
      if (decoder.concealed() > 0)
        state.notice("the picture is damaged and was repaired as well as possible");
      return frame;
    }
    if (!packet) break;
  }
  if (state.cancelled()) throw Error(ErrorCode::interrupted, "interrupted");
  throw Error(ErrorCode::media,
              source.path().string() + ": the picture cannot be decoded; the file is damaged or cut off");
}

PictureFlow plan(JobState& state, const media::VideoFormat& decoded, media::StillKind kind) {
  const JobOptions& options = state.options;
  PictureFlow flow;
  flow.decoded = decoded;
  const AVPixFmtDescriptor& in = *av_pix_fmt_desc_get(decoded.pixel_format);
  const bool alpha_in = (in.flags & AV_PIX_FMT_FLAG_ALPHA) != 0 || (in.flags & AV_PIX_FMT_FLAG_PAL) != 0;
  const bool alpha_out = kind == media::StillKind::png && (alpha_in || options.effect == Effect::remove);
  flow.turn = rotation_of(decoded) != vision::Rotation::none;

  media::VideoFormat stored = decoded;
  stored.pixel_format =
      media::still_format(kind, decoded.pixel_format, kind == media::StillKind::png && alpha_in);
  if (flow.turn && !media::can_turn(stored.pixel_format)) stored.pixel_format = AV_PIX_FMT_YUV444P;
  if (kind == media::StillKind::png) {
    stored.matrix = AVCOL_SPC_RGB;
  } else if (stored.matrix != AVCOL_SPC_BT470BG && stored.matrix != AVCOL_SPC_SMPTE170M) {
    stored.matrix = AVCOL_SPC_BT470BG;  // JPEG files know no other
  }
  stored.range = AVCOL_RANGE_JPEG;
  if (kind == media::StillKind::jpeg) stored.chroma_location = AVCHROMA_LOC_CENTER;
  flow.work = flow.turn ? media::upright_format(stored) : stored;
  flow.result = flow.work;
  if (alpha_out) flow.result.pixel_format = AV_PIX_FMT_RGBA;

  if (in.comp[0].depth > 8)
    state.notice(fmt::format("the picture has {} bits a sample, the result 8", in.comp[0].depth));
  if (kind == media::StillKind::jpeg && options.effect == Effect::remove) {
    state.notice(
        "a JPEG file has no transparency: the background becomes chroma green (.png carries transparency)");
  } else if (kind == media::StillKind::jpeg && alpha_in) {
    state.notice("a JPEG file has no transparency: that of the input is lost");
  }
  return flow;
}

}  // namespace

void run_still(JobState& state, media::Source& source) {
  const JobOptions& options = state.options;
  JobReport& report = state.report;
  media::StillKind kind{};
  if (!media::parse_still(options.output.string(), kind)) {
    throw Error(
        ErrorCode::unsupported,
        fmt::format(
            "{}: the input is a single picture, so the output must be a picture too; use .png or .jpg",
            options.output.string()));
  }
  media::OutputFile file(options.output, {options.overwrite, files_to_protect(options)});
  media::FramePtr decoded = decode_picture(state, source);
  const media::VideoFormat format = media::describe_video(source.context(), source.video(), *decoded);
  describe_input(state, source, format);
  const PictureFlow flow = plan(state, format, kind);
  const std::unique_ptr<Background> background = open_background(state, picture_spec(flow.work));
  const Processor processor(flow, options, state.network, background.get(), state.isa, state.clocks);
  report.output = options.output;
  report.output_summary = fmt::format("{}x{} {} {}", flow.result.width, flow.result.height,
                                      kind == media::StillKind::png ? "png" : "jpeg",
                                      av_get_pix_fmt_name(flow.result.pixel_format));
  if (state.callbacks.planned) state.callbacks.planned(report);
  if (options.dry_run) return;
  const auto worker = processor.make_worker(state.threads);
  const media::FramePtr moving = background && background->moving() ? background->at(0) : nullptr;
  const media::FramePtr result = processor.run(*decoded, moving.get(), *worker);
  if (state.cancelled()) throw Error(ErrorCode::interrupted, "interrupted");
  {
    const trace::StageClock::Scope timing(state.clocks.encode);
    media::write_still(file, kind, *result, options.jpeg_quality);
  }
  report.output_bytes = file.bytes_written();
  file.commit();
  report.frames = 1;
  if (state.callbacks.progress) state.callbacks.progress({1, 1, 0, "encode"});
}

}  // namespace saccade::pipeline
