#include "runtime/plan_cache.h"

#include <cstdlib>
#include <system_error>

#include "base/cache_directory.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/log.h"
#include "platform/build.h"
#include "platform/machine.h"
#include "runtime/cache_folder.h"
#include "saccade/error.h"

namespace saccade::runtime {

namespace {

namespace fs = std::filesystem;

/// Options as SACCADE_PLAN_CACHE changes them: "off", or the bound like "512M"; anything else changes
/// nothing.
std::int64_t bound_of(const PlanCacheOptions& options) {
  const char* text = std::getenv("SACCADE_PLAN_CACHE");
  if (text == nullptr || *text == '\0') return options.max_bytes;
  if (std::string_view(text) == "off") return 0;
  if (const std::optional<std::int64_t> size = platform::parse_size(text)) return *size;
  throw Error(ErrorCode::invalid_argument,
              "SACCADE_PLAN_CACHE is '" + std::string(text) + "', expected off or a size like 512M or 2G");
}

}  // namespace

std::shared_ptr<const PlanCache> PlanCache::open(const PlanCacheOptions& options) {
  if (!options.enabled) return nullptr;
  const std::int64_t max_bytes = bound_of(options);
  std::string build = platform::build_id();
  if (max_bytes <= 0 || build.empty()) return nullptr;
  if (options.directory.empty()) {
    if (const std::string why = cache_distrust(); !why.empty()) {
      log::debug("cache", "{} is not used: {}", cache_directory().string(), why);
      return nullptr;
    }
  }
  return std::make_shared<PlanCache>(
      options.directory.empty() ? cache_directory() / "plans" : options.directory, max_bytes,
      std::move(build));
}

PlanCache::PlanCache(fs::path directory, std::int64_t max_bytes, std::string build)
    : directory_(std::move(directory)), max_bytes_(max_bytes), build_(std::move(build)) {}

std::string PlanCache::full_key(const std::string& key) const { return "build " + build_ + "\n" + key; }

fs::path PlanCache::path_of(Kind kind, const std::string& key) const {
  const std::string whole = full_key(key);
  const std::string name =
      Sha256::hex(std::as_bytes(std::span(whole.data(), whole.size()))).substr(0, kCacheDigits);
  return directory_ / (name + std::string(kCacheExtensions[static_cast<std::size_t>(kind)]));
}

std::optional<PlanCache::Entry> PlanCache::find(Kind kind, const std::string& key) const noexcept {
  try {
    const fs::path path = path_of(kind, key);
    std::error_code ignored;
    if (!fs::exists(path, ignored)) {
      log::debug("cache", "no entry {}", path.string());
      return std::nullopt;
    }
    std::optional<Entry> entry = read_cache_file(path, true);
    if (!entry || entry->key != full_key(key)) {
      log::debug("cache", "{} is damaged or not ours; it is made anew", path.string());
      return std::nullopt;
    }
    log::debug("cache", "{} is used", path.string());
    return entry;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

void PlanCache::keep(Kind kind, const std::string& key, std::span<const std::byte> head,
                     std::span<const compiler::PackedBlock> blocks) const noexcept {
  try {
    const CacheImage image(full_key(key), head, blocks);
    if (image.size() > static_cast<std::uint64_t>(max_bytes_)) {
      log::debug("cache", "an entry of {} bytes is larger than the cache may be", image.size());
      return;
    }
    // Models may be private, and plans hold their weights.
    create_own_directories(directory_);
    const fs::path path = path_of(kind, key);
    write_file(path, image.pieces());
    log::debug("cache", "{} is written, {} bytes", path.string(), image.size());
    const CacheRemoval removed = prune_cache(directory_, {.max_bytes = max_bytes_, .keep = path});
    if (removed.entries > 0)
      log::debug("cache", "{} entries are removed: the cache is full", removed.entries);
  } catch (const std::exception& error) {
    log::debug("cache", "nothing is kept: {}", error.what());
  }
}

void PlanCache::remove(Kind kind, const std::string& key) const noexcept {
  std::error_code ignored;
  try {
    fs::remove(path_of(kind, key), ignored);
  } catch (const std::exception&) {
    // It is written over, or stays.
  }
}

}  // namespace saccade::runtime
