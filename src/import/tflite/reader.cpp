#include "import/tflite/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <set>

#include "import/tflite/metadata.h"
#include "import/tflite/operator.h"
#include "ir/verify.h"
#include "saccade/error.h"

namespace saccade::import {

namespace {

constexpr std::uint32_t kSchemaVersion = 3;

[[noreturn]] void fail(const std::string& message) { throw Error(ErrorCode::invalid_model, message); }

const tflite::Model& verified_model(std::span<const std::byte> bytes, const LoadLimits& limits) {
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  // Files beyond what offsets can address keep their constants behind the tables.
  const std::size_t size = std::min<std::size_t>(bytes.size(), FLATBUFFERS_MAX_BUFFER_SIZE - 1);
  flatbuffers::Verifier::Options options;
  options.max_depth =
      static_cast<flatbuffers::uoffset_t>(std::clamp<std::int64_t>(limits.max_nesting, 8, 1000));
  options.max_tables =
      static_cast<flatbuffers::uoffset_t>(std::clamp<std::int64_t>(limits.max_nodes, 1'000, 100'000'000)) * 8;
  flatbuffers::Verifier verifier(data, size, options);
  if (!tflite::VerifyModelBuffer(verifier))
    fail("is damaged or cut short (a FlatBuffers table points outside the file)");
  return *tflite::GetModel(data);
}

/// Some fields for every operator that the verifier leaves to us.
struct Code {
  tflite::BuiltinOperator builtin = tflite::BuiltinOperator::ADD;
  std::string custom;
  int version = 1;

  std::string name() const {
    if (builtin == tflite::BuiltinOperator::CUSTOM) return "custom '" + custom + "'";
    const std::string known = tflite::EnumNameBuiltinOperator(builtin);
    return known.empty() ? fmt::format("operator {}", static_cast<int>(builtin)) : known;
  }
};

class TfliteReader {
 public:
  explicit TfliteReader(TfliteFile file) : file_(std::move(file)) {}

  Imported read() {
    const tflite::Model& model = *file_.model;
    if (model.version() != kSchemaVersion)
      throw Error(ErrorCode::unsupported, fmt::format("has TFLite schema version {}; this version reads {}",
                                                      model.version(), kSchemaVersion));
    if (model.subgraphs() == nullptr || model.subgraphs()->size() == 0 ||
        model.subgraphs()->Get(0) == nullptr)
      fail("holds no graph");
    read_codes();
    const tflite::SubGraph& subgraph = *model.subgraphs()->Get(0);
    if (subgraph.outputs() == nullptr || subgraph.outputs()->size() == 0) fail("has no outputs");
    const std::size_t operators = subgraph.operators() != nullptr ? subgraph.operators()->size() : 0;
    if (static_cast<std::int64_t>(operators) > file_.limits.max_nodes)
      throw Error(ErrorCode::limit,
                  fmt::format("has {} operators, at most {} are allowed", operators, file_.limits.max_nodes));

    TfliteGraph graph(file_, subgraph);
    check_tensors(graph, subgraph);
    read_inputs(graph, subgraph);
    for (std::size_t i = 0; i < operators; ++i) {
      read_operator(graph, subgraph.operators()->Get(static_cast<flatbuffers::uoffset_t>(i)), i);
      count_constants(graph.builder().graph);
    }

    Imported imported;
    if (missing_.empty()) read_outputs(graph, subgraph);
    imported.missing = missing_.take();
    imported.format = "TFLite";
    if (std::string text = tflite_spec(file_); !text.empty())
      imported.metadata.push_back({"TFLite metadata", std::move(text)});
    imported.producer = model.description() != nullptr ? model.description()->str() : "";
    imported.foreign_ops.assign(counts_.begin(), counts_.end());
    imported.graph = std::move(graph.builder().graph);
    imported.graph.limits = file_.limits;
    if (subgraph.name() != nullptr) imported.graph.name = subgraph.name()->str();
    if (imported.missing.empty()) ir::verify(imported.graph);
    return imported;
  }

 private:
  void read_codes() {
    const auto* codes = file_.model->operator_codes();
    for (std::size_t i = 0; codes != nullptr && i < codes->size(); ++i) {
      const tflite::OperatorCode* code = codes->Get(static_cast<flatbuffers::uoffset_t>(i));
      if (code == nullptr) fail(fmt::format("operator code {} is missing", i));
      // Old files have the first field only, new ones both, and where it does not fit the first is a
      // placeholder.
      const int number =
          std::max(static_cast<int>(code->deprecated_builtin_code()), static_cast<int>(code->builtin_code()));
      codes_.push_back({static_cast<tflite::BuiltinOperator>(number),
                        code->custom_code() != nullptr ? code->custom_code()->str() : "", code->version()});
    }
  }

  void check_tensors(TfliteGraph& graph, const tflite::SubGraph& subgraph) {
    const auto count = subgraph.tensors() != nullptr ? subgraph.tensors()->size() : 0;
    const auto buffers = file_.model->buffers() != nullptr ? file_.model->buffers()->size() : 0;
    for (std::int32_t i = 0; i < static_cast<std::int32_t>(count); ++i) {
      const tflite::Tensor& tensor = graph.tensor(i);
      if (tensor.buffer() != 0 && tensor.buffer() >= buffers)
        fail(fmt::format("tensor '{}' refers to buffer {} of {}", graph.name(i), tensor.buffer(), buffers));
      Shape shape = tflite_shape(tensor);
      if (static_cast<std::int64_t>(shape.size()) > file_.limits.max_rank)
        throw Error(ErrorCode::limit, fmt::format("tensor '{}' has {} dimensions, at most {} are allowed",
                                                  graph.name(i), shape.size(), file_.limits.max_rank));
      for (std::int64_t& dim : shape) dim = std::max<std::int64_t>(dim, 1);
      try {
        if (element_count(shape) > file_.limits.max_tensor_bytes)
          throw Error(ErrorCode::limit, fmt::format("has shape {}, at most {} bytes are allowed",
                                                    shape_string(shape), file_.limits.max_tensor_bytes));
      } catch (const Error& error) {
        throw error.within("tensor '" + graph.name(i) + "'");
      }
    }
  }

  /// Of those that were made since the last call.
  void count_constants(const ir::Graph& graph) {
    for (; counted_ < graph.values.size(); ++counted_)
      if (const std::optional<Tensor>& constant = graph.values[counted_].constant)
        constant_bytes_ += constant->bytes();
    if (constant_bytes_ > static_cast<std::size_t>(file_.limits.max_total_bytes))
      throw Error(ErrorCode::limit,
                  fmt::format("the model's tensors have more than {} bytes", file_.limits.max_total_bytes));
  }

  void read_inputs(TfliteGraph& graph, const tflite::SubGraph& subgraph) {
    if (subgraph.inputs() == nullptr) return;
    for (const std::int32_t index : *subgraph.inputs()) {
      const tflite::Tensor& tensor = graph.tensor(index);
      if (graph.is_made(index)) fail("lists input '" + graph.name(index) + "' twice");
      ir::Value value;
      value.name = graph.name(index);
      value.shape = tflite_shape(tensor);
      value.dim_names.assign(value.shape->size(), "");
      if (const auto dtype = tflite_dtype(tensor.type()))
        value.dtype = *dtype;
      else
        missing_.add(
            "input", value.name,
            std::string("tensors of ") + tflite::EnumNameTensorType(tensor.type()) + " are not supported");
      const ir::ValueId id = graph.builder().graph.add_value(std::move(value));
      graph.builder().graph.inputs.push_back(id);
      graph.set_plain(index, is_quantised_activation(tensor)
                                 ? graph.dequantise(graph.name(index) + ":real", id, quantisation_of(tensor))
                                 : id);
    }
  }

  void read_outputs(TfliteGraph& graph, const tflite::SubGraph& subgraph) {
    for (const std::int32_t index : *subgraph.outputs()) {
      graph.tensor(index);
      try {
        read_output(graph, index);
      } catch (const NotSupported& reason) {  // a constant of a type that the IR does not have
        missing_.add("output", graph.name(index), reason.reason);
      }
    }
  }

  static void read_output(TfliteGraph& graph, std::int32_t index) {
    if (!graph.is_made(index) && !graph.is_constant(index))
      fail("output '" + graph.name(index) + "' is never computed");
    ir::ValueId id = graph.plain(index);
    const tflite::Tensor& tensor = graph.tensor(index);
    if (is_quantised_activation(tensor))
      id = graph.quantise(graph.name(index), id, quantisation_of(tensor), *tflite_dtype(tensor.type()));
    ir::Value& value = graph.builder().graph.value(id);
    if (!value.shape) {
      value.shape = tflite_shape(tensor);
      value.dim_names.assign(value.shape->size(), "");
    }
    graph.builder().graph.outputs.push_back(id);
  }

  static void refuse_quantised(const TfliteOperator& op) {
    if (op.code() == tflite::BuiltinOperator::DENSIFY) return;  // makes weights
    for (std::size_t i = 0; i < op.output_count(); ++i) {
      const tflite::Tensor& tensor = op.output_tensor(i);
      if (is_quantised(tensor) && !is_quantised_activation(tensor))
        throw NotSupported{"quantised results other than of 8 or 16 bits with one scale are not supported"};
    }
  }

  void read_operator(TfliteGraph& graph, const tflite::Operator* fields, std::size_t position) {
    if (fields == nullptr || fields->opcode_index() >= codes_.size())
      fail(fmt::format("operator {} has opcode {} of {}", position,
                       fields != nullptr ? fields->opcode_index() : 0, codes_.size()));
    const Code& code = codes_[fields->opcode_index()];
    ++counts_[code.name()];
    const bool named = fields->outputs() != nullptr && fields->outputs()->size() > 0;
    const std::string where =
        named ? graph.name(fields->outputs()->Get(0)) : fmt::format("operator {}", position);
    try {
      TfliteOperator op(graph, *fields, code.builtin, code.version);
      refuse_quantised(op);
      translate(op, code);
    } catch (const NotSupported& reason) {
      missing_.add("TFLite " + code.name(), where, reason.reason);
      for (std::size_t i = 0; named && i < fields->outputs()->size(); ++i)
        placeholder(graph, fields->outputs()->Get(static_cast<flatbuffers::uoffset_t>(i)));
    } catch (const Error& error) {
      throw error.within(fmt::format("operator {} ({}) that makes '{}'", position, code.name(), where));
    }
  }

  static void translate(TfliteOperator& op, const Code& code) {
    if (code.builtin == tflite::BuiltinOperator::CUSTOM) {
      const TfliteCustomTranslation* translation = find_tflite_custom_translation(code.custom);
      if (translation == nullptr) throw NotSupported{"unknown operator"};
      return translation->translate(op);
    }
    const TfliteTranslation* translation = find_tflite_translation(code.builtin);
    if (translation == nullptr) throw NotSupported{"unknown operator"};
    translation->translate(op);
  }

  /// Stands for what could not be translated; the graph is not used then.
  static void placeholder(TfliteGraph& graph, std::int32_t index) {
    graph.tensor(index);
    if (graph.is_made(index)) return;
    ir::Value value;
    value.name = graph.name(index);
    value.dtype = tflite_dtype(graph.tensor(index).type()).value_or(DType::f32);
    graph.set_plain(index, graph.builder().graph.add_value(std::move(value)));
  }

  TfliteFile file_;
  std::vector<Code> codes_;
  std::map<std::string, std::size_t> counts_;
  MissingList missing_;
  std::size_t counted_ = 0;  ///< values whose constants are in constant_bytes_
  std::size_t constant_bytes_ = 0;
};

}  // namespace

bool looks_like_tflite(std::span<const std::byte> bytes) {
  return bytes.size() >= 8 && std::memcmp(bytes.data() + 4, "TFL3", 4) == 0;
}

Imported read_tflite(const Source& source, const LoadLimits& limits) {
  const std::span<const std::byte> bytes = source.bytes;
  TfliteFile file;
  file.bytes = bytes;
  file.owner = source.owner;
  file.limits = limits;
  constexpr std::size_t kAlignment = 16;  // of a FlatBuffers file
  if (reinterpret_cast<std::uintptr_t>(bytes.data()) % kAlignment != 0) {
    Tensor copy(DType::u8, {static_cast<std::int64_t>(bytes.size())});
    std::memcpy(copy.raw(), bytes.data(), bytes.size());
    file.bytes = {static_cast<const std::byte*>(copy.raw()), bytes.size()};
    file.owner = std::make_shared<const Tensor>(std::move(copy));
  }
  file.model = &verified_model(file.bytes, limits);
  return TfliteReader(file).read();
}

}  // namespace saccade::import
