#include "pipeline/mask_video.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "media/convert.h"
#include "media/encoder.h"
#include "media/muxer.h"
#include "media/stream_plan.h"

namespace saccade::pipeline {

namespace {

constexpr AVPixelFormat kColorFormats[] = {AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUV444P, AV_PIX_FMT_YUV422P10LE,
                                           AV_PIX_FMT_RGB24};
constexpr AVPixelFormat kGrayFormats[] = {AV_PIX_FMT_GRAY8, AV_PIX_FMT_GRAY16LE};

class MaskVideo : public FrameOutput {
 public:
  MaskVideo(const FrameOutputOptions& options, MaskVideoPlan plan, const media::Source& source)
      : file_(options.path, options.file),
        summary_(plan.summary()),
        converter_(plan),
        encoder_(plan.result.choice, plan.result.format, plan.result.encoder,
                 (plan.result.container->flags & AVFMT_GLOBALHEADER) != 0),
        muxer_(file_, *plan.result.container, source, plan.result.streams, encoder_.context(),
               plan.result.format) {}

  Prepared prepare(media::FramePtr frame, const FrameLabel&) const override { return {std::move(frame), {}}; }
  void write(Prepared prepared, const FrameLabel&) override {
    const media::FramePtr frame = converter_.run(std::move(prepared.frame));
    encoder_.send(frame.get());
    drain();
  }
  void finish() override {
    encoder_.send(nullptr);
    drain();
    muxer_.set_last_duration(encoder_.last_duration());
    muxer_.finish();
  }
  void commit() override { file_.commit(); }
  std::filesystem::path commit_partial() override { return file_.commit_partial(); }
  std::int64_t bytes_written() const override { return file_.bytes_written(); }
  std::string summary() const override { return summary_; }

 private:
  void drain() {
    while (media::PacketPtr packet = encoder_.receive()) muxer_.write_video(std::move(packet));
  }

  media::OutputFile file_;
  std::string summary_;
  MaskConverter converter_;
  media::Encoder encoder_;
  media::Muxer muxer_;
};

}  // namespace

std::string MaskVideoPlan::summary() const {
  return fmt::format("{} {} in {}", result.choice.codec->name,
                     av_get_pix_fmt_name(result.choice.pixel_format), result.container->name);
}

MaskVideoPlan plan_mask_video(const FrameOutputOptions& options, const media::Source& source,
                              const media::VideoFormat& frames, std::vector<std::string>& notices) {
  MaskVideoPlan plan;
  ResultPlan& result = plan.result;
  result.container = media::choose_container(options.path.string(), media::is_standard_stream(options.path));
  if (options.depth == 1) {
    throw Error(ErrorCode::unsupported,
                options.path.string() + ": masks of 1 bit are written as png pictures or npy, not as video");
  }
  const std::string_view name = result.container->name;
  if (options.depth == 16 && name != "matroska" && name != "nut") {
    throw Error(
        ErrorCode::unsupported,
        fmt::format("{}: a {} file has no place for masks of 16 bits; use .mkv (FFV1), .npy or png pictures",
                    options.path.string(), name));
  }
  plan.masks = frames;
  plan.masks.pixel_format = options.depth == 16 ? AV_PIX_FMT_GRAY16LE : AV_PIX_FMT_GRAY8;
  plan.masks.range = AVCOL_RANGE_JPEG;
  plan.masks.matrix = AVCOL_SPC_UNSPECIFIED;
  plan.masks.primaries = AVCOL_PRI_UNSPECIFIED;
  plan.masks.transfer = AVCOL_TRC_UNSPECIFIED;
  plan.masks.chroma_location = AVCHROMA_LOC_UNSPECIFIED;
  plan.masks.field_order = AV_FIELD_PROGRESSIVE;
  const bool lossless =
      (name == "matroska" || name == "nut") && avcodec_find_encoder_by_name("ffv1") != nullptr;
  result.encoder = {.name = lossless ? "ffv1" : "", .crf = {}, .preset = {}, .extra = {}};
  result.choice =
      media::choose_encoder(*result.container, plan.masks, false, result.encoder,
                            lossless ? std::span<const AVPixelFormat>(kGrayFormats) : kColorFormats);
  notices.insert(notices.end(), result.choice.notices.begin(), result.choice.notices.end());
  media::VideoFormat& coded = result.format;
  coded = plan.masks;
  coded.pixel_format = result.choice.pixel_format;
  if (!lossless) {
    const bool rgb = (av_pix_fmt_desc_get(coded.pixel_format)->flags & AV_PIX_FMT_FLAG_RGB) != 0;
    coded.matrix = rgb ? AVCOL_SPC_RGB : AVCOL_SPC_BT709;
    coded.range = rgb ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG;
    coded.primaries = AVCOL_PRI_BT709;
    coded.transfer = AVCOL_TRC_BT709;
    coded.chroma_location = rgb ? AVCHROMA_LOC_UNSPECIFIED : AVCHROMA_LOC_LEFT;
  }
  for (std::string& notice :
       media::fit_container(*result.container, source.video(), result.choice, result.encoder))
    notices.push_back(options.path.filename().string() + ": " + std::move(notice));
  for (unsigned i = 0; i < source.context().nb_streams; ++i) {
    const bool video = static_cast<int>(i) == source.video_index();
    result.streams.streams.push_back(
        {video ? media::StreamAction::process : media::StreamAction::drop, AV_CODEC_ID_NONE});
  }
  return plan;
}

MaskConverter::MaskConverter(const MaskVideoPlan& plan) {
  const media::VideoFormat& coded = plan.result.format;
  if (coded.pixel_format == plan.masks.pixel_format) return;
  converter_ = std::make_unique<media::FrameConverter>(plan.masks, coded);
  pool_ = std::make_unique<media::FramePool>(coded.pixel_format, coded.width, coded.height);
}

media::FramePtr MaskConverter::run(media::FramePtr mask) const {
  if (!converter_) return mask;
  media::FramePtr converted = pool_->get();
  converter_->run(*mask, *converted);
  return converted;
}

std::unique_ptr<FrameOutput> make_mask_video(const FrameOutputOptions& options, MaskVideoPlan plan,
                                             const media::Source& source) {
  return std::make_unique<MaskVideo>(options, std::move(plan), source);
}

}  // namespace saccade::pipeline
