#include "compiler/lowering.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "base/archive.h"
#include "compiler/concat_plan.h"
#include "compiler/copy_step.h"
#include "compiler/edit.h"
#include "compiler/kept_layers.h"
#include "compiler/layout.h"
#include "compiler/measure.h"
#include "compiler/recipe.h"
#include "compiler/reference_step.h"
#include "ops/infer.h"
#include "ops/op_def.h"
#include "ops/reduce.h"
#include "saccade/error.h"

namespace saccade::compiler {

namespace {

using ir::kNoValue;
using ir::Node;
using ir::ValueId;

// Predicted time of a physical copy, per byte read and written; only weighs kernels against each other.
constexpr double kCopyNanosecondsPerByte = 0.25;

TensorDesc dense_desc(DType dtype, const Shape& dims, Layout layout) {
  return {true, dtype, dims.size() < 3 ? Layout::plain : layout, dims,
          dense_strides(dims, dims.size() < 3 ? Layout::plain : layout)};
}

std::size_t bytes_of(const TensorDesc& desc) {
  return static_cast<std::size_t>(span_elements(desc)) * dtype_size(desc.dtype);
}

class Lowering {
 public:
  Lowering(const ir::Graph& graph, const KernelTable& kernels, const LowerOptions& options)
      : graph_(graph),
        kernels_(kernels),
        options_(options),
        preferred_(choose_layouts(graph)),
        concats_(plan_concats(graph, preferred_)),
        forms_(graph.values.size()) {}

  Lowered run() {
    out_.packed_uses.assign(graph_.values.size(), 0);
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i)
      add_input(graph_.inputs[i], static_cast<std::int64_t>(i));
    for (const Node& node : graph_.nodes) lower_node(node);
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i)
      add_output(graph_.outputs[i], static_cast<std::int64_t>(i));
    if (options_.decisions != nullptr && out_.decisions.size() != options_.decisions->size())
      ArchiveReader::fail();
    set_lifetimes();
    return std::move(out_);
  }

 private:
  // One way to lay out the operands of a node.
  struct Assignment {
    std::vector<Layout> inputs;
    std::vector<Layout> outputs;
    bool dense = false;  // copy inputs that are parts of something larger
    bool operator==(const Assignment&) const = default;
  };

  const ir::Value& value(ValueId id) const { return graph_.value(id); }
  Layout preferred(ValueId id) const {
    return id == kNoValue ? Layout::plain : preferred_[static_cast<std::size_t>(id)];
  }
  std::vector<int>& forms(ValueId id) { return forms_[static_cast<std::size_t>(id)]; }
  const TensorDesc& desc(int placed) const { return out_.placed[static_cast<std::size_t>(placed)].desc; }

  std::size_t add_buffer(std::size_t bytes, Operand::Space space = Operand::Space::arena,
                         std::int64_t index = 0) {
    out_.buffers.push_back({bytes, space, index});
    return out_.buffers.size() - 1;
  }
  int add_placed(std::size_t buffer, std::size_t offset, TensorDesc d) {
    out_.placed.push_back({buffer, offset, std::move(d)});
    return static_cast<int>(out_.placed.size() - 1);
  }
  int add_dense(DType dtype, const Shape& dims, Layout layout) {
    TensorDesc d = dense_desc(dtype, dims, layout);
    const std::size_t bytes = bytes_of(d);
    return add_placed(add_buffer(bytes), 0, std::move(d));
  }

  void add_input(ValueId id, std::int64_t index) {
    const TensorDesc d = dense_desc(value(id).dtype, *value(id).shape, Layout::plain);
    out_.inputs.push_back(d);
    forms(id).push_back(add_placed(add_buffer(bytes_of(d), Operand::Space::input, index), 0, d));
  }

  // A constant as steps read it: stored in the order that is asked for.
  int add_constant(ValueId id, Layout layout) {
    const Tensor& tensor = *value(id).constant;
    const TensorDesc plain = dense_desc(tensor.dtype(), tensor.shape(), Layout::plain);
    if (const std::optional<TensorDesc> same = as_layout(plain, layout)) return place_constant(tensor, *same);
    const TensorDesc turned = dense_desc(tensor.dtype(), tensor.shape(), layout);
    const Node node{"constant", "Reorder", {}, {}, {}};
    Tensor stored(tensor.dtype(), tensor.shape());
    const PreparedKernel copy = copy_kernel().prepare({node, {&plain, 1}, {}, {&turned, 1}, Precision::fp32});
    const void* src = tensor.raw();
    void* dst = stored.raw();
    copy_kernel().fn({copy.state.get(), &src, &dst, nullptr, nullptr, 0, 0, copy.phase_tasks[0], nullptr});
    return place_constant(stored, turned);
  }
  int place_constant(const Tensor& tensor, const TensorDesc& d) {
    out_.constants.push_back(tensor);
    return add_placed(add_buffer(tensor.bytes(), Operand::Space::constant,
                                 static_cast<std::int64_t>(out_.constants.size() - 1)),
                      0, d);
  }

  // The form of `id` in `layout` that exists already, relabelled.
  std::optional<std::pair<int, TensorDesc>> existing(ValueId id, Layout layout, bool dense) {
    for (const int placed : forms(id)) {
      std::optional<TensorDesc> same = as_layout(desc(placed), layout);
      if (same && (!dense || same->dense())) return std::pair(placed, std::move(*same));
    }
    return std::nullopt;
  }

  // What an input would look like to a kernel in this layout, and what bringing it there would cost.
  TensorDesc peek(ValueId id, Layout layout, bool dense, double& cost) {
    if (id == kNoValue) return {};
    if (value(id).constant) {
      const TensorDesc plain = dense_desc(value(id).dtype, *value(id).shape, Layout::plain);
      const std::optional<TensorDesc> same = as_layout(plain, layout);
      return same ? *same : dense_desc(value(id).dtype, *value(id).shape, layout);
    }
    if (auto found = existing(id, layout, dense)) return found->second;
    TensorDesc d = dense_desc(value(id).dtype, *value(id).shape, layout);
    cost += kCopyNanosecondsPerByte * static_cast<double>(bytes_of(d));
    return d;
  }

  // The same, for real: copies if need be.
  int fetch(ValueId id, Layout layout, bool dense) {
    if (value(id).constant) {
      if (auto found = existing(id, layout, dense)) return relabel(found->first, found->second);
      const int made = add_constant(id, layout);
      forms(id).push_back(made);
      return made;
    }
    if (auto found = existing(id, layout, dense)) return relabel(found->first, found->second);
    const int made = add_dense(value(id).dtype, *value(id).shape, layout);
    emit_copy(value(id).name, forms(id).front(), made);
    forms(id).push_back(made);
    return made;
  }

  int relabel(int placed, const TensorDesc& d) {
    const Placed& p = out_.placed[static_cast<std::size_t>(placed)];
    if (p.desc.layout == d.layout && p.desc.strides == d.strides) return placed;
    return add_placed(p.buffer, p.offset, d);
  }

  void emit_copy(const std::string& name, int src, int dst) {
    const Node node{name, "Reorder", {0}, {0}, {}};
    const TensorDesc from = desc(src);
    const TensorDesc to = desc(dst);
    const Tensor* no_constant = nullptr;
    const KernelQuery query{node, {&from, 1}, {&no_constant, 1}, {&to, 1}, Precision::fp32};
    Choice choice = kernels_.best(query);
    if (choice.kernel == nullptr) choice.kernel = &copy_kernel();
    LoweredStep lowered;
    lowered.step.name = name;
    lowered.step.op = "Reorder";
    lowered.step.kernel = choice.kernel;
    lowered.step.prepared = choice.kernel->prepare(query);
    lowered.step.bytes =
        static_cast<std::int64_t>(2 * static_cast<std::size_t>(to.count()) * dtype_size(to.dtype));
    lowered.step.written_bytes = lowered.step.bytes / 2;
    lowered.src = {src};
    lowered.dst = {dst};
    out_.steps.push_back(std::move(lowered));
  }

  void lower_node(const Node& node) {
    if (node.op == "Concat" && lower_concat(node)) return;
    if ((node.op == "Reshape" || node.op == "Identity") && lower_reshape(node)) return;
    if (node.op == "Transpose" && lower_transpose(node)) return;
    if (node.op == "Reorder") {
      forms(node.outputs[0]) = {fetch_any(node.inputs[0])};
      return;
    }
    if (node.op == "Slice" && lower_slice(node)) return;
    if (node.op == "Split" && lower_split(node)) return;
    lower_kernel(node);
  }

  int fetch_any(ValueId id) {
    if (forms(id).empty()) return fetch(id, Layout::plain, false);
    return forms(id).front();
  }

  // Elements stay where they are if they lie in row-major order.
  bool lower_reshape(const Node& node) {
    const ValueId in = node.inputs[0];
    const ValueId result = node.outputs[0];
    if (value(in).constant) return false;
    const int source = fetch(in, Layout::plain, true);
    const Placed p = out_.placed[static_cast<std::size_t>(source)];
    forms(result).push_back(
        add_placed(p.buffer, p.offset, dense_desc(value(result).dtype, *value(result).shape, Layout::plain)));
    return true;
  }

  // A transpose renames the dimensions of some form of its input; it is free where the result is one that
  // kernels know.
  bool lower_transpose(const Node& node) {
    const ValueId in = node.inputs[0];
    const ValueId result = node.outputs[0];
    if (value(in).constant) return false;
    const Shape& shape = *value(in).shape;
    std::vector<std::int64_t> perm = node.integers("perm");
    if (perm.empty())
      for (std::size_t i = shape.size(); i-- > 0;) perm.push_back(static_cast<std::int64_t>(i));
    std::optional<int> made;
    for (const int form : std::vector<int>(forms(in))) {
      const Placed p = out_.placed[static_cast<std::size_t>(form)];
      TensorDesc renamed = p.desc;
      for (std::size_t i = 0; i < perm.size(); ++i) {
        renamed.dims[i] = p.desc.dims[static_cast<std::size_t>(perm[i])];
        renamed.strides[i] = p.desc.strides[static_cast<std::size_t>(perm[i])];
      }
      std::optional<TensorDesc> known = as_layout(renamed, preferred(result));
      if (!known)
        known =
            as_layout(renamed, preferred(result) == Layout::plain ? Layout::channels_last : Layout::plain);
      if (!known && !made) {
        made = add_placed(p.buffer, p.offset, renamed);  // copied from below if nothing better turns up
        continue;
      }
      if (!known) continue;
      forms(result).push_back(add_placed(p.buffer, p.offset, *known));
      return true;
    }
    // Any strided form can be copied into order, which is what a transpose is.
    const int dense = add_dense(value(result).dtype, *value(result).shape, preferred(result));
    emit_copy(node.name, *made, dense);
    forms(result).push_back(dense);
    return true;
  }

  // A part of `source` along one axis: the channels of channels_last or the outermost rows stay where they
  // are, others are copied.
  void place_part(const Node& node, int source, ValueId result, std::size_t axis, std::int64_t begin) {
    const Placed p = out_.placed[static_cast<std::size_t>(source)];
    TensorDesc part = p.desc;
    part.dims = *value(result).shape;
    const std::size_t offset =
        p.offset + static_cast<std::size_t>(begin * p.desc.strides[axis]) * dtype_size(part.dtype);
    for (const Layout layout : {preferred(result), Layout::plain, Layout::channels_last}) {
      if (std::optional<TensorDesc> known = as_layout(part, layout)) {
        forms(result).push_back(add_placed(p.buffer, offset, std::move(*known)));
        return;
      }
    }
    const int strided = add_placed(p.buffer, offset, part);
    const int dense = add_dense(part.dtype, part.dims, preferred(result));
    emit_copy(node.name, strided, dense);
    forms(result).push_back(dense);
  }

  int part_source(ValueId in) {
    return existing(in, preferred(in), false) ? existing(in, preferred(in), false)->first : fetch_any(in);
  }

  bool lower_slice(const Node& node) {
    const ValueId in = node.inputs[0];
    const ValueId result = node.outputs[0];
    if (value(in).constant || element_count(*value(result).shape) == 0) return false;
    const Shape& from = *value(in).shape;
    const Shape& to = *value(result).shape;
    const std::optional<std::vector<std::int64_t>> starts = integer_constant(graph_, node.inputs[1]);
    if (!starts) return false;
    std::vector<std::int64_t> axes, steps;
    for (std::size_t i = 0; i < starts->size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
    if (node.has_input(3)) {
      const std::optional<std::vector<std::int64_t>> given = integer_constant(graph_, node.inputs[3]);
      if (!given || given->size() != starts->size()) return false;
      axes = *given;
    }
    if (node.has_input(4)) {
      const std::optional<std::vector<std::int64_t>> given = integer_constant(graph_, node.inputs[4]);
      if (!given || std::any_of(given->begin(), given->end(), [](std::int64_t s) { return s != 1; }))
        return false;
    }
    // One axis only; more are rare and go through a kernel.
    std::optional<std::size_t> cut;
    for (std::size_t i = 0; i < from.size(); ++i) {
      if (from[i] == to[i]) continue;
      if (cut) return false;
      cut = i;
    }
    if (!cut) return false;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const std::int64_t axis = axes[i] < 0 ? axes[i] + static_cast<std::int64_t>(from.size()) : axes[i];
      if (axis != static_cast<std::int64_t>(*cut)) continue;
      const std::int64_t length = from[*cut];
      const std::int64_t begin =
          std::clamp<std::int64_t>((*starts)[i] < 0 ? (*starts)[i] + length : (*starts)[i], 0, length);
      if (begin + to[*cut] > length) return false;
      place_part(node, part_source(in), result, *cut, begin);
      return true;
    }
    return false;
  }

  bool lower_split(const Node& node) {
    const ValueId in = node.inputs[0];
    if (value(in).constant) return false;
    const Shape& from = *value(in).shape;
    std::int64_t axis = node.integer("axis", 0);
    if (axis < 0) axis += static_cast<std::int64_t>(from.size());
    const int source = part_source(in);
    std::int64_t begin = 0;
    for (const ValueId result : node.outputs) {
      if (result == kNoValue) return false;
      if (element_count(*value(result).shape) == 0) return false;
    }
    for (const ValueId result : node.outputs) {
      place_part(node, source, result, static_cast<std::size_t>(axis), begin);
      begin += (*value(result).shape)[static_cast<std::size_t>(axis)];
    }
    return true;
  }

  // The buffer of a concatenation, made when its first part or the node itself comes up.
  int concat_result(std::size_t concat) {
    const ConcatPlan::Concat& plan = concats_.concats[concat];
    if (const auto found = concat_results_.find(concat); found != concat_results_.end()) return found->second;
    int placed = kAbsent;
    if (const std::optional<ConcatPlan::Part> outer = concats_.part_of(plan.result))
      placed = part_of(*outer, plan.result);
    else
      placed = add_dense(value(plan.result).dtype, *value(plan.result).shape, plan.layout);
    concat_results_[concat] = placed;
    return placed;
  }
  int part_of(const ConcatPlan::Part& part, ValueId id) {
    const Placed whole = out_.placed[static_cast<std::size_t>(concat_result(part.concat))];
    const std::size_t axis = concats_.concats[part.concat].axis;
    TensorDesc d = whole.desc;
    d.dims = *value(id).shape;
    const std::size_t offset =
        whole.offset + static_cast<std::size_t>(part.begin * whole.desc.strides[axis]) * dtype_size(d.dtype);
    return add_placed(whole.buffer, offset, as_layout(d, whole.desc.layout).value_or(d));
  }

  bool lower_concat(const Node& node) {
    const std::optional<std::size_t> concat = concats_.find(node.outputs[0]);
    if (!concat) return false;
    const int whole = concat_result(*concat);
    std::int64_t begin = 0;
    for (const ValueId id : node.inputs) {
      const std::optional<ConcatPlan::Part> part = concats_.part_of(id);
      const bool in_place = part && part->concat == *concat && part->begin == begin && written_.contains(id);
      if (!in_place) {
        const int dst = part_of({*concat, begin}, id);
        if (desc(dst).count() > 0)
          emit_copy(node.name, existing_source(id, concats_.concats[*concat].layout), dst);
      }
      begin += (*value(id).shape)[concats_.concats[*concat].axis];
    }
    forms(node.outputs[0]).push_back(whole);
    if (concats_.part_of(node.outputs[0])) written_.insert(node.outputs[0]);
    return true;
  }
  int existing_source(ValueId id, Layout layout) {
    if (auto found = existing(id, layout, false)) return found->first;
    return fetch_any(id);
  }

  std::vector<Assignment> assignments(const Node& node) {
    Assignment preferred_order, plain, last;
    for (const ValueId id : node.inputs) {
      preferred_order.inputs.push_back(preferred(id));
      plain.inputs.push_back(Layout::plain);
      const bool picture = id != kNoValue && value(id).shape->size() == 4;
      last.inputs.push_back(picture ? Layout::channels_last : Layout::plain);
    }
    for (const ValueId id : node.outputs) {
      preferred_order.outputs.push_back(preferred(id));
      plain.outputs.push_back(Layout::plain);
      const bool picture = id != kNoValue && value(id).shape->size() == 4;
      last.outputs.push_back(picture ? Layout::channels_last : Layout::plain);
    }
    // As things lie, for kernels that can read one order and write another.
    Assignment as_is = preferred_order;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId id = node.inputs[i];
      if (id != kNoValue && !value(id).constant && !forms(id).empty())
        as_is.inputs[i] = desc(forms(id).front()).layout;
    }
    std::vector<Assignment> list;
    for (Assignment* each : {&preferred_order, &as_is, &plain, &last}) {
      if (std::find(list.begin(), list.end(), *each) == list.end()) list.push_back(*each);
    }
    for (Assignment* each : {&preferred_order, &plain}) {
      each->dense = true;
      list.push_back(*each);
    }
    return list;
  }

  struct Best {
    Choice choice;
    double total = 0;
    Assignment assignment;
    Decision decision;
  };

  double price_of(const KernelDesc& kernel, KernelQuery query) const {
    MeasuringStore measuring;
    query.store = &measuring;
    return options_.weight_price * static_cast<double>(kernel.prepare(query).weight_bytes);
  }

  /// A way to run a node that a kernel can take.
  struct Way {
    Best best;  ///< with the kernel that predictions choose
    double moved = 0;
    std::vector<TensorDesc> inputs, outputs;
  };

  // All of them, with what bringing operands there costs.
  std::vector<Way> ways_of(const Node& node, std::span<const Tensor* const> constants,
                           const std::optional<ConcatPlan::Part>& part, bool priced) {
    std::vector<Way> ways;
    std::uint32_t number = 0;
    for (const Assignment& assignment : assignments(node)) {
      double moved = 0;
      std::vector<TensorDesc> inputs;
      for (std::size_t i = 0; i < node.inputs.size(); ++i)
        inputs.push_back(peek(node.inputs[i], assignment.inputs[i], assignment.dense, moved));
      std::vector<TensorDesc> outputs;
      for (std::size_t i = 0; i < node.outputs.size(); ++i) {
        const ValueId id = node.outputs[i];
        outputs.push_back(id == kNoValue
                              ? TensorDesc{}
                              : dense_desc(value(id).dtype, *value(id).shape, assignment.outputs[i]));
        if (id != kNoValue && assignment.outputs[i] != preferred(id) &&
            !as_layout(outputs.back(), preferred(id)))
          moved += kCopyNanosecondsPerByte * static_cast<double>(bytes_of(outputs.back()));
      }
      for (const bool in_concat : {true, false}) {
        Way way{{}, moved, inputs, outputs};
        if (in_concat) {
          if (!part || concats_.concats[part->concat].layout != assignment.outputs[0]) continue;
          way.outputs[0] = desc(part_of(*part, node.outputs[0]));
        } else if (part) {
          way.moved += kCopyNanosecondsPerByte * static_cast<double>(bytes_of(outputs[0]));
        }
        const KernelQuery query{node, way.inputs, constants, way.outputs, Precision::fp32};
        const Choice choice = kernels_.best(query, price(query, priced));
        if (choice.kernel == nullptr) continue;
        way.best = {choice,
                    way.moved + choice.cost,
                    assignment,
                    {std::string(choice.kernel->name), number, in_concat}};
        ways.push_back(std::move(way));
      }
      ++number;
    }
    return ways;
  }

  std::function<double(const KernelDesc&)> price(const KernelQuery& query, bool priced) const {
    if (!priced) return nullptr;
    return [this, &query](const KernelDesc& kernel) { return price_of(kernel, query); };
  }

  // The cheapest way to run a node; nothing: no kernel can.
  std::optional<Best> choose(const Node& node, std::span<const Tensor* const> constants,
                             const std::optional<ConcatPlan::Part>& part) {
    // Only where weights are of some size: their kernels have to pack, if only for show.
    constexpr std::size_t kLargeWeights = 16384;
    const bool priced = options_.weight_price > 0 &&
                        std::any_of(constants.begin(), constants.end(), [](const Tensor* tensor) {
                          return tensor != nullptr && tensor->bytes() >= kLargeWeights;
                        });
    std::vector<Way> ways = ways_of(node, constants, part, priced);
    if (kernels_.has_timer()) time_ways(node, constants, priced, ways);
    const auto best = std::min_element(
        ways.begin(), ways.end(), [](const Way& a, const Way& b) { return a.best.total < b.best.total; });
    return best == ways.end() ? std::nullopt : std::optional(best->best);
  }

  // Puts the fastest kernels and what they take into ways that may be the best by what is predicted, and
  // leaves out the others. Changes nothing where there is one kernel only or one cannot be timed.
  void time_ways(const Node& node, std::span<const Tensor* const> constants, bool priced,
                 std::vector<Way>& ways) const {
    double least = std::numeric_limits<double>::infinity(), error = 0;
    for (const Way& way : ways) {
      if (way.best.total >= least) continue;
      least = way.best.total;
      error = way.best.choice.kernel->error;
    }
    std::vector<Way> timed;
    std::size_t rivals = 0, predicted = 0;
    for (const Way& way : ways) {
      if (way.best.total > KernelTable::kTried * least || way.best.choice.kernel->error > error) continue;
      if (way.best.total == least && (timed.empty() || timed[predicted].best.total > least))
        predicted = timed.size();
      const KernelQuery query{node, way.inputs, constants, way.outputs, Precision::fp32};
      rivals += kernels_.rivals(query, price(query, priced));
      timed.push_back(way);
    }
    if (rivals < 2) return;
    for (Way& way : timed) {
      const KernelQuery query{node, way.inputs, constants, way.outputs, Precision::fp32};
      const std::optional<Choice> fastest = kernels_.fastest(query, price(query, priced));
      if (!fastest) return;
      way.best.choice = *fastest;
      way.best.total = way.moved + fastest->cost;
      if (&way != &timed[predicted])
        way.best.total = KernelTable::handicapped(way.best.total, way.outputs[0].dims[0]);
      way.best.decision.kernel = fastest->kernel->name;
    }
    ways = std::move(timed);
  }

  // What was chosen before.
  std::optional<Best> recall(const Node& node, const std::optional<ConcatPlan::Part>& part) {
    if (out_.decisions.size() == options_.decisions->size()) ArchiveReader::fail();
    const Decision& decision = (*options_.decisions)[out_.decisions.size()];
    if (decision.kernel.empty()) return std::nullopt;
    const std::vector<Assignment> list = assignments(node);
    const KernelDesc* kernel = kernels_.find(node.op, decision.kernel);
    if (kernel == nullptr || decision.assignment >= list.size()) ArchiveReader::fail();
    const Assignment& assignment = list[decision.assignment];
    if (decision.in_concat && (!part || concats_.concats[part->concat].layout != assignment.outputs[0]))
      ArchiveReader::fail();
    return Best{{kernel, 0}, 0, assignment, decision};
  }

  void lower_kernel(const Node& node) {
    std::vector<const Tensor*> constants;
    for (const ValueId id : node.inputs) constants.push_back(graph_.constant(id));
    const std::optional<ConcatPlan::Part> part =
        node.outputs.size() == 1 ? concats_.part_of(node.outputs[0]) : std::nullopt;
    const std::optional<Best> best =
        options_.decisions != nullptr ? recall(node, part) : choose(node, constants, part);
    out_.decisions.push_back(best ? best->decision : Decision{});
    LoweredStep lowered;
    std::vector<TensorDesc> inputs, outputs;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId id = node.inputs[i];
      int placed = kAbsent;
      if (id != kNoValue && !value(id).constant)
        placed = best ? fetch(id, best->assignment.inputs[i], best->assignment.dense) : fetch_any(id);
      lowered.src.push_back(placed);
      double ignored = 0;
      inputs.push_back(placed != kAbsent
                           ? desc(placed)
                           : peek(id, best ? best->assignment.inputs[i] : Layout::plain, false, ignored));
    }
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      const ValueId id = node.outputs[i];
      int placed = kAbsent;
      if (id != kNoValue) {
        const bool in_concat = part && (best ? best->decision.in_concat
                                             : concats_.concats[part->concat].layout == preferred(id));
        placed = in_concat ? part_of(*part, id)
                           : add_dense(value(id).dtype, *value(id).shape,
                                       best ? best->assignment.outputs[i] : preferred(id));
        if (in_concat) written_.insert(id);
        forms(id).push_back(placed);
      }
      lowered.dst.push_back(placed);
      outputs.push_back(placed == kAbsent ? TensorDesc{} : desc(placed));
    }
    Node named = node;
    named.name = layer_name(graph_, node);
    KernelQuery query{named, inputs, constants, outputs, Precision::fp32, options_.store};
    const std::optional<std::size_t> writer = followed(node, lowered.src);
    if (writer) query.source_parts = out_.steps[*writer].step.prepared.parts;
    if (options_.decisions != nullptr && best && best->choice.kernel->can_run(query) != nullptr)
      ArchiveReader::fail();
    Step& step = lowered.step;
    step.name = named.name;
    step.op = node.op;
    step.kernel = best ? best->choice.kernel : &reference_kernel();
    step.prepared = best ? step.kernel->prepare(query) : prepare_reference(query, graph_.limits);
    // Constants that the kernel does not hold itself.
    for (std::size_t i = 0; i < lowered.src.size(); ++i) {
      const bool held = i < step.prepared.constants_used.size() && step.prepared.constants_used[i];
      if (constants[i] != nullptr && !held)
        lowered.src[i] = fetch(node.inputs[i], best ? best->assignment.inputs[i] : Layout::plain, false);
    }
    for (std::size_t i = 0; i < node.inputs.size() && i < 32; ++i)
      if (constants[i] != nullptr && (step.prepared.packed_inputs >> i & 1u) != 0)
        ++out_.packed_uses[static_cast<std::size_t>(node.inputs[i])];
    measure(node, inputs, outputs, step);
    refuse_large_weights(step);
    if (writer && step.prepared.follows && fits(step.prepared, out_.steps[*writer].step.prepared)) {
      step.follows = *writer;  // and has little left to read
      step.bytes -= static_cast<std::int64_t>(bytes_of(inputs[0]));
    }
    if (!lowered.dst.empty() && lowered.dst[0] != kAbsent && !step.prepared.parts.empty())
      writers_[lowered.dst[0]] = out_.steps.size();
    out_.steps.push_back(std::move(lowered));
  }

  // The step that writes input 0 of a node that is to follow it, part by part.
  std::optional<std::size_t> followed(const Node& node, const std::vector<int>& src) const {
    if (node.integer(ops::kFollow.name, 0) == 0 || src.empty()) return std::nullopt;
    const auto writer = writers_.find(src[0]);
    return writer == writers_.end() ? std::nullopt : std::optional(writer->second);
  }

  // Whether tasks of the first phase of `follower` can run right behind those of the last of `writer`.
  static bool fits(const PreparedKernel& follower, const PreparedKernel& writer) {
    return !follower.phase_tasks.empty() && !writer.phase_tasks.empty() && writer.phase_tasks.back() > 0 &&
           follower.phase_tasks.front() == writer.phase_tasks.back() && follower.thread_scratch == 0;
  }

  // As they are made, not when memory is gone.
  void refuse_large_weights(const Step& step) {
    weight_bytes_ += step.prepared.weight_bytes;
    if (static_cast<std::int64_t>(weight_bytes_) > graph_.limits.max_total_bytes)
      throw Error(ErrorCode::limit, "node '" + step.name + "' (" + step.op +
                                        "): the weights have more than " +
                                        std::to_string(graph_.limits.max_total_bytes) + " bytes");
  }

  void measure(const Node& node, const std::vector<TensorDesc>& inputs,
               const std::vector<TensorDesc>& outputs, Step& step) const {
    const auto bytes_in = [](const std::vector<TensorDesc>& list) {
      std::int64_t bytes = 0;
      for (const TensorDesc& d : list)
        if (d.present)
          bytes += static_cast<std::int64_t>(static_cast<std::size_t>(d.count()) * dtype_size(d.dtype));
      return bytes;
    };
    step.written_bytes = bytes_in(outputs);
    step.bytes = bytes_in(inputs) + step.written_bytes;
    step.multiply_adds = multiply_adds(graph_, node);
    step.needed_multiply_adds = needed_multiply_adds(graph_, node);
  }

  void add_output(ValueId id, std::int64_t index) {
    const TensorDesc plain = dense_desc(value(id).dtype, *value(id).shape, Layout::plain);
    out_.outputs.push_back(plain);
    const int placed = value(id).constant ? fetch(id, Layout::plain, true) : output_source(id);
    const Placed source = out_.placed[static_cast<std::size_t>(placed)];
    Buffer& buffer = out_.buffers[source.buffer];
    const bool lies_right =
        as_layout(source.desc, Layout::plain) && as_layout(source.desc, Layout::plain)->dense();
    // The caller's buffer is where the value is computed in the first place, if it is all that the buffer
    // holds.
    if (lies_right && buffer.space == Operand::Space::arena && source.offset == 0 &&
        buffer.bytes == bytes_of(plain)) {
      buffer.space = Operand::Space::output;
      buffer.index = index;
      return;
    }
    const int dst = add_placed(add_buffer(bytes_of(plain), Operand::Space::output, index), 0, plain);
    if (plain.count() > 0) emit_copy(value(id).name, placed, dst);
  }
  int output_source(ValueId id) {
    if (auto found = existing(id, Layout::plain, true)) return found->first;
    return forms(id).front();
  }

  void set_lifetimes() {
    for (std::size_t s = 0; s < out_.steps.size(); ++s) {
      const auto touch = [&](int placed) {
        if (placed == kAbsent) return;
        Buffer& buffer = out_.buffers[out_.placed[static_cast<std::size_t>(placed)].buffer];
        buffer.first = std::min(buffer.first, static_cast<int>(s));
        buffer.last = std::max(buffer.last, static_cast<int>(s));
      };
      for (const int placed : out_.steps[s].src) touch(placed);
      for (const int placed : out_.steps[s].dst) touch(placed);
    }
  }

  const ir::Graph& graph_;
  const KernelTable& kernels_;
  const LowerOptions& options_;
  std::vector<Layout> preferred_;
  ConcatPlan concats_;
  std::vector<std::vector<int>> forms_;  // per value, the one its producer made first
  std::map<std::size_t, int> concat_results_;
  std::set<ValueId> written_;           // parts that their producer writes into the concatenation
  std::map<int, std::size_t> writers_;  // by what is placed: the step that tells in which parts it writes it
  std::size_t weight_bytes_ = 0;        // of the steps so far
  Lowered out_;
};

}  // namespace

Lowered lower(const ir::Graph& graph, const KernelTable& kernels, const LowerOptions& options) {
  return Lowering(graph, kernels, options).run();
}

}  // namespace saccade::compiler
