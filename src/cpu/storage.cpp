#include "cpu/storage.h"

namespace saccade::cpu {

namespace {

std::vector<compiler::TensorDesc> widened(std::span<const compiler::TensorDesc> descs) {
  std::vector<compiler::TensorDesc> list(descs.begin(), descs.end());
  for (compiler::TensorDesc& desc : list)
    if (desc.dtype == DType::bf16) desc.dtype = DType::f32;
  return list;
}

}  // namespace

AsFloats::AsFloats(const compiler::KernelQuery& query)
    : inputs_(widened(query.inputs)),
      outputs_(widened(query.outputs)),
      query_{query.node,      inputs_,     query.constants,   outputs_,
             query.precision, query.store, query.source_parts} {}

const char* check_bf16(const compiler::KernelQuery& query, std::uint32_t data_inputs, DType result) {
  for (std::size_t i = 0; i < query.inputs.size(); ++i) {
    const bool data = i < 32 && (data_inputs >> i & 1u) != 0;
    if (query.inputs[i].present && (query.inputs[i].dtype == DType::bf16) != data)
      return data ? "data are not bfloat16" : "a parameter is bfloat16";
    if (data && i < query.constants.size() && query.constants[i] != nullptr) return "data are constant";
  }
  if (query.outputs.empty() || query.outputs[0].dtype != result) return "the result has another type";
  return nullptr;
}

}  // namespace saccade::cpu
