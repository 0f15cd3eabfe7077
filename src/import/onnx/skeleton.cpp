#include "import/onnx/skeleton.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace saccade::import {

namespace {

using Bytes = std::span<const std::byte>;

constexpr std::size_t kLarge = 1024;              // bytes; smaller data stays in the message
constexpr std::uint64_t kPayloadField = 100'000;  // TensorProto::payload
constexpr std::uint64_t kLengthDelimited = 2;

/// Messages on the way to tensors.
enum class Kind { model, graph, node, attribute, tensor, sparse_tensor, function };

struct Child {
  Kind parent;
  std::uint64_t field;
  Kind kind;
};

constexpr Child kChildren[] = {
    {Kind::model, 7, Kind::graph},          {Kind::model, 25, Kind::function},
    {Kind::graph, 1, Kind::node},           {Kind::graph, 5, Kind::tensor},
    {Kind::graph, 15, Kind::sparse_tensor}, {Kind::node, 5, Kind::attribute},
    {Kind::attribute, 5, Kind::tensor},     {Kind::attribute, 6, Kind::graph},
    {Kind::attribute, 10, Kind::tensor},    {Kind::attribute, 11, Kind::graph},
    {Kind::sparse_tensor, 1, Kind::tensor}, {Kind::sparse_tensor, 2, Kind::tensor},
    {Kind::function, 7, Kind::node},        {Kind::function, 11, Kind::attribute},
};

std::optional<Kind> child_kind(Kind parent, std::uint64_t field) {
  for (const Child& child : kChildren)
    if (child.parent == parent && child.field == field) return child.kind;
  return std::nullopt;
}

/// float_data, raw_data and double_data: the bytes of the elements as they are in memory.
bool holds_elements(std::uint64_t field) {
  return field == OnnxPayload::kFloatData || field == OnnxPayload::kRawData ||
         field == OnnxPayload::kDoubleData;
}

/// Takes a number of seven bits a byte off the front.
std::optional<std::uint64_t> take_varint(Bytes& bytes) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = std::to_integer<std::uint64_t>(bytes.front());
    bytes = bytes.subspan(1);
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

void put(std::string& out, Bytes bytes) {
  out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

/// Bytes that a field has behind its tag.
std::optional<std::size_t> field_size(std::uint64_t wire_type, Bytes rest) {
  const std::size_t available = rest.size();
  switch (wire_type) {
    case 0: {
      if (!take_varint(rest)) return std::nullopt;
      return available - rest.size();
    }
    case 1:
      return 8;
    case kLengthDelimited: {
      const auto length = take_varint(rest);
      if (!length || *length > rest.size()) return std::nullopt;
      return available - rest.size() + static_cast<std::size_t>(*length);
    }
    case 5:
      return 4;
    default:
      return std::nullopt;  // groups, which ONNX does not have
  }
}

class Rewriter {
 public:
  Rewriter(OnnxSkeleton& skeleton, int max_depth) : skeleton_(skeleton), max_depth_(max_depth) {}

  void rewrite(Bytes bytes, Kind kind, std::string& out, int depth) {
    while (!bytes.empty()) {
      const Bytes field = bytes;
      const auto tag = take_varint(bytes);
      const auto size = tag ? field_size(*tag & 7, bytes) : std::nullopt;
      if (!size || *size > bytes.size()) return put(out, field);
      const Bytes value = bytes.subspan(0, *size);
      bytes = bytes.subspan(*size);
      if ((*tag & 7) != kLengthDelimited || value.size() < kLarge || !replace(*tag, value, kind, out, depth))
        put(out, field.subspan(0, field.size() - bytes.size()));
    }
  }

 private:
  /// Writes a large field anew; false where it is to be copied.
  bool replace(std::uint64_t tag, Bytes value, Kind kind, std::string& out, int depth) {
    const std::uint64_t number = tag >> 3;
    take_varint(value);  // the length
    if (kind == Kind::tensor && holds_elements(number)) {
      put_varint(out, kPayloadField << 3);
      put_varint(out, skeleton_.payloads.size());
      skeleton_.payloads.push_back({number, value});
      return true;
    }
    const auto inner_kind = child_kind(kind, number);
    if (!inner_kind || depth >= max_depth_) return false;
    std::string inner;
    rewrite(value, *inner_kind, inner, depth + 1);
    put_varint(out, tag);
    put_varint(out, inner.size());
    out += inner;
    return true;
  }

  OnnxSkeleton& skeleton_;
  int max_depth_;
};

}  // namespace

OnnxSkeleton onnx_skeleton(std::span<const std::byte> file, int max_depth) {
  OnnxSkeleton skeleton;
  Rewriter(skeleton, max_depth).rewrite(file, Kind::model, skeleton.message, 0);
  return skeleton;
}

}  // namespace saccade::import
