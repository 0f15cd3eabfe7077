#include "ir/verify.h"

#include <set>

#include "saccade/error.h"

namespace saccade::ir {

namespace {

[[noreturn]] void fail(const std::string& message) { throw Error(ErrorCode::invalid_model, message); }

}  // namespace

void verify(const Graph& graph) {
  const auto count = static_cast<ValueId>(graph.values.size());
  std::vector<bool> defined(graph.values.size(), false);
  const auto define = [&](ValueId id, const std::string& by) {
    if (id < 0 || id >= count)
      fail(by + " defines value " + std::to_string(id) + " of " + std::to_string(count));
    if (defined[static_cast<std::size_t>(id)])
      fail(by + " defines '" + graph.value(id).name + "', which is already defined");
    defined[static_cast<std::size_t>(id)] = true;
  };
  for (ValueId id = 0; id < count; ++id)
    if (graph.value(id).constant) define(id, "a constant");
  std::set<std::string> names;
  for (const ValueId id : graph.inputs) {
    define(id, "the list of inputs");
    if (!names.insert(graph.value(id).name).second)
      fail("two inputs are named '" + graph.value(id).name + "'");
  }
  for (const Node& node : graph.nodes) {
    for (const ValueId id : node.inputs) {
      if (id == kNoValue) continue;
      if (id < 0 || id >= count)
        fail(describe(node, graph) + " reads value " + std::to_string(id) + " of " + std::to_string(count));
      if (!defined[static_cast<std::size_t>(id)])
        fail(describe(node, graph) + " reads '" + graph.value(id).name +
             "' before it is defined (a cycle, or a missing tensor)");
    }
    for (const ValueId id : node.outputs)
      if (id != kNoValue) define(id, describe(node, graph));
  }
  for (const ValueId id : graph.outputs) {
    if (id < 0 || id >= count || !defined[static_cast<std::size_t>(id)])
      fail("output " + (id >= 0 && id < count ? "'" + graph.value(id).name + "'" : std::to_string(id)) +
           " is never computed");
  }
}

}  // namespace saccade::ir
