// Finds the cheapest kernel of a target for a step.
#pragma once

#include <functional>
#include <map>
#include <string_view>
#include <vector>

#include "compiler/target.h"

namespace saccade::compiler {

struct Choice {
  const KernelDesc* kernel = nullptr;  ///< nullptr: none can run it
  double cost = 0;                     ///< nanoseconds on one core
};

/// The kernels of one target up to an instruction set, by operator.
class KernelTable {
 public:
  KernelTable(const Target& target, Isa isa);
  /// The cheapest that can run `query`, with `price` added to the costs; ties by table order. Refusals go to
  /// the log topic "dispatch".
  Choice best(const KernelQuery& query,
              const std::function<double(const KernelDesc&)>& price = nullptr) const;
  /// The kernel of that name for an operator; nullptr if there is none.
  const KernelDesc* find(std::string_view op, std::string_view name) const;

 private:
  std::map<std::string_view, std::vector<const KernelDesc*>> by_op_;
};

}  // namespace saccade::compiler
