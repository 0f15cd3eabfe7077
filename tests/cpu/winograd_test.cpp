#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cpu/conv_check.h"

namespace saccade::test {
namespace {

void check(const ConvCase& c) {
  const std::vector<std::string> ran = check_conv_kernels(c);
  for (const char* name :
       {"conv.winograd4.portable.fp32", "conv.winograd6.portable.fp32", "conv.winograd4.avx512.fp32.emulated",
        "conv.winograd6.avx512.fp32.emulated", "conv.winograd4.portable.bf16", "conv.winograd8.portable.bf16",
        "conv.winograd6.avx512.bf16.emulated", "conv.winograd8.avx512.bf16.emulated",
        "conv.winograd4.avx512_bf16.bf16.emulated"})
    EXPECT_THAT(ran, ::testing::Contains(name)) << describe(c);
}

TEST(Winograd, Sizes) {
  for (std::int64_t h : {1, 2, 3, 4, 5, 7, 12, 13})
    for (std::int64_t w : {1, 3, 4, 6, 8, 12, 25})
      check({.channels = 9, .filters = 17, .in_h = h, .in_w = w, .pads = {1, 1, 1, 1}, .activation = "relu"});
}

TEST(Winograd, ChannelTails) {
  for (std::int64_t channels : {8, 11, 16, 31, 40})
    for (std::int64_t filters : {8, 9, 15, 21, 24, 33, 48, 65, 80})
      check({.channels = channels, .filters = filters, .in_h = 9, .in_w = 10, .pads = {1, 1, 1, 1}});
}

TEST(Winograd, PadsAndDilations) {
  check({.channels = 8, .filters = 8, .in_h = 9, .in_w = 10});
  check({.channels = 8, .filters = 8, .in_h = 9, .in_w = 10, .pads = {0, 1, 2, 3}});
  check({.channels = 8, .filters = 8, .in_h = 3, .in_w = 2, .pads = {7, 5, 6, 9}});
  for (std::int64_t d : {2, 3, 4, 12})
    for (std::int64_t size : {5, 16, 26})
      check({.channels = 10,
             .filters = 18,
             .in_h = size,
             .in_w = size + 3,
             .dilation_h = d,
             .dilation_w = d,
             .pads = {d, d, d, d}});
  check({.channels = 8,
         .filters = 8,
         .in_h = 15,
         .in_w = 10,
         .dilation_h = 3,
         .dilation_w = 1,
         .pads = {3, 1, 3, 1}});
}

TEST(Winograd, GapsResidualsActivationsBatches) {
  for (const char* name : {"none", "relu", "sigmoid", "hard_swish", "silu", "tanh"})
    check({.batch = 2,
           .channels = 12,
           .filters = 21,
           .in_h = 11,
           .in_w = 13,
           .pads = {1, 1, 1, 1},
           .residual = true,
           .activation = name,
           .src_gap = 3,
           .dst_gap = 2,
           .residual_gap = 1});
  check({.batch = 3,
         .channels = 16,
         .filters = 16,
         .in_h = 30,
         .in_w = 30,
         .pads = {1, 1, 1, 1},
         .residual = true,
         .activation = "relu",
         .in_place = true});
  check({.channels = 16,
         .filters = 16,
         .in_h = 8,
         .in_w = 8,
         .pads = {1, 1, 1, 1},
         .bias = false,
         .activation = "clip",
         .alpha = -0.5f,
         .beta = 1.0f});
}

// What errs more is not taken by those who did not ask for it.
TEST(Winograd, CoarseKernelsHaveToBeAskedFor) {
  ConvCase c{.channels = 32, .filters = 32, .in_h = 12, .in_w = 12, .pads = {1, 1, 1, 1}};
  const char* const name = "conv.winograd4.avx512_bf16.bf16.emulated";
  EXPECT_THAT(check_conv_kernels(c), ::testing::Contains(name));
  c.coarse = false;
  EXPECT_THAT(check_conv_kernels(c), ::testing::Not(::testing::Contains(name)));
}

// Sums of more than one slice of channels, products of more than one panel of filters.
TEST(Winograd, SlicesAndPanels) {
  check({.batch = 2,
         .channels = 160,
         .filters = 130,
         .in_h = 19,
         .in_w = 21,
         .pads = {1, 1, 1, 1},
         .residual = true,
         .activation = "relu",
         .dst_gap = 5,
         .residual_gap = 5,
         .in_place = true});
  for (std::int64_t channels : {33, 63, 64, 65, 94, 127, 128, 129, 257})
    check({.channels = channels, .filters = 72, .in_h = 5, .in_w = 30, .pads = {1, 1, 1, 1}});
}

// Filters that do not fit a cache: inputs of many tiles are transformed first.
TEST(Winograd, ManyFiltersInStages) {
  check({.batch = 2,
         .channels = 600,
         .filters = 264,
         .in_h = 5,
         .in_w = 9,
         .pads = {1, 1, 1, 1},
         .residual = true,
         .activation = "relu",
         .dst_gap = 5,
         .residual_gap = 5,
         .in_place = true});
}

// Filters beyond every cache and few tiles: position by position.
TEST(Winograd, ManyChannelsByPositions) {
  check({.channels = 4000, .filters = 40, .in_h = 1, .in_w = 200, .pads = {1, 1, 1, 1}});
}

TEST(Winograd, ManyFiltersByPositions) {
  check({.batch = 2,
         .channels = 520,
         .filters = 300,
         .in_h = 12,
         .in_w = 12,
         .dilation_h = 12,
         .dilation_w = 12,
         .pads = {12, 12, 12, 12},
         .residual = true,
         .activation = "relu",
         .dst_gap = 4,
         .residual_gap = 3});
  // Filters that fit a shared cache, few tiles.
  check({.batch = 2,
         .channels = 250,
         .filters = 262,
         .in_h = 19,
         .in_w = 14,
         .pads = {1, 1, 1, 1},
         .residual = true,
         .activation = "hard_swish"});
}

}  // namespace
}  // namespace saccade::test
