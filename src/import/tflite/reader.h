// TFLite file → Imported.
#pragma once

#include "import/import.h"

namespace saccade::import {

/// Whether the bytes carry TFLite's identifier.
bool looks_like_tflite(std::span<const std::byte> bytes);

/// Throws as read_model does. Constants point into the file where they can.
Imported read_tflite(const Source& source, const LoadLimits& limits);

}  // namespace saccade::import
