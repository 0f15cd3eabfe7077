#include "compiler/passes/dynamic_sums.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/edit.h"
#include "compiler/quantised.h"

namespace saccade::compiler {

namespace {

using ir::Node;
using ir::ValueId;

// Two bytes with their zero points off differ from 0 by this at most.
constexpr std::int64_t kMostByte = 255;
// Every whole number up to this is a float.
constexpr std::int64_t kMostExact = std::int64_t{1} << 24;
// Sums of 32 bits have not wrapped below this.
constexpr std::int64_t kMostSum = (std::int64_t{1} << 31) - 1;

// Puts nodes in front of a place.
class Maker {
 public:
  Maker(Edit& edit, std::size_t position, std::string name)
      : edit_(edit), position_(position), name_(std::move(name)) {}

  ValueId apply(const std::string& op, std::vector<ValueId> inputs, ir::Attributes attributes = {}) {
    return edit_.insert(position_, Node{name_ + ":" + op, op, std::move(inputs), {}, std::move(attributes)});
  }
  ValueId number(float value) {
    return edit_.graph().add_constant(name_ + ":number", Tensor::of<float>({}, {value}));
  }
  ValueId tensor(Tensor value) { return edit_.graph().add_constant(name_ + ":tensor", std::move(value)); }
  ValueId integers(const std::vector<std::int64_t>& values) {
    return add_integers(edit_.graph(), name_ + ":integers", values);
  }
  ValueId cast(ValueId x, DType to) { return apply("Cast", {x}, {{"to", std::string(dtype_name(to))}}); }

 private:
  Edit& edit_;
  std::size_t position_;
  std::string name_;
};

// Weights as floats, zero points off; the channels that are summed lie along axis 1 of (filters, summed,
// taps).
struct WholeWeights {
  Tensor values;
  std::int64_t filters, summed, taps;
  std::int64_t filter_step, summed_step;

  float at(std::int64_t f, std::int64_t c, std::int64_t t) const {
    return values.data<float>()[f * filter_step + c * summed_step + t];
  }
};

// The weights of a node that can be computed, or nothing.
std::optional<WholeWeights> whole_weights(const Edit& edit, const Node& node) {
  const bool conv = node.op == "ConvInteger";
  const std::optional<Tensor> bytes = known_tensor(edit, node.inputs[1]);
  if (!bytes || !is_byte(bytes->dtype()) || bytes->count() == 0) return std::nullopt;
  if (conv ? bytes->rank() < 3 : bytes->rank() != 2) return std::nullopt;
  std::optional<Tensor> zero;
  if (node.has_input(3)) {
    zero = known_tensor(edit, node.inputs[3]);
    if (!zero || !is_byte(zero->dtype())) return std::nullopt;
  }
  WholeWeights w{Tensor(DType::f32, bytes->shape()), 0, 0, 1, 0, 0};
  if (conv) {
    w.filters = bytes->dim(0), w.summed = bytes->dim(1);
    w.taps = bytes->count() / (w.filters * w.summed);
    w.filter_step = w.summed * w.taps, w.summed_step = w.taps;
  } else {
    w.filters = bytes->dim(1), w.summed = bytes->dim(0);
    w.filter_step = 1, w.summed_step = w.filters;
  }
  const std::int64_t points = zero ? zero->count() : 0;
  if (points > 1 && points != w.filters) return std::nullopt;
  for (std::int64_t i = 0; i < bytes->count(); ++i) {
    const std::int64_t filter = conv ? i / w.filter_step : i % w.filters;
    const int point = points == 0 ? 0 : byte_at(*zero, points == 1 ? 0 : filter);
    w.values.data<float>()[i] = static_cast<float>(byte_at(*bytes, i) - point);
  }
  return w;
}

// Where the summed channels are cut, from 0 to all of them, such that the sums of each part are exact;
// nothing where those of one channel are not, or all of them may wrap.
std::optional<std::vector<std::int64_t>> exact_parts(const WholeWeights& w) {
  std::vector<std::int64_t> cuts{0};
  std::vector<std::int64_t> sums(static_cast<std::size_t>(w.filters), 0), totals = sums;
  for (std::int64_t c = 0; c < w.summed; ++c) {
    bool fits = true;
    std::vector<std::int64_t> own(sums.size(), 0);
    for (std::int64_t f = 0; f < w.filters; ++f) {
      const auto i = static_cast<std::size_t>(f);
      for (std::int64_t t = 0; t < w.taps; ++t) own[i] += std::abs(static_cast<std::int64_t>(w.at(f, c, t)));
      totals[i] += own[i];
      if (own[i] * kMostByte > kMostExact || totals[i] * kMostByte > kMostSum) return std::nullopt;
      fits = fits && (sums[i] + own[i]) * kMostByte <= kMostExact;
    }
    if (!fits) {
      cuts.push_back(c);
      std::fill(sums.begin(), sums.end(), 0);
    }
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += own[i];
  }
  cuts.push_back(w.summed);
  return cuts;
}

Tensor part_of(const WholeWeights& w, bool conv, std::int64_t begin, std::int64_t end) {
  Shape shape = w.values.shape();
  shape[conv ? 1 : 0] = end - begin;
  Tensor part(DType::f32, shape);
  float* to = part.data<float>();
  const float* from = w.values.data<float>();
  if (!conv) {
    std::copy(from + begin * w.summed_step, from + end * w.summed_step, to);
    return part;
  }
  for (std::int64_t f = 0; f < w.filters; ++f)
    to = std::copy(from + f * w.filter_step + begin * w.summed_step,
                   from + f * w.filter_step + end * w.summed_step, to);
  return part;
}

class Sums {
 public:
  Sums(Edit& edit, bool narrow) : edit_(edit), graph_(edit.graph()), narrow_(narrow) {}

  void run() {
    const std::size_t count = graph_.nodes.size();
    for (std::size_t i = 0; i < count; ++i) {
      if (edit_.touched(i)) continue;
      const Node node = graph_.nodes[i];
      if (node.op == "DynamicQuantizeLinear") quantise(i, node);
      if (node.op == "ConvInteger" || node.op == "MatMulInteger") multiply(i, node);
      if (node.op == "DequantizeLinear") dequantise(i, node);
    }
  }

 private:
  // What a DynamicQuantizeLinear became: its result without the zero point, and this.
  struct Quantised {
    ValueId whole, zero;
  };

  // As the operator defines it: the range always contains 0, and where it is empty nothing is divided.
  void quantise(std::size_t index, const Node& node) {
    const Shape* shape = known_shape(graph_, node.inputs[0]);
    if (shape == nullptr || shape->empty() || element_count(*shape) == 0) return;
    Maker make(edit_, index, node.name);
    const ir::Attributes to_one{{"keepdims", std::int64_t{0}}};
    const ValueId x = node.inputs[0], none = make.number(0), most = make.number(255);
    const ValueId high = make.apply("Max", {make.apply("ReduceMax", {x}, to_one), none});
    const ValueId low = make.apply("Min", {make.apply("ReduceMin", {x}, to_one), none});
    const ValueId scale = make.apply("Div", {make.apply("Sub", {high, low}), most});
    const ValueId empty = make.apply("Sub", {make.number(1), make.apply("Sign", {scale})});
    const ValueId divisor = make.apply("Add", {scale, empty});
    const ValueId middle = make.apply("Div", {make.apply("Neg", {low}), divisor});
    const ValueId zero = make.apply("Clip", {make.apply("Round", {middle}), none, most});
    const ValueId steps = make.apply("Round", {make.apply("Div", {x, divisor})});
    const ValueId stored = make.apply("Clip", {make.apply("Add", {steps, zero}), none, most});
    if (node.outputs[0] != ir::kNoValue) {
      made_[node.outputs[0]] = {make.apply("Sub", {stored, zero}),
                                node.outputs.size() > 2 ? node.outputs[2] : ir::kNoValue};
      edit_.redirect(node.outputs[0], make.cast(stored, DType::u8));
    }
    if (node.outputs.size() > 1 && node.outputs[1] != ir::kNoValue) edit_.redirect(node.outputs[1], scale);
    if (node.outputs.size() > 2 && node.outputs[2] != ir::kNoValue)
      edit_.redirect(node.outputs[2], make.cast(zero, DType::u8));
    edit_.remove(index);
  }

  // Bytes made real by a scale that was made with them.
  void dequantise(std::size_t index, const Node& node) {
    const Shape* scale = known_shape(graph_, node.inputs[1]);
    const Shape* shape = known_shape(graph_, node.inputs[0]);
    if (scale == nullptr || shape == nullptr || graph_.constant(node.inputs[1]) != nullptr) return;
    if (element_count(*scale) != 1 || scale->size() > shape->size() || node.integer("block_size", 0) != 0)
      return;
    if (graph_.value(node.inputs[1]).dtype != DType::f32 || graph_.value(node.outputs[0]).dtype != DType::f32)
      return;
    Maker make(edit_, index, node.name);
    if (const std::optional<ValueId> units = whole(make, node, 0, 2))
      edit_.replace(index, make.apply("Mul", {*units, node.inputs[1]}));
  }

  // Bytes as floats, the zero point off, if there is one for all.
  std::optional<ValueId> whole(Maker& make, const Node& node, std::size_t slot, std::size_t zero_slot) {
    const ValueId bytes = node.inputs[slot];
    const ValueId zero = node.has_input(zero_slot) ? node.inputs[zero_slot] : ir::kNoValue;
    if (const auto found = made_.find(bytes);
        found != made_.end() && zero != ir::kNoValue && found->second.zero == zero)
      return found->second.whole;
    if (!is_byte(graph_.value(bytes).dtype)) return std::nullopt;
    if (zero == ir::kNoValue) return make.cast(bytes, DType::f32);
    const Shape* points = known_shape(graph_, zero);
    const Shape* shape = known_shape(graph_, bytes);
    if (points == nullptr || shape == nullptr || element_count(*points) > 1 || points->size() > shape->size())
      return std::nullopt;
    const bool none = element_count(*points) == 0;  // before values are added
    const ValueId real = make.cast(bytes, DType::f32);
    return none ? real : make.apply("Sub", {real, make.cast(zero, DType::f32)});
  }

  bool only_cast_to_floats(ValueId sums) const {
    const auto& uses = edit_.uses().of(sums);
    return !edit_.uses().is_output(sums) &&
           std::all_of(uses.begin(), uses.end(), [&](const ir::Uses::Use& use) { return casts(use.node); });
  }
  bool casts(std::size_t index) const {
    const Node& node = graph_.nodes[index];
    return node.op == "Cast" && !edit_.touched(index) && graph_.value(node.outputs[0]).dtype == DType::f32;
  }

  void multiply(std::size_t index, const Node& node) {
    if (known_shape(graph_, node.inputs[0]) == nullptr || known_shape(graph_, node.outputs[0]) == nullptr)
      return;
    Maker make(edit_, index, node.name);
    const std::optional<ValueId> sums =
        known_tensor(edit_, node.inputs[1]) ? with_weights(make, node) : of_two(make, node);
    if (!sums) return;
    const bool all = only_cast_to_floats(node.outputs[0]);
    for (const ir::Uses::Use& use : edit_.uses().of(node.outputs[0]))
      if (casts(use.node)) edit_.replace(use.node, *sums);
    if (all)
      edit_.remove(index);
    else
      edit_.replace(index, make.cast(*sums, DType::i32));
  }

  // Both change from picture to picture.
  std::optional<ValueId> of_two(Maker& make, const Node& node) {
    const Shape& a = *known_shape(graph_, node.inputs[0]);
    if (node.op != "MatMulInteger" || a.empty() || a.back() * kMostByte * kMostByte > kMostExact)
      return std::nullopt;
    const std::optional<ValueId> x = whole(make, node, 0, 2), y = whole(make, node, 1, 3);
    if (!x || !y) return std::nullopt;
    return make.apply("MatMul", {*x, *y});
  }

  std::optional<ValueId> with_weights(Maker& make, const Node& node) {
    const bool conv = node.op == "ConvInteger";
    const std::optional<WholeWeights> weights = whole_weights(edit_, node);
    if (!weights) return std::nullopt;
    // Kernels that do not add exactly leave weights alone that are whole numbers and not only zeros and ones.
    if (!integer_weights(weights->values)) return std::nullopt;
    const std::optional<std::vector<std::int64_t>> cuts = exact_parts(*weights);
    if (!cuts) return std::nullopt;
    const std::size_t parts = cuts->size() - 1;
    if (parts > 1 && (!only_cast_to_floats(node.outputs[0]) || (conv && node.integer("group", 1) != 1)))
      return std::nullopt;
    std::optional<ValueId> x = whole(make, node, 0, 2);
    if (!x) return std::nullopt;
    const char* op = conv ? "Conv" : "MatMul";
    ir::Attributes attributes = node.attributes;
    if (conv && narrow_ && weights->values.rank() == 4 && node.integer("group", 1) == 1) {
      x = make.cast(*x, DType::bf16);
      attributes["to"] = std::string(dtype_name(DType::f32));
    }
    if (!conv && narrow_ && parts == 1)
      if (const std::optional<ValueId> sums = as_picture(make, node, *x, *weights)) return sums;
    if (parts == 1) return make.apply(op, {*x, make.tensor(weights->values)}, attributes);
    std::vector<ValueId> sums;
    for (std::size_t p = 0; p < parts; ++p) {
      const std::int64_t begin = (*cuts)[p], end = (*cuts)[p + 1];
      Tensor part = part_of(*weights, conv, begin, end);
      if (!integer_weights(part)) return std::nullopt;
      const ValueId channels = make.apply(
          "Slice", {*x, make.integers({begin}), make.integers({end}), make.integers({conv ? 1 : -1})});
      sums.push_back(make.apply(op, {channels, make.tensor(std::move(part))}, attributes));
    }
    return total(make, sums);
  }

  // Tokens as a picture, as near to a square as there is, whose convolution is their product.
  std::optional<ValueId> as_picture(Maker& make, const Node& node, ValueId x, const WholeWeights& w) {
    const Shape& tokens = *known_shape(graph_, node.inputs[0]);
    const std::int64_t count = element_count(tokens) / w.summed;
    // A vector times a matrix waits for the matrix, whatever it is called.
    if (tokens.size() < 2 || count < 2) return std::nullopt;
    std::int64_t rows = 1;
    for (std::int64_t i = 2; i * i <= count; ++i)
      if (count % i == 0) rows = i;
    Tensor filters(DType::f32, {w.filters, w.summed, 1, 1});
    for (std::int64_t f = 0; f < w.filters; ++f)
      for (std::int64_t c = 0; c < w.summed; ++c) filters.data<float>()[f * w.summed + c] = w.at(f, c, 0);
    using Axes = std::vector<std::int64_t>;
    const ValueId grid =
        make.apply("Reshape", {make.cast(x, DType::bf16), make.integers({1, rows, count / rows, w.summed})});
    const ValueId picture = make.apply("Transpose", {grid}, {{"perm", Axes{0, 3, 1, 2}}});
    const ValueId sums = make.apply("Conv", {picture, make.tensor(std::move(filters))},
                                    {{"to", std::string(dtype_name(DType::f32))}});
    const ValueId turned = make.apply("Transpose", {sums}, {{"perm", Axes{0, 2, 3, 1}}});
    return make.apply("Reshape", {turned, make.integers(*known_shape(graph_, node.outputs[0]))});
  }

  // Multiples of kStep and what is left are both added exactly; only their sum is rounded.
  static ValueId total(Maker& make, const std::vector<ValueId>& sums) {
    constexpr float kStep = 4096;
    std::optional<ValueId> high, low;
    for (const ValueId sum : sums) {
      const ValueId steps = make.apply("Round", {make.apply("Mul", {sum, make.number(1 / kStep)})});
      const ValueId rest = make.apply("Sub", {sum, make.apply("Mul", {steps, make.number(kStep)})});
      high = high ? make.apply("Add", {*high, steps}) : steps;
      low = low ? make.apply("Add", {*low, rest}) : rest;
    }
    return make.apply("Add", {make.apply("Mul", {*high, make.number(kStep)}), *low});
  }

  Edit& edit_;
  ir::Graph& graph_;
  bool narrow_;  // whether pictures of whole numbers are stored as bf16
  std::map<ValueId, Quantised> made_;
};

}  // namespace

void dynamic_sums(ir::Graph& graph, const Options& options) {
  Edit edit(graph);
  // With bf16 everything may be narrow, which is decided later.
  Sums(edit, options.isa >= Isa::avx512_bf16 && options.precision != Precision::bf16).run();
  edit.commit();
}

}  // namespace saccade::compiler
