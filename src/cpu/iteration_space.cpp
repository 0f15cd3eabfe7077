#include "cpu/iteration_space.h"

#include <algorithm>
#include <cstddef>

namespace saccade::cpu {

std::vector<IterationDim> iteration_space(const compiler::KernelQuery& query) {
  using compiler::TensorDesc;
  const TensorDesc& y = query.outputs[0];
  std::vector<IterationDim> dims;
  for (std::size_t d = 0; d < y.rank(); ++d) {
    if (y.dims[d] == 1) continue;
    IterationDim dim{y.dims[d], {y.strides[d]}};
    for (const TensorDesc& x : query.inputs) {
      const std::size_t missing = y.rank() - x.rank();
      const bool broadcast = d < missing || x.dims[d - missing] == 1;
      dim.strides.push_back(broadcast ? 0 : x.strides[d - missing]);
    }
    dims.push_back(std::move(dim));
  }
  std::stable_sort(dims.begin(), dims.end(),
                   [](const IterationDim& a, const IterationDim& b) { return a.strides[0] > b.strides[0]; });
  std::vector<IterationDim> merged;
  for (IterationDim& dim : dims) {
    if (!merged.empty()) {
      IterationDim& outer = merged.back();
      bool mergeable = true;
      for (std::size_t i = 0; i < dim.strides.size(); ++i)
        mergeable = mergeable && outer.strides[i] == dim.strides[i] * dim.size;
      if (mergeable) {
        outer.size *= dim.size;
        outer.strides = dim.strides;
        continue;
      }
    }
    merged.push_back(std::move(dim));
  }
  while (merged.size() < 2)
    merged.insert(merged.begin(), IterationDim{1, std::vector<std::int64_t>(query.inputs.size() + 1, 0)});
  return merged;
}

}  // namespace saccade::cpu
