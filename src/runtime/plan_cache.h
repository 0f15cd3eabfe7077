// Files that spare the next start work: plans with their packed weights, what is known of model files, and
// decisions about precision.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/recipe.h"
#include "runtime/cache_file.h"
#include "saccade/model.h"

namespace saccade::runtime {

/// A folder of such files. An entry is found by its key, a text that says everything it depends on; it holds
/// a head, which callers write and read as an archive, and blocks of bytes. Entries that are damaged, of
/// another build or somebody else's count as absent. Nothing here throws for what the folder holds or does
/// not let happen.
class PlanCache {
 public:
  using Kind = CacheKind;

  /// nullptr where the options or SACCADE_PLAN_CACHE switch it off, or this build cannot be told from others.
  static std::shared_ptr<const PlanCache> open(const PlanCacheOptions& options);

  PlanCache(std::filesystem::path directory, std::int64_t max_bytes, std::string build);

  using Entry = CacheFile;
  /// Marks it as used just now.
  std::optional<Entry> find(Kind kind, const std::string& key) const noexcept;
  /// Writes the entry beside and renames it, then removes those that were not used for longest until all
  /// together keep the bound. Failures are silent but for the log topic "cache".
  void keep(Kind kind, const std::string& key, std::span<const std::byte> head,
            std::span<const compiler::PackedBlock> blocks) const noexcept;
  /// For one whose head turned out to be of no use.
  void remove(Kind kind, const std::string& key) const noexcept;

  std::filesystem::path path_of(Kind kind, const std::string& key) const;
  const std::filesystem::path& directory() const noexcept { return directory_; }

 private:
  std::string full_key(const std::string& key) const;

  std::filesystem::path directory_;
  std::int64_t max_bytes_;
  std::string build_;
};

}  // namespace saccade::runtime
