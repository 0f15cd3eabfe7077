#include "cpu/emulated_target.h"

#include <deque>
#include <string>
#include <vector>

#include "cpu/kernels/attention/attention.h"
#include "cpu/kernels/conv/conv.h"
#include "cpu/kernels/conv_bf16/conv_bf16.h"
#include "cpu/kernels/conv_bytes/conv_bytes.h"
#include "cpu/kernels/conv_few/conv_few.h"
#include "cpu/kernels/conv_stem/conv_stem.h"
#include "cpu/kernels/conv_transpose/conv_transpose.h"
#include "cpu/kernels/conv_transpose_bf16/conv_transpose_bf16.h"
#include "cpu/kernels/deform_conv/deform_conv.h"
#include "cpu/kernels/depthwise/depthwise.h"
#include "cpu/kernels/depthwise_bytes/depthwise_bytes.h"
#include "cpu/kernels/elementwise/elementwise.h"
#include "cpu/kernels/elementwise_bytes/elementwise_bytes.h"
#include "cpu/kernels/grid_sample/grid_sample.h"
#include "cpu/kernels/instance_norm/instance_norm.h"
#include "cpu/kernels/inverted_residual/inverted_residual.h"
#include "cpu/kernels/layer_norm/layer_norm.h"
#include "cpu/kernels/matmul/matmul.h"
#include "cpu/kernels/pointwise/pointwise.h"
#include "cpu/kernels/pool/pool.h"
#include "cpu/kernels/pool_index/pool_index.h"
#include "cpu/kernels/reduce/reduce.h"
#include "cpu/kernels/resize/resize.h"
#include "cpu/kernels/resize_arg_max/resize_arg_max.h"
#include "cpu/kernels/softmax/softmax.h"
#include "cpu/kernels/typed/typed.h"
#include "cpu/kernels/winograd/winograd.h"
#include "cpu/kernels/winograd_bf16/winograd_bf16.h"
#include "cpu/kernels/winograd_bytes/winograd_bytes.h"
#include "cpu/kernels/winograd_mixed/winograd_mixed.h"
#include "cpu/sabotage.h"
#include "cpu/target.h"

namespace saccade::cpu {

namespace {

using compiler::KernelDesc;
namespace emulated = avx512_emulated;

struct Emulation {
  std::string_view name;  ///< of the AVX-512 kernel
  compiler::KernelFn fn;
};

// One line a kernel.
constexpr Emulation kEmulations[] = {
    {"attention.avx512.fp32", emulated::attention},
    {"attention.avx512.bf16", emulated::attention},
    {"attention.avx512_bf16.bf16", emulated::attention_pairs},
    {"conv.dense.avx512.fp32", emulated::conv_dense},
    {"conv.dense.avx512.bf16", emulated::conv_dense},
    {"conv.dense.amx.bf16", emulated::conv_tiles},
    {"conv.dense.avx512_bf16.bf16", emulated::conv_bf16},
    {"conv.dense.avx512.int8", emulated::conv_bytes},
    {"conv.dense.amx.int8", emulated::conv_bytes_tiles},
    {"conv.dense.avx512_vnni.int8", emulated::conv_bytes_quads},
    {"depthwise.avx512.int8", emulated::depthwise_bytes},
    {"conv.few.avx512.fp32", emulated::conv_few},
    {"conv.few.avx512.bf16", emulated::conv_few},
    {"conv.stem.avx512.fp32", emulated::conv_stem},
    {"conv.pointwise.avx512.fp32", emulated::conv_pointwise},
    {"conv.pointwise.avx512.bf16", emulated::conv_pointwise},
    {"conv.single.avx512.fp32", emulated::conv_single},
    {"conv.single.avx512.bf16", emulated::conv_single},
    {"conv_transpose.avx512_bf16.bf16", emulated::conv_transpose_bf16},
    {"conv_transpose.avx512.fp32", emulated::conv_transpose},
    {"conv_transpose.avx512.bf16", emulated::conv_transpose},
    {"conv_transpose.patch.avx512.fp32", emulated::conv_transpose_patch},
    {"conv_transpose.patch.avx512.bf16", emulated::conv_transpose_patch},
    {"conv.winograd4.avx512.fp32", emulated::winograd_4},
    {"conv.winograd4.avx512.bf16", emulated::winograd_4},
    {"conv.winograd4.avx512_bf16.stored.bf16", emulated::winograd_4},
    {"conv.winograd6.avx512.fp32", emulated::winograd_6},
    {"conv.winograd6.avx512.bf16", emulated::winograd_6},
    {"conv.winograd6.avx512_bf16.stored.bf16", emulated::winograd_6},
    {"conv.winograd8.avx512.bf16", emulated::winograd_8},
    {"conv.winograd8.avx512_bf16.stored.bf16", emulated::winograd_8},
    {"conv.winograd4.avx512_bf16.bf16", emulated::winograd_bf16},
    {"conv.winograd2.avx512.int8", emulated::winograd_bytes},
    {"conv.winograd_mixed.avx512.fp32", emulated::winograd_mixed},
    {"conv.winograd_mixed.avx512.bf16", emulated::winograd_mixed},
    {"conv.winograd_mixed.avx512_bf16.stored.bf16", emulated::winograd_mixed},
    {"conv.winograd_short.avx512.fp32", emulated::winograd_mixed},
    {"conv.winograd_short.avx512.bf16", emulated::winograd_mixed},
    {"conv.winograd_short.avx512_bf16.stored.bf16", emulated::winograd_mixed},
    {"deform_conv.avx512.fp32", emulated::deform_conv},
    {"depthwise.avx512.fp32", emulated::depthwise_conv},
    {"depthwise.avx512.bf16", emulated::depthwise_conv_bf16},
    {"depthwise.avx512_bf16.bf16", emulated::depthwise_conv_bf16_paired},
    {"depthwise.avx512_bf16.stored.bf16", emulated::depthwise_conv_bf16},
    {"elementwise.avx512.fp32", emulated::elementwise_chain},
    {"elementwise.avx512_bf16.stored.bf16", emulated::elementwise_chain},
    {"elementwise.bytes.avx512.int8", emulated::elementwise_bytes},
    {"grid_sample.avx512.fp32", emulated::grid_sample},
    {"instance_norm.avx512.fp32", emulated::instance_norm},
    {"inverted_residual.avx512_bf16.bf16", emulated::inverted_residual_bf16},
    {"inverted_residual.avx512.fp32", emulated::inverted_residual},
    {"matmul.avx512.fp32", emulated::matmul},
    {"matmul.avx512_bf16.bf16", emulated::matmul_pairs},
    {"gemm.avx512.fp32", emulated::matmul},
    {"layer_norm.avx512.fp32", emulated::layer_norm},
    {"layer_norm.avx512.bf16", emulated::layer_norm},
    {"layer_norm.avx512_bf16.stored.bf16", emulated::layer_norm},
    {"pool.max.avx512.fp32", emulated::max_pool},
    {"pool.max.avx512.int8", emulated::max_pool_bytes},
    {"pool.average.avx512.fp32", emulated::average_pool},
    {"pool.max.avx512.bf16", emulated::max_pool_bf16},
    {"pool.average.avx512.bf16", emulated::average_pool_bf16},
    {"pool_index.max.avx512.fp32", emulated::max_index},
    {"pool_index.unpool.avx512.fp32", emulated::unpool},
    {"reduce.mean.avx512.fp32", emulated::reduce_lines},
    {"reduce.sum.avx512.fp32", emulated::reduce_lines},
    {"reduce.max.avx512.fp32", emulated::reduce_lines},
    {"reduce.min.avx512.fp32", emulated::reduce_lines},
    {"reduce.l1.avx512.fp32", emulated::reduce_lines},
    {"reduce.sum_square.avx512.fp32", emulated::reduce_lines},
    {"reduce.l2.avx512.fp32", emulated::reduce_lines},
    {"reduce.prod.avx512.fp32", emulated::reduce_lines},
    {"reduce.log_sum.avx512.fp32", emulated::reduce_lines},
    {"reduce.log_sum_exp.avx512.fp32", emulated::reduce_lines},
    {"reduce.global_mean.avx512.fp32", emulated::reduce_lines},
    {"reduce.global_max.avx512.fp32", emulated::reduce_lines},
    {"reduce.whole_plane.avx512.fp32", emulated::reduce_lines},
    {"reduce.mean.avx512.int8", emulated::mean_bytes},
    {"reduce.mean.avx512.bf16", emulated::reduce_lines_bf16},
    {"reduce.global_mean.avx512.bf16", emulated::reduce_lines_bf16},
    {"reduce.whole_plane.avx512.bf16", emulated::reduce_lines_bf16},
    {"resize.double.avx512.fp32", emulated::resize_double},
    {"resize.corners.avx512.fp32", emulated::resize_corners},
    {"resize.corners.planar.avx512.fp32", emulated::resize_planar_corners},
    {"resize.planar.avx512.fp32", emulated::resize_planar},
    {"resize.taps.avx512.fp32", emulated::resize_taps},
    {"resize.double.avx512.bf16", emulated::resize_double_bf16},
    {"resize.corners.avx512.bf16", emulated::resize_corners_bf16},
    {"resize.taps.avx512.bf16", emulated::resize_taps_bf16},
    {"resize_arg_max.avx512.fp32", emulated::resize_arg_max},
    {"resize_arg_max.avx512.bf16", emulated::resize_arg_max_bf16},
    {"softmax.avx512.fp32", emulated::softmax_lines},
    {"log_softmax.avx512.fp32", emulated::softmax_lines},
    {"arg_max.avx512.fp32", emulated::arg_max_lines},
    {"arg_min.avx512.fp32", emulated::arg_max_lines},
    {"typed.cast.avx512", emulated::typed},
    {"typed.less.avx512", emulated::typed},
    {"typed.less_equal.avx512", emulated::typed},
    {"typed.greater.avx512", emulated::typed},
    {"typed.greater_equal.avx512", emulated::typed},
    {"typed.equal.avx512", emulated::typed},
    {"typed.and.avx512", emulated::typed},
    {"typed.or.avx512", emulated::typed},
    {"typed.xor.avx512", emulated::typed},
    {"typed.not.avx512", emulated::typed},
    {"typed.where.avx512", emulated::typed},
    {"typed.is_nan.avx512", emulated::typed},
    {"typed.is_inf.avx512", emulated::typed},
    {"typed.mod.avx512", emulated::typed},
};

class EmulatedTarget final : public compiler::Target {
 public:
  EmulatedTarget() {
    for (const KernelDesc* kernel : target().kernels(Isa::amx)) {
      if (kernel->isa < Isa::avx512) continue;
      KernelDesc copy = *before_breaking(kernel);
      copy.name = names_.emplace_back(std::string(kernel->name) + ".emulated");
      copy.isa = Isa::avx2;
      copy.fn = nullptr;
      for (const Emulation& emulation : kEmulations)
        if (emulation.name == kernel->name) copy.fn = emulation.fn;
      kernels_.push_back(copy);
    }
    for (const KernelDesc& kernel : kernels_) list_.push_back(maybe_broken(&kernel));
  }
  std::string_view name() const override { return "cpu-emulated"; }
  std::span<const KernelDesc* const> kernels(Isa isa) const override {
    if (isa < Isa::avx2) return {};
    return list_;
  }

 private:
  std::deque<std::string> names_;
  std::deque<KernelDesc> kernels_;
  std::vector<const KernelDesc*> list_;
};

}  // namespace

const compiler::Target& emulated_target() {
  static const EmulatedTarget instance;
  return instance;
}

}  // namespace saccade::cpu
