// ONNX file → Imported.
#pragma once

#include "import/import.h"

namespace saccade::import {

/// Throws as read_model does. `bytes` need not outlive the call: what stays of them is moved or copied out.
Imported read_onnx(std::span<const std::byte> bytes, const std::filesystem::path& path,
                   const LoadLimits& limits);

}  // namespace saccade::import
