// The masks of a job, as an array in memory that a file of its own stands behind.
#pragma once

#include <cstdint>
#include <filesystem>

#include "accuracy/metrics.h"
#include "base/files.h"
#include "compiler/target.h"
#include "pipeline/network.h"
#include "saccade/job.h"

namespace saccade::accuracy {

/// Pictures x height x width.
struct MaskArray {
  MappedFile file;
  std::int64_t count = 0;
  int width = 0, height = 0;

  MaskView at(std::int64_t i) const noexcept;
};

/// Reads a .npy file of bytes as jobs write them. Throws Error(io) for another.
MaskArray read_masks(const std::filesystem::path& path);

/// The options of a job that writes nothing but masks, of 8 bits, to `output`.
JobOptions mask_options(const JobOptions& job, const std::filesystem::path& output);

/// The network that a job runs.
std::unique_ptr<pipeline::Network> network_of(const JobOptions& job, const JobCallbacks& callbacks,
                                              const compiler::Target& target);

struct MaskResult {
  MaskArray masks;
  JobReport report;
};
MaskResult run_masks(const JobOptions& job, const JobCallbacks& callbacks, const compiler::Target& target,
                     const std::filesystem::path& output);

}  // namespace saccade::accuracy
