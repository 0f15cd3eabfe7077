// The CPU backend.
#pragma once

#include "compiler/target.h"

namespace saccade::cpu {

/// The one CPU target of the process.
const compiler::Target& target();

}  // namespace saccade::cpu
