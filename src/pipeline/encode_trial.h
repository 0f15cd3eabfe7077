// What encoding would take with another preset or at another size, tried on a few of the job's own pictures.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "media/ffmpeg.h"
#include "pipeline/video_sink.h"

namespace saccade::pipeline {

class EncodeTrial {
 public:
  /// `pictures`: the format of those that are kept, which become what the plan wants.
  EncodeTrial(const ResultPlan& plan, const media::VideoFormat& pictures)
      : plan_(plan), pictures_format_(pictures) {}

  /// Keeps the picture where there is room: neighbours, as many as fit some memory. Thread-safe; `number`
  /// says where it belongs.
  void keep(const AVFrame& picture, std::int64_t number);
  /// CPU seconds a picture, with `pixels` (0 to 1) of its pixels: pictures are made smaller first, which does
  /// not count. Nothing where too few were kept or the encoder refuses. Nothing else should run meanwhile:
  /// what counts is the time of the whole process.
  std::optional<double> run(const std::string& preset, double pixels = 1) const;
  /// How many times as fast the encoder is with so many threads (0: as many as it likes) as with the job's.
  /// Nothing, and nothing else may run, as above.
  std::optional<double> speedup(int threads) const;

 private:
  /// Of a picture.
  struct Cost {
    double cpu = 0, wall = 0;  ///< seconds
  };
  struct Kept {
    std::int64_t number = 0;
    media::FramePtr picture;
  };
  std::vector<media::FramePtr> converted(const media::VideoFormat& to) const;
  static Cost encode(const ResultPlan& plan, const std::vector<media::FramePtr>& pictures);

  ResultPlan plan_;
  media::VideoFormat pictures_format_;
  mutable std::mutex mutex_;
  std::vector<Kept> kept_;
};

}  // namespace saccade::pipeline
