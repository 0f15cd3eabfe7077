// Runs every kernel of the CPU target (and of its 16-lane emulation) that accepts a convolution and compares
// it with plain loops in double.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/target.h"

namespace saccade::test {

struct ConvCase {
  std::int64_t batch = 1, groups = 1;
  std::int64_t channels = 8, filters = 8;  ///< of all groups
  std::int64_t in_h = 8, in_w = 8;
  std::int64_t kernel_h = 3, kernel_w = 3, stride_h = 1, stride_w = 1, dilation_h = 1, dilation_w = 1;
  std::vector<std::int64_t> pads = {0, 0, 0, 0};
  std::vector<std::int64_t> output_padding = {0, 0};  ///< transposed only
  bool transposed = false;
  bool bias = true, residual = false;
  std::string activation = "none";
  float alpha = 0, beta = 0;
  std::int64_t src_gap = 0, dst_gap = 0,
               residual_gap = 0;  ///< floats between one pixel's channels and the next pixel's
  bool planar = false;            ///< the input is planes, `src_gap` floats between their rows
  bool in_place = false;          ///< the output lies over the residual
  bool coarse = true;             ///< kernels that err more may take it
  bool src_bf16 = false, dst_bf16 = false, residual_bf16 = false;  ///< else float32
};

std::string describe(const ConvCase& c);

/// Kernels of both targets that can run here and accept the case; all of them agree with the reference, touch
/// nothing outside their operands, and give the same bits for any grouping of tasks and any batch. A case in
/// float32 also runs with operands in bfloat16: all of them, and some. Records GoogleTest failures. Returns
/// the names of the kernels that ran.
std::vector<std::string> check_conv_kernels(const ConvCase& c);

/// Root of the mean square error against the case in float32 of each kernel that accepts it with bfloat16
/// input and output, and (name "") of the direct convolution of operands rounded to bfloat16, exactly summed.
std::map<std::string, double> bf16_errors(const ConvCase& c);

}  // namespace saccade::test
