// Model-local functions: a call is replaced by the nodes of the function's body.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "import/onnx/onnx.pb.h"

namespace saccade::import {

/// Version of each operator set by domain; the default domain is "".
using Opsets = std::map<std::string, std::int64_t>;

/// "ai.onnx" is another way to write "".
std::string canonical_domain(const std::string& domain);

/// Versions as a model or function declares them. Throws Error(invalid_model) where one is declared twice.
Opsets read_opsets(const google::protobuf::RepeatedPtrField<onnx::OperatorSetProto>& declared);

class OnnxFunctions {
 public:
  /// Throws Error(invalid_model) for two functions of one name.
  explicit OnnxFunctions(const onnx::ModelProto& model);

  const onnx::FunctionProto* find(const onnx::NodeProto& node) const;

  /// The body with the caller's names and attributes in place: names of the body are prefixed with `label`.
  /// Throws Error(invalid_model) where the call has more inputs or outputs than the function.
  static std::vector<onnx::NodeProto> expand(const onnx::NodeProto& call, const onnx::FunctionProto& function,
                                             const std::string& label);

 private:
  std::map<std::string, const onnx::FunctionProto*> functions_;
};

}  // namespace saccade::import
