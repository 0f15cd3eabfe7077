// The table of every kernel family, one line each; target.cpp joins them.
#pragma once

#include <span>

#include "compiler/target.h"

namespace saccade::cpu {

struct ConvQuery;

std::span<const compiler::KernelDesc> along_kernels();
std::span<const compiler::KernelDesc> attention_kernels();
std::span<const compiler::KernelDesc> conv_kernels();
std::span<const compiler::KernelDesc> conv_bf16_kernels();
std::span<const compiler::KernelDesc> conv_few_kernels();
std::span<const compiler::KernelDesc> conv_stem_kernels();
std::span<const compiler::KernelDesc> deform_conv_kernels();
std::span<const compiler::KernelDesc> grid_sample_kernels();
std::span<const compiler::KernelDesc> instance_norm_kernels();
std::span<const compiler::KernelDesc> inverted_residual_kernels();
std::span<const compiler::KernelDesc> conv_bytes_kernels();
std::span<const compiler::KernelDesc> depthwise_bytes_kernels();
std::span<const compiler::KernelDesc> pointwise_kernels();
std::span<const compiler::KernelDesc> conv_transpose_kernels();
std::span<const compiler::KernelDesc> conv_transpose_bf16_kernels();
std::span<const compiler::KernelDesc> winograd_kernels();
std::span<const compiler::KernelDesc> winograd_bf16_kernels();
std::span<const compiler::KernelDesc> winograd_bytes_kernels();
std::span<const compiler::KernelDesc> winograd_mixed_kernels();
std::span<const compiler::KernelDesc> copy_kernels();
std::span<const compiler::KernelDesc> depthwise_kernels();
std::span<const compiler::KernelDesc> elementwise_kernels();
std::span<const compiler::KernelDesc> elementwise_bytes_kernels();
std::span<const compiler::KernelDesc> matmul_kernels();
std::span<const compiler::KernelDesc> layer_norm_kernels();
std::span<const compiler::KernelDesc> pool_kernels();
std::span<const compiler::KernelDesc> pool_index_kernels();
std::span<const compiler::KernelDesc> reduce_kernels();
std::span<const compiler::KernelDesc> resize_kernels();
std::span<const compiler::KernelDesc> resize_arg_max_kernels();
std::span<const compiler::KernelDesc> softmax_kernels();
std::span<const compiler::KernelDesc> typed_kernels();

// What the family inverted_residual takes from others: nullptr or why not, and a state (PointwiseState,
// DepthwiseParams, ConvBf16State) for vectors of `lanes` or of 16.

/// Rows of the input need not be adjacent.
const char* check_pointwise_rows(const compiler::KernelQuery& query);
compiler::PreparedKernel prepare_pointwise(const compiler::KernelQuery& query, int lanes,
                                           std::int64_t blocks = 0);
const char* check_depthwise(const compiler::KernelQuery& query);
compiler::PreparedKernel prepare_depthwise(const compiler::KernelQuery& query, int lanes);
const char* check_bf16_pixels(const compiler::KernelQuery& query);
compiler::PreparedKernel prepare_bf16_pixels(const compiler::KernelQuery& query, std::int64_t blocks = 0);
/// Asked about floats, as it lies in memory (storage.h).
const char* check_depthwise_paired(const compiler::KernelQuery& query);
compiler::PreparedKernel prepare_depthwise_paired(const compiler::KernelQuery& query);
/// Nanoseconds of its products in one image.
double depthwise_paired_ns(const ConvQuery& query);

}  // namespace saccade::cpu
