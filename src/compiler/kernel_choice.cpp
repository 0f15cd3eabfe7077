#include "compiler/kernel_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/log.h"

namespace saccade::compiler {

KernelTable::KernelTable(const Target& target, Isa isa, std::shared_ptr<KernelTimer> timer)
    : timer_(std::move(timer)) {
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

std::vector<KernelTable::Rival> KernelTable::rivals_of(
    const KernelQuery& query, const SinglePicture& single,
    const std::function<double(const KernelDesc&)>& price) const {
  std::vector<Rival> rivals;
  const auto found = by_op_.find(query.node.op);
  if (found == by_op_.end()) return rivals;
  double least = std::numeric_limits<double>::infinity(), error = 0;
  for (const KernelDesc* kernel : found->second) {
    if (kernel->can_run(query) != nullptr || kernel->can_run(single.query()) != nullptr) continue;
    const double cost = static_cast<double>(single.batch()) * kernel->cost(single.query());
    rivals.push_back({kernel, cost, price != nullptr ? price(*kernel) : 0.0});
    if (cost + rivals.back().price >= least) continue;
    least = cost + rivals.back().price;
    error = kernel->error;
  }
  std::erase_if(rivals, [&](const Rival& rival) {
    return rival.cost + rival.price > kTried * least || rival.kernel->error > error;
  });
  return rivals;
}

std::size_t KernelTable::rivals(const KernelQuery& query,
                                const std::function<double(const KernelDesc&)>& price) const {
  if (timer_ == nullptr || !SinglePicture::possible(query)) return 0;
  return rivals_of(query, SinglePicture(query), price).size();
}

std::optional<Choice> KernelTable::fastest(const KernelQuery& query,
                                           const std::function<double(const KernelDesc&)>& price) const {
  if (timer_ == nullptr || !SinglePicture::possible(query)) return std::nullopt;
  const SinglePicture single(query);
  const std::vector<Rival> rivals = rivals_of(query, single, price);
  if (rivals.empty()) return std::nullopt;
  std::vector<const KernelDesc*> kernels;
  for (const Rival& rival : rivals) kernels.push_back(rival.kernel);
  const std::vector<double> times = timer_->times(single.query(), kernels);
  if (times.size() != rivals.size()) return std::nullopt;
  std::size_t predicted = 0;
  for (std::size_t i = 1; i < rivals.size(); ++i)
    if (rivals[i].cost + rivals[i].price < rivals[predicted].cost + rivals[predicted].price) predicted = i;
  const auto taken = [&](std::size_t i) {
    return static_cast<double>(single.batch()) * times[i] + rivals[i].price;
  };
  std::size_t chosen = predicted;
  double least = taken(predicted);
  for (std::size_t i = 0; i < rivals.size(); ++i) {
    if (log::enabled("dispatch"))
      log::write("dispatch", fmt::format("{} ({}): {} takes {:.0f} ns, predicted {:.0f}", query.node.name,
                                         query.node.op, rivals[i].kernel->name,
                                         static_cast<double>(single.batch()) * times[i], rivals[i].cost));
    const double counted = KernelTable::handicapped(taken(i), single.batch());
    if (i == predicted || counted >= least) continue;
    chosen = i;
    least = counted;
  }
  return Choice{rivals[chosen].kernel, taken(chosen)};
}

const KernelDesc* KernelTable::find(std::string_view op, std::string_view name) const {
  const auto found = by_op_.find(op);
  if (found == by_op_.end()) return nullptr;
  for (const KernelDesc* kernel : found->second)
    if (kernel->name == name) return kernel;
  return nullptr;
}

}  // namespace saccade::compiler
