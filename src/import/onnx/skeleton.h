// An ONNX file without its weights: what protobuf parses, and where in the file the weights lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace saccade::import {

/// The data of one tensor where it lies in the file.
struct OnnxPayload {
  static constexpr std::uint64_t kFloatData = 4, kRawData = 9, kDoubleData = 10;  ///< fields of TensorProto
  std::uint64_t field;
  std::span<const std::byte> bytes;
};

struct OnnxSkeleton {
  /// A ModelProto in which the large data of tensors is replaced by TensorProto::payload, an index into
  /// `payloads`.
  std::string message;
  std::vector<OnnxPayload> payloads;
};

/// Reads tags and lengths only; what cannot be read is left in the message as it is, for protobuf to refuse.
/// `max_depth`: messages deeper than that are left as they are.
OnnxSkeleton onnx_skeleton(std::span<const std::byte> file, int max_depth);

}  // namespace saccade::import
