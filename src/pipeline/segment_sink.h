// The last stage of a job that can be resumed: the encoded video in parts of some seconds, each on the disk
// before it is counted as done, and the result put together from them at the end.
#pragma once

#include <memory>
#include <optional>
#include <thread>

#include "media/file_io.h"
#include "media/packet_file.h"
#include "pipeline/job_state.h"
#include "pipeline/journal.h"
#include "pipeline/video_sink.h"

namespace saccade::pipeline {

/// Each part has an encoder of its own, so that its bytes do not depend on what came before. The next encoder
/// opens before the last one has been drained, which happens beside the job.
class SegmentSink : public VideoSink {
 public:
  /// Goes on where the journal of `folder` ends. `state` must outlive it. Throws as Journal does.
  SegmentSink(JobState& state, ResultPlan plan, std::unique_ptr<WorkFolder> folder,
              media::OutputFileOptions output);
  ~SegmentSink() override;

  std::int64_t pictures_before() const override { return pictures_before_; }
  bool complete() const override { return complete_; }
  void copy(media::PacketPtr packet) override;
  void write(const AVFrame& picture) override;
  void cut(std::int64_t microseconds) override { cut_ = microseconds; }
  SinkResult finish(bool interrupted) override;
  std::vector<std::string> notices() const override { return notices_; }

  /// Throws Error(unsupported) for jobs whose result cannot be made in parts.
  static void require_possible(const JobOptions& options, const AVOutputFormat& container,
                               bool seekable_input);

 private:
  struct Part {
    media::Encoder encoder;
    std::optional<media::PacketWriter> file;
    SegmentRecord record;
  };
  void begin_part(std::int64_t pts);
  void write_packets(Part& part);
  void end_part();
  void wait_for_drain();
  static void drain(Part& part);
  SinkResult join(bool interrupted);

  JobState& state_;
  ResultPlan plan_;
  std::unique_ptr<WorkFolder> folder_;
  media::OutputFileOptions output_;
  std::unique_ptr<Part> part_, draining_;
  std::unique_ptr<Journal> journal_;
  std::vector<SegmentRecord> unfinished_;  ///< the part that an interruption cut short
  std::thread drainer_;
  std::exception_ptr drain_failure_;
  std::optional<std::int64_t> cut_;  ///< for the journal, which the last part may be entered into meanwhile
  std::int64_t pictures_before_ = 0;
  bool complete_ = false;
  std::size_t next_part_ = 0;
  std::int64_t part_ticks_ = 0;  ///< length of a part
  std::vector<std::string> notices_;
};

}  // namespace saccade::pipeline
