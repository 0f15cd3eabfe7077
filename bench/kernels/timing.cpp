#include "timing.h"

#include <time.h>

#include <algorithm>
#include <vector>

namespace saccade::bench {

double thread_seconds() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

Timing measure(double seconds, const std::function<void()>& body) {
  body();
  const double first = thread_seconds();
  body();
  // Reading the clock takes a microsecond on some machines.
  const int calls = std::clamp(static_cast<int>(50e-6 / std::max(thread_seconds() - first, 1e-7)), 1, 500);
  std::vector<double> samples;
  const double until = thread_seconds() + seconds;
  while (samples.size() < 5 || (thread_seconds() < until && samples.size() < 2000)) {
    const double start = thread_seconds();
    for (int i = 0; i < calls; ++i) body();
    samples.push_back((thread_seconds() - start) / calls);
  }
  std::sort(samples.begin(), samples.end());
  return {samples[samples.size() / 2], samples[0]};
}

}  // namespace saccade::bench
