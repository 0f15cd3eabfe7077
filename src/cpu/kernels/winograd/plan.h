// How Winograd convolutions are cut into tiles and stages, for the families that run them.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/target.h"
#include "cpu/conv_query.h"
#include "cpu/kernels/winograd/winograd.h"

namespace saccade::cpu {

/// Tiles of `side` outputs along an axis of `size`: those of each phase of the dilation.
std::int64_t winograd_tiles(std::int64_t size, std::int64_t dilation, std::int64_t side);

/// Tiles image by image of the dilation, row by row.
std::vector<WinogradTile> list_winograd_tiles(const ConvQuery& query, std::int64_t side);

/// What of a state is the convolution itself, and its `tiles`, which must outlive it.
void describe_winograd(const ConvQuery& query, const std::vector<WinogradTile>& tiles, WinogradState& state);

/// Stages of as many blocks of tiles as have room in `room` values at `values` a tile; `state` has its
/// block_tiles and panels. The tasks go to `prepared`, phase by phase.
void plan_winograd_stages(std::int64_t batch, std::int64_t room, std::int64_t values, WinogradState& state,
                          compiler::PreparedKernel& prepared);

}  // namespace saccade::cpu
