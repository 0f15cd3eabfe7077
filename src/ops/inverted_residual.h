// InvertedResidual: 1x1 convolution, depthwise convolution, 1x1 convolution, of which the first or the last
// may be missing. Made by fuse_inverted_residual.
#pragma once

#include <vector>

#include "ir/graph.h"

namespace saccade::ops {

/// Inputs of an InvertedResidual, in this order; absent ones are kNoValue. `residual` is added by the last
/// convolution, which must then be there.
enum BlockInput : std::size_t {
  kBlockSource,
  kBlockExpandWeights,
  kBlockExpandBias,
  kBlockDepthwiseWeights,
  kBlockDepthwiseBias,
  kBlockProjectWeights,
  kBlockProjectBias,
  kBlockResidual,
  kBlockInputs
};

/// One convolution of a block.
struct BlockPart {
  ir::Node node;                   ///< a Conv without inputs and outputs
  std::vector<std::size_t> slots;  ///< the block's inputs that are its inputs 1, 2, …
};

/// The convolutions of a block in order; each reads the result of the one before, the first the block's
/// source.
std::vector<BlockPart> block_parts(const ir::Node& block);

/// The block that does the work of these Conv nodes, the first and the last of which may be nullptr. It has
/// no outputs.
ir::Node make_block(const ir::Node* expand, const ir::Node& depthwise, const ir::Node* project);

}  // namespace saccade::ops
