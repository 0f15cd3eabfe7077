#include "quantise/race.h"

#include <algorithm>
#include <cstddef>

namespace saccade::quantise {

Race::Race(Clock clock) : clock_(std::move(clock)) {
  if (!clock_)
    clock_ = [] { return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()); };
}

void Race::run(const std::vector<std::function<void()>>& runners, std::chrono::nanoseconds total,
               int rounds) {
  constexpr int kMostRounds = 200;
  times_.assign(runners.size(), {});
  for (const auto& runner : runners) runner();  // caches, pages
  const std::chrono::nanoseconds start = clock_();
  for (int round = 0; round < kMostRounds && (round < rounds || clock_() - start < total); ++round)
    for (std::size_t i = 0; i < runners.size(); ++i) {
      const std::size_t r = round % 2 == 0 ? i : runners.size() - 1 - i;
      const std::chrono::nanoseconds before = clock_();
      runners[r]();
      times_[r].push_back(static_cast<double>((clock_() - before).count()));
    }
}

double Race::median_ns(std::size_t runner) const {
  std::vector<double> times = times_[runner];
  if (times.empty()) return 0;
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

bool Race::faster(std::size_t runner, std::size_t than) const {
  constexpr double kMargin = 0.97, kShare = 0.75;
  const std::vector<double>&a = times_[runner], &b = times_[than];
  std::size_t won = 0;
  for (std::size_t i = 0; i < a.size(); ++i) won += a[i] < b[i] ? 1 : 0;
  return median_ns(runner) < kMargin * median_ns(than) &&
         static_cast<double>(won) >= kShare * static_cast<double>(a.size());
}

}  // namespace saccade::quantise
