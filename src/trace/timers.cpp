#include "trace/timers.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace saccade::trace {

double quantile(const std::vector<std::int64_t>& sorted, double q) {
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double part = position - static_cast<double>(below);
  return static_cast<double>(sorted[below]) * (1 - part) + static_cast<double>(sorted[above]) * part;
}

std::vector<TimerReport> timers(const Recorder& recorder) {
  const std::vector<NameInfo> names = recorder.names();
  std::vector<std::vector<std::int64_t>> times(names.size());
  std::vector<std::int64_t> cpu(names.size(), 0), bytes(names.size(), 0);
  std::vector<bool> cpu_known(names.size(), false);
  for (const Recorder::Lane& lane : recorder.lanes()) {
    for (const Event& event : lane.events) {
      if (event.name >= names.size()) continue;  // newer than our copy of the names
      times[event.name].push_back(event.end - event.start);
      bytes[event.name] += event.bytes;
      if (event.cpu < 0) continue;
      cpu[event.name] += event.cpu;
      cpu_known[event.name] = true;
    }
  }
  constexpr double kSecond = 1e-9;
  std::vector<TimerReport> reports;
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::vector<std::int64_t>& t = times[i];
    if (t.empty() || names[i].category == Category::counter) continue;
    std::sort(t.begin(), t.end());
    TimerReport r;
    r.name = names[i].text;
    r.category = category_name(names[i].category);
    r.detail = names[i].detail;
    r.op = names[i].op;
    r.index = names[i].index;
    r.count = static_cast<std::int64_t>(t.size());
    r.total_ns = std::accumulate(t.begin(), t.end(), std::int64_t{0});
    r.cpu_ns = cpu_known[i] ? cpu[i] : -1;
    r.mean = static_cast<double>(r.total_ns) * kSecond / static_cast<double>(r.count);
    r.median = quantile(t, 0.5) * kSecond;
    r.p95 = quantile(t, 0.95) * kSecond;
    r.p99 = quantile(t, 0.99) * kSecond;
    r.min = static_cast<double>(t.front()) * kSecond;
    r.max = static_cast<double>(t.back()) * kSecond;
    r.bytes = bytes[i] + names[i].bytes * r.count;
    r.operations = names[i].operations * r.count;
    reports.push_back(std::move(r));
  }
  return reports;
}

}  // namespace saccade::trace
