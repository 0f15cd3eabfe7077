// Which boxes of elements the copying operators move.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/target.h"

namespace saccade::cpu {

struct CopyAxis {
  std::int64_t size;
  std::int64_t src_stride;  ///< elements; 0 where the source is repeated, negative where it is reversed
  std::int64_t dst_stride;
};

/// Offsets in elements.
struct CopyBox {
  int input;  ///< -1: filled
  int output;
  std::int64_t src_offset, dst_offset;
  std::vector<CopyAxis> axes;
};

struct CopyPlan {
  std::vector<CopyBox> boxes;
  std::uint64_t fill = 0;  ///< bits of the element that fills
};

/// Fills the plan with boxes that cover every output once; returns nullptr, or why it cannot.
const char* lower_concat(const compiler::KernelQuery& query, CopyPlan& plan);
const char* lower_depth_to_space(const compiler::KernelQuery& query, CopyPlan& plan);
const char* lower_expand(const compiler::KernelQuery& query, CopyPlan& plan);
const char* lower_gather(const compiler::KernelQuery& query, CopyPlan& plan);
const char* lower_pad(const compiler::KernelQuery& query, CopyPlan& plan);
const char* lower_reorder(const compiler::KernelQuery& query, CopyPlan& plan);
const char* lower_slice(const compiler::KernelQuery& query, CopyPlan& plan);
const char* lower_space_to_depth(const compiler::KernelQuery& query, CopyPlan& plan);
const char* lower_split(const compiler::KernelQuery& query, CopyPlan& plan);
const char* lower_tile(const compiler::KernelQuery& query, CopyPlan& plan);
const char* lower_transpose(const compiler::KernelQuery& query, CopyPlan& plan);

}  // namespace saccade::cpu
