// Limits by name: "tensor-bytes=512M".
#pragma once

#include <string_view>

#include "saccade/limits.h"
#include "saccade/media_limits.h"

namespace saccade::settings {

/// Changes the limit that `text` names. `media` null: only those of models are known. Throws
/// Error(invalid_argument) that lists the names, or says what a value must be.
void set_limit(std::string_view text, LoadLimits& limits, MediaLimits* media);

}  // namespace saccade::settings
