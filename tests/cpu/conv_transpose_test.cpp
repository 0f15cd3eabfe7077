#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cpu/conv_check.h"

namespace saccade::test {
namespace {

void check(ConvCase c) {
  c.transposed = true;
  const std::vector<std::string> ran = check_conv_kernels(c);
  EXPECT_THAT(ran, ::testing::Contains("conv_transpose.portable.fp32")) << describe(c);
  EXPECT_THAT(ran, ::testing::Contains("conv_transpose.avx512.fp32.emulated")) << describe(c);
}

// Windows side by side in bfloat16: products of words of two channels.
TEST(ConvTranspose, WindowsSideBySideInBFloat16) {
  for (std::int64_t channels : {2, 16, 22, 130})
    for (std::int64_t filters : {3, 16, 21, 40, 65, 112})
      for (const char* activation : {"none", "relu", "silu"}) {
        ConvCase c{.batch = 2,
                   .channels = channels,
                   .filters = filters,
                   .in_h = 5,
                   .in_w = channels == 16 ? 1 : 13,
                   .kernel_h = 2,
                   .kernel_w = channels == 22 ? 3 : 2,
                   .stride_h = 2,
                   .stride_w = channels == 22 ? 3 : 2,
                   .activation = activation,
                   .src_gap = 2,
                   .dst_gap = 3};
        c.transposed = true;
        EXPECT_THAT(check_conv_kernels(c), ::testing::Contains("conv_transpose.avx512_bf16.bf16.emulated"))
            << describe(c);
      }
}

TEST(ConvTranspose, DoublesSize) {
  for (std::int64_t channels : {1, 3, 16, 19})
    for (std::int64_t filters : {1, 2, 3, 5, 8, 16, 21, 40, 65})
      for (std::int64_t w : {1, 5, 13})
        check({.channels = channels,
               .filters = filters,
               .in_h = 4,
               .in_w = w,
               .kernel_h = 2,
               .kernel_w = 2,
               .stride_h = 2,
               .stride_w = 2});
}

TEST(ConvTranspose, Patches) {
  for (std::int64_t stride : {1, 2, 3})
    for (std::int64_t filters : {1, 2, 3})
      for (std::int64_t gap : {0, 2}) {
        if (stride * stride * filters > 12) continue;
        ConvCase c{.batch = 2,
                   .channels = 9,
                   .filters = filters,
                   .in_h = 21,
                   .in_w = 26,
                   .kernel_h = stride,
                   .kernel_w = stride,
                   .stride_h = stride,
                   .stride_w = stride,
                   .activation = "sigmoid",
                   .dst_gap = gap};
        c.transposed = true;
        const std::vector<std::string> ran = check_conv_kernels(c);
        EXPECT_THAT(ran, ::testing::Contains("conv_transpose.patch.portable.fp32")) << describe(c);
        EXPECT_THAT(ran, ::testing::Contains("conv_transpose.patch.avx512.fp32.emulated")) << describe(c);
      }
}

// 16 channels to one value of each of 2x2 pixels: rows of all lengths, whole vectors or not, and shorter
// ones.
TEST(ConvTranspose, PatchRows) {
  for (std::int64_t w : {1, 3, 4, 7, 8, 9, 16, 21, 128})
    for (std::int64_t gap : {0, 3})
      for (const char* activation : {"none", "clip", "sigmoid", "tanh"}) {
        ConvCase c{.batch = 2,
                   .channels = 16,
                   .filters = 1,
                   .in_h = w == 128 ? 40 : 5,
                   .in_w = w,
                   .kernel_h = 2,
                   .kernel_w = 2,
                   .stride_h = 2,
                   .stride_w = 2,
                   .bias = gap == 0,
                   .activation = activation,
                   .alpha = -0.5f,
                   .beta = 0.75f,
                   .src_gap = gap};
        c.transposed = true;
        EXPECT_THAT(check_conv_kernels(c), ::testing::Contains("conv_transpose.patch.avx512.fp32.emulated"))
            << describe(c);
      }
}

TEST(ConvTranspose, Geometry) {
  for (std::int64_t kernel : {1, 2, 3, 4, 5})
    for (std::int64_t stride : {1, 2, 3, 4})
      for (std::int64_t dilation : {1, 2, 3})
        for (std::int64_t pad : {0, 1, 2}) {
          if (2 * pad > (kernel - 1) * dilation + stride) continue;
          check({.channels = 5,
                 .filters = 9,
                 .in_h = 5,
                 .in_w = 8,
                 .kernel_h = kernel,
                 .kernel_w = kernel,
                 .stride_h = stride,
                 .stride_w = stride,
                 .dilation_h = dilation,
                 .dilation_w = dilation,
                 .pads = {pad, pad, pad, pad},
                 .output_padding = {stride - 1, stride - 1}});
        }
}

TEST(ConvTranspose, UnequalAxes) {
  check({.channels = 4,
         .filters = 17,
         .in_h = 6,
         .in_w = 5,
         .kernel_h = 3,
         .kernel_w = 4,
         .stride_h = 2,
         .stride_w = 3,
         .dilation_h = 2,
         .dilation_w = 1,
         .pads = {0, 2, 3, 1},
         .output_padding = {1, 0}});
  check({.channels = 4,
         .filters = 17,
         .in_h = 3,
         .in_w = 3,
         .kernel_h = 5,
         .kernel_w = 5,
         .stride_h = 2,
         .stride_w = 2,
         .pads = {4, 3, 2, 3}});
}

TEST(ConvTranspose, GroupsGapsBatchesActivations) {
  for (std::int64_t groups : {2, 3})
    check({.batch = 2,
           .groups = groups,
           .channels = groups * 3,
           .filters = groups * 5,
           .in_h = 4,
           .in_w = 6,
           .kernel_h = 3,
           .kernel_w = 3,
           .stride_h = 2,
           .stride_w = 2,
           .pads = {1, 1, 1, 1},
           .output_padding = {1, 1},
           .src_gap = 3,
           .dst_gap = 2});
  for (const char* name : {"relu", "sigmoid", "hard_swish", "silu", "tanh"})
    for (std::int64_t filters : {1, 19})
      check({.batch = 2,
             .channels = 6,
             .filters = filters,
             .in_h = 6,
             .in_w = 7,
             .kernel_h = 2,
             .kernel_w = 2,
             .stride_h = 2,
             .stride_w = 2,
             .activation = name,
             .dst_gap = 1});
  check({.channels = 6,
         .filters = 5,
         .in_h = 6,
         .in_w = 7,
         .kernel_h = 2,
         .kernel_w = 2,
         .stride_h = 2,
         .stride_w = 2,
         .bias = false});
}

}  // namespace
}  // namespace saccade::test
