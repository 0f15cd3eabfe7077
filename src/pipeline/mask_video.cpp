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
  MaskVideo(const FrameOutputOptions& options, const AVOutputFormat& container, const media::Source& source,
            media::VideoFormat masks, std::vector<std::string>& notices)
      : file_(options.path, options.file) {
    const std::string_view name = container.name;
    const bool lossless =
        (name == "matroska" || name == "nut") && avcodec_find_encoder_by_name("ffv1") != nullptr;
    media::EncoderOptions encoder_options{
        .name = lossless ? "ffv1" : "", .crf = {}, .preset = {}, .extra = {}};
    media::EncoderChoice choice =
        media::choose_encoder(container, masks, false, encoder_options,
                              lossless ? std::span<const AVPixelFormat>(kGrayFormats) : kColorFormats);
    notices.insert(notices.end(), choice.notices.begin(), choice.notices.end());
    media::VideoFormat coded = masks;
    coded.pixel_format = choice.pixel_format;
    if (!lossless) {
      const bool rgb = (av_pix_fmt_desc_get(coded.pixel_format)->flags & AV_PIX_FMT_FLAG_RGB) != 0;
      coded.matrix = rgb ? AVCOL_SPC_RGB : AVCOL_SPC_BT709;
      coded.range = rgb ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG;
      coded.primaries = AVCOL_PRI_BT709;
      coded.transfer = AVCOL_TRC_BT709;
      coded.chroma_location = rgb ? AVCHROMA_LOC_UNSPECIFIED : AVCHROMA_LOC_LEFT;
    }
    if (coded.pixel_format != masks.pixel_format) {
      converter_ = std::make_unique<media::FrameConverter>(masks, coded);
      pool_ = std::make_unique<media::FramePool>(coded.pixel_format, coded.width, coded.height);
    }
    for (std::string& notice : media::fit_container(container, source.video(), choice, encoder_options))
      notices.push_back(options.path.filename().string() + ": " + std::move(notice));
    encoder_ = std::make_unique<media::Encoder>(choice, coded, encoder_options,
                                                (container.flags & AVFMT_GLOBALHEADER) != 0);
    media::StreamPlan plan;
    for (unsigned i = 0; i < source.context().nb_streams; ++i) {
      const bool video = static_cast<int>(i) == source.video_index();
      plan.streams.push_back(
          {video ? media::StreamAction::process : media::StreamAction::drop, AV_CODEC_ID_NONE});
    }
    muxer_ =
        std::make_unique<media::Muxer>(file_, container, source, std::move(plan), encoder_->context(), coded);
    summary_ = fmt::format("{} {} in {}", choice.codec->name, av_get_pix_fmt_name(choice.pixel_format),
                           container.name);
  }

  Prepared prepare(media::FramePtr frame, const FrameLabel&) const override { return {std::move(frame), {}}; }
  void write(Prepared prepared, const FrameLabel&) override {
    media::FramePtr frame = std::move(prepared.frame);
    if (converter_) {
      media::FramePtr converted = pool_->get();
      converter_->run(*frame, *converted);
      frame = std::move(converted);
    }
    encoder_->send(frame.get());
    drain();
  }
  void finish() override {
    encoder_->send(nullptr);
    drain();
    muxer_->set_last_duration(encoder_->last_duration());
    muxer_->finish();
  }
  void commit() override { file_.commit(); }
  std::filesystem::path commit_partial() override { return file_.commit_partial(); }
  std::int64_t bytes_written() const override { return file_.bytes_written(); }
  std::string summary() const override { return summary_; }

 private:
  void drain() {
    while (media::PacketPtr packet = encoder_->receive()) muxer_->write_video(std::move(packet));
  }

  media::OutputFile file_;
  std::unique_ptr<media::FrameConverter> converter_;
  std::unique_ptr<media::FramePool> pool_;
  std::unique_ptr<media::Encoder> encoder_;
  std::unique_ptr<media::Muxer> muxer_;
  std::string summary_;
};

}  // namespace

std::unique_ptr<FrameOutput> make_mask_video(const FrameOutputOptions& options, const std::string& format,
                                             const media::Source& source, const media::VideoFormat& frames,
                                             std::vector<std::string>& notices) {
  const AVOutputFormat* container =
      media::choose_container(options.path.string(), media::is_standard_stream(options.path), format);
  if (options.depth == 1) {
    throw Error(ErrorCode::unsupported,
                options.path.string() + ": masks of 1 bit are written as png pictures or npy, not as video");
  }
  const std::string_view name = container->name;
  if (options.depth == 16 && name != "matroska" && name != "nut") {
    throw Error(
        ErrorCode::unsupported,
        fmt::format("{}: a {} file has no place for masks of 16 bits; use .mkv (FFV1), .npy or png pictures",
                    options.path.string(), container->name));
  }
  media::VideoFormat masks = frames;
  masks.pixel_format = options.depth == 16 ? AV_PIX_FMT_GRAY16LE : AV_PIX_FMT_GRAY8;
  masks.range = AVCOL_RANGE_JPEG;
  masks.matrix = AVCOL_SPC_UNSPECIFIED;
  masks.primaries = AVCOL_PRI_UNSPECIFIED;
  masks.transfer = AVCOL_TRC_UNSPECIFIED;
  masks.chroma_location = AVCHROMA_LOC_UNSPECIFIED;
  masks.field_order = AV_FIELD_PROGRESSIVE;
  return std::make_unique<MaskVideo>(options, *container, source, masks, notices);
}

}  // namespace saccade::pipeline
