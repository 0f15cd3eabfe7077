#include "profile/hardware_counters.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

namespace saccade::profile {

namespace {

struct Kind {
  const char* name;
  std::uint32_t type;
  std::uint64_t config;
};

constexpr std::uint64_t cache(std::uint64_t which, std::uint64_t operation, std::uint64_t result) {
  return which | (operation << 8) | (result << 16);
}

constexpr std::array kKinds = {
    Kind{"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    Kind{"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    Kind{"cache references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
    Kind{"cache misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    Kind{"branch misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    Kind{"L1 read misses", PERF_TYPE_HW_CACHE,
         cache(PERF_COUNT_HW_CACHE_L1D, PERF_COUNT_HW_CACHE_OP_READ, PERF_COUNT_HW_CACHE_RESULT_MISS)},
    Kind{"page faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    Kind{"context switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
    Kind{"moves to another CPU", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
};

int open_counter(const Kind& kind) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = kind.type;
  attributes.config = kind.config;
  attributes.inherit = 1;
  // What every user may see; context switches happen in the kernel and would be missing.
  attributes.exclude_kernel = kind.type == PERF_TYPE_SOFTWARE ? 0 : 1;
  attributes.exclude_hv = 1;
  attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return static_cast<int>(::syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

}  // namespace

HardwareCounters::HardwareCounters() {
  std::vector<std::pair<std::string, std::string>> reasons;  // why, which
  for (const Kind& kind : kKinds) {
    const int file = open_counter(kind);
    if (file >= 0) {
      counters_.push_back({kind.name, file});
      continue;
    }
    const std::string why = errno == ENOENT || errno == EOPNOTSUPP
                                ? "this machine has no such counters, or its hypervisor does not hand them on"
                            : errno == EACCES || errno == EPERM ? "not granted (kernel.perf_event_paranoid)"
                                                                : std::generic_category().message(errno);
    const auto same =
        std::find_if(reasons.begin(), reasons.end(), [&](const auto& r) { return r.first == why; });
    if (same == reasons.end()) {
      reasons.emplace_back(why, kind.name);
    } else {
      same->second += std::string(", ") + kind.name;
    }
  }
  for (const auto& [why, which] : reasons) missing_ += (missing_.empty() ? "" : "; ") + which + ": " + why;
}

HardwareCounters::~HardwareCounters() {
  for (const Counter& counter : counters_) ::close(counter.file);
}

std::vector<HardwareCount> HardwareCounters::read() const {
  std::vector<HardwareCount> counts;
  for (const Counter& counter : counters_) {
    std::array<std::uint64_t, 3> data{};  // value, time enabled, time running
    if (::read(counter.file, data.data(), sizeof data) != sizeof data) continue;
    if (data[2] == 0) continue;  // never had its turn
    const double scale = static_cast<double>(data[1]) / static_cast<double>(data[2]);
    counts.push_back({counter.name, static_cast<std::int64_t>(static_cast<double>(data[0]) * scale)});
  }
  return counts;
}

}  // namespace saccade::profile
