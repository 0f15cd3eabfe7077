#include "cpu/ceilings.h"

#include <cpuid.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <utility>

#include "cpu/kernels/probe/dot.h"
#include "cpu/kernels/probe/probe.h"
#include "platform/pages.h"
#include "platform/thread_pool.h"

namespace saccade::cpu {

namespace {

constexpr int kSamples = 12;
constexpr double kSampleNs = 2e6;

const Probe& probe_of(Isa isa) {
  switch (isa) {
    case Isa::portable:
      return portable::kProbe;
    case Isa::avx2:
      return avx2::kProbe;
    default:
      return avx512::kProbe;
  }
}

/// Bytes of the data caches that this CPU uses, by level from 1; 0 where it does not tell. A processor may
/// have several last-level caches, of which a core uses one, so its total would mislead.
std::array<std::int64_t, 3> cache_bytes() {
  std::array<std::int64_t, 3> bytes{};
  constexpr unsigned kIntel = 4, kAmd = 0x8000001D;
  for (const unsigned leaf : {kIntel, kAmd}) {
    unsigned a = 0, b = 0, c = 0, d = 0;
    for (unsigned index = 0; index < 8 && __get_cpuid_count(leaf, index, &a, &b, &c, &d) != 0; ++index) {
      const unsigned type = a & 31u, level = (a >> 5) & 7u;
      constexpr unsigned kNone = 0, kInstructions = 2;
      if (type == kNone) break;
      if (type == kInstructions || level < 1 || level > bytes.size()) continue;
      const std::int64_t ways = (b >> 22) + 1, parts = ((b >> 12) & 1023u) + 1, line = (b & 4095u) + 1;
      bytes[level - 1] = std::max(bytes[level - 1], ways * parts * line * (static_cast<std::int64_t>(c) + 1));
    }
  }
  return bytes;
}

/// Work of one thread: returns how much it did.
using Work = std::function<double(int thread, long rounds)>;

/// Nanoseconds this thread has run: what else the machine does meanwhile does not count.
double thread_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return 1e9 * static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec);
}

class Team {
 public:
  explicit Team(int threads) : team_(threads), parts_(static_cast<std::size_t>(threads)) {}

  int size() const { return team_.size(); }

  /// The best rate of all threads together, per nanosecond. The first samples find how many rounds fill one.
  double best_rate(const Work& work) {
    long rounds = 1;
    for (double ns = sample(work, rounds).ns; ns < kSampleNs / 2; ns = sample(work, rounds).ns)
      rounds = std::max(rounds * 2,
                        static_cast<long>(static_cast<double>(rounds) * std::min(kSampleNs / ns, 100.0) / 2));
    double best = 0;
    for (int i = 0; i < kSamples; ++i) best = std::max(best, sample(work, rounds).rate);
    return best;
  }

 private:
  struct Sample {
    double rate, ns;
  };
  struct Call {
    Team* team;
    const Work* work;
    long rounds;
  };
  struct alignas(64) Part {
    double done, ns;
  };

  static void body(void* argument, int thread) noexcept {
    const Call& call = *static_cast<Call*>(argument);
    const double start = thread_ns();
    const double done = (*call.work)(thread, call.rounds);
    call.team->parts_[static_cast<std::size_t>(thread)] = {done, std::max(thread_ns() - start, 1.0)};
  }

  Sample sample(const Work& work, long rounds) {
    Call call{this, &work, rounds};
    team_.run(body, &call);
    Sample all{0, 0};
    for (const Part& part : parts_) {
      all.rate += part.done / part.ns;
      all.ns = std::max(all.ns, part.ns);
    }
    return all;
  }

  platform::ThreadTeam team_;
  std::vector<Part> parts_;
};

/// Bytes a nanosecond of reading and of writing `bytes` of memory a thread, again and again.
void measure_level(Team& team, const Probe& probe, std::int64_t bytes, MemoryLevel& level) {
  constexpr std::int64_t kUnit = 1024;  // of the probes, in bytes
  const std::int64_t size = std::max(bytes / kUnit, std::int64_t{1}) * kUnit;
  std::vector<platform::Pages> buffers;
  for (int t = 0; t < team.size(); ++t) buffers.emplace_back(static_cast<std::size_t>(size));
  const auto pass = [&](const auto& once) {
    return team.best_rate([&](int thread, long rounds) {
      auto* p = static_cast<float*>(buffers[static_cast<std::size_t>(thread)].data());
      for (long r = 0; r < rounds; ++r) once(p);
      return static_cast<double>(rounds) * static_cast<double>(size);
    });
  };
  const std::size_t floats = static_cast<std::size_t>(size) / sizeof(float);
  level.write = pass([&](float* p) { probe.write(p, floats); });
  level.read = pass([&](float* p) {
    const float some = probe.read(p, floats);
    asm volatile("" ::"r"(&some) : "memory");
  });
  if (level.name == "memory")
    level.write = std::max(level.write, pass([&](float* p) { probe.stream(p, floats); }));
}

}  // namespace

double Ceilings::multiply_adds(std::string_view kernel) const noexcept {
  const std::string_view precision = kernel.substr(kernel.rfind('.') + 1);
  if (precision == "bf16") return bf16;
  if (precision == "int8") return int8;
  return fp32;
}

const MemoryLevel& Ceilings::level_of(std::int64_t bytes) const noexcept {
  for (const MemoryLevel& level : levels)
    if (bytes <= level.bytes) return level;
  return levels.back();
}

Ceilings measure_ceilings(Isa isa, int threads) {
  Ceilings result;
  result.isa = isa;
  result.threads = threads;
  Team team(threads);
  const Probe& probe = probe_of(isa);
  const DotProbes dots = dot_probes(isa);
  result.fp32 = team.best_rate([&](int, long rounds) { return probe.multiply_adds(rounds); });
  const auto dot_rate = [&](DotProbe dot) {
    return dot == nullptr
               ? result.fp32
               : std::max(result.fp32, team.best_rate([&](int, long rounds) { return dot(rounds); }));
  };
  result.bf16 = dot_rate(dots.bf16);
  result.int8 = dot_rate(dots.int8);

  // Each core has the first two to itself.
  const auto [told_first, told_second, third] = cache_bytes();
  const std::int64_t first = told_first > 0 ? told_first : 32 << 10;
  const std::int64_t second = told_second > first ? told_second : 512 << 10;
  result.levels = {{"L1", first * threads}, {"L2", second * threads}};
  measure_level(team, probe, first / 2, result.levels[0]);
  measure_level(team, probe, second / 2, result.levels[1]);
  if (third > second * threads) {
    result.levels.push_back({"L3", third});
    measure_level(team, probe, std::max(third / 4 / threads, 2 * second), result.levels.back());
  }
  // Far more than the caches hold, within reason.
  constexpr std::int64_t kLeast = 64 << 20, kMost = 512 << 20;
  result.levels.push_back({"memory", std::numeric_limits<std::int64_t>::max()});
  measure_level(team, probe, std::clamp(2 * std::max(third, second * threads), kLeast, kMost) / threads,
                result.levels.back());
  // Not all that is far is slower: two levels may be one, and a neighbour may have disturbed the nearer one.
  for (std::size_t i = result.levels.size() - 1; i-- > 0;) {
    result.levels[i].read = std::max(result.levels[i].read, result.levels[i + 1].read);
    result.levels[i].write = std::max(result.levels[i].write, result.levels[i + 1].write);
  }
  return result;
}

Floor floor_of(const Ceilings& ceilings, double rate, std::int64_t multiply_adds, std::int64_t read_bytes,
               std::int64_t written_bytes) noexcept {
  const MemoryLevel& level = ceilings.level_of(read_bytes + written_bytes);
  const double read = static_cast<double>(read_bytes) / level.read;
  const double write = static_cast<double>(written_bytes) / level.write;
  Floor floor;
  floor.arithmetic_ns = static_cast<double>(multiply_adds) / rate;
  floor.memory_ns = level.name == "memory" ? read + write : std::max(read, write);
  floor.level = level.name;
  return floor;
}

}  // namespace saccade::cpu
