// Where pictures or masks go that do not become a stream of video: numbered pictures, arrays, run lengths,
// outlines.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "media/ffmpeg.h"
#include "media/file_io.h"
#include "media/still.h"
#include "media/video_format.h"
#include "saccade/job.h"

namespace saccade::pipeline {

/// What an output's name and `output_format` ask for.
enum class OutputForm : std::uint8_t {
  video,     ///< a stream in a container (animated pictures too)
  picture,   ///< one picture file
  pictures,  ///< numbered ones in a folder
  array,     ///< masks as a NumPy array
  runs,      ///< masks as COCO's run lengths
  outlines,  ///< masks as polygons, in GeoJSON
};
struct OutputRequest {
  OutputForm form = OutputForm::video;
  media::StillKind still = media::StillKind::png;
};
/// `video` says whether the input is one. Throws Error(invalid_argument | unsupported) for a name that says
/// nothing.
OutputRequest parse_output(const std::filesystem::path& output, const std::string& format, bool sequence,
                           bool video);

/// The same for a job's second output: pictures in a folder are PNG.
OutputRequest parse_mask_output(const JobOptions& options, bool video);

/// Which frame it is.
struct FrameLabel {
  std::int64_t number = 0;  ///< from 0
  double seconds = 0;       ///< since the first one
};

/// prepare() may be called from any thread, the rest from one at a time and in order.
class FrameOutput {
 public:
  struct Prepared {
    media::FramePtr frame;
    std::string bytes;
  };
  virtual ~FrameOutput() = default;
  /// The costly part of writing a picture.
  virtual Prepared prepare(media::FramePtr frame, const FrameLabel& label) const = 0;
  virtual void write(Prepared prepared, const FrameLabel& label) = 0;
  /// After the last picture.
  virtual void finish() = 0;
  virtual void commit() = 0;
  virtual std::filesystem::path commit_partial() = 0;
  /// After commit(): what the user should know of what was there before; "" for nothing.
  virtual std::string notice() const { return ""; }
  virtual std::int64_t bytes_written() const = 0;
  virtual std::string summary() const = 0;
};

struct FrameOutputOptions {
  std::filesystem::path path, input;
  OutputRequest request;
  bool sequence = false;  ///< the name is a pattern
  int depth = 8;          ///< of masks: 1, 8 or 16
  bool many = true;       ///< more than one picture may come
  int quality = 92;
  media::OutputFileOptions file;
};
/// For every form but `video`. `frames` describes the pictures; masks are grey (8 or 16 bits). Throws
/// Error(io | invalid_argument).
std::unique_ptr<FrameOutput> make_frame_output(const FrameOutputOptions& options,
                                               const media::VideoFormat& frames);

}  // namespace saccade::pipeline
