// How dense convolutions with dilated windows cut their rows of outputs and their filters into register
// tiles.
#pragma once

#include <cstdint>
#include <vector>

#include "cpu/conv_query.h"

namespace saccade::cpu {

struct DilatedPlan {
  std::int64_t blocks;                 ///< register blocks of filters
  std::vector<std::int64_t> segments;  ///< of a row of outputs, see row_segments
  bool even;                           ///< each tap meets all pixels of a segment, or none
};

/// For `vectors` vectors of `lanes` filters; a tap is `steps` vectors for each. Where a tap's filters exceed
/// the first-level cache, a tile waits for them: 64 filters take as long for 4 pixels as for 6. Tiles of half
/// as many filters and twice as many pixels read half as much, and are better where segments are short.
DilatedPlan plan_dilated(const ConvQuery& query, int lanes, std::int64_t vectors, std::int64_t steps);

}  // namespace saccade::cpu
