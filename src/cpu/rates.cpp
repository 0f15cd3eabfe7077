#include "cpu/rates.h"

#include <time.h>

#include <algorithm>

#include "cpu/kernels/probe/dot.h"
#include "cpu/kernels/probe/probe.h"
#include "saccade/isa.h"

namespace saccade::cpu {

namespace {

/// Nanoseconds this thread has run: what else the machine does meanwhile does not count.
double thread_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return 1e9 * static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec);
}

using Work = double (*)(long rounds);

double rate(Work work) {
  constexpr long kRounds = 4000;  // some 20 to 100 microseconds
  const double start = thread_ns();
  const double done = work(kRounds);
  return done / std::max(thread_ns() - start, 1.0);
}

/// Of the best rates, taken in turns: a virtual machine that is held up for a while is so for both.
double ratio_of_rates(Work a, Work b) {
  constexpr int kTurns = 12;
  double best_a = 0, best_b = 0;
  for (int turn = 0; turn < kTurns; ++turn) {
    best_a = std::max(best_a, rate(a));
    best_b = std::max(best_b, rate(b));
  }
  return best_a / best_b;
}

double measure_bf16() {
  if (detected_isa() < Isa::avx512_bf16) return 2;
  const DotProbe dot = dot_probes(Isa::avx512_bf16).bf16;
  // Processors differ by whole factors, so the nearest one is safe from noise.
  const double ratio = ratio_of_rates(dot, avx512::kProbe.multiply_adds);
  return ratio > 1.41 ? 2 : ratio > 0.71 ? 1 : 0.5;
}

}  // namespace

double bf16_speedup() noexcept {
  static const double speedup = measure_bf16();
  return speedup;
}

std::string measured_rates() {
  if (detected_isa() < Isa::avx512_bf16) return {};
  return bf16_speedup() == 2   ? "bf16 products twice as fast"
         : bf16_speedup() == 1 ? "bf16 products as fast"
                               : "bf16 products half as fast";
}

}  // namespace saccade::cpu
