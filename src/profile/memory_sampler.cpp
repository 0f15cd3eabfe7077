#include "profile/memory_sampler.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>

namespace saccade::profile {

namespace {

constexpr auto kShortest = std::chrono::milliseconds(5);
/// When so many are there every second one goes, and the pause doubles: any job's curve fits.
constexpr std::size_t kMostSamples = 2000;

/// Resident bytes; 0 where the system does not tell.
std::int64_t resident_bytes(int statm) {
  std::array<char, 128> text{};
  const auto got = ::pread(statm, text.data(), text.size() - 1, 0);
  long long size = 0, resident = 0;
  if (got <= 0 || std::sscanf(text.data(), "%lld %lld", &size, &resident) != 2) return 0;
  return std::int64_t{resident} * ::sysconf(_SC_PAGESIZE);
}

}  // namespace

MemorySampler::MemorySampler(const trace::Recorder& recorder) : recorder_(recorder) {
  samples_.reserve(kMostSamples);
  thread_ = std::thread([this] { sample(); });
}

MemorySampler::~MemorySampler() { stop(); }

void MemorySampler::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void MemorySampler::sample() {
  const int statm = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (statm < 0) return;
  auto pause = kShortest;
  std::unique_lock lock(mutex_);
  while (true) {
    if (samples_.size() == kMostSamples) {
      for (std::size_t i = 0; i < kMostSamples / 2; ++i) samples_[i] = samples_[2 * i];
      samples_.resize(kMostSamples / 2);
      pause *= 2;
    }
    if (const std::int64_t bytes = resident_bytes(statm); bytes > 0)
      samples_.push_back({recorder_.now(), bytes});
    if (stop_) break;
    wake_.wait_for(lock, pause, [this] { return stop_; });
  }
  ::close(statm);
}

}  // namespace saccade::profile
