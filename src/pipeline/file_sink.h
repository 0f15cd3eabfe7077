// The usual last stage: an encoder and the file that it fills.
#pragma once

#include <memory>

#include "media/file_io.h"
#include "media/muxer.h"
#include "media/source.h"
#include "pipeline/processor.h"
#include "pipeline/video_sink.h"

namespace saccade::pipeline {

class FileSink : public VideoSink {
 public:
  /// Writes the header. `source` and `clocks` must outlive it.
  FileSink(const ResultPlan& plan, const media::Source& source, std::unique_ptr<media::OutputFile> file,
           StageClocks& clocks);

  void copy(media::PacketPtr packet) override;
  void write(const AVFrame& picture, media::FramePtr mask) override;
  void cut(std::int64_t microseconds) override { muxer_.cut(microseconds); }
  SinkResult finish(bool interrupted) override;
  std::vector<std::string> notices() const override { return muxer_.notices(); }

 private:
  void write_packets();

  std::unique_ptr<media::OutputFile> file_;
  StageClocks& clocks_;
  media::Encoder encoder_;
  media::Muxer muxer_;
  std::int64_t pictures_ = 0;
};

}  // namespace saccade::pipeline
