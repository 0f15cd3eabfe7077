#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cpu/conv_check.h"

namespace saccade::test {
namespace {

void check(ConvCase c, const char* kernel) {
  c.kernel_h = c.kernel_w = 1;
  const std::vector<std::string> ran = check_conv_kernels(c);
  for (const char* isa :
       {".portable.fp32", ".avx512.fp32.emulated", ".portable.bf16", ".avx512.bf16.emulated"})
    EXPECT_THAT(ran, ::testing::Contains(kernel + std::string(isa))) << describe(c);
}

TEST(Pointwise, Shapes) {
  for (std::int64_t channels : {1, 3, 8, 17, 40, 300, 700})
    for (std::int64_t filters : {1, 5, 8, 16, 21, 24, 40, 72, 130})
      check({.channels = channels, .filters = filters, .in_h = 3, .in_w = 9}, "conv.pointwise");
}

TEST(Pointwise, ManyPixels) {
  for (std::int64_t w : {1, 2, 11, 12, 13, 61, 200})
    check({.channels = 9, .filters = 19, .in_h = 37, .in_w = w}, "conv.pointwise");
}

TEST(Pointwise, GapsResidualsActivationsBatches) {
  for (const char* name : {"none", "relu", "sigmoid", "hard_swish", "silu", "tanh"})
    for (std::int64_t channels : {12, 515})
      check({.batch = 2,
             .channels = channels,
             .filters = 21,
             .in_h = 11,
             .in_w = 6,
             .residual = true,
             .activation = name,
             .src_gap = 3,
             .dst_gap = 2,
             .residual_gap = 1},
            "conv.pointwise");
  for (std::int64_t channels : {12, 1030})
    check({.batch = 3,
           .channels = channels,
           .filters = 33,
           .in_h = 5,
           .in_w = 6,
           .bias = false,
           .residual = true,
           .activation = "relu",
           .dst_gap = 1,
           .residual_gap = 1,
           .in_place = true},
          "conv.pointwise");
}

// Tiles of 16 channels whose filters stay in registers, and those whose last filters do for two pixels.
TEST(Pointwise, HeldAndTwinTiles) {
  for (std::int64_t pixels = 1; pixels <= 27; ++pixels)
    for (std::int64_t filters : {1, 15, 16, 17, 20, 24, 33, 40, 49, 56})
      check({.channels = 16,
             .filters = filters,
             .in_h = 1,
             .in_w = pixels,
             .residual = pixels % 2 == 0,
             .activation = pixels % 3 == 0 ? "hard_swish" : "none"},
            "conv.pointwise");
  for (std::int64_t filters : {20, 24, 40, 56, 72})
    for (std::int64_t channels : {5, 16, 128, 129, 1502}) {
      ConvCase c{.batch = 2, .channels = channels, .filters = filters, .in_h = 5, .in_w = 7};
      for (const char* name : {"relu", "sigmoid"})
        for (bool in_place : {false, true}) {
          c.activation = name, c.residual = in_place, c.in_place = in_place;
          c.src_gap = in_place ? 3 : 0, c.dst_gap = c.residual_gap = in_place ? 5 : 0;
          check(c, "conv.pointwise");
        }
    }
}

TEST(Single, Shapes) {
  for (std::int64_t channels : {1, 3, 16, 241})
    for (std::int64_t filters : {1, 4, 5, 8, 9, 16, 24, 31, 40, 48, 56, 64, 65, 128, 130, 257})
      check({.channels = channels, .filters = filters, .in_h = 1, .in_w = 1}, "conv.single");
}

TEST(Single, ResidualsActivationsBatches) {
  for (const char* name : {"relu", "sigmoid", "hard_swish", "tanh"})
    check({.batch = 3,
           .channels = 20,
           .filters = 43,
           .in_h = 1,
           .in_w = 1,
           .residual = true,
           .activation = name,
           .src_gap = 3,
           .dst_gap = 2,
           .residual_gap = 1},
          "conv.single");
  check({.channels = 20,
         .filters = 43,
         .in_h = 1,
         .in_w = 1,
         .bias = false,
         .activation = "hard_sigmoid",
         .alpha = 0.2f,
         .beta = 0.5f},
        "conv.single");
}

void check_few(const ConvCase& c) {
  const std::vector<std::string> ran = check_conv_kernels(c);
  EXPECT_THAT(ran, ::testing::Contains("conv.few.portable.fp32")) << describe(c);
  EXPECT_THAT(ran, ::testing::Contains("conv.few.avx512.fp32.emulated")) << describe(c);
  EXPECT_THAT(ran, ::testing::Contains("conv.few.avx512.bf16.emulated")) << describe(c);
}

TEST(Few, Shapes) {
  for (std::int64_t channels : {1, 3, 4, 6, 8, 15, 16, 17, 40})
    for (std::int64_t filters : {1, 2, 3, 8})
      for (std::int64_t w : {1, 4, 9, 16, 23, 40})
        check_few({.channels = channels, .filters = filters, .in_h = 4, .in_w = w, .pads = {1, 1, 1, 1}});
}

TEST(Few, Geometry) {
  for (std::int64_t stride : {1, 2, 3})
    for (std::int64_t dilation : {1, 2, 5})
      check_few({.batch = 2,
                 .channels = 9,
                 .filters = 2,
                 .in_h = 14,
                 .in_w = 45,
                 .kernel_h = 3,
                 .kernel_w = 2,
                 .stride_h = stride,
                 .stride_w = stride,
                 .dilation_h = dilation,
                 .dilation_w = dilation,
                 .pads = {2, 7, 1, 3},
                 .residual = true,
                 .activation = "sigmoid",
                 .src_gap = 2,
                 .dst_gap = 3,
                 .residual_gap = 1});
  check_few({.channels = 8,
             .filters = 1,
             .in_h = 5,
             .in_w = 20,
             .kernel_h = 1,
             .kernel_w = 1,
             .residual = true,
             .activation = "relu",
             .in_place = true});
  check_few({.channels = 8,
             .filters = 1,
             .in_h = 50,
             .in_w = 60,
             .kernel_h = 5,
             .kernel_w = 5,
             .pads = {2, 2, 2, 2}});
}

}  // namespace
}  // namespace saccade::test
