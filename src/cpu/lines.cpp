#include "cpu/lines.h"

#include <algorithm>

namespace saccade::cpu {

namespace {

struct Dim {
  LinesDim steps;
  bool in_line = false;
};

/// The output's stride of each input dimension; 0 along the lines unless the shape stays.
bool output_steps(const compiler::TensorDesc& src, const compiler::TensorDesc& dst,
                  const std::vector<bool>& axes, bool same_shape, std::vector<std::int64_t>& steps) {
  const bool keeps_rank = dst.rank() == src.rank();
  std::size_t out = 0;
  for (std::size_t i = 0; i < src.rank(); ++i) {
    const bool gone = axes[i] && !keeps_rank;
    if (!gone && out >= dst.rank()) return false;
    const std::int64_t expected = axes[i] && !same_shape ? 1 : src.dims[i];
    if (!gone && dst.dims[out] != expected) return false;
    steps.push_back(axes[i] && !same_shape ? 0 : dst.strides[out]);
    if (!gone) ++out;
  }
  return out == dst.rank();
}

/// Puts dimensions at the end of `to`, unused ones in front.
bool place(const std::vector<LinesDim>& from, LinesDim (&to)[LinesView::kDims]) {
  if (from.size() > static_cast<std::size_t>(LinesView::kDims)) return false;
  std::copy(from.begin(), from.end(), to + (LinesView::kDims - from.size()));
  return true;
}

}  // namespace

const char* describe_lines(const compiler::TensorDesc& src, const compiler::TensorDesc& dst,
                           const std::vector<bool>& axes, bool same_shape, LinesView& view) {
  if (!src.present || !dst.present) return "operand missing";
  if (src.dtype != DType::f32) return "not float32";
  for (const std::int64_t dim : src.dims)
    if (dim < 1) return "empty";
  std::vector<std::int64_t> steps;
  if (!output_steps(src, dst, axes, same_shape, steps)) return "output has another shape";
  std::vector<Dim> dims;
  for (std::size_t i = 0; i < src.rank(); ++i)
    if (src.dims[i] > 1) dims.push_back({{src.dims[i], src.strides[i], steps[i]}, axes[i]});
  std::stable_sort(dims.begin(), dims.end(),
                   [](const Dim& a, const Dim& b) { return a.steps.src_step > b.steps.src_step; });
  std::vector<Dim> merged;
  for (const Dim& dim : dims) {
    Dim* before = merged.empty() ? nullptr : &merged.back();
    if (before != nullptr && before->in_line == dim.in_line &&
        before->steps.src_step == dim.steps.src_step * dim.steps.size &&
        before->steps.dst_step == dim.steps.dst_step * dim.steps.size) {
      before->steps = {before->steps.size * dim.steps.size, dim.steps.src_step, dim.steps.dst_step};
    } else {
      merged.push_back(dim);
    }
  }
  if (!merged.empty() && !merged.back().in_line && merged.back().steps.src_step == 1 &&
      merged.back().steps.dst_step == 1) {
    view.inner = merged.back().steps.size;
    merged.pop_back();
  }
  std::vector<LinesDim> outer, line;
  for (const Dim& dim : merged) (dim.in_line ? line : outer).push_back(dim.steps);
  if (!place(outer, view.outer) || !place(line, view.line)) return "too many dimensions";
  view.outer_count = view.line_count = 1;
  for (const LinesDim& dim : outer) view.outer_count *= dim.size;
  for (const LinesDim& dim : line) view.line_count *= dim.size;
  return nullptr;
}

}  // namespace saccade::cpu
