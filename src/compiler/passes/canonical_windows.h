// Rules of `canonicalise` for operators that slide a window.
#pragma once

#include "compiler/edit.h"

namespace saccade::compiler {

/// auto_pad and output_shape become pads (and output_padding).
bool explicit_pads(Edit& edit, std::size_t node);
/// Global pools, and pools whose one window is the whole plane, become reductions over the plane.
bool pools_to_reductions(Edit& edit, std::size_t node);

}  // namespace saccade::compiler
