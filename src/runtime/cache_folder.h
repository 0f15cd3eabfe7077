// The folder of the cache as a whole: what lies in it, whether it is sound, and what goes. Processes that use
// the folder meanwhile lose time at most.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/cache_file.h"

namespace saccade::runtime {

struct CacheItem {
  std::filesystem::path path;
  CacheKind kind = CacheKind::plan;
  bool unfinished = false;  ///< being written, or left by a process that is gone
  std::int64_t bytes = 0;
  std::int64_t used = 0;  ///< when last, in nanoseconds since 1970
};

/// Entries and unfinished files, those that were not used for longest first. Nothing where there is no such
/// folder.
std::vector<CacheItem> list_cache(const std::filesystem::path& directory);

/// What an entry's bytes say.
struct CacheCheck {
  bool sound = false;
  std::string build;  ///< of Saccade, that wrote it
  std::string about;  ///< the rest of its key: model, options, processor
};
/// Reads all of it; its time of use stays.
CacheCheck check_cache_item(const CacheItem& item);

struct CachePruning {
  std::int64_t max_bytes = INT64_MAX;                      ///< of all entries together
  std::optional<std::int64_t> used_before = std::nullopt;  ///< those that were last used before this time go
  std::filesystem::path keep = {};                         ///< never goes
};
struct CacheRemoval {
  std::int64_t entries = 0, bytes = 0;
  std::int64_t unfinished = 0;  ///< files of processes that are gone
};
/// Removes what processes that are gone left unfinished, then entries that are too old, then those that were
/// not used for longest until the rest keeps the bound.
CacheRemoval prune_cache(const std::filesystem::path& directory, const CachePruning& pruning);

/// Removes all entries (of one kind), and what is unfinished.
CacheRemoval clear_cache(const std::filesystem::path& directory,
                         std::optional<CacheKind> kind = std::nullopt);

}  // namespace saccade::runtime
