// Attention: softmax(scale Q K' + mask) V of every head in one step, a block of queries at a time, whose
// scores stay in the second-level cache. What prepare() hands to the kernels, and their entry point.
#pragma once

#include <cstdint>

#include "compiler/kernel_args.h"
#include "cpu/kernels/matmul/matmul.h"

namespace saccade::cpu {

/// One head of one image. Offsets in elements.
struct AttentionItem {
  std::int64_t q, dst, mask;
  std::int64_t shared;  ///< which keys and values
};

struct AttentionKeys {
  std::int64_t k, v;  ///< offsets
};

/// Most queries of a task, and of those whose scores exist at a time where words are multiplied.
constexpr int kAttentionRows = 48, kAttentionPairRows = 12;

struct AttentionState {
  MatmulState scores;  ///< queries times keys; its rows lie `dst_row` apart in the thread's scratch
  MatmulState values;  ///< those rows times values
  const AttentionItem* items;
  std::int64_t item_count;
  const AttentionKeys* keys;
  std::int64_t rows, row_tasks;  ///< queries of a task; tasks of an item
  bool has_mask;
  std::int64_t mask_row;
  bool bf16;  ///< queries, keys, values and results are stored so; scores and the mask are floats
  std::int64_t q_row, q_step,
      dst_row;  ///< of the operands, which the products do not read where it is `bf16`
  std::int64_t key_words, value_words;  ///< of two bf16: of a query or key; of a row of scores
};

namespace portable {
void attention(const compiler::KernelArgs& args) noexcept;
}  // namespace portable
namespace avx2 {
void attention(const compiler::KernelArgs& args) noexcept;
}  // namespace avx2
namespace avx512 {
void attention(const compiler::KernelArgs& args) noexcept;
void attention_pairs(const compiler::KernelArgs& args) noexcept;
}  // namespace avx512
namespace avx512_emulated {
void attention(const compiler::KernelArgs& args) noexcept;
void attention_pairs(const compiler::KernelArgs& args) noexcept;
}  // namespace avx512_emulated

}  // namespace saccade::cpu
