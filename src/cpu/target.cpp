#include "cpu/target.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "cpu/kernels/families.h"
#include "cpu/rates.h"
#include "cpu/sabotage.h"

namespace saccade::cpu {

namespace {

using compiler::KernelDesc;

class CpuTarget final : public compiler::Target {
 public:
  CpuTarget() {
    // clang-format off
    const std::span<const KernelDesc> families[] = {
        along_kernels(),
        attention_kernels(),
        conv_kernels(),
        conv_bf16_kernels(),
        conv_few_kernels(),
        conv_stem_kernels(),
        conv_bytes_kernels(),
        depthwise_bytes_kernels(),
        pointwise_kernels(),
        conv_transpose_bf16_kernels(),
        conv_transpose_kernels(),
        winograd_kernels(),
        winograd_bf16_kernels(),
        winograd_bytes_kernels(),
        winograd_mixed_kernels(),
        copy_kernels(),
        deform_conv_kernels(),
        depthwise_kernels(),
        elementwise_kernels(),
        elementwise_bytes_kernels(),
        grid_sample_kernels(),
        instance_norm_kernels(),
        inverted_residual_kernels(),
        matmul_kernels(),
        layer_norm_kernels(),
        pool_kernels(),
        pool_index_kernels(),
        reduce_kernels(),
        resize_kernels(),
        resize_arg_max_kernels(),
        softmax_kernels(),
        typed_kernels(),
    };
    // clang-format on
    for (std::size_t i = 0; i < lists_.size(); ++i) {
      const Isa cap = static_cast<Isa>(i);
      for (const std::span<const KernelDesc>& family : families)
        for (const KernelDesc& kernel : family)
          if (kernel.isa <= cap) lists_[i].push_back(maybe_broken(&kernel));
      // Wider instruction sets first; the order within a family stays.
      std::stable_sort(lists_[i].begin(), lists_[i].end(),
                       [](const KernelDesc* a, const KernelDesc* b) { return a->isa > b->isa; });
    }
  }
  std::string_view name() const override { return "cpu"; }
  std::string choices_depend_on() const override { return measured_rates(); }
  std::span<const KernelDesc* const> kernels(Isa isa) const override {
    return lists_[static_cast<std::size_t>(isa)];
  }

 private:
  std::array<std::vector<const KernelDesc*>, kIsaCount> lists_;
};

}  // namespace

const compiler::Target& target() {
  static const CpuTarget instance;
  return instance;
}

}  // namespace saccade::cpu
