// Composes small ONNX models.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "import/import.h"
#include "import/onnx/onnx.pb.h"

namespace saccade::import {

class OnnxModel {
 public:
  explicit OnnxModel(std::int64_t opset = 13, std::int64_t ir_version = 8);

  onnx::ModelProto proto;

  /// A dimension of -1 stays unknown.
  OnnxModel& input(const std::string& name, DType dtype, const Shape& shape);
  OnnxModel& output(const std::string& name, DType dtype = DType::f32, const Shape& shape = {});
  OnnxModel& floats(const std::string& name, const Shape& shape, const std::vector<float>& values);
  OnnxModel& integers(const std::string& name, const Shape& shape, const std::vector<std::int64_t>& values);
  onnx::TensorProto& initializer(const std::string& name, int data_type, const Shape& shape);

  class Node {
   public:
    explicit Node(onnx::NodeProto& node) : proto(node) {}
    onnx::NodeProto& proto;
    Node& set(const std::string& name, std::int64_t value);
    Node& set(const std::string& name, float value);
    Node& set(const std::string& name, const std::string& value);
    Node& set(const std::string& name, const std::vector<std::int64_t>& values);
    Node& set(const std::string& name, const std::vector<float>& values);
    onnx::AttributeProto& attribute(const std::string& name, int type);
  };
  Node node(const std::string& op, const std::vector<std::string>& inputs,
            const std::vector<std::string>& outputs, const std::string& name = "");

  std::string bytes() const { return proto.SerializeAsString(); }
  Imported read(const std::filesystem::path& path = {}, const LoadLimits& limits = {}) const;
};

/// Reads bytes as a model.
Imported read_bytes(std::string_view bytes, const std::filesystem::path& path = {},
                    const LoadLimits& limits = {});

/// The message and code of the error that reading throws; "" if it throws none.
struct Refusal {
  std::string message;
  ErrorCode code = ErrorCode::internal;
};
Refusal refusal(std::string_view bytes, const std::filesystem::path& path = {},
                const LoadLimits& limits = {});

/// The operators of a graph in order, separated by spaces.
std::string operators(const ir::Graph& graph);

int onnx_type(DType dtype);

}  // namespace saccade::import
