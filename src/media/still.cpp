#include "media/still.h"

extern "C" {
#include <libavutil/opt.h>
}

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

#include "media/convert.h"

namespace saccade::media {

const char* still_name(StillKind kind) noexcept {
  switch (kind) {
    case StillKind::png:
      return "png";
    case StillKind::jpeg:
      return "jpeg";
    case StillKind::webp:
      return "webp";
    case StillKind::tiff:
      return "tiff";
  }
  return "?";
}

bool parse_still_name(const std::string& name, StillKind& kind) {
  static constexpr std::pair<std::string_view, StillKind> kNames[] = {
      {"png", StillKind::png},  {"jpg", StillKind::jpeg},  {"jpeg", StillKind::jpeg},
      {"jpe", StillKind::jpeg}, {"jfif", StillKind::jpeg}, {"webp", StillKind::webp},
      {"tif", StillKind::tiff}, {"tiff", StillKind::tiff}};
  std::string lower = name;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const auto& [known, value] : kNames) {
    if (lower != known) continue;
    kind = value;
    return true;
  }
  return false;
}

bool parse_still(const std::string& file_name, StillKind& kind) {
  const auto dot = file_name.rfind('.');
  return dot != std::string::npos && parse_still_name(file_name.substr(dot + 1), kind);
}

bool carries_alpha(StillKind kind) noexcept { return kind != StillKind::jpeg; }

AVPixelFormat still_format(StillKind kind, AVPixelFormat wanted, bool alpha) {
  const AVPixFmtDescriptor* d = av_pix_fmt_desc_get(wanted);
  if (kind == StillKind::jpeg) {
    if (d->nb_components >= 3 && (d->flags & AV_PIX_FMT_FLAG_RGB) == 0) {
      if (d->log2_chroma_w == 1 && d->log2_chroma_h == 1) return AV_PIX_FMT_YUV420P;
      if (d->log2_chroma_w == 1 && d->log2_chroma_h == 0) return AV_PIX_FMT_YUV422P;
    }
    return AV_PIX_FMT_YUV444P;
  }
  if (kind == StillKind::webp) return alpha ? AV_PIX_FMT_BGRA : AV_PIX_FMT_BGR24;
  return alpha ? AV_PIX_FMT_RGBA : AV_PIX_FMT_RGB24;
}

PacketPtr encode_still(StillKind kind, const AVFrame& frame, int quality) {
  capture_log();
  const AVCodec* codec = kind == StillKind::webp
                             ? avcodec_find_encoder_by_name("libwebp")
                             : avcodec_find_encoder(kind == StillKind::png    ? AV_CODEC_ID_PNG
                                                    : kind == StillKind::tiff ? AV_CODEC_ID_TIFF
                                                                              : AV_CODEC_ID_MJPEG);
  if (codec == nullptr) {
    throw Error(ErrorCode::unsupported,
                std::string("this build of FFmpeg cannot write ") + still_name(kind) + " pictures");
  }
  CodecPtr encoder(avcodec_alloc_context3(codec));
  if (!encoder) throw Error(ErrorCode::limit, "out of memory for an encoder");
  FramePtr picture = share(frame);
  if (frame.format == AV_PIX_FMT_GRAY16LE || frame.format == AV_PIX_FMT_BGR24) {  // what the encoders lack
    VideoFormat from, to;
    from.width = to.width = frame.width;
    from.height = to.height = frame.height;
    from.pixel_format = static_cast<AVPixelFormat>(frame.format);
    to.pixel_format = frame.format == AV_PIX_FMT_BGR24 ? AV_PIX_FMT_BGRA
                      : codec->id == AV_CODEC_ID_TIFF  ? AV_PIX_FMT_GRAY16LE
                                                       : AV_PIX_FMT_GRAY16BE;
    from.range = to.range = AVCOL_RANGE_JPEG;
    if (to.pixel_format != from.pixel_format) {
      picture = FramePool(to.pixel_format, to.width, to.height).get();
      FrameConverter(from, to).run(frame, *picture);
    }
  }
  encoder->width = frame.width;
  encoder->height = frame.height;
  encoder->pix_fmt = static_cast<AVPixelFormat>(picture->format);
  encoder->time_base = {1, 25};
  encoder->sample_aspect_ratio = frame.sample_aspect_ratio;
  encoder->color_range = AVCOL_RANGE_JPEG;
  encoder->colorspace = frame.colorspace;
  encoder->thread_count = 1;
  if (kind == StillKind::jpeg) {
    // Quality 100 is FFmpeg's scale 1, the finest; quality 1 its coarsest, 31.
    encoder->flags |= AV_CODEC_FLAG_QSCALE;
    encoder->global_quality = FF_QP2LAMBDA * std::clamp(1 + (100 - quality) * 30 / 99, 1, 31);
    encoder->qmin = 1;
    encoder->strict_std_compliance =
        FF_COMPLIANCE_UNOFFICIAL;  // full-range "yuv" instead of the deprecated "yuvj"
  } else if (kind == StillKind::webp) {
    if (quality == 100) av_opt_set_int(encoder->priv_data, "lossless", 1, 0);
    av_opt_set_double(encoder->priv_data, "quality", quality == 100 ? 70 : quality, 0);
  } else if (kind == StillKind::tiff) {
    av_opt_set(encoder->priv_data, "compression_algo", "deflate", 0);
  }
  check(avcodec_open2(encoder.get(), codec, nullptr),
        std::string("the ") + still_name(kind) + " encoder refuses the picture");
  picture->quality = encoder->global_quality;
  picture->pts = 0;
  picture->color_range = AVCOL_RANGE_JPEG;
  check(avcodec_send_frame(encoder.get(), picture.get()), "encoding");
  check(avcodec_send_frame(encoder.get(), nullptr), "encoding");
  PacketPtr packet = make_packet();
  check(avcodec_receive_packet(encoder.get(), packet.get()), "encoding");
  return packet;
}

void write_still(OutputFile& file, StillKind kind, const AVFrame& frame, int quality) {
  const PacketPtr packet = encode_still(kind, frame, quality);
  avio_write(file.context(), packet->data, packet->size);
  avio_flush(file.context());
  file.check_written();
}

}  // namespace saccade::media
