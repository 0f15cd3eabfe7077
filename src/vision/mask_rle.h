// A binary mask as COCO's run lengths: runs of background and foreground in turn, columns first.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vision/picture.h"

namespace saccade::vision {

/// A mask's foreground is where alpha is at least half of full: (alpha * 2 > full).
struct MaskRuns {
  int width = 0, height = 0;
  std::vector<std::uint32_t> counts;  ///< the first counts background and may be 0
  std::uint64_t area = 0;             ///< foreground pixels
  int left = 0, top = 0, right = 0,
      bottom = 0;  ///< bounding box, ends excluded; all 0 if there is no foreground
};
MaskRuns mask_runs(const ConstPlaneView& alpha);

/// The counts as the text of COCO's compressed form.
std::string compressed_counts(const std::vector<std::uint32_t>& counts);

}  // namespace saccade::vision
