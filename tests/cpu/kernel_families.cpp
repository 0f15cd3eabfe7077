// Prints every kernel under test and the family whose cases it runs, one a line.
#include <cstdio>
#include <set>

#include "cpu/cases.h"
#include "cpu/kernel_check.h"

int main() {
  using namespace saccade::kernel_check;
  std::set<const saccade::compiler::KernelDesc*> seen;
  for (const Family& family : families())
    for (const Case& test : family.cases())
      for (const saccade::compiler::KernelDesc* kernel : candidates(test))
        if (seen.insert(kernel).second)
          std::printf("%.*s %s\n", static_cast<int>(kernel->name.size()), kernel->name.data(), family.name);
  return seen.size() == kernels().size() ? 0 : 1;
}
