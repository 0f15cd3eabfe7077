#include <algorithm>
#include <unordered_map>

#include "import/onnx/operator.h"

namespace saccade::import {

const OnnxTranslation* find_translation(std::string_view op) {
  constexpr std::string_view kMicrosoft = "com.microsoft::";
  if (op.starts_with(kMicrosoft)) {
    op.remove_prefix(kMicrosoft.size());
    const auto group = microsoft_translations();
    const auto entry = std::find_if(group.begin(), group.end(), [&](const auto& t) { return t.op == op; });
    return entry != group.end() ? &*entry : nullptr;
  }
  static const auto kTable = [] {
    std::unordered_map<std::string_view, const OnnxTranslation*> table;
    for (const auto group :
         {activation_translations(), attention_translations(), constant_translations(),
          control_flow_translations(), conv_translations(), indexing_translations(), math_translations(),
          normalization_translations(), pool_translations(), random_translations(), recurrent_translations(),
          reduce_translations(), resize_translations(), shape_translations(), signal_translations()})
      for (const OnnxTranslation& entry : group) table.emplace(entry.op, &entry);
    return table;
  }();
  const auto found = kTable.find(op);
  return found != kTable.end() ? found->second : nullptr;
}

}  // namespace saccade::import
