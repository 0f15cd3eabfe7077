#include "import/onnx/test_data.h"

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <string_view>

#include "base/files.h"
#include "import/missing.h"
#include "import/onnx/functions.h"
#include "import/onnx/tensor.h"
#include "saccade/error.h"

namespace saccade::import {

namespace {

template <class Message>
Message parse_file(const std::filesystem::path& path) {
  const MappedFile file = map_file(path);
  if (file.bytes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    throw Error(ErrorCode::limit, path.string() + ": is larger than 2 GiB");
  if (file.bytes.empty()) throw Error(ErrorCode::invalid_model, path.string() + ": is empty");
  Message message;
  if (!message.ParseFromArray(file.bytes.data(), static_cast<int>(file.bytes.size())))
    throw Error(ErrorCode::invalid_model, path.string() + ": the protobuf message does not parse");
  return message;
}

/// Why an element type is outside our scope; "" where it is inside.
std::string_view excluded_type(std::int32_t data_type) {
  const std::string name = onnx_dtype_name(data_type);
  if (name == "STRING") return "string tensors";
  if (name.starts_with("FLOAT8") || name.starts_with("FLOAT6") || name.starts_with("FLOAT4"))
    return "floats of 8 bits or less";
  if (name == "UINT2" || name == "INT2") return "2-bit integers";
  return "";
}

constexpr std::array<std::string_view, 2> kTrainingDomains = {"ai.onnx.preview.training", "ai.onnx.training"};
constexpr std::array<std::string_view, 2> kLosses = {"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"};
constexpr std::array<std::string_view, 4> kStringOperators = {"StringConcat", "StringNormalizer",
                                                              "StringSplit", "RegexFullMatch"};

class Survey {
 public:
  OnnxSurvey read(const onnx::ModelProto& model) {
    const Opsets opsets = read_opsets(model.opset_import());
    if (const auto standard = opsets.find(""); standard != opsets.end()) result_.opset = standard->second;
    read(model.graph());
    for (const onnx::FunctionProto& function : model.functions())
      for (const onnx::NodeProto& node : function.node()) read(node);
    result_.operators.assign(operators_.begin(), operators_.end());
    return std::move(result_);
  }

 private:
  void exclude(std::string_view reason) {
    if (result_.out_of_scope.empty()) result_.out_of_scope = reason;
  }

  void read(const onnx::ValueInfoProto& info) {
    if (!info.has_type()) return;
    if (!info.type().has_tensor_type()) return exclude("sequences, optionals and maps");
    exclude(excluded_type(info.type().tensor_type().elem_type()));
  }

  void read(const onnx::GraphProto& graph) {
    for (const auto* list : {&graph.input(), &graph.output(), &graph.value_info()})
      for (const onnx::ValueInfoProto& info : *list) read(info);
    for (const onnx::TensorProto& tensor : graph.initializer()) exclude(excluded_type(tensor.data_type()));
    for (const onnx::NodeProto& node : graph.node()) read(node);
  }

  void read(const onnx::NodeProto& node) {
    const std::string domain = canonical_domain(node.domain());
    const std::string& op = node.op_type();
    operators_.insert((domain.empty() ? "" : domain + "::") + op);
    const auto is_one_of = [](const auto& list, std::string_view name) {
      return std::find(list.begin(), list.end(), name) != list.end();
    };
    if (is_one_of(kTrainingDomains, domain)) exclude("training operators");
    if (is_one_of(kLosses, op)) exclude("losses");
    if (is_one_of(kStringOperators, op)) exclude("string tensors");
    if (op.find("Sequence") != std::string::npos && op != "ReverseSequence")
      exclude("sequences, optionals and maps");
    if (op.starts_with("Optional")) exclude("sequences, optionals and maps");
    // Only a training loop sets the third input of Dropout.
    if (op == "Dropout" && node.input_size() > 2 && !node.input(2).empty()) exclude("training operators");
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.name() == "training_mode" && attribute.i() != 0) exclude("training operators");
      if (attribute.name() == "to" || attribute.name() == "output_dtype")
        exclude(excluded_type(static_cast<std::int32_t>(attribute.i())));
      if (attribute.has_t()) exclude(excluded_type(attribute.t().data_type()));
      if (attribute.name() == "value_string" || attribute.name() == "value_strings")
        exclude("string tensors");
      if (attribute.has_g()) read(attribute.g());
    }
  }

  OnnxSurvey result_;
  std::set<std::string> operators_;
};

}  // namespace

NamedTensor read_onnx_tensor(const std::filesystem::path& path) {
  auto proto = parse_file<onnx::TensorProto>(path);
  if (proto.data_type() == 0 && proto.dims_size() == 0 && !proto.has_raw_data())
    throw Error(ErrorCode::unsupported, path.string() + ": holds no tensor (a sequence or optional)");
  try {
    const std::string name = proto.name();
    return {name, OnnxTensors(path, {}).take(proto, "tensor '" + name + "'")};
  } catch (const NotSupported& reason) {
    throw Error(ErrorCode::unsupported, path.string() + ": " + reason.reason);
  } catch (const Error& error) {
    throw error.within(path.string());
  }
}

OnnxSurvey survey_onnx(const std::filesystem::path& path) {
  return Survey().read(parse_file<onnx::ModelProto>(path));
}

}  // namespace saccade::import
