#include "pipeline/tensor_names.h"

#include <fmt/format.h>

#include <algorithm>

#include "saccade/error.h"

namespace saccade::pipeline {

std::string list_names(const std::vector<TensorInfo>& tensors) {
  std::string list;
  for (const TensorInfo& t : tensors)
    list += (list.empty() ? "" : ", ") + t.name + " " + shape_string(t.shape);
  return list;
}

std::size_t output_number(const Model& model, const OutputSpec& spec, const std::string& name) {
  const auto& outputs = model.outputs();
  if (outputs.empty()) throw Error(ErrorCode::unsupported, name + ": has no output");
  if (spec.tensor.empty()) return 0;
  const auto found = std::find_if(outputs.begin(), outputs.end(),
                                  [&](const TensorInfo& t) { return t.name == spec.tensor; });
  if (found == outputs.end()) {
    throw Error(ErrorCode::invalid_argument, fmt::format("{}: has no output '{}'; its outputs are {}", name,
                                                         spec.tensor, list_names(outputs)));
  }
  return static_cast<std::size_t>(found - outputs.begin());
}

}  // namespace saccade::pipeline
