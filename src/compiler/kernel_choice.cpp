#include "compiler/kernel_choice.h"

#include <fmt/format.h>

#include "base/log.h"

namespace saccade::compiler {

KernelTable::KernelTable(const Target& target, Isa isa) {
  for (const KernelDesc* kernel : target.kernels(isa)) by_op_[kernel->op].push_back(kernel);
}

Choice KernelTable::best(const KernelQuery& query,
                         const std::function<double(const KernelDesc&)>& price) const {
  Choice choice;
  const auto found = by_op_.find(query.node.op);
  const bool logged = log::enabled("dispatch");
  if (found != by_op_.end()) {
    for (const KernelDesc* kernel : found->second) {
      if (const char* reason = kernel->can_run(query)) {
        if (logged)
          log::write("dispatch", fmt::format("{} ({}): {} refused: {}", query.node.name, query.node.op,
                                             kernel->name, reason));
        continue;
      }
      const double cost = kernel->cost(query) + (price != nullptr ? price(*kernel) : 0.0);
      if (logged)
        log::write("dispatch", fmt::format("{} ({}): {} would take {:.0f} ns", query.node.name, query.node.op,
                                           kernel->name, cost));
      if (choice.kernel == nullptr || cost < choice.cost) choice = {kernel, cost};
    }
  }
  if (logged && choice.kernel == nullptr)
    log::write("dispatch", fmt::format("{} ({}): no kernel", query.node.name, query.node.op));
  return choice;
}

const KernelDesc* KernelTable::find(std::string_view op, std::string_view name) const {
  const auto found = by_op_.find(op);
  if (found == by_op_.end()) return nullptr;
  for (const KernelDesc* kernel : found->second)
    if (kernel->name == name) return kernel;
  return nullptr;
}

}  // namespace saccade::compiler
