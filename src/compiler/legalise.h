// Undoes what passes fused where the target has no kernel for it.
#pragma once

#include "compiler/kernel_choice.h"
#include "ir/graph.h"

namespace saccade::compiler {

/// A convolution whose residual or activation no kernel can apply is split into the convolution and
/// elementwise operators; an elementwise operator without a kernel of its own becomes an ElementwiseChain of
/// one instruction. An InvertedResidual is taken apart where its convolutions, or two of them as one and the
/// third, cost less than the whole.
void legalise(ir::Graph& graph, const KernelTable& kernels);

}  // namespace saccade::compiler
