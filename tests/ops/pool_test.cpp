// MaxPool, AveragePool and their global forms.
#include <limits>

#include "ops/op_check.h"

namespace saccade::ops {
namespace {

TEST(AveragePool, CeilModeNeverCountsPhantomCells) {
  ir::Attributes attributes{
      {"kernel_shape", list({3, 3})}, {"strides", list({2, 2})}, {"ceil_mode", integer(1)}};
  const Tensor x = counting({1, 1, 4, 4}, 1);
  expect_floats(run("AveragePool", {x}, attributes), {1, 1, 2, 2}, {6, 7.5, 12, 13.5});
  attributes["pads"] = list({1, 1, 1, 1});
  attributes["count_include_pad"] = integer(1);
  expect_floats(run("AveragePool", {x}, attributes), {1, 1, 3, 3},
                {1.5555556, 3.3333333, 2, 6.3333333, 11, 6, 4.5, 7.5, 4});
  const Tensor nine = counting({1, 1, 9}, 1);
  expect_floats(run("AveragePool", {nine},
                    {{"kernel_shape", list({7})},
                     {"strides", list({3})},
                     {"pads", list({0, 3})},
                     {"ceil_mode", integer(1)},
                     {"count_include_pad", integer(1)}}),
                {1, 1, 3}, {4, 5.5714286, 4}, 1e-5);
}

TEST(AveragePool, NoWindowStartsBeyondTheInput) {
  const Tensor y = run("AveragePool", {counting({1, 1, 9, 9}, 1)},
                       {{"kernel_shape", list({4, 4})},
                        {"strides", list({4, 4})},
                        {"pads", list({2, 2, 2, 2})},
                        {"ceil_mode", integer(1)}});
  expect_floats(y, {1, 1, 3, 3}, {6, 9, 12.5, 33, 36, 39.5, 64.5, 67.5, 71});
  // n = 4, k = 1, s = 3, pad 0/1 would give ceil(4 / 3) + 1 = 3 windows, the third in the end padding only.
  EXPECT_EQ(run("MaxPool", {counting({1, 1, 4})},
                {{"kernel_shape", list({1})},
                 {"strides", list({3})},
                 {"pads", list({0, 1})},
                 {"ceil_mode", integer(1)}})
                .shape(),
            (Shape{1, 1, 2}));
}

TEST(AveragePool, PaddingCountsOnlyWhenAsked) {
  const Tensor x = floats({1, 1, 3}, {3, 6, 9});
  ir::Attributes attributes{{"kernel_shape", list({3})}, {"pads", list({1, 1})}};
  expect_floats(run("AveragePool", {x}, attributes), {1, 1, 3}, {4.5, 6, 7.5});
  attributes["count_include_pad"] = integer(1);
  expect_floats(run("AveragePool", {x}, attributes), {1, 1, 3}, {3, 6, 5});
  attributes["dilations"] = list({2});
  attributes["pads"] = list({2, 2});
  expect_floats(run("AveragePool", {x}, attributes), {1, 1, 3}, {4, 2, 4});
}

TEST(MaxPool, DilationAndPadding) {
  expect_floats(run("MaxPool", {counting({1, 1, 4, 4}, 1)},
                    {{"kernel_shape", list({2, 2})}, {"dilations", list({2, 2})}}),
                {1, 1, 2, 2}, {11, 12, 15, 16});
  expect_floats(run("MaxPool", {floats({1, 1, 3}, {-3, -1, -2})},
                    {{"kernel_shape", list({2})}, {"auto_pad", text("same_lower")}}),
                {1, 1, 3}, {-3, -1, -1});
  expect_floats(run("MaxPool", {floats({1, 1, 3}, {-3, -1, -2})},
                    {{"kernel_shape", list({2})}, {"auto_pad", text("same_upper")}}),
                {1, 1, 3}, {-1, -1, -2});
}

TEST(MaxPool, CeilModeAddsAWindow) {
  const Tensor x = counting({1, 1, 5, 5}, 1);
  EXPECT_EQ(run("MaxPool", {x}, {{"kernel_shape", list({2, 2})}, {"strides", list({2, 2})}}).shape(),
            (Shape{1, 1, 2, 2}));
  expect_floats(run("MaxPool", {x},
                    {{"kernel_shape", list({2, 2})}, {"strides", list({2, 2})}, {"ceil_mode", integer(1)}}),
                {1, 1, 3, 3}, {7, 9, 10, 17, 19, 20, 22, 24, 25});
}

TEST(MaxPool, IndicesAreFlatOverTheWholeInput) {
  const Tensor x = floats({1, 2, 2, 3}, {1, 5, 2, 4, 3, 6, 9, 7, 8, 9, 1, 0});
  const auto both = run_all("MaxPool", {x}, {{"kernel_shape", list({2, 2})}}, 2);
  expect_floats(both[0], {1, 2, 1, 2}, {5, 6, 9, 8});
  expect_ints(both[1], {1, 2, 1, 2}, {1, 5, 6, 8});  // among equals the first
  const auto columns =
      run_all("MaxPool", {x}, {{"kernel_shape", list({2, 2})}, {"storage_order", integer(1)}}, 2);
  expect_ints(columns[1], {1, 2, 1, 2}, {2, 5, 6, 10});
}

TEST(MaxPool, IntegersAndOneDimension) {
  Tensor x(DType::i8, {1, 1, 4});
  for (int i = 0; i < 4; ++i) x.data<std::int8_t>()[i] = static_cast<std::int8_t>(-100 - i);
  expect_ints(run("MaxPool", {x}, {{"kernel_shape", list({2})}, {"pads", list({1, 0})}}), {1, 1, 4},
              {-100, -100, -101, -102});
}

TEST(Pool, RefusesWhatDoesNotFit) {
  const Tensor x = counting({1, 1, 4, 4});
  expect_refused(ErrorCode::invalid_model, "attribute 'kernel_shape' is missing", "MaxPool", {x});
  expect_refused(ErrorCode::shape_mismatch, "does not fit", "MaxPool", {x}, {{"kernel_shape", list({5, 1})}});
  expect_refused(ErrorCode::shape_mismatch, "kernel of 1", "AveragePool", {x}, {{"kernel_shape", list({2})}});
  expect_refused(ErrorCode::shape_mismatch, "no spatial dimension", "AveragePool", {counting({2, 2})},
                 {{"kernel_shape", list({2})}});
}

TEST(GlobalPool, KeepsTheRank) {
  const Tensor x = floats({1, 2, 1, 3}, {1, 2, 6, -1, -2, -6});
  expect_floats(run("GlobalAveragePool", {x}), {1, 2, 1, 1}, {3, -3});
  expect_floats(run("GlobalMaxPool", {x}), {1, 2, 1, 1}, {6, -1});
}

TEST(LpPool, NormsOfWindows) {
  const Tensor x = floats({1, 1, 3}, {3, -4, 12});
  expect_floats(run("LpPool", {x}, {{"kernel_shape", list({2})}}), {1, 1, 2}, {5, 12.649111}, 1e-5);
  expect_floats(run("LpPool", {x}, {{"kernel_shape", list({2})}, {"p", integer(1)}, {"pads", list({1, 0})}}),
                {1, 1, 3}, {3, 7, 16}, 1e-5);
  expect_floats(run("GlobalLpPool", {x}), {1, 1, 1}, {13}, 1e-5);
}

TEST(MaxUnpool, InvertsMaxPool) {
  const Tensor x = floats({1, 1, 4, 4}, {1, 2, 5, 3, 4, 9, 8, 1, 0, 1, 2, 6, 7, 3, 1, 2});
  const ir::Attributes attributes{{"kernel_shape", list({2, 2})}, {"strides", list({2, 2})}};
  const auto pooled = run_all("MaxPool", {x}, attributes, 2);
  expect_floats(run("MaxUnpool", {pooled[0], pooled[1]}, attributes), {1, 1, 4, 4},
                {0, 0, 0, 0, 0, 9, 8, 0, 0, 0, 0, 6, 7, 0, 0, 0});
  const Tensor larger = run("MaxUnpool", {pooled[0], pooled[1], ints({1, 1, 5, 5})}, attributes);
  expect_floats(larger, {1, 1, 5, 5},
                {0, 0, 0, 0, 0, 0, 9, 8, 0, 0, 0, 0, 0, 6, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  expect_refused(ErrorCode::shape_mismatch, "output_shape", "MaxUnpool",
                 {pooled[0], pooled[1], ints({1, 1, 3, 5})}, attributes);
  expect_refused(ErrorCode::invalid_model, "index 99", "MaxUnpool",
                 {floats({1, 1, 1, 1}, {1}), ints({1, 1, 1, 1}, {99})}, attributes);
}

}  // namespace
}  // namespace saccade::ops
