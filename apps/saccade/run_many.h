// `saccade run` with many inputs: a line for each that ends, and a summary of all.
#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "saccade/batch.h"

namespace saccade::cli {

/// Whether these are several files: more than one name, a folder, or a pattern that is no file's name.
bool are_many(const std::vector<std::string>& inputs);

/// Refuses a folder or pattern that stands for other files than the pictures of one video; `reason` says why.
void require_one_video(const std::string& input, const std::string& reason);

struct ManyOutput {
  bool json = false;   ///< the summary, on standard output
  bool quiet = false;  ///< nothing but errors
  bool progress = true;
};

/// Throws Exit{kFailed} if one failed, Exit{kInterrupted}.
void run_many(const BatchOptions& options, const ManyOutput& output, const std::atomic<bool>& cancel);

}  // namespace saccade::cli
