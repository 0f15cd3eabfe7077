// Data stored as bf16 beside f32 parameters: computed as if everything were f32, rounded once at the end.
#include <cstring>

#include "ops/convert.h"
#include "ops/op_check.h"

namespace saccade::ops {
namespace {

Tensor narrow(const Tensor& x) { return convert(x, DType::bf16); }
Tensor wide(const Tensor& x) { return convert(x, DType::f32); }

/// Noise that bf16 can hold, as bf16.
Tensor narrow_noise(Shape shape, std::uint32_t seed) { return narrow(noise(std::move(shape), seed)); }

void expect_same(const Tensor& got, const Tensor& want) {
  ASSERT_EQ(got.dtype(), want.dtype());
  ASSERT_EQ(got.shape(), want.shape());
  EXPECT_EQ(0, std::memcmp(got.raw(), want.raw(), want.bytes()));
}

/// Runs the node on operands as they are and with all bf16 ones widened; both must agree after one rounding.
void expect_one_rounding(const std::string& op, const std::vector<Tensor>& inputs, ir::Attributes attributes,
                         DType result) {
  std::vector<Tensor> widened = inputs;
  for (Tensor& x : widened)
    if (!x.empty() && x.dtype() == DType::bf16) x = wide(x);
  ir::Attributes plain = attributes;
  plain.erase("to");
  const Tensor want = run(op, widened, plain);
  const Tensor got = run(op, inputs, attributes);
  expect_same(got, result == DType::bf16 ? narrow(want) : want);
}

ir::Attributes stored_as(DType dtype, ir::Attributes attributes = {}) {
  attributes["to"] = std::string(dtype_name(dtype));
  return attributes;
}

constexpr DType kTypes[] = {DType::f32, DType::bf16};

TEST(Mixed, ConvolutionsRoundOnce) {
  const Tensor w = noise({6, 5, 3, 3}, 2), bias = noise({6}, 3);
  const ir::Attributes attributes{{"pads", list({1, 1, 1, 1})}, {"activation", text("hard_swish")}};
  for (const DType data : kTypes)
    for (const DType residual : kTypes)
      for (const DType gate : kTypes)
        for (const DType to : kTypes) {
          const std::vector<Tensor> inputs{convert(noise({2, 5, 6, 7}, 1), data), w, bias,
                                           convert(noise({2, 6, 6, 7}, 4), residual),
                                           convert(noise({2, 5, 1, 1}, 5), gate)};
          expect_one_rounding("Conv", inputs, stored_as(to, attributes), to);
        }
  expect_one_rounding("Conv", {narrow_noise({1, 5, 6, 7}, 1), w, bias}, attributes, DType::bf16);
  // Weights may be stored narrow too.
  expect_one_rounding("Conv", {narrow_noise({1, 5, 6, 7}, 1), narrow(w), narrow(bias)}, attributes,
                      DType::bf16);
}

TEST(Mixed, TransposedConvolutionsAndProducts) {
  const Tensor x = narrow_noise({1, 4, 5, 3}, 1), w = noise({4, 3, 2, 2}, 2), bias = noise({3}, 3);
  for (const DType to : kTypes) {
    expect_one_rounding("ConvTranspose", {x, w, bias}, stored_as(to, {{"strides", list({2, 2})}}), to);
    expect_one_rounding("MatMul", {narrow_noise({2, 3, 9}, 4), noise({9, 5}, 5)}, stored_as(to), to);
    expect_one_rounding("Gemm", {narrow_noise({3, 9}, 4), noise({9, 5}, 5), noise({5}, 6)}, stored_as(to),
                        to);
    expect_one_rounding("ConvTranspose", {wide(x), w, bias}, stored_as(to, {{"strides", list({2, 2})}}), to);
  }
}

TEST(Mixed, MeansMayStayWide) {
  const Tensor x = narrow_noise({2, 3, 5, 7}, 1);
  for (const DType to : kTypes) {
    expect_one_rounding("GlobalAveragePool", {x}, stored_as(to), to);
    expect_one_rounding("ReduceMean", {x, ints({2, 3})}, stored_as(to), to);
    expect_one_rounding("AveragePool", {x}, stored_as(to, {{"kernel_shape", list({3, 2})}}), to);
  }
  expect_one_rounding("MaxPool", {x}, {{"kernel_shape", list({3, 2})}}, DType::bf16);
}

TEST(Mixed, Resizing) {
  const Tensor x = narrow_noise({1, 3, 4, 5}, 1), sizes = ints({1, 3, 9, 7});
  for (const char* mode : {"linear", "nearest", "cubic"})
    expect_one_rounding("Resize", {x, absent(), absent(), sizes}, {{"mode", text(mode)}}, DType::bf16);
  const ir::Attributes linear{{"mode", text("linear")}};
  expect_same(run("ResizeArgMax", {x, absent(), absent(), sizes}, linear),
              run("ResizeArgMax", {wide(x), absent(), absent(), sizes}, linear));
}

TEST(Mixed, Chains) {
  const ir::Attribute program = std::vector<std::string>{"Mul %0 %1", "Add %3 %2", "Sigmoid %4"};
  for (const DType second : {DType::f32, DType::bf16})
    for (const DType to : kTypes)
      expect_one_rounding(
          "ElementwiseChain",
          {narrow_noise({2, 3, 4, 5}, 1), convert(noise({2, 3, 1, 1}, 2), second), noise({2, 3, 4, 5}, 3)},
          stored_as(to, {{"program", program}}), to);
}

TEST(Mixed, BlocksRoundWhereTheirPartsDo) {
  const Tensor x = narrow_noise({1, 4, 6, 5}, 1), expand = noise({9, 4, 1, 1}, 2),
               expand_bias = noise({9}, 3), depthwise = noise({9, 1, 3, 3}, 4),
               depthwise_bias = noise({9}, 5), project = noise({4, 9, 1, 1}, 6);
  for (const DType between : kTypes)
    for (const DType to : kTypes) {
      const ir::Attributes pads{{"pads", list({1, 1, 1, 1})}, {"group", integer(9)}};
      const Tensor first =
          run("Conv", {x, expand, expand_bias}, stored_as(between, {{"activation", text("relu")}}));
      const Tensor second = run("Conv", {first, depthwise, depthwise_bias}, pads);
      const Tensor want = run("Conv", {second, project, absent(), x}, stored_as(to));
      ir::Attributes attributes = pads;
      attributes["expand_activation"] = text("relu");
      attributes["expand_to"] = text(dtype_name(between));
      attributes["project_to"] = text(dtype_name(to));
      expect_same(run("InvertedResidual",
                      {x, expand, expand_bias, depthwise, depthwise_bias, project, absent(), x}, attributes),
                  want);
    }
}

TEST(Mixed, OtherMixturesAreRefused) {
  const Tensor x = noise({1, 5, 6, 7}, 1), w = noise({6, 5, 3, 3}, 2);
  const auto as = [](const Tensor& t, DType dtype) { return convert(t, dtype); };
  expect_refused(ErrorCode::invalid_model, "weights are bfloat16", "Conv", {x, narrow(w)});
  expect_refused(ErrorCode::invalid_model, "weights are float16", "Conv", {narrow(x), as(w, DType::f16)});
  expect_refused(ErrorCode::invalid_model, "weights are float32", "Conv", {as(x, DType::f16), w});
  expect_refused(ErrorCode::invalid_model, "weights are float32", "Conv", {as(x, DType::f64), w});
  expect_refused(ErrorCode::invalid_model, "bias is float64", "Conv",
                 {narrow(x), w, as(noise({6}, 3), DType::f64)});
  expect_refused(ErrorCode::invalid_model, "cannot store as float16", "Conv", {x, w}, stored_as(DType::f16));
  expect_refused(ErrorCode::invalid_model, "cannot store as bfloat16", "Conv",
                 {as(x, DType::f64), as(w, DType::f64)}, stored_as(DType::bf16));
  expect_refused(ErrorCode::shape_mismatch, "residual", "Conv",
                 {x, w, absent(), as(noise({1, 6, 4, 5}, 3), DType::f64)});
  expect_refused(ErrorCode::invalid_model, "expected float32, bfloat16", "ElementwiseChain",
                 {as(x, DType::f16)}, {{"program", std::vector<std::string>{"Relu %0"}}});
}

}  // namespace
}  // namespace saccade::ops
