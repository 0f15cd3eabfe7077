#include <algorithm>
#include <map>

#include "import/tflite/operator.h"

namespace saccade::import {

const TfliteTranslation* find_tflite_translation(tflite::BuiltinOperator code) {
  static const auto kTable = [] {
    std::map<tflite::BuiltinOperator, const TfliteTranslation*> table;
    for (const auto group :
         {tflite_activation_translations(), tflite_conv_translations(), tflite_indexing_translations(),
          tflite_math_translations(), tflite_pool_translations(), tflite_reduce_translations(),
          tflite_resize_translations(), tflite_shape_translations()})
      for (const TfliteTranslation& entry : group) table.emplace(entry.code, &entry);
    return table;
  }();
  const auto found = kTable.find(code);
  return found != kTable.end() ? found->second : nullptr;
}

const TfliteCustomTranslation* find_tflite_custom_translation(std::string_view name) {
  for (const auto group : {tflite_custom_conv_translations(), tflite_custom_landmark_translations(),
                           tflite_custom_pool_translations()}) {
    const auto found =
        std::find_if(group.begin(), group.end(), [&](const auto& entry) { return entry.name == name; });
    if (found != group.end()) return &*found;
  }
  return nullptr;
}

}  // namespace saccade::import
