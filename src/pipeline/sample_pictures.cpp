#include "pipeline/sample_pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/files.h"
#include "media/convert.h"
#include "media/decoder.h"
#include "media/source.h"
#include "media/video_format.h"
#include "pipeline/picture.h"
#include "vision/preprocess.h"

namespace saccade::pipeline {

namespace {

namespace fs = std::filesystem;

// Pictures that follow each other are alike; the next that counts is so many later.
constexpr int kStride = 8;
constexpr std::size_t kPlaces = 8;

void check_cancel(const PictureSource& source) {
  if (source.cancel != nullptr && source.cancel->load(std::memory_order_relaxed))
    throw Error(ErrorCode::interrupted, "interrupted while the network was calibrated");
}

/// The next picture of an open file; null at its end.
media::FramePtr next_picture(media::Source& source, media::Decoder& decoder) {
  while (true) {
    if (media::FramePtr frame = decoder.receive()) return frame;
    const media::PacketPtr packet = source.read();
    if (packet && packet->stream_index != source.video_index()) continue;
    decoder.send(packet.get());
    if (!packet) return decoder.receive();
  }
}

/// Brings pictures into the network's input.
class Reader {
 public:
  Reader(const InputSpec& input, int width, int height, const Shape& shape, Isa isa)
      : input_(input), width_(width), height_(height), shape_(shape), isa_(isa) {}

  quantise::Sample read(media::Source& source, const AVFrame& frame) {
    media::VideoFormat format = media::describe_video(source.context(), source.video(), frame);
    format.pixel_format =
        media::without_jpeg_disguise(static_cast<AVPixelFormat>(frame.format), format.range);
    format.width = frame.width, format.height = frame.height;
    const auto supported = supported_formats();
    media::FramePtr converted;
    const AVFrame* picture = &frame;
    if (std::find(supported.begin(), supported.end(), format.pixel_format) == supported.end()) {
      media::VideoFormat to = format;
      to.pixel_format = AV_PIX_FMT_RGB24;
      to.matrix = AVCOL_SPC_RGB;
      to.range = AVCOL_RANGE_JPEG;
      media::FramePool pool(to.pixel_format, to.width, to.height);
      converted = pool.get();
      media::FrameConverter(format, to).run(frame, *converted);
      picture = converted.get();
      format = to;
    }
    const vision::PictureSpec spec = picture_spec(format);
    const vision::Preprocessor preprocessor(spec, input_, width_, height_, isa_);
    Tensor tensor(DType::f32, shape_);
    preprocessor.run(view_of(*picture, spec), tensor.data<float>(), workspace_);
    return {std::move(tensor)};
  }

 private:
  InputSpec input_;
  int width_, height_;
  Shape shape_;
  Isa isa_;
  vision::Workspace workspace_;
};

bool seek(media::Source& source, double seconds) {
  AVFormatContext& context = source.context();
  const AVStream& video = source.video();
  const std::int64_t start = video.start_time == AV_NOPTS_VALUE ? 0 : video.start_time;
  const std::int64_t at = start + static_cast<std::int64_t>(seconds / av_q2d(video.time_base));
  return avformat_seek_file(&context, source.video_index(), INT64_MIN, at, at, 0) >= 0;
}

void sample_video(const PictureSource& from, media::Source& source, std::size_t count,
                  const std::function<void(const AVFrame&)>& take) {
  const double duration = source.duration();
  const std::size_t places = duration > 0 ? std::min(kPlaces, count) : 1;
  std::int64_t last = INT64_MIN;  // what was taken lies before
  std::size_t taken = 0;
  for (std::size_t place = 0; place < places && taken < count; ++place) {
    if (place > 0 && !seek(source, duration * static_cast<double>(place) / static_cast<double>(places)))
      break;
    media::Decoder decoder(source.video());
    const std::size_t until = count * (place + 1) / places;
    for (int skip = 0; taken < until;) {
      check_cancel(from);
      const media::FramePtr frame = next_picture(source, decoder);
      if (!frame) break;
      if (frame->pts <= last) continue;
      if (skip-- > 0) continue;
      take(*frame);
      ++taken, skip = kStride - 1, last = frame->pts;
    }
  }
}

}  // namespace

std::vector<fs::path> picture_files(const PictureSource& source) {
  std::error_code error;
  const fs::file_status status = fs::status(source.path, error);
  if (!fs::exists(status)) {
    std::vector<fs::path> series;
    for (media::ListedPicture& picture : media::list_pictures(source.path))
      series.push_back(std::move(picture.file));
    if (!series.empty()) return series;
  }
  if (!fs::exists(status))
    throw Error(ErrorCode::not_found, source.path.string() + ": no such file or folder");
  if (fs::is_regular_file(status)) return {source.path};
  if (!fs::is_directory(status))
    throw Error(ErrorCode::invalid_argument, source.path.string() +
                                                 ": what is calibrated on must be a file or folder, as it is "
                                                 "read twice; name one with --calibration");
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(source.path))
    if (entry.is_regular_file(error)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  if (files.empty())
    throw Error(ErrorCode::invalid_argument, source.path.string() + ": there is no file in this folder");
  return files;
}

std::vector<SampledPicture> sample_pictures(const PictureSource& source, std::size_t count,
                                            const InputSpec& input, int width, int height, const Shape& shape,
                                            Isa isa) {
  Reader reader(input, width, height, shape, isa);
  std::vector<SampledPicture> pictures;
  const std::vector<fs::path> files = picture_files(source);
  const std::size_t used = std::min(count, files.size());
  for (std::size_t i = 0; i < used; ++i) {
    const fs::path& file = files[i * files.size() / used];
    check_cancel(source);
    media::Source opened(
        file, {.stream = files.size() == 1 ? source.stream : std::nullopt, .cancel = source.cancel});
    sample_video(source, opened, files.size() == 1 && !opened.still() ? count : 1, [&](const AVFrame& frame) {
      pictures.push_back({reader.read(opened, frame), file});
    });
  }
  check_cancel(source);
  if (pictures.empty())
    throw Error(ErrorCode::media, source.path.string() + ": no picture could be decoded to calibrate on");
  return pictures;
}

fs::path label_file(const fs::path& folder, const fs::path& picture) {
  std::error_code error;
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error))
    if (entry.is_regular_file(error) && entry.path().stem() == picture.stem() &&
        !same_file(entry.path(), picture))
      found.push_back(entry.path());
  if (error) throw Error(ErrorCode::io, folder.string() + ": cannot read the labels: " + error.message());
  if (found.empty())
    throw Error(ErrorCode::not_found,
                fmt::format("{}: no label for {}: there is no file {}.*", folder.string(),
                            picture.filename().string(), picture.stem().string()));
  if (found.size() == 1) return found.front();
  std::sort(found.begin(), found.end());
  throw Error(
      ErrorCode::invalid_argument,
      fmt::format("{}: which label is that of {}, {} or {}?", folder.string(), picture.filename().string(),
                  found[0].filename().string(), found[1].filename().string()));
}

std::vector<std::int32_t> read_labels(const fs::path& folder, const fs::path& picture, int width, int height,
                                      bool binary) {
  const fs::path file = label_file(folder, picture);
  media::Source source(file);
  media::Decoder decoder(source.video());
  const media::FramePtr frame = next_picture(source, decoder);
  if (!frame) throw Error(ErrorCode::media, file.string() + ": the picture cannot be decoded");
  media::FramePtr gray;
  const AVFrame* labels = frame.get();
  const auto format = static_cast<AVPixelFormat>(frame->format);
  if (format != AV_PIX_FMT_PAL8 && format != AV_PIX_FMT_GRAY8) {
    if (!binary)
      throw Error(
          ErrorCode::unsupported,
          fmt::format("{}: labels must be a picture with a palette or of 8 bits of grey, this one is {}",
                      file.string(), av_get_pix_fmt_name(format)));
    const media::VideoFormat from = media::describe_video(source.context(), source.video(), *frame);
    media::VideoFormat to = from;
    to.pixel_format = AV_PIX_FMT_GRAY8;
    to.range = AVCOL_RANGE_JPEG;
    media::FramePool pool(to.pixel_format, frame->width, frame->height);
    gray = pool.get();
    media::FrameConverter(from, to).run(*frame, *gray);
    labels = gray.get();
  }
  const auto at = [&](std::int64_t y, std::int64_t x) {
    return labels->data[0][y * labels->linesize[0] + x];
  };
  int most = 0;
  for (int y = 0; y < labels->height; ++y)
    for (int x = 0; x < labels->width; ++x) most = std::max<int>(most, at(y, x));
  std::vector<std::int32_t> result;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      const int value = at((2 * y + 1) * std::int64_t{labels->height} / (2 * height),
                           (2 * x + 1) * std::int64_t{labels->width} / (2 * width));
      result.push_back(binary ? (value > (most > 1 ? 127 : 0) ? 1 : 0) : value == 255 ? -1 : value);
    }
  return result;
}

}  // namespace saccade::pipeline
