#include "import/onnx/reader.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <limits>
#include <map>
#include <string_view>
#include <unordered_map>

#include "import/onnx/functions.h"
#include "import/onnx/operator.h"
#include "import/onnx/order.h"
#include "import/onnx/skeleton.h"
#include "ir/verify.h"
#include "saccade/error.h"

namespace saccade::import {

namespace {

[[noreturn]] void fail(const std::string& message) { throw Error(ErrorCode::invalid_model, message); }

/// Levels of messages: a graph inside a graph is three deep, node, attribute, graph.
int message_depth(const LoadLimits& limits) {
  return static_cast<int>(std::clamp<std::int64_t>(limits.max_nesting, 1, 1000)) * 3 + 10;
}

onnx::ModelProto parse(const std::string& message, const LoadLimits& limits) {
  if (message.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    throw Error(ErrorCode::limit, "an ONNX file whose graph has 2 GiB or more is not supported");
  google::protobuf::io::ArrayInputStream array(message.data(), static_cast<int>(message.size()));
  google::protobuf::io::CodedInputStream stream(&array);
  stream.SetRecursionLimit(message_depth(limits));
  onnx::ModelProto model;
  if (!model.ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage())
    fail("is not an ONNX file, or is damaged or cut short (the protobuf message does not parse)");
  return model;
}

/// Entries that are meant for Saccade: "saccade" holds a whole model.yaml, "saccade.input.mean" one of its
/// keys.
std::vector<spec::Metadata> onnx_metadata(const onnx::ModelProto& model) {
  constexpr std::string_view kPrefix = "saccade";
  std::vector<spec::Metadata> found;
  for (const onnx::EntryProto& entry : model.metadata_props()) {
    const std::string& key = entry.key();
    const std::string where = "metadata '" + key + "'";
    if (key == kPrefix) {
      found.insert(found.begin(), {where, entry.value()});  // before single keys, which say more
      continue;
    }
    if (!key.starts_with(std::string(kPrefix) + ".")) continue;
    const std::string path = key.substr(kPrefix.size() + 1);
    const std::size_t dot = path.find('.');
    found.push_back({where, dot == std::string::npos ? path + ": " + entry.value()
                                                     : path.substr(0, dot) + ":\n  " + path.substr(dot + 1) +
                                                           ": " + entry.value()});
  }
  return found;
}

/// What one graph can name, chained to the graph around it.
struct Scope {
  Scope* outer = nullptr;
  GraphBuilder builder;
  std::unordered_map<std::string, ir::ValueId> values;
  std::vector<DType> input_types;  ///< of inputs that declare none
  std::vector<std::string>
      captured;  ///< names that this graph takes from outside, in the order of its extra inputs
};

/// Where in the model a graph or function body is read.
struct Position {
  const Opsets* opsets;
  std::int64_t depth;  ///< of graphs and calls around it
};

class OnnxReader {
 public:
  OnnxReader(onnx::ModelProto& model, OnnxTensors tensors, const LoadLimits& limits)
      : model_(model), limits_(limits), tensors_(std::move(tensors)), functions_(model) {}

  Imported read() {
    read_versions();
    if (!model_.has_graph()) fail("holds no graph");
    Imported imported;
    imported.format = "ONNX";
    imported.producer = model_.producer_name();
    if (!model_.producer_version().empty()) imported.producer += " " + model_.producer_version();
    Scope scope;
    read_graph(*model_.mutable_graph(), scope, {&opsets_, 0});
    if (scope.builder.graph.outputs.empty()) fail("has no outputs");
    imported.metadata = onnx_metadata(model_);
    imported.graph = std::move(scope.builder.graph);
    imported.graph.limits = limits_;
    imported.missing = missing_.take();
    imported.foreign_ops.assign(counts_.begin(), counts_.end());
    imported.external_files = tensors_.external_files();
    if (imported.missing.empty()) ir::verify(imported.graph);
    return imported;
  }

 private:
  void read_versions() {
    if (!model_.has_ir_version() || model_.ir_version() < 1) fail("declares no IR version");
    if (model_.ir_version() > kNewestIrVersion)
      throw Error(ErrorCode::unsupported, fmt::format("has ONNX IR version {}; this version reads up to {}",
                                                      model_.ir_version(), kNewestIrVersion));
    opsets_ = read_opsets(model_.opset_import());
    const auto standard = opsets_.find("");
    if (standard == opsets_.end()) {
      if (opsets_.empty()) fail("declares no operator set");
      return;
    }
    const std::int64_t version = standard->second;
    if (version < 1) fail(fmt::format("declares operator set {}", version));
    if (version > kNewestOpset)
      throw Error(
          ErrorCode::unsupported,
          fmt::format("uses ONNX operator set {}; the newest that is known is {}", version, kNewestOpset));
  }

  void enter(const Position& position, std::int64_t nodes) {
    if (position.depth > limits_.max_nesting)
      throw Error(ErrorCode::limit,
                  fmt::format("graphs or functions are nested deeper than {}", limits_.max_nesting));
    nodes_ += nodes;
    if (nodes_ > limits_.max_nodes)
      throw Error(ErrorCode::limit, fmt::format("has more than {} nodes", limits_.max_nodes));
  }

  void read_graph(onnx::GraphProto& graph, Scope& scope, const Position& position) {
    enter(position, graph.node_size());
    scope.builder.graph.name = graph.name();
    read_initializers(graph, scope);
    read_inputs(graph, scope);
    read_nodes(*graph.mutable_node(), scope, position);
    read_outputs(graph, scope);
  }

  void read_initializers(onnx::GraphProto& graph, Scope& scope) {
    for (const auto& sparse : graph.sparse_initializer())
      missing_.add("sparse initialiser", sparse.values().name(), "sparse tensors are not supported");
    for (auto& proto : *graph.mutable_initializer()) {
      const std::string name = proto.name();
      if (name.empty()) fail("has an initialiser without a name");
      if (scope.values.contains(name)) fail("has two initialisers named '" + name + "'");
      try {
        const ir::ValueId id =
            scope.builder.graph.add_constant(name, tensors_.take(proto, "initialiser '" + name + "'"));
        scope.values[name] = id;
        if (is_four_bit(proto.data_type())) scope.builder.four_bit.insert(id);
      } catch (const NotSupported& reason) {
        missing_.add("initialiser", name, reason.reason);
        scope.values[name] = placeholder(scope, name);
      }
    }
  }

  void read_inputs(const onnx::GraphProto& graph, Scope& scope) {
    std::set<std::string> names;
    for (const auto& info : graph.input()) {
      if (info.name().empty()) fail("has an input without a name");
      if (!names.insert(info.name()).second) fail("has two inputs named '" + info.name() + "'");
      if (scope.values.contains(info.name()))
        continue;  // an initialiser that is listed as an input too: its default
      ir::Value value;
      value.name = info.name();
      if (names.size() <= scope.input_types.size()) value.dtype = scope.input_types[names.size() - 1];
      declare(info, value, "input");
      const ir::ValueId id = scope.builder.graph.add_value(std::move(value));
      scope.builder.graph.inputs.push_back(id);
      scope.values[info.name()] = id;
      if (is_four_bit(info.type().tensor_type().elem_type())) scope.builder.four_bit.insert(id);
    }
  }

  /// Type and shape as the file declares them.
  void declare(const onnx::ValueInfoProto& info, ir::Value& value, const char* role) {
    if (!info.has_type()) return;  // a graph inside a graph may leave it out
    if (!info.type().has_tensor_type()) {
      missing_.add(role, info.name(), "only tensors are supported, not sequences, maps or optionals");
      return;
    }
    const auto& type = info.type().tensor_type();
    const std::optional<DType> dtype = onnx_dtype(type.elem_type());
    if (dtype)
      value.dtype = *dtype;
    else if (type.elem_type() != 0)
      missing_.add(role, info.name(),
                   "tensors of " + onnx_dtype_name(type.elem_type()) + " are not supported");
    if (!type.has_shape()) return;
    Shape shape, known;
    std::vector<std::string> symbols;
    for (const auto& dim : type.shape().dim()) {
      const bool fixed = dim.has_dim_value() && dim.dim_value() >= 0;
      shape.push_back(fixed ? dim.dim_value() : -1);
      symbols.push_back(fixed ? "" : dim.dim_param());
      known.push_back(fixed ? dim.dim_value() : 1);
    }
    try {
      checked_bytes(value.dtype, known, limits_);
    } catch (const Error& error) {
      throw error.within(std::string(role) + " '" + info.name() + "'");
    }
    value.shape = std::move(shape);
    value.dim_names = std::move(symbols);
  }

  void read_outputs(const onnx::GraphProto& graph, Scope& scope) {
    std::set<std::string> names;
    for (const auto& info : graph.output()) {
      if (!names.insert(info.name()).second) fail("has two outputs named '" + info.name() + "'");
      const ir::ValueId id = find(scope, info.name());
      if (id == ir::kNoValue) fail("output '" + info.name() + "' is never computed");
      ir::Value declared;
      declare(info, declared, "output");
      ir::Value& value = scope.builder.graph.value(id);
      if (!value.shape && declared.shape) {
        value.shape = declared.shape;
        value.dim_names = declared.dim_names;
      }
      scope.builder.graph.outputs.push_back(id);
    }
  }

  void read_node(onnx::NodeProto& node, Scope& scope, const Position& position) {
    const std::string domain = canonical_domain(node.domain());
    const std::string full_name = (domain.empty() ? "" : domain + "::") + node.op_type();
    ++counts_[full_name];
    const auto opset = position.opsets->find(domain);
    const bool declared = opset != position.opsets->end();
    const onnx::FunctionProto* function = functions_.find(node);
    try {
      if (function != nullptr) return read_call(node, *function, scope, position);
      if (domain.empty() && !declared) fail("belongs to an operator set that the model does not declare");
      const OnnxTranslation* translation = declared ? find_translation(full_name) : nullptr;
      if (translation == nullptr) throw NotSupported{"unknown operator"};
      translate(*translation, opset->second, node, scope, position);
    } catch (const NotSupported& reason) {
      missing_.add(declared ? fmt::format("{} (opset {})", full_name, opset->second) : full_name,
                   node.name().empty() && node.output_size() > 0 ? node.output(0) : node.name(),
                   reason.reason);
      for (const std::string& name : node.output())
        if (!name.empty()) scope.values[name] = placeholder(scope, name);
    } catch (const Error& error) {
      if (function != nullptr && position.depth > 0)
        throw;  // the outermost call and the innermost node say enough
      throw error.within(describe(node));
    }
  }

  void translate(const OnnxTranslation& translation, std::int64_t opset, onnx::NodeProto& node, Scope& scope,
                 const Position& position) {
    if (opset < translation.since)
      fail(fmt::format("the operator exists since operator set {}, the model declares {}", translation.since,
                       opset));
    std::vector<ir::ValueId> inputs;
    for (const std::string& name : node.input())
      inputs.push_back(name.empty() ? ir::kNoValue : find(scope, name));
    OnnxOperator op(node, opset, scope.builder, tensors_, std::move(inputs));
    op.from_pytorch = model_.producer_name() == "pytorch";
    op.read_subgraph = [&](onnx::GraphProto& graph, std::vector<std::string>& captured,
                           const std::vector<DType>& types) {
      Scope inner;
      inner.input_types = types;
      inner.outer = &scope;
      read_graph(graph, inner, {position.opsets, position.depth + 1});
      captured = inner.captured;
      return std::make_shared<const ir::Graph>(std::move(inner.builder.graph));
    };
    op.value_of = [&](const std::string& name) { return find(scope, name); };
    translation.translate(op);
    op.finish_reading();
    for (const auto& [name, id] : op.results()) scope.values[name] = id;
  }

  /// A call of a model-local function: its body is read in place.
  void read_call(const onnx::NodeProto& call, const onnx::FunctionProto& function, Scope& scope,
                 const Position& position) {
    enter({nullptr, position.depth + 1}, function.node_size());
    std::string label;
    for (int i = 0; label.empty() && i < call.output_size(); ++i) label = call.output(i);
    count_expanded(function, label);
    Opsets opsets = read_opsets(function.opset_import());
    opsets.insert(position.opsets->begin(), position.opsets->end());  // for what the function leaves out
    OnnxNodes body;
    for (onnx::NodeProto& node : OnnxFunctions::expand(call, function, label)) *body.Add() = std::move(node);
    read_nodes(body, scope, {&opsets, position.depth + 1});
    for (const std::string& name : call.output())
      if (!name.empty() && !scope.values.contains(name))
        fail("the function does not make output '" + name + "'");
  }

  /// A body is copied for each call, and each name in it gets the call's in front: a small file could ask for
  /// much memory.
  void count_expanded(const onnx::FunctionProto& function, const std::string& label) {
    const std::size_t names = function.ByteSizeLong() / 2;  // a name has a byte of tag and one of length
    expanded_bytes_ += function.ByteSizeLong() + names * label.size();
    if (expanded_bytes_ > static_cast<std::size_t>(limits_.max_total_bytes))
      throw Error(ErrorCode::limit,
                  fmt::format("calls of functions expand to more than {} bytes", limits_.max_total_bytes));
  }

  void read_nodes(OnnxNodes& nodes, Scope& scope, const Position& position) {
    const auto is_known = [&](const std::string& name) { return knows(scope, name); };
    const auto is_taken = [&](const std::string& name) { return scope.values.contains(name); };
    for (const std::size_t i : topological_order(nodes, is_known, is_taken))
      read_node(*nodes.Mutable(static_cast<int>(i)), scope, position);
  }

  /// Stands for what could not be translated; the graph is not used then.
  static ir::ValueId placeholder(Scope& scope, const std::string& name) {
    ir::Value value;
    value.name = name;
    return scope.builder.graph.add_value(std::move(value));
  }

  static bool knows(const Scope& scope, const std::string& name) {
    for (const Scope* s = &scope; s != nullptr; s = s->outer)
      if (s->values.contains(name)) return true;
    return false;
  }

  /// The value of that name in this graph; one of a graph around it becomes an input here, a constant is
  /// shared.
  static ir::ValueId find(Scope& scope, const std::string& name) {
    if (const auto found = scope.values.find(name); found != scope.values.end()) return found->second;
    if (scope.outer == nullptr) return ir::kNoValue;
    const ir::ValueId outside = find(*scope.outer, name);
    if (outside == ir::kNoValue) return ir::kNoValue;
    ir::Value value = scope.outer->builder.graph.value(outside);
    value.name = name;
    const bool is_constant = value.constant.has_value();
    const ir::ValueId id = scope.builder.graph.add_value(std::move(value));
    if (!is_constant) {
      scope.builder.graph.inputs.push_back(id);
      scope.captured.push_back(name);
    }
    scope.values[name] = id;
    if (scope.outer->builder.four_bit.contains(outside)) scope.builder.four_bit.insert(id);
    return id;
  }

  onnx::ModelProto& model_;
  LoadLimits limits_;
  OnnxTensors tensors_;
  MissingList missing_;
  Opsets opsets_;
  OnnxFunctions functions_;
  std::map<std::string, std::size_t> counts_;
  std::int64_t nodes_ = 0;
  std::size_t expanded_bytes_ = 0;  ///< of the functions' bodies, an upper bound
};

}  // namespace

Imported read_onnx(const Source& source, const std::filesystem::path& path, const LoadLimits& limits) {
  OnnxSkeleton skeleton = onnx_skeleton(source.bytes, message_depth(limits));
  onnx::ModelProto model = parse(skeleton.message, limits);
  skeleton.message = {};
  return OnnxReader(model, OnnxTensors(path, limits, source, std::move(skeleton.payloads)), limits).read();
}

}  // namespace saccade::import
