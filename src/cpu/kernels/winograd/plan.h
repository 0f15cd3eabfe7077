// How Winograd convolutions are cut into tiles and stages, and their filters packed, for the families that
// run them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
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

/// What the three taps of a filter become along one axis, for one position of it.
using WinogradTaps = std::array<double, 3>;

/// Filters after the transforms of both axes, for kernels of `lanes` numbers a vector:
/// [panel][position][slice of channels][block][channel][vectors of the block x lanes]. `packed` holds zeros
/// before. `vectors` of filters are cut into `blocks`, and these into `panels`.
void pack_winograd_filters(const ConvQuery& query, int lanes, std::int64_t vectors, std::int64_t blocks,
                           std::int64_t panels, std::span<const WinogradTaps> rows,
                           std::span<const WinogradTaps> columns, float* packed);

/// That filters and bias were packed into so many bytes, and are not read from the inputs any more.
void keep_winograd_filters(const compiler::KernelQuery& query, std::size_t bytes,
                           compiler::PreparedKernel& prepared);

/// Stages of as many blocks of tiles as have room in `room` values at `values` a tile; `state` has its
/// block_tiles and panels. The tasks go to `prepared`, phase by phase.
void plan_winograd_stages(std::int64_t batch, std::int64_t room, std::int64_t values, WinogradState& state,
                          compiler::PreparedKernel& prepared);

}  // namespace saccade::cpu
