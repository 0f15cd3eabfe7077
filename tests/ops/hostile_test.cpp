// Shapes and attributes that overflow, divide by zero or never end where a rule does not look at them.
#include <limits>

#include "ops/budget.h"
#include "ops/infer.h"
#include "ops/op_check.h"

namespace saccade::ops {
namespace {

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

TEST(Hostile, DimensionsOfEmptyTensorsCountToo) {
  // As many elements as none, but no rule may multiply the dimensions.
  const Tensor huge(DType::f32, {0, std::int64_t{1} << 40, std::int64_t{1} << 40});
  expect_refused(ErrorCode::limit, "bytes", "Relu", {huge});
}

TEST(Hostile, Col2ImHasBlocksThatFit) {
  const Tensor columns = floats({1, 5, 5}, std::vector<float>(25, 1));
  expect_refused(ErrorCode::invalid_model, "positive", "Col2Im",
                 {columns, ints({5, 5}), ints({kHuge, kHuge})});
  expect_refused(ErrorCode::invalid_model, "positive", "Col2Im", {columns, ints({5, 5}), ints({1, 5})},
                 {{"strides", list({1, kHuge})}});
  // Two counts of -1, whose product is 1.
  expect_refused(ErrorCode::shape_mismatch, "does not fit", "Col2Im",
                 {floats({1, 9, 1}, std::vector<float>(9, 1)), ints({1, 1}), ints({3, 3})});
}

TEST(Hostile, MelFiltersOfAnyFrequencyEnd) {
  const auto run_with = [](float highest) {
    return run("MelWeightMatrix",
               {ints({}, {2}), ints({}, {16}), ints({}, {1}), floats({}, {0}), floats({}, {highest})});
  };
  EXPECT_EQ(run_with(1e9f).shape(), (Shape{9, 2}));
  expect_refused(ErrorCode::invalid_model, "out of range", "MelWeightMatrix",
                 {ints({}, {2}), ints({}, {16}), ints({}, {1}), floats({}, {0}), floats({}, {1e30f})});
  expect_refused(ErrorCode::invalid_model, "out of range", "MelWeightMatrix",
                 {ints({}, {2}), ints({}, {16}), ints({}, {1}), floats({}, {0}), floats({}, {-1e9f})});
}

TEST(Hostile, RoiAlignSamplesAPicture) {
  const Tensor regions = floats({1, 4}, {0, 0, 1, 1}), batch = ints({1}, {0});
  expect_refused(ErrorCode::shape_mismatch, "empty", "RoiAlign",
                 {Tensor(DType::f32, {1, 1, 0, 4}), regions, batch});
  expect_refused(ErrorCode::invalid_model, "too many samples", "RoiAlign",
                 {floats({1, 1, 2, 2}, {1, 2, 3, 4}), regions, batch}, {{"sampling_ratio", integer(kHuge)}});
}

TEST(Hostile, BoxesWithoutAScoreAreNotPicked) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  expect_ints(run("NonMaxSuppression", {floats({1, 3, 4}, {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5}),
                                        floats({1, 1, 3}, {nan, 0.5f, nan}), ints({}, {3})}),
              {1, 3}, {0, 0, 1});
}

TEST(Hostile, NGramsHaveALength) {
  const ir::Attributes gram{{"mode", text("TF")},
                            {"pool", list({1})},
                            {"ngram_counts", list({0})},
                            {"ngram_indexes", list({0})},
                            {"max_gram_length", integer(1)},
                            {"min_gram_length", integer(1)},
                            {"max_skip_count", integer(0)}};
  expect_floats(run("TfIdfVectorizer", {ints({3}, {1, 2, 1})}, gram), {1}, {2});
  for (const char* name : {"min_gram_length", "max_skip_count"}) {
    ir::Attributes bad = gram;
    bad[name] = std::numeric_limits<std::int64_t>::min();
    expect_refused(ErrorCode::invalid_model, "out of range", "TfIdfVectorizer", {ints({3}, {1, 2, 1})}, bad);
  }
}

TEST(Hostile, GroupsAndHeadsAreNoMoreThanChannels) {
  const Tensor none(DType::f32, {1, 0, 4, 4}), weights(DType::f32, {0, 1, 1, 1});
  expect_refused(ErrorCode::invalid_model, "group", "Conv", {none, weights}, {{"group", integer(kHuge)}});
  const Tensor empty(DType::f32, {1, 2, 0}), cache = Tensor(DType::f32, {1, 2, 0});
  expect_refused(ErrorCode::invalid_model, "num_heads", "RotaryEmbedding", {empty, cache, cache},
                 {{"num_heads", integer(kHuge)}});
  expect_refused(ErrorCode::shape_mismatch, "do not fit", "Attention", {empty, empty, empty},
                 {{"q_num_heads", integer(kHuge)}, {"kv_num_heads", integer(kHuge)}});
}

TEST(Hostile, WindowsOfAttentionMayBeAsWideAsTheyLike) {
  const Tensor q = noise({1, 1, 3, 2}, 1), k = noise({1, 1, 4, 2}, 2), v = noise({1, 1, 4, 2}, 3);
  const Tensor all = run("Attention", {q, k, v});
  const Tensor wide = run("Attention", {q, k, v},
                          {{"left_window_size", integer(kHuge)}, {"right_window_size", integer(kHuge)}});
  for (std::int64_t i = 0; i < all.count(); ++i) EXPECT_EQ(all.data<float>()[i], wide.data<float>()[i]);
}

TEST(Hostile, EinsumOfOneWithNoneIsNone) {
  const Tensor none(DType::f32, {0, 2});
  expect_floats(run("Einsum", {none, floats({1, 2}, {1, 2})}, {{"equation", text("ij,ij->j")}}), {2}, {0, 0});
  EXPECT_EQ(run("Einsum", {none, floats({1, 2}, {1, 2})}, {{"equation", text("ij,ij->ij")}}).shape(),
            (Shape{0, 2}));
}

TEST(Hostile, ScatteredIntegersWrapAround) {
  const std::int64_t most = kHuge;
  expect_ints(run("ScatterElements", {ints({2}, {most, most}), ints({2}, {0, 1}), ints({2}, {1, 2})},
                  {{"reduction", text("add")}}),
              {2}, {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::min() + 1});
}

TEST(Hostile, BlocksMayBeLargerThanTheTensor) {
  expect_floats(run("DequantizeLinear", {ints({2}, {4, 6}), floats({1}, {0.5f})},
                    {{"axis", integer(0)}, {"block_size", integer(kHuge)}}),
                {2}, {2, 3});
}

TEST(Hostile, ScalesAreThere) {
  const Tensor none(DType::f32, {0});
  expect_refused(ErrorCode::shape_mismatch, "scale is empty", "DequantizeLinear", {ints({2}, {4, 6}), none},
                 {{"axis", integer(0)}});
  expect_refused(ErrorCode::shape_mismatch, "scale is empty", "DequantizeLinear", {ints({}, {4}), none},
                 {{"block_size", integer(2)}});
  expect_floats(run("DequantizeLinear", {ints({}, {4}), floats({}, {0.5f})}, {{"block_size", integer(2)}}),
                {}, {2});
}

TEST(Budget, CountsWorkBeforeItIsDone) {
  ir::Node node;
  node.op = "Conv";
  const TensorType x{DType::f32, {1, 8, 10, 10}}, w{DType::f32, {16, 8, 3, 3}}, y{DType::f32, {1, 16, 8, 8}};
  const TensorType* inputs[] = {&x, &w};
  EXPECT_EQ(node_work(node, inputs, std::span(&y, 1)), kNodeWork + 800 + 1152 + 1024 + 1024 * 72);
  // More than fits is as much as fits.
  const TensorType large{DType::f32, {std::int64_t{1} << 33, 1}},
      wide{DType::f32, {1, std::int64_t{1} << 33}};
  const TensorType* operands[] = {&large, &wide};
  node.op = "MatMul";
  const TensorType product{DType::f32, {std::int64_t{1} << 33, std::int64_t{1} << 29}};
  EXPECT_EQ(node_work(node, operands, std::span(&product, 1)) > std::int64_t{1} << 61, true);
}

TEST(Budget, HoldsAndReleases) {
  LoadLimits limits;
  limits.max_total_bytes = 100;
  Budget budget(limits);
  const Tensor a(DType::f32, {20});
  budget.hold(a);
  EXPECT_THROW(budget.hold(a), Error);
  budget.release(a);
  budget.release(a);
  const TensorType fits{DType::f32, {25}}, large{DType::f32, {26}};
  EXPECT_NO_THROW(budget.check_room(std::span(&fits, 1)));
  EXPECT_THROW(budget.check_room(std::span(&large, 1)), Error);
}

}  // namespace
}  // namespace saccade::ops
