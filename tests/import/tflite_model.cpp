#include "import/tflite_model.h"

#include <algorithm>
#include <cstring>

namespace saccade::import {

TfliteModel::TfliteModel() { buffers_.emplace_back(); }  // buffer 0 is empty by convention

int TfliteModel::raw(const std::string& name, const std::vector<int>& shape, Type type,
                     const std::vector<std::uint8_t>& bytes, const std::vector<float>& scales,
                     const std::vector<std::int64_t>& zero_points, int axis) {
  std::uint32_t buffer = 0;
  if (!bytes.empty()) {
    buffer = static_cast<std::uint32_t>(buffers_.size());
    buffers_.push_back(bytes);
  }
  tensors_.push_back({name, shape, type, buffer, scales, zero_points, axis});
  return static_cast<int>(tensors_.size()) - 1;
}

void TfliteModel::set_quantised(int tensor, const std::vector<float>& scales,
                                const std::vector<std::int64_t>& zero_points, int axis) {
  TensorFields& fields = tensors_.at(static_cast<std::size_t>(tensor));
  fields.scales = scales;
  fields.zero_points = zero_points;
  fields.axis = axis;
}

int TfliteModel::tensor(const std::string& name, const std::vector<int>& shape, Type type) {
  return raw(name, shape, type, {});
}

int TfliteModel::floats(const std::string& name, const std::vector<int>& shape,
                        const std::vector<float>& values) {
  std::vector<std::uint8_t> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return raw(name, shape, Type::FLOAT32, bytes);
}

int TfliteModel::integers(const std::string& name, const std::vector<int>& shape,
                          const std::vector<std::int32_t>& values) {
  std::vector<std::uint8_t> bytes(values.size() * sizeof(std::int32_t));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return raw(name, shape, Type::INT32, bytes);
}

void TfliteModel::set_sparse(int tensor, flatbuffers::Offset<tflite::SparsityParameters> sparsity) {
  tensors_.at(static_cast<std::size_t>(tensor)).sparsity = sparsity;
}

std::uint32_t TfliteModel::opcode(Code code, const std::string& custom, int version) {
  const OperatorCode wanted{code, custom, version};
  const auto found = std::find(codes_.begin(), codes_.end(), wanted);
  if (found != codes_.end()) return static_cast<std::uint32_t>(found - codes_.begin());
  codes_.push_back(wanted);
  return static_cast<std::uint32_t>(codes_.size()) - 1;
}

void TfliteModel::op(Code code, const std::vector<int>& inputs, const std::vector<int>& outputs,
                     tflite::BuiltinOptions type, flatbuffers::Offset<void> options) {
  operators_.push_back(
      tflite::CreateOperatorDirect(builder_, opcode(code, ""), &inputs, &outputs, type, options));
}

void TfliteModel::custom(const std::string& name, const std::vector<int>& inputs,
                         const std::vector<int>& outputs, const std::vector<std::uint8_t>& options,
                         int version) {
  operators_.push_back(tflite::CreateOperatorDirect(builder_, opcode(Code::CUSTOM, name, version), &inputs,
                                                    &outputs, tflite::BuiltinOptions::NONE, 0, &options));
}

void TfliteModel::metadata(const std::string& name, const std::vector<std::uint8_t>& bytes) {
  metadata_.emplace_back(name, static_cast<std::uint32_t>(buffers_.size()));
  buffers_.push_back(bytes);
}

std::string TfliteModel::bytes(const std::vector<int>& inputs, const std::vector<int>& outputs) {
  std::vector<flatbuffers::Offset<tflite::Tensor>> tensors;
  for (const TensorFields& t : tensors_) {
    flatbuffers::Offset<tflite::QuantizationParameters> quantisation = 0;
    if (!t.scales.empty()) {
      const auto scales = builder_.CreateVector(t.scales);
      const auto zeros = builder_.CreateVector(t.zero_points);
      quantisation = tflite::CreateQuantizationParameters(builder_, 0, 0, scales, zeros, 0, 0, t.axis);
    }
    tensors.push_back(tflite::CreateTensorDirect(builder_, &t.shape, t.type, t.buffer, t.name.c_str(),
                                                 quantisation, false, t.sparsity));
  }
  const std::vector<flatbuffers::Offset<tflite::SubGraph>> graphs = {
      tflite::CreateSubGraphDirect(builder_, &tensors, &inputs, &outputs, &operators_, "graph")};
  std::vector<flatbuffers::Offset<tflite::OperatorCode>> codes;
  for (const auto& [code, custom, version] : codes_) {
    const auto old_code = static_cast<std::int8_t>(std::min(static_cast<int>(code), 127));
    codes.push_back(tflite::CreateOperatorCodeDirect(
        builder_, old_code, custom.empty() ? nullptr : custom.c_str(), version, code));
  }
  std::vector<flatbuffers::Offset<tflite::Buffer>> buffers;
  for (const auto& data : buffers_) {
    builder_.ForceVectorAlignment(data.size(), 1, 16);
    buffers.push_back(tflite::CreateBuffer(builder_, data.empty() ? 0 : builder_.CreateVector(data)));
  }
  std::vector<flatbuffers::Offset<tflite::Metadata>> metadata;
  for (const auto& [name, buffer] : metadata_)
    metadata.push_back(tflite::CreateMetadataDirect(builder_, name.c_str(), buffer));
  tflite::FinishModelBuffer(builder_, tflite::CreateModelDirect(builder_, 3, &codes, &graphs, "test model",
                                                                &buffers, nullptr, &metadata));
  return {reinterpret_cast<const char*>(builder_.GetBufferPointer()), builder_.GetSize()};
}

}  // namespace saccade::import
