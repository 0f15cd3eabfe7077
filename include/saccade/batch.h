// Many files in one go: each is a job of its own, several at once.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "saccade/job.h"

namespace saccade {

struct BatchOptions {
  /// Files, folders and patterns with * ? [ ], which stand for what they match; a name that exists is
  /// literal. In folders, and for patterns, only files that look like videos and pictures by their extension
  /// count.
  std::vector<std::filesystem::path> inputs;
  std::filesystem::path output;  ///< a folder, made if it does not exist; its parent must
  bool recursive = false;        ///< folders in folders too, which keep their places in the output
  /// Everything else about each job; its own input and output do not count, and its second output is a folder
  /// too: for a video's masks NAME.mkv, for a picture's NAME.png.
  JobOptions job;
  int jobs = 0;  ///< at once; 0: as many as there are threads for pictures, one for every four for videos
  /// Bytes that all jobs together may take, by an estimate from their headers; 0: half of what this process
  /// may use. A job that needs more runs alone.
  std::int64_t max_memory = 0;
};

struct BatchItem {
  std::filesystem::path input, output;
  std::filesystem::path masks = {};  ///< the second output, if there is one
};

struct BatchResult {
  BatchItem item;
  enum class State : std::uint8_t {
    done,
    failed,
    interrupted,
    skipped,
    not_started
  } state = State::not_started;
  JobReport report;            ///< of those that are done or interrupted
  std::optional<Error> error;  ///< of those that failed
};

struct BatchReport {
  std::vector<BatchResult> results;  ///< in the order of their inputs' names
  std::size_t done = 0, failed = 0, skipped = 0;
  std::int64_t frames = 0;
  double seconds = 0;
  bool interrupted = false;
};

struct BatchCallbacks {
  /// An item ended; `ended` counts those so far. Never two calls at once.
  std::function<void(const BatchResult&, std::size_t ended, std::size_t all)> ended;
  /// Once set, running jobs end as JobCallbacks says, and no further one starts.
  const std::atomic<bool>* cancel = nullptr;
};

/// Whether a name is that of one result (a video, an array, …), not of a folder for several.
bool is_one_result(const std::filesystem::path& output);

/// The jobs that a batch consists of, in order. Throws Error(not_found | invalid_argument): an input that
/// does not exist, inputs that would be written to one output, outputs that exist (without `overwrite` or
/// `resume`) or are inputs.
std::vector<BatchItem> plan_batch(const BatchOptions& options);

/// Runs them all; one that fails does not stop the others. With `resume`, items whose output exists are
/// skipped. Throws as plan_batch, and for what would make every job fail (the model, options out of range).
BatchReport run_batch(const BatchOptions& options, const BatchCallbacks& callbacks = {});

}  // namespace saccade
