// What encoding would take with another preset, tried on a few of the job's own pictures.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "media/ffmpeg.h"
#include "pipeline/video_sink.h"

namespace saccade::pipeline {

class EncodeTrial {
 public:
  explicit EncodeTrial(const ResultPlan& plan) : plan_(plan) {}

  /// Keeps the picture where there is room: neighbours, as many as fit some memory.
  void keep(const AVFrame& picture);
  /// CPU seconds a picture; nothing where too few were kept or the encoder refuses. Nothing else should run
  /// meanwhile: what counts is the time of the whole process.
  std::optional<double> run(const std::string& preset) const;

 private:
  ResultPlan plan_;
  std::vector<media::FramePtr> pictures_;
  std::size_t seen_ = 0;
};

}  // namespace saccade::pipeline
