#include "cpu/kernels/copy/lowering.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>

namespace saccade::cpu {

namespace {

using compiler::KernelQuery;
using compiler::TensorDesc;
using Integers = std::vector<std::int64_t>;

/// Output elements [to, to + count) of an axis come from `from`, `from` + step, …; or from the fill value.
struct Segment {
  std::int64_t to, count, from, step;
  bool fill;
};
using AxisMap = std::vector<Segment>;

constexpr std::size_t kMostBoxes = 4096;

AxisMap whole(std::int64_t size) { return {{0, size, 0, 1, false}}; }

bool present(const KernelQuery& query, std::size_t i) {
  return i < query.inputs.size() && query.inputs[i].present;
}

/// A constant list of integers; nullopt where it is not constant.
std::optional<Integers> constant_integers(const KernelQuery& query, std::size_t i) {
  const Tensor* tensor = i < query.constants.size() ? query.constants[i] : nullptr;
  if (tensor == nullptr) return std::nullopt;
  Integers values;
  for (std::int64_t k = 0; k < tensor->count(); ++k) {
    if (tensor->dtype() == DType::i64)
      values.push_back(tensor->data<std::int64_t>()[k]);
    else if (tensor->dtype() == DType::i32)
      values.push_back(tensor->data<std::int32_t>()[k]);
    else
      return std::nullopt;
  }
  return values;
}

std::size_t axis_at(std::int64_t axis, std::size_t rank) {
  return static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis);
}

/// The axes an operator names, or all of them.
std::optional<Integers> axes_of(const KernelQuery& query, std::size_t i, std::size_t count) {
  if (present(query, i)) return constant_integers(query, i);
  Integers axes;
  for (std::size_t a = 0; a < count; ++a) axes.push_back(static_cast<std::int64_t>(a));
  return axes;
}

/// Boxes of every combination of the axes' segments. Axis d of the output runs along `src_strides[d]` of the
/// input.
const char* add_boxes(CopyPlan& plan, const TensorDesc& y, const Integers& src_strides,
                      const std::vector<AxisMap>& maps) {
  std::size_t count = 1;
  for (const AxisMap& map : maps) count *= std::max<std::size_t>(1, map.size());
  if (count > kMostBoxes) return "too many separate ranges";
  for (std::size_t index = 0; index < count; ++index) {
    CopyBox box{0, 0, 0, 0, {}};
    std::size_t left = index;
    bool empty = false;
    for (std::size_t d = 0; d < maps.size(); ++d) {
      if (maps[d].empty()) return nullptr;  // nothing at all
      const Segment& segment = maps[d][left % maps[d].size()];
      left /= maps[d].size();
      empty = empty || segment.count == 0;
      if (segment.fill) box.input = -1;
      box.src_offset += segment.fill ? 0 : segment.from * src_strides[d];
      box.dst_offset += segment.to * y.strides[d];
      const std::int64_t step = segment.count > 1 ? segment.step : 0;
      box.axes.push_back({segment.count, step * src_strides[d], y.strides[d]});
    }
    if (!empty) plan.boxes.push_back(std::move(box));
  }
  return nullptr;
}

std::vector<AxisMap> whole_maps(const Shape& dims) {
  std::vector<AxisMap> maps;
  for (std::int64_t size : dims) maps.push_back(whole(size));
  return maps;
}

/// Joins the indices of a list into runs.
AxisMap runs_of(const Integers& indices) {
  AxisMap map;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (!map.empty()) {
      Segment& last = map.back();
      const std::int64_t before = last.from + (last.count - 1) * last.step;
      if (last.count == 1 || indices[i] - before == last.step) {
        last.step = indices[i] - before;
        ++last.count;
        continue;
      }
    }
    map.push_back({static_cast<std::int64_t>(i), 1, indices[i], 0, false});
  }
  return map;
}

AxisMap pad_map(const std::string& mode, std::int64_t length, std::int64_t begin, std::int64_t end) {
  const std::int64_t first = std::max<std::int64_t>(-begin, 0);
  const std::int64_t left = length - first + std::min<std::int64_t>(end, 0);
  begin = std::max<std::int64_t>(begin, 0);
  end = std::max<std::int64_t>(end, 0);
  if (mode == "wrap") {
    Integers indices;
    for (std::int64_t o = -begin; o < left + end; ++o) indices.push_back(first + (o % left + left) % left);
    return runs_of(indices);
  }
  AxisMap map;
  const bool constant = mode == "constant";
  const std::int64_t step = mode == "reflect" ? -1 : 0;
  if (begin > 0) map.push_back({0, begin, first + (step != 0 ? begin : 0), step, constant});
  map.push_back({begin, left, first, 1, false});
  if (end > 0) map.push_back({begin + left, end, first + left - 1 + step, step, constant});
  return map;
}

}  // namespace

const char* lower_reorder(const KernelQuery& query, CopyPlan& plan) {
  const TensorDesc& x = query.inputs[0];
  const TensorDesc& y = query.outputs[0];
  if (x.dims != y.dims) return "shapes differ";
  return add_boxes(plan, y, x.strides, whole_maps(y.dims));
}

const char* lower_transpose(const KernelQuery& query, CopyPlan& plan) {
  const TensorDesc& x = query.inputs[0];
  const TensorDesc& y = query.outputs[0];
  Integers perm = query.node.integers("perm");
  if (!query.node.has("perm"))
    for (std::size_t d = x.rank(); d-- > 0;) perm.push_back(static_cast<std::int64_t>(d));
  Integers strides;
  for (std::int64_t axis : perm) strides.push_back(x.strides[axis_at(axis, x.rank())]);
  return add_boxes(plan, y, strides, whole_maps(y.dims));
}

const char* lower_concat(const KernelQuery& query, CopyPlan& plan) {
  const TensorDesc& y = query.outputs[0];
  const std::size_t axis = axis_at(query.node.integer("axis", 0), y.rank());
  std::int64_t at = 0;
  for (std::size_t i = 0; i < query.inputs.size(); ++i) {
    const TensorDesc& x = query.inputs[i];
    if (!x.present) return "an input is absent";
    std::vector<AxisMap> maps = whole_maps(x.dims);
    maps[axis][0].to = at;
    at += x.dims[axis];
    const std::size_t first = plan.boxes.size();
    if (const char* why = add_boxes(plan, y, x.strides, maps)) return why;
    for (std::size_t b = first; b < plan.boxes.size(); ++b) plan.boxes[b].input = static_cast<int>(i);
  }
  return nullptr;
}

const char* lower_split(const KernelQuery& query, CopyPlan& plan) {
  const TensorDesc& x = query.inputs[0];
  const std::size_t axis = axis_at(query.node.integer("axis", 0), x.rank());
  std::int64_t at = 0;
  for (std::size_t i = 0; i < query.outputs.size(); ++i) {
    const TensorDesc& y = query.outputs[i];
    std::vector<AxisMap> maps = whole_maps(x.dims);
    std::int64_t length = y.present ? y.dims[axis] : 0;
    if (!y.present) return "an output is absent";
    maps[axis] = {{0, length, at, 1, false}};
    at += length;
    const std::size_t first = plan.boxes.size();
    if (const char* why = add_boxes(plan, y, x.strides, maps)) return why;
    for (std::size_t b = first; b < plan.boxes.size(); ++b) plan.boxes[b].output = static_cast<int>(i);
  }
  return nullptr;
}

const char* lower_slice(const KernelQuery& query, CopyPlan& plan) {
  const TensorDesc& x = query.inputs[0];
  const TensorDesc& y = query.outputs[0];
  const std::optional<Integers> starts = constant_integers(query, 1);
  if (!starts) return "starts are not constant";
  const std::optional<Integers> axes = axes_of(query, 3, starts->size());
  const std::optional<Integers> steps =
      present(query, 4) ? constant_integers(query, 4) : Integers(starts->size(), 1);
  if (!axes || !steps) return "axes or steps are not constant";
  std::vector<AxisMap> maps = whole_maps(y.dims);
  for (std::size_t i = 0; i < starts->size(); ++i) {
    const std::size_t axis = axis_at((*axes)[i], x.rank());
    const std::int64_t length = x.dims[axis], step = (*steps)[i];
    std::int64_t start = (*starts)[i];
    if (start < 0) start += length;
    start = step > 0 ? std::clamp<std::int64_t>(start, 0, length)
                     : std::clamp<std::int64_t>(start, -1, length - 1);
    maps[axis] = {{0, y.dims[axis], start, step, false}};
  }
  return add_boxes(plan, y, x.strides, maps);
}

const char* lower_expand(const KernelQuery& query, CopyPlan& plan) {
  const TensorDesc& x = query.inputs[0];
  const TensorDesc& y = query.outputs[0];
  const std::size_t missing = y.rank() - x.rank();
  Integers strides;
  for (std::size_t d = 0; d < y.rank(); ++d)
    strides.push_back(d < missing || x.dims[d - missing] == 1 ? 0 : x.strides[d - missing]);
  return add_boxes(plan, y, strides, whole_maps(y.dims));
}

const char* lower_tile(const KernelQuery& query, CopyPlan& plan) {
  const TensorDesc& x = query.inputs[0];
  const TensorDesc& y = query.outputs[0];
  CopyBox box{0, 0, 0, 0, {}};
  for (std::size_t d = 0; d < y.rank(); ++d) {
    if (y.dims[d] == 0) return nullptr;
    box.axes.push_back({y.dims[d] / x.dims[d], 0, y.strides[d] * x.dims[d]});
    box.axes.push_back({x.dims[d], x.strides[d], y.strides[d]});
  }
  plan.boxes.push_back(std::move(box));
  return nullptr;
}

const char* lower_gather(const KernelQuery& query, CopyPlan& plan) {
  const TensorDesc& x = query.inputs[0];
  const TensorDesc& y = query.outputs[0];
  std::optional<Integers> indices = constant_integers(query, 1);
  if (!indices) return "indices are not constant";
  const std::size_t axis = axis_at(query.node.integer("axis", 0), x.rank());
  for (std::int64_t& index : *indices) {
    if (index < 0) index += x.dims[axis];
    if (index < 0 || index >= x.dims[axis]) return "an index is out of range";
  }
  // Output: axes before, those of the indices, axes behind. The indices' axes are one run of places in the
  // output only where they are adjacent there; else each index is a range of its own.
  const Shape& shape = query.inputs[1].dims;
  if (shape.size() > 1) return "indices of more than one dimension";
  std::vector<AxisMap> maps;
  Integers strides;
  for (std::size_t d = 0; d < x.rank(); ++d) {
    if (d == axis && shape.empty()) continue;
    maps.push_back(d == axis ? runs_of(*indices) : whole(x.dims[d]));
    strides.push_back(x.strides[d]);
  }
  const std::size_t first = plan.boxes.size();
  if (const char* why = add_boxes(plan, y, strides, maps)) return why;
  if (shape.empty())
    for (std::size_t b = first; b < plan.boxes.size(); ++b)
      plan.boxes[b].src_offset += (*indices)[0] * x.strides[axis];
  return nullptr;
}

const char* lower_pad(const KernelQuery& query, CopyPlan& plan) {
  const TensorDesc& x = query.inputs[0];
  const TensorDesc& y = query.outputs[0];
  const std::optional<Integers> pads = constant_integers(query, 1);
  if (!pads) return "pads are not constant";
  const std::optional<Integers> axes = axes_of(query, 3, x.rank());
  if (!axes) return "axes are not constant";
  const std::string mode = query.node.text("mode", "constant");
  if (present(query, 2)) {
    if (query.constants[2] == nullptr) return "value is not constant";
    std::memcpy(&plan.fill, query.constants[2]->raw(), dtype_size(x.dtype));
  }
  std::vector<AxisMap> maps = whole_maps(x.dims);
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const std::size_t axis = axis_at((*axes)[i], x.rank());
    maps[axis] = pad_map(mode, x.dims[axis], (*pads)[i], (*pads)[i + axes->size()]);
  }
  return add_boxes(plan, y, x.strides, maps);
}

const char* lower_depth_to_space(const KernelQuery& query, CopyPlan& plan) {
  const TensorDesc& x = query.inputs[0];
  const TensorDesc& y = query.outputs[0];
  const std::int64_t block = query.node.integer("blocksize", 1);
  const bool crd = query.node.text("mode", "dcr") == "crd";
  const std::int64_t channels = y.dims[1];
  const std::int64_t channel = (crd ? block * block : 1) * x.strides[1],
                     cell = (crd ? 1 : channels) * x.strides[1];
  plan.boxes.push_back({0,
                        0,
                        0,
                        0,
                        {{x.dims[0], x.strides[0], y.strides[0]},
                         {channels, channel, y.strides[1]},
                         {x.dims[2], x.strides[2], y.strides[2] * block},
                         {block, block * cell, y.strides[2]},
                         {x.dims[3], x.strides[3], y.strides[3] * block},
                         {block, cell, y.strides[3]}}});
  return nullptr;
}

const char* lower_space_to_depth(const KernelQuery& query, CopyPlan& plan) {
  const TensorDesc& x = query.inputs[0];
  const TensorDesc& y = query.outputs[0];
  const std::int64_t block = query.node.integer("blocksize", 1), channels = x.dims[1];
  plan.boxes.push_back({0,
                        0,
                        0,
                        0,
                        {{y.dims[0], x.strides[0], y.strides[0]},
                         {block, x.strides[2], y.strides[1] * channels * block},
                         {block, x.strides[3], y.strides[1] * channels},
                         {channels, x.strides[1], y.strides[1]},
                         {y.dims[2], x.strides[2] * block, y.strides[2]},
                         {y.dims[3], x.strides[3] * block, y.strides[3]}}});
  return nullptr;
}

}  // namespace saccade::cpu
