// Reads the fused epilogue of a node.
#pragma once

#include "cpu/activation.h"
#include "ir/graph.h"

namespace saccade::cpu {

/// nullptr if `read_epilogue` can read the node's activation, else why not.
const char* check_epilogue(const ir::Node& node);
/// From the attributes activation, activation_alpha, activation_beta.
Epilogue read_epilogue(const ir::Node& node);

}  // namespace saccade::cpu
