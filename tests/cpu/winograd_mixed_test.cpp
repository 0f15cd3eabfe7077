#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cpu/conv_check.h"

namespace saccade::test {
namespace {

// Tiles of F(4), F(5), F(6), and of F(8) for bfloat16.
void check_mixed(const ConvCase& c) {
  const std::vector<std::string> ran = check_conv_kernels(c);
  for (const char* name : {"conv.winograd_mixed.portable.fp32", "conv.winograd_mixed.avx512.fp32.emulated",
                           "conv.winograd_mixed.portable.bf16", "conv.winograd_mixed.avx512.bf16.emulated",
                           "conv.winograd_mixed.avx512_bf16.stored.bf16.emulated"})
    EXPECT_THAT(ran, ::testing::Contains(name)) << describe(c);
  EXPECT_THAT(ran, ::testing::Not(::testing::Contains("conv.winograd_short.portable.fp32"))) << describe(c);
}

// Phases of one to three pixels among zeros.
void check_short(const ConvCase& c) {
  const std::vector<std::string> ran = check_conv_kernels(c);
  for (const char* name : {"conv.winograd_short.portable.fp32", "conv.winograd_short.avx512.fp32.emulated",
                           "conv.winograd_short.portable.bf16", "conv.winograd_short.avx512.bf16.emulated",
                           "conv.winograd_short.avx512_bf16.stored.bf16.emulated"})
    EXPECT_THAT(ran, ::testing::Contains(name)) << describe(c);
  EXPECT_THAT(ran, ::testing::Not(::testing::Contains("conv.winograd_mixed.portable.fp32"))) << describe(c);
}

ConvCase dilated(std::int64_t height, std::int64_t width, std::int64_t dilation) {
  return {.channels = 19,
          .filters = 35,
          .in_h = height,
          .in_w = width,
          .dilation_h = dilation,
          .dilation_w = dilation,
          .pads = {dilation, dilation, dilation, dilation},
          .residual = true,
          .activation = "relu",
          .src_gap = 1,
          .dst_gap = 2,
          .residual_gap = 3};
}

// Every size of a segment, whole and with outputs that do not exist.
TEST(WinogradMixed, SizesOfSegments) {
  for (std::int64_t size = 4; size <= 25; ++size) check_mixed(dilated(size, 29 - size, 1));
  for (std::int64_t size : {7, 9, 11, 16}) check_mixed(dilated(size, 2 * size + 1, 2));
}

TEST(WinogradMixed, Pads) {
  for (std::int64_t pad : {0, 1, 2, 5}) {
    ConvCase c = dilated(10, 11, 1);
    c.pads = {pad, 1, 2, pad};
    check_mixed(c);
  }
}

TEST(WinogradMixed, PhasesOfOneTwoAndThreePixels) {
  for (std::int64_t size = 1; size <= 12; ++size) check_short(dilated(size, size, 4));
  check_short(dilated(5, 15, 5));
  check_short(dilated(3, 7, 7));
}

// Short phases one way, long ones the other.
TEST(WinogradMixed, AxesOfEitherKind) {
  check_mixed(dilated(6, 14, 3));
  check_mixed(dilated(16, 9, 3));
  ConvCase c = dilated(12, 12, 6);  // as long as those of a short phase, but not padded so
  c.pads = {6, 5, 6, 7};
  check_mixed(c);
}

TEST(WinogradMixed, ActivationsBatchesTails) {
  for (const char* name : {"none", "clip", "hard_swish", "sigmoid"}) {
    ConvCase c = dilated(9, 14, 1);
    c.batch = 2, c.activation = name, c.residual = false, c.alpha = -0.5f, c.beta = 1.0f;
    check_mixed(c);
    c.dilation_h = c.dilation_w = 5;
    c.pads = {5, 5, 5, 5}, c.filters = 32, c.residual = true;
    check_short(c);
  }
  for (std::int64_t channels : {8, 16, 63, 64, 65, 130, 257})
    for (std::int64_t dilation : {1, 3}) {
      ConvCase c = dilated(9, 9, dilation);
      c.channels = channels, c.filters = 72;
      dilation == 1 ? check_mixed(c) : check_short(c);
    }
}

// More rows than a task has, more channels than a stage, more filters than a panel.
TEST(WinogradMixed, TasksStagesAndPanels) {
  ConvCase wide = dilated(33, 33, 11);
  wide.channels = 1050, wide.filters = 8;
  check_short(wide);
  ConvCase many = dilated(14, 13, 1);
  many.batch = 2, many.channels = 70, many.filters = 300, many.in_place = true;
  many.residual_gap = many.dst_gap;
  check_mixed(many);
}

}  // namespace
}  // namespace saccade::test
