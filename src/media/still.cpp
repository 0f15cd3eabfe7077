#include "media/still.h"

extern "C" {
#include <libavutil/opt.h>
}

#include <algorithm>
#include <cctype>

namespace saccade::media {

bool parse_still(const std::string& file_name, StillKind& kind) {
  const auto dot = file_name.rfind('.');
  if (dot == std::string::npos) return false;
  std::string extension = file_name.substr(dot + 1);
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (extension == "png") {
    kind = StillKind::png;
    return true;
  }
  if (extension == "jpg" || extension == "jpeg" || extension == "jpe" || extension == "jfif") {
    kind = StillKind::jpeg;
    return true;
  }
  return false;
}

AVPixelFormat still_format(StillKind kind, AVPixelFormat wanted, bool alpha) {
  const AVPixFmtDescriptor* d = av_pix_fmt_desc_get(wanted);
  if (kind == StillKind::jpeg) {
    if (d->nb_components >= 3 && (d->flags & AV_PIX_FMT_FLAG_RGB) == 0) {
      if (d->log2_chroma_w == 1 && d->log2_chroma_h == 1) return AV_PIX_FMT_YUV420P;
      if (d->log2_chroma_w == 1 && d->log2_chroma_h == 0) return AV_PIX_FMT_YUV422P;
    }
    return AV_PIX_FMT_YUV444P;
  }
  return alpha ? AV_PIX_FMT_RGBA : AV_PIX_FMT_RGB24;
}

void write_still(OutputFile& file, StillKind kind, const AVFrame& frame, int quality) {
  capture_log();
  const AVCodec* codec = avcodec_find_encoder(kind == StillKind::png ? AV_CODEC_ID_PNG : AV_CODEC_ID_MJPEG);
  if (codec == nullptr)
    throw Error(ErrorCode::unsupported, "this build of FFmpeg cannot write such pictures");
  CodecPtr encoder(avcodec_alloc_context3(codec));
  if (!encoder) throw Error(ErrorCode::limit, "out of memory for an encoder");
  encoder->width = frame.width;
  encoder->height = frame.height;
  encoder->pix_fmt = static_cast<AVPixelFormat>(frame.format);
  encoder->time_base = {1, 25};
  encoder->sample_aspect_ratio = frame.sample_aspect_ratio;
  encoder->color_range = AVCOL_RANGE_JPEG;
  encoder->colorspace = frame.colorspace;
  if (kind == StillKind::jpeg) {
    // Quality 100 is FFmpeg's scale 1, the finest; quality 1 its coarsest, 31.
    encoder->flags |= AV_CODEC_FLAG_QSCALE;
    encoder->global_quality = FF_QP2LAMBDA * std::clamp(1 + (100 - quality) * 30 / 99, 1, 31);
    encoder->qmin = 1;
    encoder->strict_std_compliance =
        FF_COMPLIANCE_UNOFFICIAL;  // full-range "yuv" instead of the deprecated "yuvj"
  }
  check(avcodec_open2(encoder.get(), codec, nullptr), file.path().string() + ": the picture encoder refuses");
  const FramePtr picture = share(frame);
  picture->quality = encoder->global_quality;
  picture->pts = 0;
  picture->color_range = AVCOL_RANGE_JPEG;
  check(avcodec_send_frame(encoder.get(), picture.get()), "encoding");
  check(avcodec_send_frame(encoder.get(), nullptr), "encoding");
  const PacketPtr packet = make_packet();
  check(avcodec_receive_packet(encoder.get(), packet.get()), "encoding");
  avio_write(file.context(), packet->data, packet->size);
  avio_flush(file.context());
  file.check_written();
}

}  // namespace saccade::media
