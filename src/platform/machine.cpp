#include "platform/machine.h"

#include <cpuid.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

namespace saccade::platform {

namespace {

namespace fs = std::filesystem;

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The path of this process's group as /proc/self/cgroup gives it: "0::/user.slice" (version 2),
// "5:memory:/docker" (1).
std::string group_of(std::string_view controller) {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    if (line.substr(first + 1, second - first - 1) == controller) return line.substr(second + 1);
  }
  return {};
}

// A limit binds whoever is below it, so the smallest one on the way to the root counts. Inside a container
// the group's path may name directories that are not visible; the root of what is mounted then holds the
// container's limit.
void lower_to_limits(const fs::path& root, const std::string& group, const char* file, std::int64_t& least) {
  fs::path relative = fs::path(group).relative_path();
  while (true) {
    if (const auto limit = parse_memory_limit(first_line(root / relative / file)))
      least = std::min(least, *limit);
    if (relative.empty()) return;
    relative = relative.parent_path();
  }
}

}  // namespace

std::optional<std::int64_t> parse_memory_limit(std::string_view text) noexcept {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  constexpr std::int64_t kUnlimited = std::int64_t{1} << 60;  // version 1 writes 2^63 rounded down to a page
  if (error != std::errc{} || end != text.data() + text.size() || value <= 0 || value >= kUnlimited)
    return std::nullopt;
  return value;
}

std::optional<std::int64_t> parse_size(std::string_view text) noexcept {
  constexpr std::string_view kUnits = "KMGT";
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || value < 0) return std::nullopt;
  const std::string_view rest(stop, static_cast<std::size_t>(text.data() + text.size() - stop));
  if (rest.empty()) return value;
  const std::size_t unit =
      rest.size() == 1 ? kUnits.find(static_cast<char>(std::toupper(static_cast<unsigned char>(rest[0]))))
                       : std::string_view::npos;
  if (unit == std::string_view::npos ||
      __builtin_mul_overflow(value, std::int64_t{1} << (10 * (unit + 1)), &value))
    return std::nullopt;
  return value;
}

std::string cpu_signature() {
  std::string text;
  const auto add = [&](unsigned value) { text += fmt::format("{:x}.", value); };
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(0, &a, &b, &c, &d) != 0) add(b), add(d), add(c);
  constexpr unsigned kSaveEnabled = 1u << 27;  // set by the system, told apart by what it enables
  if (__get_cpuid(1, &a, &b, &c, &d) != 0) add(a), add(c & ~kSaveEnabled), add(d);
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) != 0) add(b), add(c), add(d);
  if (__get_cpuid_count(7, 1, &a, &b, &c, &d) != 0) add(a), add(d);
  for (const int level : {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE})
    add(static_cast<unsigned>(std::max(0L, ::sysconf(level)) / 1024));
  return text;
}

std::string cpu_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("model name")) continue;
    const std::size_t start = line.find_first_not_of(" \t", line.find(':') + 1);
    if (start != std::string::npos) return line.substr(start);
  }
  return "x86-64";
}

int machine_cpus() noexcept { return static_cast<int>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN))); }

std::int64_t machine_memory() noexcept {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long size = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? static_cast<std::int64_t>(pages) * size : 0;
}

std::int64_t resident_memory() noexcept {
  std::FILE* file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr) return 0;
  long long size = 0, resident = 0;
  const int got = std::fscanf(file, "%lld %lld", &size, &resident);
  std::fclose(file);
  return got == 2 ? std::int64_t{resident} * ::sysconf(_SC_PAGESIZE) : 0;
}

std::optional<std::int64_t> cgroup_memory_limit() {
  const std::int64_t memory = machine_memory();
  std::int64_t least = memory > 0 ? memory : std::int64_t{1} << 60;
  const std::int64_t unlimited = least;
  lower_to_limits("/sys/fs/cgroup", group_of(""), "memory.max", least);
  lower_to_limits("/sys/fs/cgroup/memory", group_of("memory"), "memory.limit_in_bytes", least);
  if (least == unlimited) return std::nullopt;
  return least;
}

}  // namespace saccade::platform
