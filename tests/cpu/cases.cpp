#include "cpu/cases.h"

namespace saccade::kernel_check {
namespace {

constexpr Family kFamilies[] = {
    {"along", along_cases},
    {"attention", attention_cases},
    {"conv", conv_cases},
    {"conv_bytes", conv_bytes_cases},
    {"copy", copy_cases},
    {"deform_conv", deform_conv_cases},
    {"depthwise", depthwise_cases},
    {"elementwise", elementwise_cases},
    {"grid_sample", grid_sample_cases},
    {"instance_norm", instance_norm_cases},
    {"inverted_residual", inverted_residual_cases},
    {"matmul", matmul_cases},
    {"layer_norm", layer_norm_cases},
    {"pool", pool_cases},
    {"pool_index", pool_index_cases},
    {"reduce", reduce_cases},
    {"resize", resize_cases},
    {"resize_arg_max", resize_arg_max_cases},
    {"softmax", softmax_cases},
    {"typed", typed_cases},
};

}  // namespace

std::span<const Family> families() { return kFamilies; }

}  // namespace saccade::kernel_check
