#include "media/picture_filter.h"

#include <fmt/format.h>

#include <string>

namespace saccade::media {

namespace {

/// White of a standard picture in a high dynamic range one, in candela a square metre.
constexpr int kReferenceWhite = 203;

AVPixelFormat eight_bits(AVPixelFormat format) {
  const AVPixFmtDescriptor* d = av_pix_fmt_desc_get(format);
  if ((d->flags & AV_PIX_FMT_FLAG_RGB) != 0 || d->nb_components < 3 || d->log2_chroma_w == 0)
    return AV_PIX_FMT_YUV444P;
  return d->log2_chroma_h == 0 ? AV_PIX_FMT_YUV422P : AV_PIX_FMT_YUV420P;
}

std::string tone_chain(const VideoFormat& format, AVPixelFormat result) {
  const char* transfer = format.transfer == AVCOL_TRC_SMPTE2084 ? "smpte2084" : "arib-std-b67";
  const bool constant = format.matrix == AVCOL_SPC_BT2020_CL;
  return fmt::format(
      "zscale=transferin={}:matrixin={}:primariesin=bt2020:rangein={}:transfer=linear:npl={},format="
      "gbrpf32le,"
      "zscale=primaries=bt709,tonemap=hable:desat=0,zscale=transfer=bt709:matrix=bt709:primaries=bt709:range="
      "tv,"
      "format={}",
      transfer, constant ? "2020_cl" : "2020_ncl", format.range == AVCOL_RANGE_JPEG ? "full" : "limited",
      kReferenceWhite, av_get_pix_fmt_name(result));
}

}  // namespace

bool is_high_dynamic_range(const VideoFormat& format) noexcept {
  return format.transfer == AVCOL_TRC_SMPTE2084 || format.transfer == AVCOL_TRC_ARIB_STD_B67;
}

PictureFilter::PictureFilter(const PictureFilterOptions& options, const VideoFormat& format)
    : options_(options), format_(format), result_(format) {
  if (!is_high_dynamic_range(format)) options_.tone_map = false;
  if (options_.deinterlace != Deinterlace::none) result_.field_order = AV_FIELD_PROGRESSIVE;
  if (!options_.tone_map) return;
  result_.pixel_format = eight_bits(format.pixel_format);
  result_.matrix = AVCOL_SPC_BT709;
  result_.primaries = AVCOL_PRI_BT709;
  result_.transfer = AVCOL_TRC_BT709;
  result_.range = AVCOL_RANGE_MPEG;
  result_.mastering.reset();
  result_.light.reset();
  open(format.pixel_format, format.width,
       format.height);  // a filter that is missing is told before the first picture
}

void PictureFilter::open(AVPixelFormat format, int width, int height) {
  VideoFormat source = format_;
  source.pixel_format = format;
  source.width = width;
  source.height = height;
  std::string chain;
  if (options_.deinterlace != Deinterlace::none) {
    chain = fmt::format("{}=mode=send_frame:parity={}:deint={}", has_filter("bwdif") ? "bwdif" : "yadif",
                        format_.field_order == AV_FIELD_TT   ? "tff"
                        : format_.field_order == AV_FIELD_BB ? "bff"
                                                             : "auto",
                        options_.deinterlace == Deinterlace::all ? "all" : "interlaced");
  }
  const AVPixelFormat result = options_.tone_map ? result_.pixel_format : format;
  if (options_.tone_map) chain += (chain.empty() ? "" : ",") + tone_chain(format_, result);
  if (chain.empty()) chain = "null";
  chain_ = std::make_unique<FilterChain>(chain, source, result);
  opened_format_ = format;
  opened_width_ = width;
  opened_height_ = height;
}

void PictureFilter::drain() {
  while (FramePtr frame = chain_->receive()) ready_.push_back(std::move(frame));
}

void PictureFilter::send(const AVFrame* frame) {
  if (frame == nullptr) {
    if (!chain_) return;
    chain_->send(nullptr);
    drain();
    return;
  }
  if (chain_ &&
      (frame->format != opened_format_ || frame->width != opened_width_ || frame->height != opened_height_)) {
    chain_->send(nullptr);  // what comes is of another size
    drain();
    chain_.reset();
  }
  if (!chain_) open(static_cast<AVPixelFormat>(frame->format), frame->width, frame->height);
  chain_->send(frame);
  drain();
}

FramePtr PictureFilter::receive() {
  if (ready_.empty()) return nullptr;
  FramePtr frame = std::move(ready_.front());
  ready_.pop_front();
  return frame;
}

}  // namespace saccade::media
