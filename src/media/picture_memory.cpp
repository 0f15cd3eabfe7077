#include "media/picture_memory.h"

extern "C" {
#include <libavutil/imgutils.h>
#include <libavutil/pixdesc.h>
}

#include <algorithm>
#include <cstdint>

#include "platform/pages.h"

namespace saccade::media {

namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kPlaneAlign = 64;
/// Of a huge page: what fills more of one gets a whole one.
constexpr std::size_t kWorthAPage = kHugePage * 3 / 8;
/// Behind each plane: decoders write and read whole vectors.
constexpr std::size_t kPlaneTail = 128;

AVBufferRef* allocate_pages(void*, std::size_t bytes) noexcept {
  try {
    auto pages = std::make_unique<platform::Pages>(bytes);
    const auto free_pages = [](void* owner, std::uint8_t*) { delete static_cast<platform::Pages*>(owner); };
    AVBufferRef* buffer =
        av_buffer_create(static_cast<std::uint8_t*>(pages->data()), bytes, free_pages, pages.get(), 0);
    if (buffer != nullptr) (void)pages.release();
    return buffer;
  } catch (...) {
    return nullptr;
  }
}

}  // namespace

BufferPoolPtr make_picture_pool(std::size_t bytes) {
  const std::size_t rest = bytes % kHugePage;
  if (rest > kWorthAPage) bytes += kHugePage - rest;
  BufferPoolPtr pool(bytes < kHugePage ? av_buffer_pool_init(bytes, nullptr)
                                       : av_buffer_pool_init2(bytes, nullptr, allocate_pages, nullptr));
  if (!pool) throw Error(ErrorCode::limit, "out of memory for pictures");
  return pool;
}

void DecoderMemory::serve(AVCodecContext& codec) noexcept {
  codec.opaque = this;
  codec.get_buffer2 = get;
}

/// As FFmpeg lays its own pictures out, but all planes in one block. False: it has to do it itself.
bool DecoderMemory::plan(AVCodecContext& codec, const AVFrame& frame) {
  const auto format = static_cast<AVPixelFormat>(frame.format);
  const AVPixFmtDescriptor* d = av_pix_fmt_desc_get(format);
  if (d == nullptr || (d->flags & (AV_PIX_FMT_FLAG_HWACCEL | AV_PIX_FMT_FLAG_PAL)) != 0) return false;
  int width = frame.width, height = frame.height, align[AV_NUM_DATA_POINTERS] = {};
  avcodec_align_dimensions2(&codec, &width, &height, align);
  // Widened until every plane's rows begin where they must.
  for (bool aligned = false; !aligned; width += width & ~(width - 1)) {
    if (av_image_fill_linesizes(linesize_, format, width) < 0) return false;
    aligned = true;
    for (int i = 0; i < 4; ++i) aligned = aligned && (align[i] == 0 || linesize_[i] % align[i] == 0);
  }
  std::ptrdiff_t wide[4];
  std::copy(linesize_, linesize_ + 4, wide);
  std::size_t sizes[4] = {};
  if (av_image_fill_plane_sizes(sizes, format, height, wide) < 0) return false;
  std::size_t total = 0;
  for (int i = 0; i < 4; ++i) {
    offset_[i] = total;
    if (sizes[i] > 0) total += (sizes[i] + kPlaneTail + kPlaneAlign - 1) / kPlaneAlign * kPlaneAlign;
  }
  if (total <= kWorthAPage) return false;
  pool_ = make_picture_pool(total);
  return true;
}

int DecoderMemory::get(AVCodecContext* codec, AVFrame* frame, int flags) noexcept {
  DecoderMemory& self = *static_cast<DecoderMemory*>(codec->opaque);
  if ((codec->codec->capabilities & AV_CODEC_CAP_DR1) == 0)
    return avcodec_default_get_buffer2(codec, frame, flags);
  if (frame->format != self.format_ || frame->width != self.width_ || frame->height != self.height_) {
    self.format_ = -1;
    try {
      self.ours_ = self.plan(*codec, *frame);
    } catch (const Error&) {
      return AVERROR(ENOMEM);
    }
    self.format_ = frame->format, self.width_ = frame->width, self.height_ = frame->height;
  }
  if (!self.ours_) return avcodec_default_get_buffer2(codec, frame, flags);
  frame->buf[0] = av_buffer_pool_get(self.pool_.get());
  if (frame->buf[0] == nullptr) return AVERROR(ENOMEM);
  for (int i = 0; i < 4; ++i) {
    frame->linesize[i] = self.linesize_[i];
    frame->data[i] = self.linesize_[i] != 0 ? frame->buf[0]->data + self.offset_[i] : nullptr;
  }
  frame->extended_data = frame->data;
  return 0;
}

}  // namespace saccade::media
