// What the processor counts by itself, where the kernel lets this process see it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace saccade::profile {

struct HardwareCount {
  std::string name;  ///< "cycles", "instructions", …
  std::int64_t value = 0;
};

/// Counts this thread and all threads that start while it lives.
class HardwareCounters {
 public:
  HardwareCounters();
  ~HardwareCounters();
  HardwareCounters(const HardwareCounters&) = delete;
  HardwareCounters& operator=(const HardwareCounters&) = delete;

  /// So far. Scaled up where the processor had to share its counters out over time.
  std::vector<HardwareCount> read() const;
  /// Which of them are missing and why; empty: all are there.
  const std::string& missing() const noexcept { return missing_; }

 private:
  struct Counter {
    std::string name;
    int file;
  };
  std::vector<Counter> counters_;
  std::string missing_;
};

}  // namespace saccade::profile
