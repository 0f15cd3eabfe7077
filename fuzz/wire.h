// An ONNX file as a tree of protobuf fields: which bytes are messages is known, nothing else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace saccade::fuzz {

/// Messages of the format, as far as they are read.
enum class Kind : std::uint8_t {
  model,
  graph,
  node,
  attribute,
  tensor,
  sparse_tensor,
  value_info,
  type,
  tensor_type,
  shape,
  dimension,
  opset,
  function,
  entry
};

struct Message;

struct Field {
  std::uint64_t number = 0;
  std::uint64_t wire_type = 0;   ///< 0: varint, 1: eight bytes, 2: bytes with their length, 5: four bytes
  std::uint64_t value = 0;       ///< of wire types 0, 1, 5
  std::string bytes;             ///< of wire type 2, unless it is a message
  std::vector<Message> message;  ///< one or none
};

struct Message {
  Kind kind = Kind::model;
  std::vector<Field> fields;
};

/// nullopt for bytes that are not a message.
std::optional<Message> parse_wire(std::string_view bytes, Kind kind, int depth = 0);

std::string write_wire(const Message& message);

}  // namespace saccade::fuzz
