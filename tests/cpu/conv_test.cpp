#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cpu/conv_check.h"
#include "saccade/isa.h"

namespace saccade::test {
namespace {

// Every case must at least run on the dense kernel of every instruction set.
void check(const ConvCase& c) {
  const std::vector<std::string> ran = check_conv_kernels(c);
  EXPECT_THAT(ran, ::testing::Contains("conv.dense.portable.fp32")) << describe(c);
  EXPECT_THAT(ran, ::testing::Contains("conv.dense.avx512.fp32.emulated")) << describe(c);
  EXPECT_THAT(ran, ::testing::Contains("conv.dense.portable.bf16")) << describe(c);
  EXPECT_THAT(ran, ::testing::Contains("conv.dense.avx512.bf16.emulated")) << describe(c);
  if (c.groups > 1) return;
  EXPECT_THAT(ran, ::testing::Contains("conv.dense.avx512_bf16.bf16.emulated")) << describe(c);
  EXPECT_THAT(ran, ::testing::Contains("conv.dense.amx.bf16.emulated")) << describe(c);
}

TEST(Conv, ChannelTails) {
  for (std::int64_t channels : {1, 3, 5, 8, 17})
    for (std::int64_t filters : {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 21, 24, 31, 33, 40, 49, 65})
      check({.channels = channels, .filters = filters, .in_h = 5, .in_w = 7, .pads = {1, 1, 1, 1}});
}

TEST(Conv, Sizes) {
  for (std::int64_t h : {1, 2, 3, 9, 17})
    for (std::int64_t w : {1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 14, 25})
      check({.channels = 5, .filters = 18, .in_h = h, .in_w = w, .pads = {1, 1, 1, 1}, .activation = "relu"});
}

TEST(Conv, Kernels) {
  for (std::int64_t kh : {1, 2, 3, 5, 7})
    for (std::int64_t kw : {1, 2, 3, 4, 7})
      for (std::int64_t stride : {1, 2, 3})
        for (std::int64_t dilation : {1, 2})
          check({.channels = 3,
                 .filters = 19,
                 .in_h = 15,
                 .in_w = 17,
                 .kernel_h = kh,
                 .kernel_w = kw,
                 .stride_h = stride,
                 .stride_w = stride,
                 .dilation_h = dilation,
                 .dilation_w = dilation,
                 .pads = {kh / 2, kw / 2, kh / 2, kw / 2}});
}

// Filters of a block larger than a core's own caches: a slice of channels, or a group of taps, at a time.
TEST(Conv, ManyChannelsInSlices) {
  for (const std::int64_t dilation : {1, 2, 5})
    for (const bool in_place : {false, true})
      check({.batch = 2,
             .channels = 1502,
             .filters = 70,
             .in_h = 4,
             .in_w = 9,
             .dilation_h = dilation,
             .dilation_w = dilation,
             .pads = {dilation, dilation, dilation, dilation},
             .residual = true,
             .activation = "relu",
             .dst_gap = 5,
             .residual_gap = 5,
             .in_place = in_place});
  check(
      {.channels = 3000, .filters = 20, .in_h = 3, .in_w = 5, .pads = {1, 1, 1, 1}, .activation = "sigmoid"});
  // Slices of both, and windows wholly in the padding.
  for (const bool residual : {false, true})
    check({.channels = 3000,
           .filters = 40,
           .in_h = 3,
           .in_w = 10,
           .dilation_h = 3,
           .dilation_w = 3,
           .pads = {9, 8, 4, 9},
           .residual = residual,
           .activation = "hard_swish"});
}

// Windows of which no tap, one or some meet the picture, left and right of a tile.
TEST(Conv, DilationsBeyondThePicture) {
  for (const std::int64_t dilation : {4, 7, 12, 30})
    for (const std::int64_t channels : {6, 9})
      check({.channels = channels,
             .filters = 33,
             .in_h = 11,
             .in_w = 19,
             .dilation_h = dilation,
             .dilation_w = dilation,
             .pads = {dilation, dilation, dilation, dilation},
             .activation = "hard_swish"});
}

// Filters of a tap that exceed the first-level cache: tiles of more pixels and fewer filters where rows fall
// into segments.
TEST(Conv, DilationsOfManyChannels) {
  for (const std::int64_t filters : {33, 70, 144})
    for (const std::int64_t w : {14, 16, 23})
      check({.batch = 2,
             .channels = 206,
             .filters = filters,
             .in_h = 5,
             .in_w = w,
             .dilation_h = 4,
             .dilation_w = 4,
             .pads = {4, 4, 4, 4},
             .residual = filters == 70,
             .activation = filters == 33 ? "sigmoid" : "relu",
             .dst_gap = 3});
}

TEST(Conv, UnequalStridesDilationsAndPads) {
  check({.channels = 6,
         .filters = 10,
         .in_h = 13,
         .in_w = 19,
         .kernel_h = 3,
         .kernel_w = 5,
         .stride_h = 2,
         .stride_w = 3,
         .dilation_h = 2,
         .dilation_w = 1,
         .pads = {0, 3, 2, 1}});
  check({.channels = 6,
         .filters = 10,
         .in_h = 4,
         .in_w = 5,
         .pads = {5, 7, 6, 9}});  // windows wholly in the padding
  check({.channels = 6,
         .filters = 10,
         .in_h = 4,
         .in_w = 5,
         .stride_h = 2,
         .stride_w = 2,
         .pads = {0, 0, 1, 1}});
  check({.channels = 9,
         .filters = 20,
         .in_h = 16,
         .in_w = 16,
         .dilation_h = 12,
         .dilation_w = 12,
         .pads = {12, 12, 12, 12}});
  check({.channels = 9,
         .filters = 20,
         .in_h = 16,
         .in_w = 16,
         .dilation_h = 24,
         .dilation_w = 24,
         .pads = {24, 24, 24, 24}});
  check({.channels = 4,
         .filters = 8,
         .in_h = 30,
         .in_w = 30,
         .dilation_h = 6,
         .dilation_w = 6,
         .pads = {6, 6, 6, 6}});
}

// Pictures as models get them are read as they are.
TEST(Conv, Planes) {
  const auto planes = [](ConvCase c) {
    c.channels = 3, c.planar = true;
    const std::vector<std::string> ran = check_conv_kernels(c);
    EXPECT_THAT(ran, ::testing::Contains("conv.dense.portable.fp32")) << describe(c);
    EXPECT_THAT(ran, ::testing::Contains("conv.dense.avx512.fp32.emulated")) << describe(c);
    EXPECT_THAT(ran, ::testing::Contains("conv.dense.avx512.bf16.emulated")) << describe(c);
    if (c.kernel_w == 1 || c.dilation_w > 1) return;
    EXPECT_THAT(ran, ::testing::Contains("conv.dense.avx512_bf16.bf16.emulated")) << describe(c);
    EXPECT_THAT(ran, ::testing::Contains("conv.dense.amx.bf16.emulated")) << describe(c);
  };
  for (std::int64_t h : {1, 2, 9})
    for (std::int64_t w : {1, 2, 5, 8, 13, 15, 16, 17, 31, 40})
      planes({.filters = 18, .in_h = h, .in_w = w, .pads = {1, 1, 1, 1}, .src_gap = w % 3});
  for (std::int64_t kernel : {1, 2, 3, 7})
    for (std::int64_t stride : {1, 2, 3})
      for (std::int64_t dilation : {1, 2})
        planes({.batch = 2,
                .filters = 16,
                .in_h = 27,
                .in_w = 34,
                .kernel_h = kernel,
                .kernel_w = kernel,
                .stride_h = stride,
                .stride_w = stride,
                .dilation_h = dilation,
                .dilation_w = dilation,
                .pads = {kernel / 2, 0, kernel / 2, kernel / 2},
                .residual = stride == 1,
                .activation = "hard_swish",
                .src_gap = 3,
                .dst_gap = 1});
}

// Windows of pictures of few channels, of every form that is compiled, at every way in which tiles meet the
// ends of a row.
TEST(Conv, Stems) {
  const auto stem = [](ConvCase c) {
    const std::vector<std::string> ran = check_conv_kernels(c);
    EXPECT_THAT(ran, ::testing::Contains("conv.stem.avx512.fp32.emulated")) << describe(c);
    if (c.planar && c.kernel_w == 3) {
      EXPECT_THAT(ran, ::testing::Contains("conv.stem.portable.fp32")) << describe(c);
    }
  };
  for (bool planar : {true, false})
    for (std::int64_t kernel : {3, 5, 7})
      for (std::int64_t stride : {1, 2, 4}) {
        if (stride == 4 && kernel != 7) continue;
        if (!planar && (kernel != 3 || stride == 4)) continue;
        ConvCase c{.channels = 3,
                   .kernel_h = kernel,
                   .kernel_w = kernel,
                   .stride_h = stride,
                   .stride_w = stride,
                   .planar = planar};
        for (std::int64_t w = 11 * stride + kernel; w <= 36 * stride + kernel; w += 1 + w % 3) {
          c.filters = 1 + w % 40, c.in_h = 1 + w % 9, c.in_w = w;
          c.pads = {w % kernel, w % 3 == 0 ? 0 : kernel / 2, kernel - 1, (w + 1) % kernel};
          c.activation = w % 2 == 0 ? "hard_swish" : "none", c.bias = w % 5 != 0;
          stem(c);
        }
        c.batch = 2, c.filters = 16, c.in_h = 41, c.in_w = 30 * stride;
        c.pads = {kernel / 2, kernel / 2, kernel / 2, kernel / 2};
        c.src_gap = planar ? 3 : 0, c.dst_gap = 5, c.activation = "sigmoid";
        stem(c);
        c.in_h = 3, c.in_w = 12 * stride, c.pads = {4, 9, 6, 14};  // windows wholly in the padding
        stem(c);
      }
}

TEST(Conv, Groups) {
  for (std::int64_t groups : {2, 3, 4})
    for (std::int64_t per_group : {1, 3, 8, 17})
      check({.groups = groups,
             .channels = groups * 4,
             .filters = groups * per_group,
             .in_h = 7,
             .in_w = 9,
             .pads = {1, 1, 1, 1},
             .residual = true});
  check({.groups = 12, .channels = 12, .filters = 12, .in_h = 6, .in_w = 6, .pads = {1, 1, 1, 1}});
}

TEST(Conv, GapsAndResiduals) {
  for (std::int64_t filters : {5, 16, 23})
    for (bool in_place : {false, true})
      check({.batch = 2,
             .channels = 7,
             .filters = filters,
             .in_h = 9,
             .in_w = 11,
             .pads = {1, 1, 1, 1},
             .residual = true,
             .activation = "relu",
             .src_gap = 5,
             .dst_gap = 9,
             .residual_gap = in_place ? 9 : 3,
             .in_place = in_place});
  check({.channels = 7, .filters = 9, .in_h = 9, .in_w = 11, .bias = false, .residual = true});
  check({.channels = 7, .filters = 9, .in_h = 9, .in_w = 11, .bias = false});
}

TEST(Conv, Activations) {
  for (const char* name : {"none", "relu", "sigmoid", "hard_swish", "silu", "tanh"})
    for (std::int64_t filters : {3, 16, 21})
      check({.channels = 6,
             .filters = filters,
             .in_h = 6,
             .in_w = 7,
             .pads = {1, 1, 1, 1},
             .activation = name,
             .dst_gap = 2});
  check({.channels = 6, .filters = 21, .activation = "clip", .alpha = -0.5f, .beta = 1.25f});
  check({.channels = 6, .filters = 21, .activation = "clip", .alpha = 0.0f, .beta = 6.0f});
  check({.channels = 6, .filters = 21, .activation = "leaky_relu", .alpha = 0.1f});
  check({.channels = 6, .filters = 21, .activation = "hard_sigmoid", .alpha = 0.2f, .beta = 0.5f});
}

TEST(Conv, BatchesAndManyChannels) {
  check({.batch = 3, .channels = 20, .filters = 24, .in_h = 10, .in_w = 10, .pads = {1, 1, 1, 1}});
  check({.channels = 300,
         .filters = 70,
         .in_h = 5,
         .in_w = 9,
         .pads = {1, 1, 1, 1},
         .residual = true,
         .activation = "hard_swish"});
  check({.batch = 2,
         .channels = 515,
         .filters = 33,
         .in_h = 9,
         .in_w = 5,
         .pads = {1, 1, 1, 1},
         .residual = true,
         .activation = "relu",
         .dst_gap = 1,
         .residual_gap = 1,
         .in_place = true});
}

// Computing in floats, or after Winograd, must not cost what bfloat16 products do not.
TEST(Conv, ErrsNoMoreInBFloat16ThanTheDirectConvolution) {
  for (const std::int64_t channels : {24, 96})
    for (const std::int64_t dilation : {1, 2}) {
      const std::map<std::string, double> errors =
          bf16_errors({.channels = channels,
                       .filters = 40,
                       .in_h = 15,
                       .in_w = 14,
                       .dilation_h = dilation,
                       .dilation_w = dilation,
                       .pads = {dilation, dilation, dilation, dilation},
                       .activation = channels == 24 ? "relu" : "none"});
      const double direct = errors.at("");
      EXPECT_GT(direct, 1e-4);
      EXPECT_GE(errors.size(), 5u);
      for (const auto& [name, error] : errors) {
        // Products of bfloat16 after Winograd are for those who asked for them: docs/numerics.md says what
        // they cost.
        const bool coarse = name.find("winograd4.avx512_bf16.bf16") != std::string::npos;
        EXPECT_LE(error, (coarse ? 6 : 1.01) * direct) << name << " " << channels;
      }
    }
}

// Kernels of AMX run in every test above where the machine has it, and in emulation everywhere.
TEST(Conv, TilesOfTheMachine) {
  const ConvCase c{.batch = 2, .channels = 40, .filters = 50, .in_h = 9, .in_w = 40, .pads = {1, 1, 1, 1}};
  const std::vector<std::string> ran = check_conv_kernels(c);
  EXPECT_THAT(ran, ::testing::Contains("conv.dense.amx.bf16.emulated"));
  if (detected_isa() < Isa::amx) GTEST_SKIP() << "no AMX here: tiles were emulated only";
  EXPECT_THAT(ran, ::testing::Contains("conv.dense.amx.bf16"));
}

}  // namespace
}  // namespace saccade::test
