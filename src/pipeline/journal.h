// The memory of a job that can be resumed: a folder beside the target with the finished parts of the encoded
// video, and a journal that says what they are parts of.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "media/file_io.h"
#include "pipeline/job_state.h"
#include "pipeline/video_sink.h"

namespace saccade::pipeline {

/// A finished part of the video.
struct SegmentRecord {
  struct File {
    std::string name;  ///< in the folder
    std::int64_t packets = 0, bytes = 0;
  };
  std::vector<File> files;  ///< one for each output: the video, its masks
  std::int64_t pictures = 0;
  std::int64_t first_pts = 0, last_pts = 0;  ///< of its pictures
};

/// The folder NAME.resume beside a target. Only files of known names in it are ever touched. One process at a
/// time.
class WorkFolder {
 public:
  /// Throws Error(invalid_argument) where the options do not say what to do with an earlier run,
  /// Error(io).
  WorkFolder(const std::filesystem::path& target, bool resume, bool overwrite);
  ~WorkFolder();
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }
  const std::filesystem::path& target() const noexcept { return target_; }
  bool has_journal() const;
  std::filesystem::path journal() const { return path_ / "journal.json"; }
  /// `output`: 0 for the video, 1 for its masks.
  std::filesystem::path segment(std::size_t number, std::size_t output) const;
  /// For a result while it is put together.
  std::filesystem::path whole(std::size_t output) const {
    return path_ / (output == 0 ? "whole" : "whole-masks");
  }
  /// It is not needed any more.
  void remove() noexcept;
  /// Stays when the object goes. Without it an empty run leaves nothing.
  void keep() noexcept { keep_ = true; }

 private:
  std::filesystem::path path_, target_;
  int lock_ = -1;
  bool keep_ = false;
};

/// Everything that the bytes of the result depend on: input, options, network, encoder, this program.
nlohmann::json identity_of(const JobState& state, const ResultPlan& plan, const AVCodecContext& encoder);
/// What the bytes of the masks depend on besides.
nlohmann::json identity_of_masks(const JobOptions& options, const ResultPlan& plan,
                                 const AVCodecContext& encoder);

/// The lines in which two identities differ: "input.size: 5 then, 6 now".
std::vector<std::string> differences(const nlohmann::json& then, const nlohmann::json& now);

class Journal {
 public:
  /// Reads the folder's journal, or begins one; `outputs` are what the job makes. Throws
  /// Error(invalid_argument) naming what differs from the job that was begun, Error(io) for a damaged journal
  /// or part.
  Journal(WorkFolder& folder, const nlohmann::json& identity, std::vector<std::filesystem::path> outputs);
  ~Journal();

  const std::vector<SegmentRecord>& segments() const noexcept { return segments_; }
  std::int64_t pictures() const noexcept;
  /// Whether these are all parts of the video.
  bool complete() const noexcept { return complete_; }
  /// Whether an output is in its place already.
  bool made(std::size_t output) const;
  /// Whether all of them are, and only the folder has to go.
  bool finished() const;
  /// On the disk when they return.
  void add(const SegmentRecord& segment);
  void set_complete();
  /// The outputs, before they get their names.
  void set_results(std::vector<media::FileIdentity> results);
  /// Where other streams end, in microseconds; kept by set_complete().
  std::int64_t cut() const noexcept { return cut_; }
  void set_cut(std::int64_t microseconds) noexcept { cut_ = microseconds; }

 private:
  void read();
  void write() const;

  WorkFolder& folder_;
  std::unique_ptr<nlohmann::json> identity_;
  std::vector<SegmentRecord> segments_;
  bool complete_ = false;
  std::vector<std::filesystem::path> outputs_;
  std::vector<media::FileIdentity> results_;  ///< of each output, once all are put together
  std::int64_t cut_ = INT64_MAX;
};

/// Whether a run that was killed has left a journal beside the target.
bool has_journal(const std::filesystem::path& target);
/// Whether its journal says that the target is the result, which only the end of that run is missing.
bool was_finished(const std::filesystem::path& target);
/// Whether it says so of the masks.
bool made_masks(const std::filesystem::path& target, const std::filesystem::path& masks);

/// The number of threads that the encoder of an interrupted run had, if there is a journal.
std::optional<int> journaled_encoder_threads(const WorkFolder& folder);

}  // namespace saccade::pipeline
