// Every kernel of the tables, on the cases of its family.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "compiler/layout.h"
#include "cpu/cases.h"
#include "cpu/kernel_check.h"
#include "ops/op_def.h"

namespace saccade::kernel_check {
namespace {

class Kernels : public ::testing::TestWithParam<Family> {};

TEST_P(Kernels, AgreeWithTheReference) {
  for (const Case& test : GetParam().cases()) {
    check(test);
    if (HasFailure()) return;  // one failing case says enough
  }
}

INSTANTIATE_TEST_SUITE_P(Family, Kernels, ::testing::ValuesIn(families().begin(), families().end()),
                         [](const auto& family) { return std::string(family.param.name); });

TEST(KernelTables, NamesAreUniqueAndEntriesComplete) {
  std::set<std::string_view> names;
  for (const compiler::KernelDesc* kernel : kernels()) {
    EXPECT_TRUE(names.insert(kernel->name).second) << kernel->name;
    EXPECT_NE(ops::find(kernel->op), nullptr) << kernel->name << ": no operator " << kernel->op;
    EXPECT_NE(kernel->can_run, nullptr) << kernel->name;
    EXPECT_NE(kernel->cost, nullptr) << kernel->name;
    EXPECT_NE(kernel->prepare, nullptr) << kernel->name;
    EXPECT_NE(kernel->fn, nullptr) << kernel->name;
  }
}

/// A case runs every kernel that accepts it, so a kernel that accepts no case is one that nothing tests.
TEST(KernelTables, EveryKernelHasACase) {
  std::set<const compiler::KernelDesc*> exercised;
  for (const Family& family : families())
    for (const Case& test : family.cases())
      for (const compiler::KernelDesc* kernel : candidates(test)) exercised.insert(kernel);
  for (const compiler::KernelDesc* kernel : kernels())
    EXPECT_TRUE(exercised.contains(kernel)) << kernel->name << " accepts none of the cases";
}

/// What `kernel` says a picture operator costs for a batch; 0 where it refuses.
double cost_of(const compiler::KernelDesc& kernel, const ir::Attributes& attributes, Shape x, Shape y,
               const Shape& weights, std::int64_t batch, DType dtype) {
  x[0] = y[0] = batch;
  const ir::Node node{"node", std::string(kernel.op), {}, {}, attributes};
  const auto describe = [](const Shape& shape, Layout layout, DType type) {
    return compiler::TensorDesc{true, type, layout, shape, compiler::dense_strides(shape, layout)};
  };
  std::vector<compiler::TensorDesc> inputs{describe(x, Layout::channels_last, dtype)};
  std::vector<const Tensor*> constants{nullptr};
  const Tensor constant = Tensor::zeros(DType::f32, weights);
  if (!weights.empty()) {
    inputs.push_back(describe(weights, Layout::plain, DType::f32));
    constants.push_back(&constant);
  }
  const std::vector<compiler::TensorDesc> outputs{describe(y, Layout::channels_last, dtype)};
  const compiler::KernelQuery query{node, inputs, constants, outputs, compiler::Precision::fp32};
  return kernel.can_run(query) == nullptr ? kernel.cost(query) : 0;
}

/// Copies, whose costs grow with the batch, are weighed against kernels: if these did not grow alike, the
/// batch would decide which kernel runs and so what bits come out.
TEST(KernelTables, CostsOfPicturesAreThoseOfTheWholeBatch) {
  using Numbers = std::vector<std::int64_t>;
  const ir::Attributes same3{{"kernel_shape", Numbers{3, 3}}, {"pads", Numbers{1, 1, 1, 1}}};
  const ir::Attributes apart{{"group", std::int64_t{16}}, {"pads", Numbers{1, 1, 1, 1}}};
  const ir::Attributes twice{{"strides", Numbers{2, 2}}};
  const Shape x{1, 16, 12, 12}, large{1, 16, 24, 24}, point{1, 16, 1, 1};
  for (const compiler::KernelDesc* kernel : kernels()) {
    std::vector<std::pair<double, double>> costs;  // of one picture, and of five
    const auto compare = [&](const ir::Attributes& attributes, const Shape& in, const Shape& out,
                             const Shape& weights) {
      for (const DType dtype : {DType::f32, DType::bf16})
        costs.emplace_back(cost_of(*kernel, attributes, in, out, weights, 1, dtype),
                           cost_of(*kernel, attributes, in, out, weights, 5, dtype));
    };
    if (kernel->op == "MaxPool" || kernel->op == "AveragePool") compare(same3, x, x, {});
    if (kernel->op == "Conv") {
      compare(same3, x, x, {16, 16, 3, 3});
      compare(same3, x, {1, 4, 12, 12}, {4, 16, 3, 3});
      compare(apart, x, x, {16, 1, 3, 3});
      compare({}, x, x, {16, 16, 1, 1});
      compare({}, point, point, {16, 16, 1, 1});
    }
    if (kernel->op == "ConvTranspose") {
      compare(twice, x, large, {16, 16, 2, 2});
      compare(twice, x, {1, 4, 24, 24}, {16, 4, 2, 2});
    }
    constexpr double kNeverChosen = 1e15;
    for (const auto& [one, five] : costs) {
      if (one >= kNeverChosen) continue;
      EXPECT_NEAR(five, 5 * one, 1e-9 * five) << kernel->name << " says " << one << " and " << five;
    }
  }
}

/// Rows of neighbours are taken in vectors, others one element at a time, and costs say so.
TEST(KernelTables, CastsOfNeighboursCostLess) {
  const ir::Node node{"node", "Cast", {}, {}, {{"to", std::string(dtype_name(DType::i32))}}};
  const Shape shape{64, 512};
  const auto describe = [&](DType dtype, std::vector<std::int64_t> strides) {
    return compiler::TensorDesc{true, dtype, Layout::plain, shape, std::move(strides)};
  };
  const std::vector<const Tensor*> constants{nullptr};
  const std::vector<compiler::TensorDesc> outputs{describe(DType::i32, {512, 1})};
  int seen = 0;
  for (const compiler::KernelDesc* kernel : kernels()) {
    if (!kernel->name.starts_with("typed.cast.")) continue;
    ++seen;
    const auto cost = [&](std::vector<std::int64_t> strides) {
      const std::vector<compiler::TensorDesc> inputs{describe(DType::f32, std::move(strides))};
      return kernel->cost({node, inputs, constants, outputs, compiler::Precision::fp32});
    };
    EXPECT_LT(cost({512, 1}), 0.8 * cost({1, 64})) << kernel->name;
  }
  EXPECT_GE(seen, 3);
}

}  // namespace

}  // namespace saccade::kernel_check
