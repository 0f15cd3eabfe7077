// Conv and ConvTranspose: padding rules, dilation, groups, epilogue, refusals.
#include "ops/op_check.h"

namespace saccade::ops {
namespace {

Tensor line(std::vector<float> values) {
  const auto n = static_cast<std::int64_t>(values.size());
  return floats({1, 1, 1, n}, std::move(values));
}

const std::vector<float> kTaps = {1, 10, 100};

TEST(Conv, SamePaddingPutsTheOddCellAtTheEndOrTheStart) {
  const Tensor x = line({1, 2, 3, 4}), w = line(kTaps);
  expect_floats(run("Conv", {x, w}, {{"strides", list({1, 2})}, {"auto_pad", text("same_upper")}}),
                {1, 1, 1, 2}, {321, 43});
  expect_floats(run("Conv", {x, w}, {{"strides", list({1, 2})}, {"auto_pad", text("same_lower")}}),
                {1, 1, 1, 2}, {210, 432});
  expect_floats(run("Conv", {x, w}, {{"dilations", list({1, 2})}, {"auto_pad", text("same_upper")}}),
                {1, 1, 1, 4}, {310, 420, 31, 42});
  expect_floats(run("Conv", {x, w}, {{"auto_pad", text("valid")}}), {1, 1, 1, 2}, {321, 432});
}

TEST(Conv, NegativePadsCrop) {
  expect_floats(run("Conv", {line({1, 2, 3, 4, 5}), line(kTaps)}, {{"pads", list({0, -1, 0, 1})}}),
                {1, 1, 1, 3}, {432, 543, 54});
}

TEST(Conv, PadsWiderThanTheInput) {
  expect_floats(run("Conv", {line({7}), line(kTaps)}, {{"pads", list({0, 4, 0, 3})}}), {1, 1, 1, 6},
                {0, 0, 700, 70, 7, 0});
}

/// The definition, one output at a time.
std::vector<double> plain_conv(const Tensor& x, const Tensor& w, std::int64_t stride, std::int64_t dilation,
                               std::int64_t pad, std::int64_t group, const Shape& out) {
  std::vector<double> y;
  const std::int64_t channels = w.dim(1), per_group = w.dim(0) / group;
  for (std::int64_t n = 0; n < out[0]; ++n)
    for (std::int64_t m = 0; m < out[1]; ++m)
      for (std::int64_t oy = 0; oy < out[2]; ++oy)
        for (std::int64_t ox = 0; ox < out[3]; ++ox) {
          double sum = 0;
          for (std::int64_t c = 0; c < channels; ++c)
            for (std::int64_t ky = 0; ky < w.dim(2); ++ky)
              for (std::int64_t kx = 0; kx < w.dim(3); ++kx) {
                const std::int64_t iy = oy * stride - pad + ky * dilation,
                                   ix = ox * stride - pad + kx * dilation;
                if (iy < 0 || iy >= x.dim(2) || ix < 0 || ix >= x.dim(3)) continue;
                const std::int64_t channel = m / per_group * channels + c;
                sum += static_cast<double>(
                           x.data<float>()[((n * x.dim(1) + channel) * x.dim(2) + iy) * x.dim(3) + ix]) *
                       static_cast<double>(
                           w.data<float>()[((m * channels + c) * w.dim(2) + ky) * w.dim(3) + kx]);
              }
          y.push_back(sum);
        }
  return y;
}

TEST(Conv, StridesDilationsAndGroupsFollowTheDefinition) {
  struct Case {
    std::int64_t stride, dilation, pad, group, kernel;
  };
  for (const Case c : {Case{1, 1, 0, 1, 1},
                       {1, 1, 1, 1, 3},
                       {2, 1, 1, 2, 3},
                       {1, 2, 2, 1, 3},
                       {3, 2, 4, 4, 3},
                       {2, 1, 0, 1, 1},
                       {1, 1, 2, 4, 5}}) {
    SCOPED_TRACE(testing::Message() << c.stride << ' ' << c.dilation << ' ' << c.pad << ' ' << c.group << ' '
                                    << c.kernel);
    const Tensor x = noise({2, 4, 7, 9}, 1), w = noise({8, 4 / c.group, c.kernel, c.kernel}, 2);
    const Tensor y = run("Conv", {x, w},
                         {{"strides", list({c.stride, c.stride})},
                          {"dilations", list({c.dilation, c.dilation})},
                          {"pads", list({c.pad, c.pad, c.pad, c.pad})},
                          {"group", integer(c.group)}});
    expect_floats(y, y.shape(), plain_conv(x, w, c.stride, c.dilation, c.pad, c.group, y.shape()), 1e-5);
  }
}

TEST(Conv, OneAndThreeDimensions) {
  expect_floats(run("Conv", {floats({1, 1, 5}, {1, 2, 3, 4, 5}), floats({1, 1, 2}, {1, 10})}), {1, 1, 4},
                {21, 32, 43, 54});
  const Tensor y =
      run("Conv", {counting({1, 1, 2, 2, 3}), floats({1, 1, 2, 2, 2}, {1, 1, 1, 1, 1, 1, 1, 1})});
  expect_floats(y, {1, 1, 1, 1, 2}, {0 + 1 + 3 + 4 + 6 + 7 + 9 + 10, 1 + 2 + 4 + 5 + 7 + 8 + 10 + 11});
}

TEST(Conv, EpilogueAddsBiasAndResidualBeforeTheActivation) {
  const Tensor x = floats({1, 1, 1, 4}, {-4, -1, 1, 4}), w = floats({1, 1, 1, 1}, {1}), b = floats({1}, {1});
  const Tensor residual = floats({1, 1, 1, 4}, {0, 0, 1, 1});
  const auto with = [&](ir::Attributes attributes) { return run("Conv", {x, w, b, residual}, attributes); };
  expect_floats(with({}), {1, 1, 1, 4}, {-3, 0, 3, 6});
  expect_floats(with({{"activation", text("relu")}}), {1, 1, 1, 4}, {0, 0, 3, 6});
  expect_floats(
      with({{"activation", text("clip")}, {"activation_alpha", real(-1)}, {"activation_beta", real(5)}}),
      {1, 1, 1, 4}, {-1, 0, 3, 5});
  expect_floats(with({{"activation", text("leaky_relu")}, {"activation_alpha", real(0.5f)}}), {1, 1, 1, 4},
                {-1.5, 0, 3, 6});
  expect_floats(with({{"activation", text("hard_sigmoid")}}), {1, 1, 1, 4}, {0, 0.5, 1, 1});
  expect_floats(with({{"activation", text("hard_swish")}}), {1, 1, 1, 4}, {0, 0, 3, 6});
  expect_floats(with({{"activation", text("sigmoid")}}), {1, 1, 1, 4},
                {0.04742587, 0.5, 0.95257413, 0.99752738});
  expect_floats(with({{"activation", text("silu")}}), {1, 1, 1, 4}, {-0.14227762, 0, 2.85772238, 5.98516426});
  expect_floats(with({{"activation", text("tanh")}}), {1, 1, 1, 4}, {-0.99505475, 0, 0.99505475, 0.99998771});
  expect_floats(run("Conv", {x, w, absent(), residual}), {1, 1, 1, 4}, {-4, -1, 2, 5});
}

TEST(Conv, HalfPrecisionAccumulatesInDouble) {
  // 4096 products of 1 and 1: an f16 sum would stop at 2048.
  Tensor x(DType::f16, {1, 4096, 1, 1}), w(DType::f16, {1, 4096, 1, 1});
  for (int i = 0; i < 4096; ++i) x.data<Half>()[i] = w.data<Half>()[i] = Half{0x3c00};
  expect_floats(run("Conv", {x, w}), {1, 1, 1, 1}, {4096});
}

TEST(Conv, RefusesWhatDoesNotFit) {
  const Tensor x = counting({1, 4, 5, 5});
  expect_refused(ErrorCode::shape_mismatch, "4 input channels, the weights expect 3", "Conv",
                 {x, counting({2, 3, 3, 3})});
  expect_refused(ErrorCode::shape_mismatch, "one rank", "Conv", {x, counting({2, 4, 3})});
  expect_refused(ErrorCode::invalid_model, "group 0", "Conv", {x, counting({2, 4, 3, 3})},
                 {{"group", integer(0)}});
  expect_refused(ErrorCode::invalid_model, "group 3", "Conv", {x, counting({2, 4, 3, 3})},
                 {{"group", integer(3)}});
  expect_refused(ErrorCode::shape_mismatch, "bias", "Conv", {x, counting({2, 4, 3, 3}), counting({3})});
  expect_refused(ErrorCode::shape_mismatch, "does not fit", "Conv", {x, counting({2, 4, 7, 3})});
  expect_refused(ErrorCode::invalid_model, "strides contains 0", "Conv", {x, counting({2, 4, 3, 3})},
                 {{"strides", list({0, 1})}});
  expect_refused(ErrorCode::invalid_model, "strides has 1", "Conv", {x, counting({2, 4, 3, 3})},
                 {{"strides", list({1})}});
  expect_refused(ErrorCode::invalid_model, "dilations contains -1", "Conv", {x, counting({2, 4, 3, 3})},
                 {{"dilations", list({-1, 1})}});
  expect_refused(ErrorCode::invalid_model, "pads contains", "Conv", {x, counting({2, 4, 3, 3})},
                 {{"pads", list({INT64_MAX, 0, 0, 0})}});
  expect_refused(ErrorCode::invalid_model, "auto_pad", "Conv", {x, counting({2, 4, 3, 3})},
                 {{"auto_pad", text("SAME")}});
  expect_refused(ErrorCode::invalid_model, "activation 'swish'", "Conv", {x, counting({2, 4, 3, 3})},
                 {{"activation", text("swish")}});
  expect_refused(ErrorCode::invalid_model, "attribute 'group' is not an integer", "Conv",
                 {x, counting({2, 4, 3, 3})}, {{"group", real(1)}});
  expect_refused(ErrorCode::invalid_model, "unknown attribute 'stride'", "Conv", {x, counting({2, 4, 3, 3})},
                 {{"stride", list({1, 1})}});
  expect_refused(ErrorCode::invalid_model, "1 inputs", "Conv", {x});
  expect_refused(ErrorCode::invalid_model, "input 1 is missing", "Conv", {x, absent()});
}

TEST(ConvTranspose, SamePadding) {
  const Tensor x = line({1, 2, 3}), w = line(kTaps);
  expect_floats(run("ConvTranspose", {x, w}, {{"strides", list({1, 2})}, {"auto_pad", text("same_upper")}}),
                {1, 1, 1, 6}, {1, 10, 102, 20, 203, 30});
  expect_floats(run("ConvTranspose", {x, w}, {{"strides", list({1, 2})}, {"auto_pad", text("same_lower")}}),
                {1, 1, 1, 6}, {10, 102, 20, 203, 30, 300});
}

TEST(ConvTranspose, OutputPaddingOutputShapeAndDilation) {
  const Tensor x = line({1, 2, 3}), w = line(kTaps);
  expect_floats(
      run("ConvTranspose", {x, w},
          {{"strides", list({1, 2})}, {"pads", list({0, 1, 0, 1})}, {"output_padding", list({0, 1})}}),
      {1, 1, 1, 6}, {10, 102, 20, 203, 30, 300});
  expect_floats(run("ConvTranspose", {x, w}, {{"strides", list({1, 2})}, {"output_shape", list({1, 6})}}),
                {1, 1, 1, 6}, {10, 102, 20, 203, 30, 300});
  expect_floats(
      run("ConvTranspose", {x, w},
          {{"strides", list({1, 2})}, {"output_shape", list({1, 5})}, {"auto_pad", text("same_upper")}}),
      {1, 1, 1, 5}, {10, 102, 20, 203, 30});
  expect_floats(run("ConvTranspose", {line({1, 2, 3, 4, 5}), w},
                    {{"strides", list({1, 2})}, {"dilations", list({1, 3})}, {"pads", list({0, 4, 0, 4})}}),
                {1, 1, 1, 7}, {3, 20, 104, 30, 205, 40, 300});
}

TEST(ConvTranspose, GroupsBiasAndActivation) {
  const Tensor x = floats({1, 2, 1, 2}, {1, 2, 3, 4});
  const Tensor w = floats({2, 2, 1, 1}, {1, 10, 100, 1000});
  expect_floats(run("ConvTranspose", {x, w}, {{"group", integer(2)}}), {1, 4, 1, 2},
                {1, 2, 10, 20, 300, 400, 3000, 4000});
  expect_floats(run("ConvTranspose", {x, w, floats({2}, {-301, 0})}, {{"activation", text("relu")}}),
                {1, 2, 1, 2}, {0, 101, 3010, 4020});
}

TEST(ConvTranspose, KernelEqualToStrideTilesThePlane) {
  const Tensor y =
      run("ConvTranspose",
          {floats({1, 1, 2, 2}, {1, 2, 3, 4}), floats({1, 1, 2, 2}, {1, 10, 100, 1000}), floats({1}, {5})},
          {{"strides", list({2, 2})}});
  expect_floats(y, {1, 1, 4, 4}, {6, 15, 7, 25, 105, 1005, 205, 2005, 8, 35, 9, 45, 305, 3005, 405, 4005});
}

TEST(ConvTranspose, IsTheAdjointOfConv) {
  // <conv(v), u> = <v, conv_transpose(u)>: output_padding makes up for what the convolution's stride left
  // over.
  const Tensor w = noise({6, 2, 3, 2}, 4), v = noise({1, 4, 12, 15}, 5);
  ir::Attributes attributes{{"strides", list({2, 2})},
                            {"pads", list({1, 0, 0, 1})},
                            {"group", integer(2)},
                            {"dilations", list({1, 2})}};
  const Tensor forward = run("Conv", {v, w}, attributes);
  const Tensor u = noise(forward.shape(), 3);
  const auto left_over = [&](std::size_t axis) { return v.dim(axis) - (2 * (u.dim(axis) - 1) + 3 - 1); };
  attributes["output_padding"] = list({left_over(2), left_over(3)});
  const Tensor back = run("ConvTranspose", {u, w}, attributes);
  ASSERT_EQ(back.shape(), v.shape());
  const auto dot = [](const Tensor& a, const Tensor& b) {
    double sum = 0;
    for (std::int64_t i = 0; i < a.count(); ++i)
      sum += static_cast<double>(a.data<float>()[i]) * static_cast<double>(b.data<float>()[i]);
    return sum;
  };
  EXPECT_NEAR(dot(forward, u), dot(v, back), 1e-4);
}

TEST(ConvTranspose, RefusesWhatDoesNotFit) {
  const Tensor x = counting({1, 4, 5, 5});
  expect_refused(ErrorCode::shape_mismatch, "4 input channels, the weights expect 3", "ConvTranspose",
                 {x, counting({3, 2, 3, 3})});
  expect_refused(ErrorCode::shape_mismatch, "would have size", "ConvTranspose", {x, counting({4, 2, 1, 1})},
                 {{"pads", list({3, 0, 3, 0})}});
  expect_refused(ErrorCode::invalid_model, "output_shape contains 0", "ConvTranspose",
                 {x, counting({4, 2, 1, 1})}, {{"output_shape", list({0, 4})}});
}

}  // namespace
}  // namespace saccade::ops
