// The cases that kernels are checked on, a list a family. Each family has a file <family>_cases.cpp.
#pragma once

#include <ostream>
#include <span>
#include <vector>

#include "cpu/kernel_check.h"

namespace saccade::kernel_check {

std::vector<Case> along_cases();
std::vector<Case> attention_cases();
std::vector<Case> conv_cases();
std::vector<Case> conv_bytes_cases();
std::vector<Case> copy_cases();
std::vector<Case> deform_conv_cases();
std::vector<Case> depthwise_cases();
std::vector<Case> elementwise_cases();
std::vector<Case> grid_sample_cases();
std::vector<Case> instance_norm_cases();
std::vector<Case> inverted_residual_cases();
std::vector<Case> matmul_cases();
std::vector<Case> layer_norm_cases();
std::vector<Case> pool_cases();
std::vector<Case> pool_index_cases();
std::vector<Case> reduce_cases();
std::vector<Case> resize_cases();
std::vector<Case> resize_arg_max_cases();
std::vector<Case> softmax_cases();
std::vector<Case> typed_cases();

struct Family {
  const char* name;
  std::vector<Case> (*cases)();
};
inline void PrintTo(const Family& family, std::ostream* out) { *out << family.name; }

/// All of them; a new family is added here.
std::span<const Family> families();

}  // namespace saccade::kernel_check
