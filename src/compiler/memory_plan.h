// Gives every buffer an address, long before anything runs.
#pragma once

#include "compiler/compiled_graph.h"
#include "compiler/lowered.h"

namespace saccade::compiler {

/// Lets steps write over an input that dies with them where their kernel allows it, places the buffers of the
/// arena by lifetime (64-byte aligned, largest first, each in the tightest gap), and fills the operands of
/// the steps.
CompiledGraph plan_memory(Lowered lowered);

}  // namespace saccade::compiler
