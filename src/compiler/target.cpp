#include "compiler/target.h"

namespace saccade::compiler {

std::vector<std::int64_t> dense_strides(const Shape& dims, Layout layout) {
  std::vector<std::int64_t> strides(dims.size());
  std::int64_t step = 1;
  const bool last = layout == Layout::channels_last && dims.size() >= 3;
  if (last) {
    strides[1] = 1;
    step = dims[1];
  }
  for (std::size_t i = dims.size(); i-- > 0;) {
    if (last && i == 1) continue;
    strides[i] = step;
    step *= dims[i];
  }
  return strides;
}

bool TensorDesc::dense() const {
  const std::vector<std::int64_t> packed = dense_strides(dims, layout);
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (dims[i] != 1 && strides[i] != packed[i]) return false;
  return true;
}

}  // namespace saccade::compiler
