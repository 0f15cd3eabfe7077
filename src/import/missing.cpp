#include "import/missing.h"

#include <fmt/format.h>

#include <algorithm>

namespace saccade::import {

void MissingList::add(const std::string& op, const std::string& node, const std::string& reason) {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Missing& m) { return m.op == op && m.reason == reason; });
  if (found != entries_.end())
    found->nodes.push_back(node);
  else
    entries_.push_back({op, {node}, reason});
}

std::string missing_message(const std::vector<Missing>& missing) {
  constexpr std::size_t kNamesShown = 3;
  std::size_t total = 0;
  std::string list;
  for (const Missing& m : missing) {
    total += m.nodes.size();
    std::string names;
    for (std::size_t i = 0; i < std::min(m.nodes.size(), kNamesShown); ++i)
      names += fmt::format("{}'{}'", i == 0 ? "" : ", ", m.nodes[i]);
    if (m.nodes.size() > kNamesShown) names += fmt::format(" and {} more", m.nodes.size() - kNamesShown);
    list += fmt::format("{}{} x{} ({}; {})", list.empty() ? "" : ", ", m.op, m.nodes.size(), m.reason, names);
  }
  return fmt::format("the model needs what this version does not have, in {} place{}: {}", total,
                     total == 1 ? "" : "s", list);
}

}  // namespace saccade::import
