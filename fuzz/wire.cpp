#include "fuzz/wire.h"

namespace saccade::fuzz {

namespace {

constexpr int kMostDepth = 64;

struct Child {
  Kind parent;
  std::uint64_t field;
  Kind kind;
};

constexpr Child kChildren[] = {
    {Kind::model, 7, Kind::graph},          {Kind::model, 8, Kind::opset},
    {Kind::model, 14, Kind::entry},         {Kind::model, 25, Kind::function},
    {Kind::graph, 1, Kind::node},           {Kind::graph, 5, Kind::tensor},
    {Kind::graph, 11, Kind::value_info},    {Kind::graph, 12, Kind::value_info},
    {Kind::graph, 13, Kind::value_info},    {Kind::graph, 15, Kind::sparse_tensor},
    {Kind::node, 5, Kind::attribute},       {Kind::attribute, 5, Kind::tensor},
    {Kind::attribute, 6, Kind::graph},      {Kind::attribute, 10, Kind::tensor},
    {Kind::attribute, 11, Kind::graph},     {Kind::tensor, 13, Kind::entry},
    {Kind::sparse_tensor, 1, Kind::tensor}, {Kind::value_info, 2, Kind::type},
    {Kind::type, 1, Kind::tensor_type},     {Kind::tensor_type, 2, Kind::shape},
    {Kind::shape, 1, Kind::dimension},      {Kind::function, 7, Kind::node},
    {Kind::function, 9, Kind::opset},       {Kind::function, 11, Kind::attribute},
};

std::optional<Kind> child_kind(Kind parent, std::uint64_t field) {
  for (const Child& child : kChildren)
    if (child.parent == parent && child.field == field) return child.kind;
  return std::nullopt;
}

std::optional<std::uint64_t> take_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<std::uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> take_fixed(std::string_view& bytes, std::size_t size) {
  if (bytes.size() < size) return std::nullopt;
  std::uint64_t value = 0;
  for (std::size_t i = size; i-- > 0;) value = value << 8 | static_cast<std::uint8_t>(bytes[i]);
  bytes.remove_prefix(size);
  return value;
}

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>((value & 0x7f) | 0x80));
  out.push_back(static_cast<char>(value));
}

void put_fixed(std::string& out, std::uint64_t value, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) out.push_back(static_cast<char>(value >> (8 * i) & 0xff));
}

std::optional<Field> take_field(std::string_view& bytes, Kind kind, int depth) {
  const std::optional<std::uint64_t> tag = take_varint(bytes);
  if (!tag) return std::nullopt;
  Field field{*tag >> 3, *tag & 7, 0, {}, {}};
  std::optional<std::uint64_t> value;
  if (field.wire_type == 0 || field.wire_type == 2) value = take_varint(bytes);
  if (field.wire_type == 1) value = take_fixed(bytes, 8);
  if (field.wire_type == 5) value = take_fixed(bytes, 4);
  if (!value) return std::nullopt;
  field.value = *value;
  if (field.wire_type != 2) return field;
  if (*value > bytes.size()) return std::nullopt;
  const std::string_view content = bytes.substr(0, static_cast<std::size_t>(*value));
  bytes.remove_prefix(content.size());
  if (const std::optional<Kind> inner = child_kind(kind, field.number); inner && depth < kMostDepth)
    if (std::optional<Message> message = parse_wire(content, *inner, depth + 1))
      field.message.push_back(std::move(*message));
  if (field.message.empty()) field.bytes = content;
  return field;
}

}  // namespace

std::optional<Message> parse_wire(std::string_view bytes, Kind kind, int depth) {
  Message message{kind, {}};
  while (!bytes.empty()) {
    std::optional<Field> field = take_field(bytes, kind, depth);
    if (!field) return std::nullopt;
    message.fields.push_back(std::move(*field));
  }
  return message;
}

std::string write_wire(const Message& message) {
  std::string out;
  for (const Field& field : message.fields) {
    put_varint(out, field.number << 3 | field.wire_type);
    if (field.wire_type == 0) put_varint(out, field.value);
    if (field.wire_type == 1) put_fixed(out, field.value, 8);
    if (field.wire_type == 5) put_fixed(out, field.value, 4);
    if (field.wire_type != 2) continue;
    const std::string content = field.message.empty() ? field.bytes : write_wire(field.message.front());
    put_varint(out, content.size());
    out += content;
  }
  return out;
}

}  // namespace saccade::fuzz
