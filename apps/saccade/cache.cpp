// `saccade cache`: what earlier runs have left, whether it is sound, and removing it.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/cache_directory.h"
#include "base/counted.h"
#include "base/json_text.h"
#include "command.h"
#include "limit_option.h"
#include "option_values.h"
#include "platform/build.h"
#include "python_package.h"
#include "runtime/cache_folder.h"
#include "saccade/error.h"
#include "saccade/plan_cache.h"

namespace saccade::cli {

namespace {

using Json = nlohmann::ordered_json;
using runtime::CacheCheck;
using runtime::CacheItem;
using runtime::CacheKind;
using runtime::CacheRemoval;

constexpr std::array<const char*, 4> kKindNames = {"plan", "model", "calibration", "tuning"};

const char* kind_name(CacheKind kind) { return kKindNames[static_cast<std::size_t>(kind)]; }

struct CacheArguments {
  std::string dir, max_size, kind;
  double older_than = -1;  ///< days
  bool json = false, remove = false;
};

std::filesystem::path folder_of(const CacheArguments& a) {
  if (!a.dir.empty()) {
    std::error_code error;
    if (!std::filesystem::exists(a.dir, error)) throw Error(ErrorCode::not_found, a.dir + ": no such folder");
    if (!std::filesystem::is_directory(a.dir, error)) throw Error(ErrorCode::io, a.dir + ": is not a folder");
    return a.dir;
  }
  require_trusted_cache();
  return cache_directory() / "plans";
}

std::int64_t now_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

std::string time_text(std::int64_t ns) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(static_cast<std::time_t>(ns / kSecond)));
}

std::string size_text(std::int64_t bytes) {
  const auto b = static_cast<double>(bytes);
  if (bytes < 10'000) return fmt::format("{} B", bytes);
  return bytes < 10'000'000 ? fmt::format("{:.0f} kB", b / 1e3) : fmt::format("{:.0f} MB", b / 1e6);
}

/// The line of a key that says which model.
std::string model_line(const std::string& about) {
  for (std::size_t at = 0; at < about.size();) {
    const std::size_t end = std::min(about.find('\n', at), about.size());
    std::string line = about.substr(at, end - at);
    if (line.find("model") != std::string::npos || line.find("file") != std::string::npos) return line;
    at = end + 1;
  }
  return about.substr(0, about.find('\n'));
}

std::vector<CacheItem> chosen(const CacheArguments& a) {
  std::vector<CacheItem> items = runtime::list_cache(folder_of(a));
  if (!a.kind.empty())
    std::erase_if(items, [&](const CacheItem& item) { return kind_name(item.kind) != a.kind; });
  std::reverse(items.begin(), items.end());
  return items;
}

Json json_of(const CacheItem& item) {
  return {{"file", item.path.filename().string()},
          {"kind", kind_name(item.kind)},
          {"bytes", item.bytes},
          {"last_used", time_text(item.used)},
          {"unfinished", item.unfinished}};
}

void list(const CacheArguments& a) {
  Json entries = Json::array();
  std::int64_t total = 0;
  std::string text;
  for (const CacheItem& item : chosen(a)) {
    total += item.bytes;
    entries.push_back(json_of(item));
    text += fmt::format("{:<12} {:>9}  {}  {}{}\n", kind_name(item.kind), size_text(item.bytes),
                        time_text(item.used), item.path.filename().string(),
                        item.unfinished ? "  (unfinished)" : "");
  }
  if (a.json) {
    const Json json = {{"directory", folder_of(a).string()}, {"bytes", total}, {"entries", entries}};
    fmt::print("{}\n", json_text(json, 2));
    return;
  }
  fmt::print("{}{}: {}, {}\n", text, folder_of(a).string(), counted(entries.size(), "file"),
             size_text(total));
}

void verify(const CacheArguments& a) {
  Json entries = Json::array();
  int damaged = 0, of_other_builds = 0, sound = 0;
  std::string text;
  const std::string ours = platform::build_id();
  for (const CacheItem& item : chosen(a)) {
    if (item.unfinished) continue;
    const CacheCheck check = runtime::check_cache_item(item);
    std::error_code error;
    if (!check.sound && !std::filesystem::exists(item.path, error)) continue;  // it went meanwhile
    const bool other = check.sound && check.build != ours;
    ++(!check.sound ? damaged : other ? of_other_builds : sound);
    const char* state = !check.sound ? "damaged" : other ? "of another build" : "sound";
    if (!check.sound && a.remove) std::filesystem::remove(item.path, error);
    Json entry = json_of(item);
    entry["state"] = state;
    if (check.sound) entry["build"] = check.build, entry["key"] = check.about;
    entries.push_back(std::move(entry));
    text += fmt::format("{:<16}  {:<12} {}  {}\n", state, kind_name(item.kind), item.path.filename().string(),
                        check.sound ? model_line(check.about) : "");
  }
  if (a.json) {
    const Json json = {{"directory", folder_of(a).string()}, {"sound", sound},
                       {"of_other_builds", of_other_builds}, {"damaged", damaged},
                       {"removed", a.remove ? damaged : 0},  {"entries", entries}};
    fmt::print("{}\n", json_text(json, 2));
  } else {
    fmt::print("{}{} sound, {} of other builds, {} damaged{}\n", text, sound, of_other_builds, damaged,
               damaged > 0 && a.remove ? " and removed" : "");
  }
  // A damaged entry costs time only, but somebody who asks wants to know.
  if (damaged > 0 && !a.remove) throw Exit{kFailed};
}

void show_removal(const CacheArguments& a, const CacheRemoval& removal) {
  if (a.json) {
    const Json json = {{"directory", folder_of(a).string()},
                       {"removed", removal.entries},
                       {"removed_bytes", removal.bytes},
                       {"removed_unfinished", removal.unfinished}};
    fmt::print("{}\n", json_text(json, 2));
  } else {
    fmt::print("{}: {} {} removed, {}; {}\n", folder_of(a).string(), removal.entries,
               by_number(removal.entries, "entry", "entries"), size_text(removal.bytes),
               counted(removal.unfinished, "unfinished file"));
  }
}

void prune(const CacheArguments& a) {
  runtime::CachePruning pruning;
  pruning.max_bytes =
      a.max_size.empty() ? PlanCacheOptions{}.max_bytes : parse_size("--max-size " + a.max_size, a.max_size);
  if (a.older_than >= 0) {
    constexpr double kDay = 86400e9;
    pruning.used_before = now_ns() - static_cast<std::int64_t>(a.older_than * kDay);
  }
  show_removal(a, runtime::prune_cache(folder_of(a), pruning));
}

void clear(const CacheArguments& a) {
  std::optional<CacheKind> kind;
  for (std::size_t i = 0; i < kKindNames.size(); ++i)
    if (a.kind == kKindNames[i]) kind = static_cast<CacheKind>(i);
  show_removal(a, runtime::clear_cache(folder_of(a), kind));
}

CLI::App* add_action(CLI::App& cache, CacheArguments& a, const char* name, const char* doc) {
  CLI::App* action = cache.add_subcommand(name, doc);
  action->add_option("--dir", a.dir, "Folder of the cache (default: plans in the cache folder)")
      ->type_name("DIR");
  action->add_flag("--json", a.json, "Print JSON");
  return action;
}

void add_kind(CLI::App& action, CacheArguments& a) {
  action.add_option("--kind", a.kind, "Only entries of this kind")
      ->check(CLI::IsMember({"plan", "model", "calibration", "tuning"}));
}

}  // namespace

void add_cache(CLI::App& app) {
  auto arguments = std::make_shared<CacheArguments>();
  CacheArguments& a = *arguments;
  CLI::App* cache = app.add_subcommand("cache", "Show, check and remove what is kept from run to run.");
  cache->require_subcommand(0, 1);
  cache->callback([cache] {
    if (cache->get_subcommands().empty())
      throw UsageError("cache: say what to do: list, verify, prune or clear");
  });
  CLI::App* action = add_action(*cache, a, "list", "List entries, those used last first.");
  add_kind(*action, a);
  action->callback([arguments] { list(*arguments); });
  action = add_action(*cache, a, "verify", "Read every entry and check it; exit code 1 if one is damaged.");
  add_kind(*action, a);
  action->add_flag("--remove", a.remove, "Remove what is damaged");
  action->callback([arguments] { verify(*arguments); });
  action = add_action(*cache, a, "prune",
                      "Remove what killed processes left, what is old, and what was not used for longest.");
  action->add_option("--max-size", a.max_size, "Bytes that all entries together may keep (default: 2G)")
      ->type_name("SIZE");
  action->add_option("--older-than", a.older_than, "Entries that were not used for so many days go")
      ->check(number_between(0, 1e5))
      ->type_name("DAYS");
  action->callback([arguments] { prune(*arguments); });
  action = add_action(*cache, a, "clear", "Remove all entries.");
  add_kind(*action, a);
  action->callback([arguments] { clear(*arguments); });
}

}  // namespace saccade::cli
