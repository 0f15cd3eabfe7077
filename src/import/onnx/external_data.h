// Weights that an ONNX model keeps in other files.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/files.h"
#include "import/onnx/onnx.pb.h"

namespace saccade::import {

/// Reads files beside the model, and only those: a location that is absolute, or that leaves the model's
/// folder by ".." or by a symbolic link, is an error. Files are mapped once.
class ExternalData {
 public:
  explicit ExternalData(std::filesystem::path model) : model_(std::move(model)) {}

  struct Piece {
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> owner;
  };
  /// The `wanted` bytes of tensor `tensor`. Throws Error(invalid_model | not_found | io).
  Piece read(const onnx::TensorProto& tensor, std::uint64_t wanted);
  /// Those that were opened so far.
  const std::vector<SourceFile>& files() const noexcept { return opened_; }

 private:
  const MappedFile& open(const std::string& location);

  std::filesystem::path model_;
  std::map<std::string, MappedFile> files_;
  std::vector<SourceFile> opened_;
};

}  // namespace saccade::import
