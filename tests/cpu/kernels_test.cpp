// Every kernel of the tables, on the cases of its family.
#include <gtest/gtest.h>

#include <set>
#include <string>

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

}  // namespace

}  // namespace saccade::kernel_check
