#include "pipeline/background.h"

#include <algorithm>
#include <utility>

#include "pipeline/picture.h"

namespace saccade::pipeline {

namespace {

constexpr double kTimeTolerance = 1e-6;  // seconds

bool is_supported(AVPixelFormat format) {
  const auto formats = supported_formats();
  return std::find(formats.begin(), formats.end(), format) != formats.end();
}

/// The closest sample format that vision knows.
AVPixelFormat nearest(AVPixelFormat format) {
  AVPixelFormat best = AV_PIX_FMT_NONE;
  for (const AVPixelFormat f : supported_formats())
    best = av_find_best_pix_fmt_of_2(best, f, format, 0, nullptr);
  return best;
}

}  // namespace

Background::Background(const std::filesystem::path& path, const vision::PictureSpec& target, Isa isa,
                       const std::atomic<bool>* cancel)
    : path_(path), cancel_(cancel), target_(target), isa_(isa) {
  target_.format = vision::without_alpha(target_.format);
  open();
  still_ = source_->still();
  upcoming_ = next();
  if (!upcoming_)
    throw Error(ErrorCode::media, path_.string() + ": no picture in the background could be decoded");
  if (!still_) return;
  vision::Workspace workspace;
  picture_ = vision::Picture(target_.format, target_.width, target_.height, target_.color);
  converter_->run(view_of(*upcoming_, picture_spec(format_)), picture_.view(), workspace);
  upcoming_.reset();
  decoder_.reset();
  source_.reset();
}

void Background::open() {
  decoder_.reset();
  source_ = std::make_unique<media::Source>(path_, media::SourceOptions{.stream = {}, .cancel = cancel_});
  for (unsigned i = 0; i < source_->context().nb_streams; ++i) {
    if (static_cast<int>(i) != source_->video_index()) source_->ignore(static_cast<int>(i));
  }
  decoder_ = std::make_unique<media::Decoder>(source_->video());
}

/// The decoded picture in a form that vision reads; the first one decides which.
media::FramePtr Background::usable(const AVFrame& decoded) {
  if (!got_any_) {
    got_any_ = true;
    format_ = media::describe_video(source_->context(), source_->video(), decoded);
    const media::VideoFormat original = decoded_format_ = format_;
    if (!is_supported(format_.pixel_format)) {
      format_.pixel_format = nearest(format_.pixel_format);
      to_supported_.emplace(original, format_);
    }
    pool_ = std::make_unique<media::FramePool>(format_.pixel_format, format_.width, format_.height);
    converter_.emplace(picture_spec(format_), target_, vision::Placement::cover, isa_);
    first_ = static_cast<double>(decoded.pts) * av_q2d(original.time_base);
  }
  media::VideoFormat from = format_of_later(decoded_format_, decoded), to = format_;
  const bool recolored = !same_colors(decoded_format_, from);
  const bool same = !recolored && from.width == to.width && from.height == to.height;
  if (same && from.pixel_format == format_.pixel_format) return media::share(decoded);
  media::FramePtr frame = pool_->get();
  if (to_supported_ && same && from.pixel_format == decoded_format_.pixel_format) {
    to_supported_->run(decoded, *frame);
  } else {  // a change in mid-stream
    if (recolored) {
      from.matrix = matrix_of(from);
      to.matrix = matrix_of(to);
    }
    media::FrameConverter(from, to).run(decoded, *frame);
  }
  return frame;
}

/// The next picture of the file; null at its end.
media::FramePtr Background::next() {
  while (true) {
    if (const media::FramePtr frame = decoder_->receive()) return usable(*frame);
    if (source_->ended()) return nullptr;
    const media::PacketPtr packet = source_->read();
    if (packet && packet->stream_index != source_->video_index()) continue;
    decoder_->send(packet.get());
    if (!packet && !source_->ended()) return nullptr;  // cancelled
  }
}

media::FramePtr Background::at(double seconds) {
  const auto time_of = [&](const AVFrame& frame) {
    return static_cast<double>(frame.pts) * av_q2d(format_.time_base) - first_ + offset_;
  };
  while (true) {
    if (!upcoming_) {
      const bool stands = end_ > seconds || end_ <= offset_ || !source_->ended();  // the last picture does
      if (stands) break;
      offset_ = end_;
      open();
      upcoming_ = next();
      if (!upcoming_) break;
    }
    if (current_ && time_of(*upcoming_) > seconds + kTimeTolerance) break;
    end_ = time_of(*upcoming_) + static_cast<double>(upcoming_->pkt_duration) * av_q2d(format_.time_base);
    current_ = std::move(upcoming_);
    upcoming_ = next();
  }
  return media::share(*current_);
}

vision::ConstPictureView Background::view(const AVFrame* frame, const vision::Picture& scratch,
                                          vision::Workspace& workspace) const {
  if (still_) return picture_.view();
  converter_->run(view_of(*frame, picture_spec(format_)), scratch.view(), workspace);
  return scratch.view();
}

}  // namespace saccade::pipeline
