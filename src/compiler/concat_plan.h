// Which values are computed right where a concatenation wants them.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "compiler/target.h"
#include "ir/graph.h"

namespace saccade::compiler {

struct ConcatPlan {
  struct Concat {
    ir::ValueId result;
    std::size_t axis;
    Layout layout;
  };
  /// A place in a concatenation's result.
  struct Part {
    std::size_t concat;
    std::int64_t begin;  ///< along its axis
  };
  std::vector<Concat> concats;
  std::map<ir::ValueId, std::size_t> by_result;
  std::map<ir::ValueId, Part> parts;

  std::optional<std::size_t> find(ir::ValueId result) const {
    const auto found = by_result.find(result);
    return found == by_result.end() ? std::nullopt : std::optional(found->second);
  }
  std::optional<Part> part_of(ir::ValueId id) const {
    const auto found = parts.find(id);
    return found == parts.end() ? std::nullopt : std::optional(found->second);
  }
};

/// Lists all concatenations. A value may be a part if a kernel makes it (it is no input, constant or view)
/// and the slice has a form that kernels know; each value is a part of one concatenation at most.
ConcatPlan plan_concats(const ir::Graph& graph, const std::vector<Layout>& layouts);

}  // namespace saccade::compiler
