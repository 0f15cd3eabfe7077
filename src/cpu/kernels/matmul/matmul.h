// Matrix products: what prepare() hands to the kernels, and their entry points.
#pragma once

#include <cstdint>

#include "compiler/kernel_args.h"
#include "cpu/activation.h"

namespace saccade::cpu {

/// One product of a batch. Offsets in elements.
struct MatmulItem {
  std::int64_t a, dst;
  std::int64_t b;  ///< which packed matrix
};

/// Vectors in a panel of B, and rows of a register block.
constexpr int kMatmulVectors = 2;

/// Y = activation(alpha A B + beta C), all strides in elements; the columns of Y are adjacent.
struct MatmulState {
  std::int64_t m, n, k;
  std::int64_t a_row, a_k;
  std::int64_t dst_row;
  std::int64_t b_k, b_column;  ///< of a B that is packed during the run
  float alpha, beta;
  const float* bias;  ///< C where it is constant; else src[2]
  bool has_bias;
  std::int64_t bias_row, bias_column;  ///< 0 where it is broadcast
  Epilogue epilogue;
  const MatmulItem* items;
  std::int64_t item_count;
  const float*
      packed;  ///< [matrix][panel][k][panel's columns]; nullptr: phase 0 packs into the shared scratch
  const std::int64_t* b_offsets;                                        ///< of each matrix that phase 0 packs
  std::int64_t panels;                                                  ///< of one matrix
  std::int64_t panels_per_pack, packs;                                  ///< tasks of phase 0, of one matrix
  std::int64_t rows_per_task, row_tasks, panels_per_task, panel_tasks;  ///< tasks of a product
};

/// The same of words of two bf16: packed matrices are [matrix][panel][word][panel's columns], with no bias
/// and no epilogue.
struct MatmulPairsState {
  MatmulState product;  ///< but for `packed`
  const char* packed;   ///< nullptr: phase 0 packs
  std::int64_t words;
  bool a_bf16, b_bf16, dst_bf16;  ///< else floats, of which those of A and B are rounded
};

/// Rows of a register block of words.
constexpr int kMatmulPairRows = 12;

namespace portable {
void matmul(const compiler::KernelArgs& args) noexcept;
}
namespace avx2 {
void matmul(const compiler::KernelArgs& args) noexcept;
}
namespace avx512 {
void matmul(const compiler::KernelArgs& args) noexcept;
void matmul_pairs(const compiler::KernelArgs& args) noexcept;
}  // namespace avx512
namespace avx512_emulated {
void matmul(const compiler::KernelArgs& args) noexcept;
void matmul_pairs(const compiler::KernelArgs& args) noexcept;
}  // namespace avx512_emulated

}  // namespace saccade::cpu
