// How much memory a video takes, and how many pictures may be worked on at once within a bound.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "media/video_format.h"
#include "pipeline/job_state.h"

namespace saccade {
class Plan;
}

namespace saccade::pipeline {

/// Pictures that are worked on at once, and frames between decoder and encoder.
struct Concurrency {
  int streams = 1, tokens = 1;
};

/// Sizes that are known before the first frame is worked on.
struct MemoryNeeds {
  std::int64_t before = 0, weights = 0;
  std::int64_t arena = 0, thread_scratch = 0, planes = 0;  ///< of a picture that is worked on
  std::int64_t frame = 0;                                  ///< under way
  std::int64_t coders = 0;
  int threads = 1;  ///< that all pictures share

  MemoryReport with(Concurrency concurrency) const noexcept;
};

/// `plan` may be null: a network that is no compiled one takes nothing that is known. `encoded`: pictures
/// that the encoder holds on to.
MemoryNeeds memory_needs(const Plan* plan, const media::VideoFormat& decoded,
                         const media::VideoFormat& result, int threads, int encoded);

/// Pictures that an encoder holds on to: x264's lookahead with that preset, others' usual one, and
/// two a thread (0: as many as this process may use).
int encoder_pictures(const std::string& encoder, const std::string& preset, int threads) noexcept;

/// As much of what is wanted as fits: pictures at once count more than frames that wait. Throws Error(limit)
/// where not even one picture at a time does.
Concurrency fit_concurrency(const MemoryNeeds& needs, Concurrency wanted, std::int64_t bound);

/// What the job asks for, as far as its bound allows it; notes it in the report.
Concurrency plan_memory(const MemoryNeeds& needs, JobState& state);

}  // namespace saccade::pipeline
