// TFLite file → Imported.
#pragma once

#include "import/import.h"

namespace saccade::import {

/// Whether the bytes carry TFLite's identifier.
bool looks_like_tflite(std::span<const std::byte> bytes);

/// Throws as read_model does. Constants point into `bytes` if `owner` keeps them alive.
Imported read_tflite(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                     const LoadLimits& limits);

}  // namespace saccade::import
