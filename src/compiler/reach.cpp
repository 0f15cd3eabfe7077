// Every value that comes from the picture has two dimensions that are the picture's, and some pixels at its
// edges that are wrong where the tile's edge is not the picture's. What an operator reads for each of its
// pixels tells which of those are right.
#include "compiler/reach.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>
#include <span>
#include <string>

#include "compiler/edit.h"
#include "compiler/passes/dead_code.h"
#include "compiler/passes/fold_constants.h"
#include "compiler/passes/inline_branches.h"
#include "compiler/passes/set_shapes.h"
#include "ops/indexing.h"
#include "ops/op_def.h"
#include "ops/pool.h"
#include "ops/reduce.h"
#include "ops/resize_plan.h"
#include "ops/window.h"
#include "saccade/error.h"

namespace saccade::compiler {

namespace {

using ir::kNoValue;
using ir::Node;

constexpr std::int64_t kMostSteps = std::int64_t{1} << 32;  ///< of fractions: no network has any near it

/// A direction of the picture within a value.
struct Extent {
  std::size_t axis = 0;                    ///< the value's dimension
  std::int64_t step_in = 1, step_out = 1;  ///< pixels of the input to pixels of the value
  std::int64_t before = 0, after = 0;      ///< wrong pixels
  bool operator==(const Extent&) const = default;
};
using Place = std::array<Extent, 2>;  ///< y, x

/// What each pixel along a dimension reads: the pixels low to high of the operand. None: low > high.
struct Taps {
  std::vector<std::int64_t> low, high;
  std::int64_t step_in = 1, step_out = 1;  ///< of operand to result
  void add(std::int64_t first, std::int64_t last) {
    low.push_back(first);
    high.push_back(last);
  }
};

constexpr std::array kWholePicture = {"GlobalAveragePool",     "GlobalMaxPool", "GlobalLpPool",
                                      "InstanceNormalization", "Attention",     "LinearAttention",
                                      "DynamicQuantizeLinear"};
constexpr std::array kWindows = {"Conv", "ConvInteger", "QLinearConv", "MaxPool", "AveragePool", "LpPool"};
constexpr std::array kPointwise = {"Where",
                                   "Clip",
                                   "PRelu",
                                   "Pow",
                                   "Max",
                                   "Min",
                                   "Cast",
                                   "Identity",
                                   "QuantizeLinear",
                                   "DequantizeLinear",
                                   "Expand",
                                   "Dropout"};
/// Along one dimension, all of it.
constexpr std::array kLines = {"Softmax", "LogSoftmax", "Hardmax", "LpNormalization", "CumSum", "CumProd"};

template <std::size_t N>
bool among(const std::string& op, const std::array<const char*, N>& names) {
  return std::find(names.begin(), names.end(), op) != names.end();
}

/// What shape rules and plans of operators ask for.
struct Call {
  Call(const ir::Graph& graph, const Node& node)
      : types(node.inputs.size()), pointers(node.inputs.size()), data(node.inputs.size()) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == kNoValue) continue;
      const Shape* shape = known_shape(graph, node.inputs[i]);
      if (shape == nullptr) continue;
      types[i] = {graph.value(node.inputs[i]).dtype, *shape};
      pointers[i] = &types[i];
      data[i] = graph.constant(node.inputs[i]);
    }
  }
  std::vector<ops::TensorType> types;
  std::vector<const ops::TensorType*> pointers;
  std::vector<const Tensor*> data;
};

/// Whether a constant is the same all along a dimension.
bool is_even(const Tensor& tensor, std::size_t axis) {
  const Shape& shape = tensor.shape();
  const std::int64_t n = shape[axis];
  if (n <= 1) return true;
  const auto outer = static_cast<std::size_t>(ops::product(shape, 0, axis));
  const std::size_t bytes =
      dtype_size(tensor.dtype()) * static_cast<std::size_t>(ops::product(shape, axis + 1, shape.size()));
  const auto* at = static_cast<const std::byte*>(tensor.raw());
  for (std::size_t o = 0; o < outer; ++o, at += static_cast<std::size_t>(n) * bytes)
    for (std::int64_t i = 1; i < n; ++i)
      if (std::memcmp(at, at + static_cast<std::size_t>(i) * bytes, bytes) != 0) return false;
  return true;
}

class ReachFinder {
 public:
  ReachFinder(const ir::Graph& graph, ir::ValueId input, const Place& place)
      : graph_(graph), places_(graph.values.size()) {
    places_[static_cast<std::size_t>(input)] = place;
  }

  /// Looks at the nodes that `result` depends on.
  Place run(ir::ValueId result);
  std::int64_t period(std::size_t direction) const { return period_[direction]; }

 private:
  [[noreturn]] void refuse(const Node& node, const std::string& why) const {
    throw Error(ErrorCode::unsupported, ir::describe(node, graph_) + " " + why);
  }
  const Shape& shape_of(const Node& node, ir::ValueId id) const {
    const Shape* shape = known_shape(graph_, id);
    if (shape == nullptr) refuse(node, "has a shape that depends on the picture");
    return *shape;
  }
  const std::optional<Place>& place_of(const Node& node, std::size_t slot) const {
    static const std::optional<Place> none;
    return node.has_input(slot) ? places_[static_cast<std::size_t>(node.inputs[slot])] : none;
  }
  void set(const Node& node, std::size_t output, const Place& place);
  /// The place behind taps along the direction's dimension, which becomes dimension `axis`.
  Extent follow(const Node& node, const Extent& from, std::size_t axis, std::int64_t in, const Taps& taps,
                std::size_t direction);

  void visit(const Node& node);
  void pointwise(const Node& node);
  void window(const Node& node);
  void transposed(const Node& node);
  void resize(const Node& node);
  void concat(const Node& node);
  void lines(const Node& node, std::int64_t axis_given);
  void reduce(const Node& node);
  void arg_reduce(const Node& node);
  void slice(const Node& node);
  void pad(const Node& node);
  void transpose(const Node& node);
  void reshape(const Node& node);
  void blocks(const Node& node, bool to_space);
  void matmul(const Node& node);
  void gather(const Node& node);
  /// For operators that treat the dimensions behind the second one as the picture's.
  std::size_t spatial(const Node& node, const Extent& extent) const {
    if (extent.axis < 2) refuse(node, "takes rows or columns of the picture for channels");
    return extent.axis - 2;
  }
  void only_picture_first(const Node& node) const {
    for (std::size_t i = 1; i < node.inputs.size(); ++i)
      if (place_of(node, i)) refuse(node, "takes its parameters from the picture");
  }

  const ir::Graph& graph_;
  std::vector<std::optional<Place>> places_;
  std::array<std::int64_t, 2> period_{1, 1};
};

void ReachFinder::set(const Node& node, std::size_t output, const Place& place) {
  if (output < node.outputs.size() && node.outputs[output] != kNoValue)
    places_[static_cast<std::size_t>(node.outputs[output])] = place;
}

Extent ReachFinder::follow(const Node& node, const Extent& from, std::size_t axis, std::int64_t in,
                           const Taps& taps, std::size_t direction) {
  Extent to = from;
  to.axis = axis;
  to.step_in *= taps.step_in;
  to.step_out *= taps.step_out;
  const std::int64_t common = std::gcd(to.step_in, to.step_out);
  to.step_in /= common;
  to.step_out /= common;
  if (to.step_in > kMostSteps || to.step_out > kMostSteps)
    refuse(node, "changes the picture's size too often");
  period_[direction] = std::lcm(period_[direction], to.step_in);
  if (period_[direction] > kMostSteps) refuse(node, "changes the picture's size too often");
  const auto out = static_cast<std::int64_t>(taps.low.size());
  const auto right = [&](std::int64_t j) {
    const auto k = static_cast<std::size_t>(j);
    return taps.low[k] > taps.high[k] || (taps.low[k] >= from.before && taps.high[k] <= in - 1 - from.after);
  };
  to.before = to.after = 0;
  for (std::int64_t j = 0; j <= out / 2 && j < out; ++j)
    if (!right(j)) to.before = j + 1;
  for (std::int64_t j = out - 1; j >= out / 2; --j)
    if (!right(j)) to.after = out - j;
  return to;
}

void ReachFinder::pointwise(const Node& node) {
  const std::size_t rank = shape_of(node, node.outputs[0]).size();
  std::optional<Place> result;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const std::optional<Place>& place = place_of(node, i);
    if (!place) continue;
    Place here = *place;
    const std::size_t missing = rank - shape_of(node, node.inputs[i]).size();
    for (Extent& extent : here) extent.axis += missing;
    if (!result) {
      result = here;
      continue;
    }
    for (std::size_t d = 0; d < 2; ++d) {
      Extent& a = (*result)[d];
      const Extent& b = here[d];
      if (a.axis != b.axis || a.step_in != b.step_in || a.step_out != b.step_out)
        refuse(node, "joins values that lie differently on the picture");
      a.before = std::max(a.before, b.before);
      a.after = std::max(a.after, b.after);
    }
  }
  // BatchNormalization's parameters, and scales of quantised values, lie along one other dimension.
  const bool per_axis =
      node.op == "BatchNormalization" || node.op == "QuantizeLinear" || node.op == "DequantizeLinear";
  for (std::size_t i = 0; i < node.inputs.size() && !per_axis; ++i) {
    if (!node.has_input(i) || place_of(node, i) || (node.op == "Expand" && i == 1)) continue;
    const Shape& shape = shape_of(node, node.inputs[i]);
    const std::size_t missing = rank - shape.size();
    for (const Extent& extent : *result) {
      if (extent.axis < missing || shape[extent.axis - missing] == 1) continue;
      const Tensor* constant = graph_.constant(node.inputs[i]);
      if (constant == nullptr || !is_even(*constant, extent.axis - missing))
        refuse(node, "knows where on the picture it is: one of its operands varies over it");
    }
  }
  if (per_axis) {
    const std::int64_t rank_in = static_cast<std::int64_t>(rank);
    const std::int64_t given = node.op == "BatchNormalization" ? 1 : node.integer("axis", 1);
    const auto axis = static_cast<std::size_t>(given < 0 ? given + rank_in : given);
    for (const Extent& extent : *result)
      if (extent.axis == axis && node.has_input(1) && element_count(shape_of(node, node.inputs[1])) > 1)
        refuse(node, "has parameters of their own for rows or columns of the picture");
  }
  for (std::size_t o = 0; o < node.outputs.size(); ++o) set(node, o, *result);
}

/// Convolutions and pools.
void ReachFinder::window(const Node& node) {
  only_picture_first(node);
  const Call call(graph_, node);
  const ops::NodeView view(node, call.pointers, call.data);
  const Shape& shape = shape_of(node, node.inputs[0]);
  ops::Window axes;
  if (node.op.ends_with("Pool")) {
    axes = ops::pool_window(view);
  } else {
    const std::size_t weights = node.op == "QLinearConv" ? 3 : 1;
    const Shape& w = shape_of(node, node.inputs[weights]);
    axes = ops::forward_window(view, Shape(shape.begin() + 2, shape.end()), Shape(w.begin() + 2, w.end()));
  }
  Place result = *place_of(node, 0);
  for (std::size_t d = 0; d < 2; ++d) {
    const ops::WindowAxis& axis = axes.at(spatial(node, result[d]));
    if (axis.out == 1 && axis.in > 1 && axis.extent() >= axis.in) refuse(node, "looks at the whole picture");
    Taps taps;
    taps.step_in = axis.stride;
    for (std::int64_t j = 0; j < axis.out; ++j) {
      const std::int64_t first = j * axis.stride - axis.pad_begin;
      taps.add(first, first + axis.extent() - 1);
    }
    result[d] = follow(node, result[d], result[d].axis, axis.in, taps, d);
  }
  set(node, 0, result);  // positions of maxima, the second result, have no place: who reads them is refused
}

void ReachFinder::transposed(const Node& node) {
  only_picture_first(node);
  const Call call(graph_, node);
  const ops::NodeView view(node, call.pointers, call.data);
  const Shape& shape = shape_of(node, node.inputs[0]);
  const Shape& w = shape_of(node, node.inputs[1]);
  const ops::Window axes =
      ops::transposed_window(view, Shape(shape.begin() + 2, shape.end()), Shape(w.begin() + 2, w.end()));
  Place result = *place_of(node, 0);
  for (std::size_t d = 0; d < 2; ++d) {
    const ops::WindowAxis& axis = axes.at(spatial(node, result[d]));  // `in` is the operator's result
    Taps taps;
    taps.step_out = axis.stride;
    for (std::int64_t j = 0; j < axis.in; ++j) {
      std::int64_t low = 1, high = 0;
      for (std::int64_t k = 0; k < axis.kernel; ++k) {
        const std::int64_t scaled = j + axis.pad_begin - k * axis.dilation;
        std::int64_t at = scaled / axis.stride;
        if (at * axis.stride != scaled) continue;
        if (low > high) high = at;
        low = at;  // taps go from the last to the first
      }
      taps.add(low, high);
    }
    result[d] = follow(node, result[d], result[d].axis, axis.out, taps, d);
  }
  set(node, 0, result);
}

void ReachFinder::resize(const Node& node) {
  const Call call(graph_, node);
  const ops::NodeView view(node, call.pointers, call.data);
  const std::vector<ops::ResizeAxis> axes = ops::resize_plan(view);
  Place result = *place_of(node, 0);
  for (std::size_t d = 0; d < 2; ++d) {
    const ops::ResizeAxis& axis = axes.at(result[d].axis);
    if (axis.identity) continue;
    if (!axis.outside.empty()) refuse(node, "crops by fractions of the picture");
    Taps taps;
    const std::int64_t common = std::gcd(axis.in, axis.out);
    taps.step_in = axis.in / common;
    taps.step_out = axis.out / common;
    const auto weight = [&](std::int64_t j, std::int64_t k) {
      return axis.weight[static_cast<std::size_t>(j * axis.per_output + k)];
    };
    const auto index = [&](std::int64_t j, std::int64_t k) {
      return axis.index[static_cast<std::size_t>(j * axis.per_output + k)];
    };
    // What a pixel reads, as weights by position. Far from both edges this must repeat itself.
    const auto reads = [&](std::int64_t j) {
      std::vector<std::pair<std::int64_t, double>> found;
      for (std::int64_t k = 0; k < axis.per_output; ++k) {
        if (std::abs(weight(j, k)) < 1e-4) continue;
        const auto same = std::find_if(found.begin(), found.end(),
                                       [&](const auto& entry) { return entry.first == index(j, k); });
        if (same == found.end())
          found.emplace_back(index(j, k), weight(j, k));
        else
          same->second += weight(j, k);
      }
      std::sort(found.begin(), found.end());
      return found;
    };
    const std::int64_t middle = axis.out / 2 / taps.step_out * taps.step_out;
    bool repeats = true;
    for (std::int64_t j = 0; j < axis.out; ++j) {
      std::int64_t like = middle + j % taps.step_out;
      if (like >= axis.out) like -= taps.step_out;
      const std::int64_t shift = (j - like) / taps.step_out * taps.step_in;
      const auto here = reads(j), there = reads(like);
      bool same = here.size() == there.size() && !here.empty();
      for (std::size_t i = 0; same && i < here.size(); ++i)
        same = here[i].first == there[i].first + shift && std::abs(here[i].second - there[i].second) < 1e-3;
      if (same)
        taps.add(here.front().first, here.back().first);
      else
        taps.add(-1, axis.in);  // sees an edge
      repeats = repeats && (same || j < axis.out / 4 || j >= axis.out - axis.out / 4);
    }
    const bool enough = axis.in >= 8 * taps.step_in && axis.in >= 8 * axis.per_output;
    if (!repeats && enough)
      refuse(node, fmt::format("resizes {} to {} pixels with distances that change over the picture ({})",
                               axis.in, axis.out, node.text("coordinate_transformation", "half_pixel")));
    result[d] = follow(node, result[d], result[d].axis, axis.in, taps, d);
  }
  set(node, 0, result);
}

void ReachFinder::concat(const Node& node) {
  const Shape& shape = shape_of(node, node.outputs[0]);
  const std::int64_t given = node.integer("axis", 0);
  const auto axis =
      static_cast<std::size_t>(given < 0 ? given + static_cast<std::int64_t>(shape.size()) : given);
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    for (const Extent& extent : place_of(node, i).value_or(Place{}))
      if (place_of(node, i) && extent.axis == axis)
        refuse(node, "puts values side by side along the picture's rows or columns");
  pointwise(node);
}

/// One dimension is looked at as a whole.
void ReachFinder::lines(const Node& node, std::int64_t given) {
  const Place& place = *place_of(node, 0);
  only_picture_first(node);
  const auto rank = static_cast<std::int64_t>(shape_of(node, node.inputs[0]).size());
  const auto axis = static_cast<std::size_t>(given < 0 ? given + rank : given);
  for (const Extent& extent : place)
    if (extent.axis == axis) refuse(node, "looks at whole rows or columns of the picture");
  for (std::size_t o = 0; o < node.outputs.size(); ++o) set(node, o, place);
}

void ReachFinder::reduce(const Node& node) {
  Place place = *place_of(node, 0);
  const Call call(graph_, node);
  const ops::NodeView view(node, call.pointers, call.data);
  const std::vector<std::size_t> axes = ops::reduce_axes(view);
  const bool keep = node.integer("keepdims", 1) != 0;
  for (Extent& extent : place) {
    if (std::binary_search(axes.begin(), axes.end(), extent.axis)) refuse(node, "looks at the whole picture");
    if (!keep)
      extent.axis -= static_cast<std::size_t>(
          std::count_if(axes.begin(), axes.end(), [&](std::size_t a) { return a < extent.axis; }));
  }
  set(node, 0, place);
}

void ReachFinder::arg_reduce(const Node& node) {
  Place place = *place_of(node, 0);
  const auto rank = static_cast<std::int64_t>(shape_of(node, node.inputs[0]).size());
  const std::int64_t given = node.integer("axis", 0);
  const auto axis = static_cast<std::size_t>(given < 0 ? given + rank : given);
  for (Extent& extent : place) {
    if (extent.axis == axis) refuse(node, "looks at whole rows or columns of the picture");
    if (node.integer("keepdims", 1) == 0 && axis < extent.axis) --extent.axis;
  }
  set(node, 0, place);
}

void ReachFinder::slice(const Node& node) {
  const Shape& shape = shape_of(node, node.inputs[0]);
  const Shape& out = shape_of(node, node.outputs[0]);
  const auto list = [&](std::size_t slot) -> std::vector<std::int64_t> {
    if (!node.has_input(slot)) return {};
    const auto values = integer_constant(graph_, node.inputs[slot]);
    if (!values) refuse(node, "cuts where the picture says");
    return *values;
  };
  const std::vector<std::int64_t> starts = list(1), axes = list(3), steps = list(4);
  Place place = *place_of(node, 0);
  for (std::size_t d = 0; d < 2; ++d) {
    for (std::size_t i = 0; i < starts.size(); ++i) {
      const std::int64_t given = axes.empty() ? static_cast<std::int64_t>(i) : axes[i];
      const auto axis =
          static_cast<std::size_t>(given < 0 ? given + static_cast<std::int64_t>(shape.size()) : given);
      if (axis != place[d].axis) continue;
      const std::int64_t step = steps.empty() ? 1 : steps[i], length = shape[axis];
      if (step < 1) refuse(node, "turns the picture round");
      const std::int64_t start =
          std::clamp<std::int64_t>(starts[i] < 0 ? starts[i] + length : starts[i], 0, length);
      if (step == 1 && start == 0 && out[axis] == length) continue;
      if (start >= length / 2) refuse(node, "cuts a part out of the picture that depends on its size");
      Taps taps;
      taps.step_in = step;
      for (std::int64_t j = 0; j < out[axis]; ++j) taps.add(start + j * step, start + j * step);
      place[d] = follow(node, place[d], axis, length, taps, d);
    }
  }
  set(node, 0, place);
}

void ReachFinder::pad(const Node& node) {
  only_picture_first(node);
  const std::optional<std::vector<std::int64_t>> pads =
      node.has_input(1) ? integer_constant(graph_, node.inputs[1]) : std::nullopt;
  const std::optional<std::vector<std::int64_t>> axes =
      node.has_input(3) ? integer_constant(graph_, node.inputs[3]) : std::nullopt;
  if (!pads || (node.has_input(3) && !axes)) refuse(node, "pads as the picture says");
  const Shape& shape = shape_of(node, node.inputs[0]);
  const Shape& out = shape_of(node, node.outputs[0]);
  Place place = *place_of(node, 0);
  for (std::size_t d = 0; d < 2; ++d) {
    const std::size_t axis = place[d].axis;
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < pads->size() / 2; ++i) {
      const std::int64_t given = axes ? (*axes)[i] : static_cast<std::int64_t>(i);
      const auto at =
          static_cast<std::size_t>(given < 0 ? given + static_cast<std::int64_t>(shape.size()) : given);
      if (at == axis) begin = (*pads)[i];
    }
    if (begin == 0 && out[axis] == shape[axis]) continue;
    if (node.text("mode", "constant") == "wrap") refuse(node, "repeats the picture's other side");
    Taps taps;
    for (std::int64_t j = 0; j < out[axis]; ++j) taps.add(j - begin, j - begin);
    place[d] = follow(node, place[d], axis, shape[axis], taps, d);
  }
  set(node, 0, place);
}

void ReachFinder::transpose(const Node& node) {
  Place place = *place_of(node, 0);
  const std::size_t rank = shape_of(node, node.inputs[0]).size();
  const std::vector<std::int64_t> perm = node.integers("perm");
  for (Extent& extent : place) {
    if (perm.empty()) {
      extent.axis = rank - 1 - extent.axis;
      continue;
    }
    const auto found = std::find(perm.begin(), perm.end(), static_cast<std::int64_t>(extent.axis));
    extent.axis = static_cast<std::size_t>(found - perm.begin());
  }
  set(node, 0, place);
}

/// Reshape and its kin: dimensions that belong together before and behind it are those with one product.
void ReachFinder::reshape(const Node& node) {
  const Shape& from = shape_of(node, node.inputs[0]);
  const Shape& to = shape_of(node, node.outputs[0]);
  const Place before = *place_of(node, 0);
  Place place = before;
  std::array<bool, 2> found{};
  std::size_t i = 0, j = 0;
  while (i < from.size() && j < to.size()) {
    const std::size_t first_in = i, first_out = j;
    std::int64_t in = from[i++], out = to[j++];
    while (in != out) {
      if (in < out && i < from.size())
        in *= from[i++];
      else if (out < in && j < to.size())
        out *= to[j++];
      else
        refuse(node, "has no elements");
    }
    for (std::size_t d = 0; d < 2; ++d) {
      const std::size_t axis = before[d].axis;
      if (axis < first_in || axis >= i) continue;
      found[d] = true;
      const std::int64_t length = from[axis];
      // Dimensions of one element do not count, whatever their order.
      const auto first_real = [](const Shape& shape, std::size_t begin, std::size_t end) {
        while (begin + 1 < end && shape[begin] == 1) ++begin;
        return begin;
      };
      const std::size_t lead_in = first_real(from, first_in, i), lead_out = first_real(to, first_out, j);
      if (lead_in != axis) refuse(node, "mixes rows or columns of the picture with what lies before them");
      Taps taps;
      const std::int64_t rest_in = ops::product(from, axis + 1, i),
                         rest_out = ops::product(to, lead_out + 1, j);
      if (rest_in != 1 && rest_out != 1 && rest_in != rest_out)
        refuse(node, "mixes rows or columns of the picture with what lies behind them");
      if (before[1 - d].axis >= first_in && before[1 - d].axis < i)
        refuse(node, "makes one dimension of the picture's rows and columns");
      if (rest_in == rest_out) {
        place[d].axis = lead_out;
        continue;
      }
      taps.step_in = rest_out;  // a part of each pixel becomes a dimension behind it
      taps.step_out = rest_in;  // what lay behind each pixel becomes pixels
      for (std::int64_t k = 0; k < to[lead_out]; ++k)
        taps.add(k * rest_out / rest_in, (k * rest_out + rest_out - 1) / rest_in);
      place[d] = follow(node, before[d], lead_out, length, taps, d);
    }
  }
  if (!found[0] || !found[1]) refuse(node, "has no elements");
  set(node, 0, place);
}

void ReachFinder::blocks(const Node& node, bool to_space) {
  const std::int64_t block = node.integer("blocksize", 1);
  const Shape& shape = shape_of(node, node.inputs[0]);
  Place place = *place_of(node, 0);
  for (std::size_t d = 0; d < 2; ++d) {
    (void)spatial(node, place[d]);
    const std::int64_t in = shape[place[d].axis], out = to_space ? in * block : in / block;
    Taps taps;
    (to_space ? taps.step_out : taps.step_in) = block;
    for (std::int64_t j = 0; j < out; ++j) {
      if (to_space)
        taps.add(j / block, j / block);
      else
        taps.add(j * block, j * block + block - 1);
    }
    place[d] = follow(node, place[d], place[d].axis, in, taps, d);
  }
  set(node, 0, place);
}

/// A product with constants keeps the picture's dimensions, unless it sums over them.
void ReachFinder::matmul(const Node& node) {
  const std::size_t other = node.op == "QLinearMatMul" ? 3 : 1;
  const bool left = place_of(node, 0).has_value();
  if (left && place_of(node, other)) refuse(node, "multiplies the picture with itself, as attention does");
  const std::size_t slot = left ? 0 : other;
  Place place = *place_of(node, slot);
  const std::size_t rank = shape_of(node, node.inputs[slot]).size(),
                    out_rank = shape_of(node, node.outputs[0]).size();
  const bool transposed = node.op == "Gemm" && node.integer(left ? "transA" : "transB", 0) != 0;
  if (rank < 2 || out_rank < rank) refuse(node, "looks at the whole picture");
  const std::size_t summed = left != transposed ? rank - 1 : rank - 2;
  for (Extent& extent : place) {
    if (extent.axis == summed) refuse(node, "sums over whole rows or columns of the picture");
    if (transposed) extent.axis = 2 * rank - 3 - extent.axis;
    extent.axis += out_rank - rank;
  }
  if (node.op == "Gemm" && node.has_input(2) && element_count(shape_of(node, node.inputs[2])) > 1)
    refuse(node, "adds what varies over the picture");  // its result has two dimensions, both the picture's
  set(node, 0, place);
}

void ReachFinder::gather(const Node& node) {
  only_picture_first(node);
  if (!place_of(node, 0)) refuse(node, "chooses as the picture says");
  const auto rank = static_cast<std::int64_t>(shape_of(node, node.inputs[0]).size());
  const std::int64_t given = node.integer("axis", 0);
  const auto axis = static_cast<std::size_t>(given < 0 ? given + rank : given);
  Place place = *place_of(node, 0);
  const std::size_t extra = shape_of(node, node.inputs[1]).size();
  for (Extent& extent : place) {
    if (extent.axis == axis) refuse(node, "chooses rows or columns of the picture");
    if (extent.axis > axis) extent.axis = extent.axis + extra - 1;
  }
  set(node, 0, place);
}

void ReachFinder::visit(const Node& node) {
  bool from_picture = false, first = place_of(node, 0).has_value();
  for (std::size_t i = 0; i < node.inputs.size(); ++i) from_picture = from_picture || place_of(node, i);
  if (!from_picture) return;
  const ops::OpDef& op = ops::get(node, graph_);
  if (among(node.op, kWholePicture)) refuse(node, "looks at the whole picture");
  if (op.scalar.fn != nullptr || op.is(ops::kElementwiseUnary) || op.is(ops::kElementwiseBinary) ||
      among(node.op, kPointwise))
    return pointwise(node);
  if (node.op == "Concat") return concat(node);
  if (node.op == "MatMul" || node.op == "MatMulInteger" || node.op == "QLinearMatMul" || node.op == "Gemm")
    return matmul(node);
  if (!first) refuse(node, "takes its parameters from the picture");
  if (node.op == "BatchNormalization") {
    only_picture_first(node);
    return pointwise(node);
  }
  if (among(node.op, kWindows)) return window(node);
  if (node.op == "ConvTranspose") return transposed(node);
  if (node.op == "Resize") return resize(node);
  if (among(node.op, kLines))
    return lines(node, node.op.starts_with("Cum") ? [&] {
      const auto axis = integer_constant(graph_, node.inputs[1]);
      if (!axis || axis->size() != 1) refuse(node, "sums along a dimension that is not known");
      return axis->front();
    }()
                                                  : node.integer("axis", -1));
  if (node.op == "Split") return lines(node, node.integer("axis", 0));
  if (node.op == "TopK") return lines(node, node.integer("axis", -1));
  if (node.op == "LRN") return lines(node, 1);
  if (node.op == "LayerNormalization" || node.op == "RMSNormalization") {
    const auto rank = static_cast<std::int64_t>(shape_of(node, node.inputs[0]).size());
    const std::int64_t given = node.integer("axis", -1);
    for (std::int64_t axis = given < 0 ? given + rank : given; axis < rank; ++axis) lines(node, axis);
    return;
  }
  if (node.op.starts_with("Reduce")) return reduce(node);
  if (node.op == "ArgMax" || node.op == "ArgMin") return arg_reduce(node);
  if (node.op == "Slice") return slice(node);
  if (node.op == "Pad") return pad(node);
  if (node.op == "Transpose") return transpose(node);
  if (node.op == "Reshape" || node.op == "Flatten" || node.op == "Squeeze" || node.op == "Unsqueeze")
    return reshape(node);
  if (node.op == "DepthToSpace") return blocks(node, true);
  if (node.op == "SpaceToDepth") return blocks(node, false);
  if (node.op == "Gather") return gather(node);
  refuse(node, "may look anywhere on the picture");
}

Place ReachFinder::run(ir::ValueId result) {
  std::vector<bool> wanted(graph_.values.size(), false);
  wanted[static_cast<std::size_t>(result)] = true;
  std::vector<const Node*> nodes;
  for (auto node = graph_.nodes.rbegin(); node != graph_.nodes.rend(); ++node) {
    const bool used = std::any_of(node->outputs.begin(), node->outputs.end(), [&](ir::ValueId id) {
      return id != kNoValue && wanted[static_cast<std::size_t>(id)];
    });
    if (!used) continue;
    nodes.push_back(&*node);
    for (const ir::ValueId id : node->inputs)
      if (id != kNoValue) wanted[static_cast<std::size_t>(id)] = true;
  }
  std::vector<bool> from_picture(graph_.values.size(), false);
  for (std::size_t i = 0; i < places_.size(); ++i) from_picture[i] = places_[i].has_value();
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    bool depends = false;
    for (const ir::ValueId id : (*node)->inputs) {
      if (id == kNoValue || !from_picture[static_cast<std::size_t>(id)]) continue;
      depends = true;
      if (!places_[static_cast<std::size_t>(id)])
        refuse(**node, "reads positions within the picture, which a tile does not know");
    }
    for (const ir::ValueId id : (*node)->outputs)
      if (id != kNoValue) from_picture[static_cast<std::size_t>(id)] = depends;
    visit(**node);
  }
  const std::optional<Place>& place = places_[static_cast<std::size_t>(result)];
  if (!place)
    throw Error(ErrorCode::unsupported,
                "its result '" + graph_.value(result).name + "' does not depend on the picture");
  return *place;
}

}  // namespace

Reach find_reach(const ir::Graph& graph, const std::vector<Shape>& input_shapes, std::size_t output,
                 std::size_t y_axis, std::size_t x_axis) {
  ir::Graph shaped = graph;
  Options options;
  options.input_shapes = input_shapes;
  set_shapes(shaped, options);
  inline_branches(shaped);
  fold_constants(shaped);
  dead_code(shaped);
  const ir::ValueId input = shaped.inputs.at(0), result = shaped.outputs.at(output);
  const Shape in = *shaped.value(input).shape;
  ReachFinder finder(shaped, input, {Extent{y_axis}, Extent{x_axis}});
  const Place place = finder.run(result);
  const Shape* out = known_shape(shaped, result);
  const auto direction = [&](std::size_t d, std::size_t axis) {
    const Extent& extent = place[d];
    AxisReach reach;
    reach.in = in.at(axis);
    reach.out = out->at(extent.axis);
    reach.step_in = extent.step_in;
    reach.step_out = extent.step_out;
    reach.before = extent.before;
    reach.after = extent.after;
    reach.period = finder.period(d);
    reach.in_axis = axis;
    reach.out_axis = extent.axis;
    return reach;
  };
  if (out == nullptr) throw Error(ErrorCode::unsupported, "the size of its result depends on the picture");
  return {direction(0, y_axis), direction(1, x_axis)};
}

}  // namespace saccade::compiler
