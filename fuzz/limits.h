// What a file of a few bytes may ask for while it is fuzzed.
#pragma once

#include "saccade/limits.h"

namespace saccade::fuzz {

inline constexpr LoadLimits kLimits{.max_nodes = 2'000,
                                    .max_rank = 12,
                                    .max_tensor_bytes = 16 << 20,
                                    .max_nesting = 16,
                                    .max_total_bytes = 128 << 20,
                                    .max_iterations = 1'000,
                                    .max_work = 4'000'000};

}  // namespace saccade::fuzz
