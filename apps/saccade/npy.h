// NumPy's file format for one array.
#pragma once

#include <filesystem>

#include "saccade/tensor.h"

namespace saccade::cli {

/// Reads versions 1 to 3; C or Fortran order (converted), either byte order (converted). Throws
/// Error(not_found | io), Error(invalid_argument) for a file that is no .npy or is cut short,
/// Error(unsupported) for a dtype that tensors do not have.
Tensor read_npy(const std::filesystem::path& path);

/// Writes version 1 in C order, beside the target and renamed. bfloat16 is written as the 2-byte void type
/// that ml_dtypes reads.
void write_npy(const std::filesystem::path& path, const Tensor& tensor);

}  // namespace saccade::cli
