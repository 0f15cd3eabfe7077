// Kernels over data stored as bf16 are those over floats with other loads and stores: strides count elements,
// so what prepare() makes is the same.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/target.h"

namespace saccade::cpu {

/// A query with every operand of bf16 described as one of f32.
class AsFloats {
 public:
  explicit AsFloats(const compiler::KernelQuery& query);
  AsFloats(const AsFloats&) = delete;
  AsFloats& operator=(const AsFloats&) = delete;

  const compiler::KernelQuery& query() const { return query_; }

 private:
  std::vector<compiler::TensorDesc> inputs_, outputs_;
  compiler::KernelQuery query_;
};

/// Bytes of an element of input 0.
inline double element_size(const compiler::KernelQuery& query) {
  return static_cast<double>(dtype_size(query.inputs[0].dtype));
}

/// nullptr if the inputs of the set (bit i: input i), those that are there, are of bf16 and not constant, no
/// other input is, and the result has its type; else why not.
const char* check_bf16(const compiler::KernelQuery& query, std::uint32_t data_inputs,
                       DType result = DType::bf16);

/// can_run, cost and prepare of a kernel over floats, asked about operands of bf16.
template <const char* (*kCheck)(const compiler::KernelQuery&), std::uint32_t kDataInputs,
          DType kResult = DType::bf16>
const char* can_run_bf16(const compiler::KernelQuery& query) {
  if (const char* why = check_bf16(query, kDataInputs, kResult)) return why;
  return kCheck(AsFloats(query).query());
}
template <compiler::PreparedKernel (*kPrepare)(const compiler::KernelQuery&)>
compiler::PreparedKernel prepare_bf16(const compiler::KernelQuery& query) {
  return kPrepare(AsFloats(query).query());
}

}  // namespace saccade::cpu
