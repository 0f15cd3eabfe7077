// Composes small TFLite models.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "import/import.h"
#include "import/tflite/tflite_generated.h"

namespace saccade::import {

class TfliteModel {
 public:
  TfliteModel();

  using Code = tflite::BuiltinOperator;
  using Type = tflite::TensorType;

  /// Returns the tensor's index.
  int tensor(const std::string& name, const std::vector<int>& shape, Type type = Type::FLOAT32);
  int floats(const std::string& name, const std::vector<int>& shape, const std::vector<float>& values);
  int integers(const std::string& name, const std::vector<int>& shape,
               const std::vector<std::int32_t>& values);
  int raw(const std::string& name, const std::vector<int>& shape, Type type,
          const std::vector<std::uint8_t>& bytes, const std::vector<float>& scales = {},
          const std::vector<std::int64_t>& zero_points = {}, int axis = 0);
  void set_quantised(int tensor, const std::vector<float>& scales,
                     const std::vector<std::int64_t>& zero_points, int axis = 0);

  void op(Code code, const std::vector<int>& inputs, const std::vector<int>& outputs,
          tflite::BuiltinOptions type = tflite::BuiltinOptions::NONE, flatbuffers::Offset<void> options = 0);
  void custom(const std::string& name, const std::vector<int>& inputs, const std::vector<int>& outputs,
              const std::vector<std::uint8_t>& options, int version = 1);
  void set_sparse(int tensor, flatbuffers::Offset<tflite::SparsityParameters> sparsity);

  template <class Options>
  flatbuffers::Offset<void> options(Options offset) {
    return offset.Union();
  }
  flatbuffers::FlatBufferBuilder& builder() { return builder_; }

  /// A metadata entry with that content.
  void metadata(const std::string& name, const std::vector<std::uint8_t>& bytes);

  /// Once; the composer is used up.
  std::string bytes(const std::vector<int>& inputs, const std::vector<int>& outputs);

 private:
  struct TensorFields {
    std::string name;
    std::vector<int> shape;
    Type type;
    std::uint32_t buffer;
    std::vector<float> scales;
    std::vector<std::int64_t> zero_points;
    int axis = 0;
    flatbuffers::Offset<tflite::SparsityParameters> sparsity = 0;
  };
  struct OperatorCode {
    Code code;
    std::string custom;
    int version;
    bool operator==(const OperatorCode&) const = default;
  };
  std::uint32_t opcode(Code code, const std::string& custom, int version = 1);

  flatbuffers::FlatBufferBuilder builder_;
  std::vector<TensorFields> tensors_;
  std::vector<std::vector<std::uint8_t>> buffers_;
  std::vector<OperatorCode> codes_;
  std::vector<std::pair<std::string, std::uint32_t>> metadata_;
  std::vector<flatbuffers::Offset<tflite::Operator>> operators_;
};

}  // namespace saccade::import
