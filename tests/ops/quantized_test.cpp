// Quantising, and operators on quantised tensors.
#include "ops/op_check.h"

namespace saccade::ops {
namespace {

Tensor bytes(Shape shape, std::vector<int> values) {
  Tensor t(DType::u8, std::move(shape));
  for (std::size_t i = 0; i < values.size(); ++i)
    t.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(values[i]);
  return t;
}
Tensor signed_bytes(Shape shape, std::vector<int> values) {
  Tensor t(DType::i8, std::move(shape));
  for (std::size_t i = 0; i < values.size(); ++i)
    t.data<std::int8_t>()[i] = static_cast<std::int8_t>(values[i]);
  return t;
}
Tensor words(Shape shape, std::vector<std::int32_t> values) {
  return Tensor::of<std::int32_t>(std::move(shape), values);
}

TEST(QuantizeLinear, TiesToEvenAndSaturates) {
  const Tensor x = floats({6}, {0.25f, 0.75f, 1.25f, 1.75f, -1, 200});
  expect_ints(run("QuantizeLinear", {x, floats({}, {0.5f})}), {6}, {0, 2, 2, 4, 0, 255});
  expect_ints(run("QuantizeLinear", {x, floats({}, {0.5f}), signed_bytes({}, {-3})}), {6},
              {-3, -1, -1, 1, -5, 127});
  const Tensor rows = floats({2, 2}, {1, 2, 3, 4});
  expect_ints(run("QuantizeLinear", {rows, floats({2}, {1, 2}), bytes({2}, {0, 10})}, {{"axis", integer(0)}}),
              {2, 2}, {1, 2, 12, 12});
  expect_refused(ErrorCode::shape_mismatch, "scale has shape 3", "QuantizeLinear",
                 {rows, floats({3}, {1, 2, 3})});
}

TEST(DequantizeLinear, PerSliceAndWithoutZeroPoint) {
  const Tensor x = bytes({2, 2}, {0, 128, 10, 255});
  expect_floats(run("DequantizeLinear", {x, floats({}, {2}), bytes({}, {128})}), {2, 2},
                {-256, 0, -236, 254});
  expect_floats(run("DequantizeLinear", {x, floats({2}, {1, 2}), bytes({2}, {0, 5})}), {2, 2},
                {0, 246, 10, 500});
  expect_floats(run("DequantizeLinear", {x, floats({2}, {1, 2})}, {{"axis", integer(0)}}), {2, 2},
                {0, 128, 20, 510});
  expect_floats(run("DequantizeLinear", {x, floats({}, {1}), Tensor(DType::u8, {0})}), {2, 2},
                {0, 128, 10, 255});
  expect_refused(ErrorCode::invalid_model, "differ in type", "DequantizeLinear",
                 {x, floats({}, {1}), signed_bytes({}, {1})});
}

TEST(DynamicQuantizeLinear, RangeContainsZero) {
  const auto y = run_all("DynamicQuantizeLinear", {floats({6}, {0, 2, -3, -2.5f, 1.34f, 0.5f})}, {}, 3);
  expect_ints(y[0], {6}, {153, 255, 0, 26, 221, 179});
  expect_floats(y[1], {}, {5.0 / 255}, 1e-7);
  expect_ints(y[2], {}, {153});
  const auto constant = run_all("DynamicQuantizeLinear", {floats({2}, {0, 0})}, {}, 3);
  expect_ints(constant[0], {2}, {0, 0});
}

TEST(MatMulInteger, ZeroPointsARowAndAColumn) {
  const Tensor a = bytes({2, 3}, {11, 7, 3, 10, 6, 2}), b = bytes({3, 2}, {1, 4, 2, 5, 3, 6});
  expect_ints(run("MatMulInteger", {a, b, bytes({}, {12}), bytes({}, {0})}), {2, 2}, {-38, -83, -44, -98});
  expect_ints(run("MatMulInteger", {a, b, bytes({2}, {0, 10}), bytes({2}, {0, 1})}), {2, 2},
              {34, 76, -32, -56});
}

TEST(ConvInteger, PadsWithTheZeroPoint) {
  const Tensor x = bytes({1, 1, 1, 3}, {2, 3, 4}), w = bytes({1, 1, 1, 2}, {1, 1});
  expect_ints(run("ConvInteger", {x, w, bytes({}, {1})}, {{"pads", list({0, 1, 0, 0})}}), {1, 1, 1, 3},
              {1, 3, 5});
}

TEST(QLinearConv, SumsExactlyAndSaturatesOnce) {
  // 255 * 127 twice exceeds 16 bits: pairwise saturation would give 66.
  const Tensor x = bytes({1, 4, 1, 1}, {255, 255, 255, 255}),
               w = signed_bytes({1, 4, 1, 1}, {127, 127, 127, 127});
  const std::vector<Tensor> inputs{x,
                                   floats({}, {1}),
                                   bytes({}, {0}),
                                   w,
                                   floats({}, {0.001f}),
                                   signed_bytes({}, {0}),
                                   floats({}, {1}),
                                   bytes({}, {0})};
  expect_ints(run("QLinearConv", inputs), {1, 1, 1, 1}, {130});
}

TEST(QLinearConv, ScalesAndZeroPointsAFilter) {
  const Tensor x = bytes({1, 1, 1, 2}, {10, 20}), w = signed_bytes({2, 1, 1, 1}, {3, 4});
  const std::vector<Tensor> inputs{x,
                                   floats({}, {0.5f}),
                                   bytes({}, {10}),
                                   w,
                                   floats({2}, {1, 0.5f}),
                                   signed_bytes({2}, {1, 0}),
                                   floats({}, {1}),
                                   bytes({}, {100}),
                                   words({2}, {2, -4})};
  // filter 0: ((x - 10) * 2 + 2) * 0.5 + 100; filter 1: ((x - 10) * 4 - 4) * 0.25 + 100
  expect_ints(run("QLinearConv", inputs), {1, 2, 1, 2}, {101, 111, 99, 109});
  std::vector<Tensor> wrong = inputs;
  wrong[4] = floats({3}, {1, 1, 1});
  expect_refused(ErrorCode::shape_mismatch, "scale of w", "QLinearConv", wrong);
}

TEST(QLinearMatMul, OfTheSpecification) {
  const Tensor a = bytes({2, 4}, {208, 236, 0, 238, 3, 214, 255, 29}),
               b = bytes({4, 3}, {152, 51, 244, 60, 26, 255, 0, 127, 246, 127, 254, 247});
  const std::vector<Tensor> inputs{a,
                                   floats({}, {0.0066f}),
                                   bytes({}, {113}),
                                   b,
                                   floats({}, {0.00705f}),
                                   bytes({}, {114}),
                                   floats({}, {0.0107f}),
                                   bytes({}, {118})};
  expect_ints(run("QLinearMatMul", inputs), {2, 3}, {168, 115, 255, 1, 66, 151});
}

}  // namespace
}  // namespace saccade::ops
