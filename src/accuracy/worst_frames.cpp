#include "accuracy/worst_frames.h"

#include <fmt/format.h>

#include <algorithm>

#include "media/convert.h"
#include "media/source.h"
#include "media/still.h"
#include "media/video_format.h"
#include "pipeline/frame_reader.h"
#include "pipeline/job_state.h"
#include "saccade/error.h"

namespace saccade::accuracy {

namespace {

namespace fs = std::filesystem;
constexpr int kPanels = 4;

/// Upright, planes of green, blue and red.
media::FramePtr upright_colours(const media::VideoFormat& format, const AVFrame& frame) {
  media::VideoFormat from = format, to = format;
  from.width = to.width = frame.width;
  from.height = to.height = frame.height;
  from.pixel_format = media::without_jpeg_disguise(static_cast<AVPixelFormat>(frame.format), from.range);
  to.pixel_format = AV_PIX_FMT_GBRP;
  to.matrix = AVCOL_SPC_RGB;
  to.range = AVCOL_RANGE_JPEG;
  media::FramePtr colours = media::FramePool(to.pixel_format, to.width, to.height).get();
  media::FrameConverter(from, to).run(frame, *colours);
  if (!format.display_matrix) return colours;
  const media::VideoFormat turned_format = media::upright_format(to);
  media::FramePtr turned =
      media::FramePool(turned_format.pixel_format, turned_format.width, turned_format.height).get();
  media::turn_upright(*colours, media::orientation_of(*format.display_matrix), *turned);
  return turned;
}

media::FramePtr panels_of(const AVFrame& colours, MaskView reference, MaskView other) {
  const int width = reference.width, height = reference.height;
  media::FramePtr result = media::FramePool(AV_PIX_FMT_RGB24, kPanels * width, height).get();
  for (int y = 0; y < height; ++y) {
    std::uint8_t* row = result->data[0] + std::ptrdiff_t{y} * result->linesize[0];
    for (int x = 0; x < width; ++x) {
      const std::int64_t i = std::int64_t{y} * width + x;
      const auto put = [&](int panel, std::uint8_t red, std::uint8_t green, std::uint8_t blue) {
        std::uint8_t* pixel = row + 3 * (std::ptrdiff_t{panel} * width + x);
        pixel[0] = red, pixel[1] = green, pixel[2] = blue;
      };
      const auto colour = [&](int plane) {
        const int cx = std::min(x, colours.width - 1), cy = std::min(y, colours.height - 1);
        return colours.data[plane][std::ptrdiff_t{cy} * colours.linesize[plane] + cx];
      };
      put(0, colour(2), colour(0), colour(1));
      put(1, reference.data[i], reference.data[i], reference.data[i]);
      put(2, other.data[i], other.data[i], other.data[i]);
      const bool a = reference.foreground(i), b = other.foreground(i);
      constexpr std::uint8_t kBoth = 110, kOne = 255;
      if (a == b) {
        put(3, a ? kBoth : 0, a ? kBoth : 0, a ? kBoth : 0);
      } else {
        put(3, a ? kOne : 0, 0, b ? kOne : 0);
      }
    }
  }
  return result;
}

}  // namespace

std::vector<fs::path> write_worst(const JobOptions& job, const JobCallbacks& callbacks,
                                  const compiler::Target& target, std::span<const std::int64_t> frames,
                                  const MaskArray& reference, const MaskArray& other, const fs::path& folder,
                                  const std::vector<fs::path>& read) {
  std::vector<fs::path> paths;
  if (frames.empty()) return paths;
  media::Source source(job.input, pipeline::source_options(job, callbacks.cancel));
  const std::unique_ptr<pipeline::Network> network = network_of(job, callbacks, target);
  pipeline::JobState state{.options = job,
                           .protect = {},
                           .callbacks = callbacks,
                           .network = *network,
                           .clocks = {},
                           .report = {},
                           .measured = {},
                           .network_identity = {}};
  pipeline::FrameReader reader(state, source);
  std::vector<media::PacketPtr> ignored;
  paths.resize(frames.size());
  const std::int64_t last = *std::max_element(frames.begin(), frames.end());
  media::FramePtr frame = reader.first(ignored);
  const media::VideoFormat format = media::describe_video(source.context(), source.video(), *frame);
  for (std::int64_t number = 0; frame && number <= last; ++number) {
    const auto found = std::find(frames.begin(), frames.end(), number);
    if (found != frames.end()) {
      const media::FramePtr colours = upright_colours(format, *frame);
      const fs::path path =
          folder / fmt::format("worst-{}-frame-{:06}.png", found - frames.begin() + 1, number);
      media::OutputFile file(path, {.overwrite = true, .protect = read});
      media::write_still(file, media::StillKind::png,
                         *panels_of(*colours, reference.at(number), other.at(number)), 100);
      file.commit();
      paths[static_cast<std::size_t>(found - frames.begin())] = path;
    }
    ignored.clear();
    frame = reader.next(ignored);
  }
  std::erase_if(paths, [](const fs::path& path) { return path.empty(); });
  return paths;
}

}  // namespace saccade::accuracy
