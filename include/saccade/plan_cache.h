// Where compiled plans are kept from one run to the next.
#pragma once

#include <cstdint>
#include <filesystem>

namespace saccade {

/// Compiled plans and what is known of models, kept in files from one run to the next. Off unless asked for:
/// a library does not write to its host's disk by itself. The variable SACCADE_PLAN_CACHE ("off", "512M")
/// changes what is said here. Entries that are damaged or of another build, processor or model are made anew;
/// a folder that cannot be written does no harm. Processes and threads share a folder safely.
struct PlanCacheOptions {
  bool enabled = false;
  /// Empty: "plans" in SACCADE_CACHE_DIR, XDG_CACHE_HOME/saccade or ~/.cache/saccade.
  std::filesystem::path directory = {};
  /// Of all files together; those not used for longest go first.
  std::int64_t max_bytes = std::int64_t{2} << 30;
};

}  // namespace saccade
