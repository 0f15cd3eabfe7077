#include "runtime/cache_folder.h"

#include <algorithm>
#include <system_error>

#include "base/files.h"

namespace saccade::runtime {

namespace {

namespace fs = std::filesystem;

/// Whether it was there to remove.
bool remove_entry(const CacheItem& item, CacheRemoval& removal) {
  std::error_code ignored;
  if (!fs::remove(item.path, ignored)) return false;
  ++removal.entries;
  removal.bytes += item.bytes;
  return true;
}

}  // namespace

std::vector<CacheItem> list_cache(const fs::path& directory) {
  std::vector<CacheItem> items;
  std::error_code error;
  // Entries come and go meanwhile; a folder that ends early is listed as far as it goes.
  for (fs::directory_iterator each(directory, error), end; !error && each != end; each.increment(error)) {
    const CacheName name = cache_name(each->path().filename().string());
    if (name.state == CacheName::State::foreign) continue;
    const std::optional<FileStamp> stamp = stamp_of(each->path());
    if (!stamp) continue;
    items.push_back(
        {each->path(), name.kind, name.state == CacheName::State::unfinished, stamp->size, stamp->modified});
  }
  std::sort(items.begin(), items.end(), [](const CacheItem& a, const CacheItem& b) {
    return a.used != b.used ? a.used < b.used : a.path < b.path;
  });
  return items;
}

CacheCheck check_cache_item(const CacheItem& item) {
  CacheCheck check;
  const std::optional<CacheFile> file = read_cache_file(item.path, false);
  if (!file) return check;
  check.sound = true;
  const std::size_t line = std::min(file->key.find('\n'), file->key.size());
  constexpr std::string_view kBuild = "build ";
  if (file->key.starts_with(kBuild)) check.build = file->key.substr(kBuild.size(), line - kBuild.size());
  check.about = file->key.substr(std::min(line + 1, file->key.size()));
  return check;
}

CacheRemoval prune_cache(const fs::path& directory, const CachePruning& pruning) {
  CacheRemoval removal;
  std::vector<CacheItem> entries;
  std::int64_t total = 0;
  for (CacheItem& item : list_cache(directory)) {
    if (item.unfinished) {
      removal.unfinished += remove_if_abandoned(item.path) ? 1 : 0;
      continue;
    }
    total += item.bytes;
    if (item.path != pruning.keep) entries.push_back(std::move(item));
  }
  for (const CacheItem& item : entries) {
    const bool too_old = pruning.used_before && item.used < *pruning.used_before;
    if (!too_old && total <= pruning.max_bytes) break;
    remove_entry(item, removal);
    total -= item.bytes;
  }
  return removal;
}

CacheRemoval clear_cache(const fs::path& directory, std::optional<CacheKind> kind) {
  CacheRemoval removal;
  for (const CacheItem& item : list_cache(directory)) {
    if (item.unfinished) {
      removal.unfinished += remove_if_abandoned(item.path) ? 1 : 0;
    } else if (!kind || item.kind == *kind) {
      remove_entry(item, removal);
    }
  }
  return removal;
}

}  // namespace saccade::runtime
