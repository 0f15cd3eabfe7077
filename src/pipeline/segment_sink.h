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
#include "pipeline/mask_video.h"
#include "pipeline/video_sink.h"

namespace saccade::pipeline {

/// Each part has an encoder of its own, so that its bytes do not depend on what came before. The next encoder
/// opens before the last one has been drained, which happens beside the job.
class SegmentSink : public VideoSink {
 public:
  /// Goes on where the journal of `folder` ends. `masks`: what becomes of those, if there is a second output.
  /// `state` must outlive it. Throws as Journal does.
  SegmentSink(JobState& state, ResultPlan plan, std::optional<MaskVideoPlan> masks,
              std::unique_ptr<WorkFolder> folder, media::OutputFileOptions output);
  ~SegmentSink() override;

  std::int64_t pictures_before() const override { return pictures_before_; }
  bool complete() const override { return complete_; }
  void copy(media::PacketPtr packet) override;
  void write(const AVFrame& picture, media::FramePtr mask) override;
  void cut(std::int64_t microseconds) override { cut_ = microseconds; }
  SinkResult finish(bool interrupted) override;
  std::vector<std::string> notices() const override { return notices_; }

  /// Throws Error(unsupported) for jobs whose results cannot be made in parts.
  static void require_possible(const JobOptions& options, const AVOutputFormat& container,
                               bool seekable_input);

 private:
  /// What becomes of one output in a part.
  struct Track {
    media::Encoder encoder;
    std::unique_ptr<media::PacketWriter> file;
  };
  struct Part {
    std::vector<Track> tracks;
    SegmentRecord record;
    bool begun() const noexcept { return !record.files.empty(); }
  };
  void open_part();
  void begin_part(std::int64_t pts);
  void encode(Track& track, const AVFrame& picture);
  void end_part();
  void wait_for_drain();
  static void drain(Part& part);
  SinkResult join(bool interrupted);

  JobState& state_;
  std::vector<ResultPlan> plans_;               ///< of each output
  std::vector<std::filesystem::path> outputs_;  ///< the video, its masks
  std::optional<MaskConverter> mask_converter_;
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
