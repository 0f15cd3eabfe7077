// ONNX file → Imported.
#pragma once

#include "import/import.h"

namespace saccade::import {

/// Throws as read_model does.
Imported read_onnx(const Source& source, const std::filesystem::path& path, const LoadLimits& limits);

}  // namespace saccade::import
