#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "fuzz/mutate.h"
#include "fuzz/random.h"
#include "fuzz/wire.h"

namespace saccade::fuzz {

namespace {

constexpr std::size_t kMostTensorBytes = 4096;  // of one whose shape is changed together with its data

// Fields by number.
constexpr std::uint64_t kNodeInput = 1, kNodeOutput = 2, kOpType = 4;
constexpr std::uint64_t kDims = 1, kDataType = 2, kRawData = 9;
constexpr std::uint64_t kAttributeName = 1;

/// Words that a file need not have for another to want them.
constexpr std::array kOperators = {"Add",
                                   "ArgMax",
                                   "AveragePool",
                                   "BatchNormalization",
                                   "Cast",
                                   "Ceil",
                                   "Clip",
                                   "Concat",
                                   "Constant",
                                   "ConstantOfShape",
                                   "Conv",
                                   "ConvTranspose",
                                   "CumSum",
                                   "DepthToSpace",
                                   "DequantizeLinear",
                                   "Div",
                                   "Einsum",
                                   "Equal",
                                   "Expand",
                                   "Flatten",
                                   "Gather",
                                   "GatherElements",
                                   "GatherND",
                                   "Gemm",
                                   "GridSample",
                                   "Identity",
                                   "If",
                                   "InstanceNormalization",
                                   "LayerNormalization",
                                   "Loop",
                                   "LpPool",
                                   "MatMul",
                                   "Max",
                                   "MaxPool",
                                   "Mul",
                                   "NonMaxSuppression",
                                   "NonZero",
                                   "OneHot",
                                   "Pad",
                                   "Pow",
                                   "QLinearConv",
                                   "QuantizeLinear",
                                   "Range",
                                   "ReduceMean",
                                   "ReduceSum",
                                   "Reshape",
                                   "Resize",
                                   "Scan",
                                   "ScatterND",
                                   "Shape",
                                   "Slice",
                                   "Softmax",
                                   "SpaceToDepth",
                                   "Split",
                                   "Squeeze",
                                   "Sub",
                                   "Tile",
                                   "TopK",
                                   "Transpose",
                                   "Trilu",
                                   "Unsqueeze",
                                   "Upsample",
                                   "Where"};
constexpr std::array kAttributes = {"alpha",
                                    "auto_pad",
                                    "axes",
                                    "axis",
                                    "beta",
                                    "blocksize",
                                    "body",
                                    "ceil_mode",
                                    "coordinate_transformation_mode",
                                    "count_include_pad",
                                    "dilations",
                                    "direction",
                                    "else_branch",
                                    "epsilon",
                                    "equation",
                                    "exclusive",
                                    "group",
                                    "keepdims",
                                    "kernel_shape",
                                    "mode",
                                    "nearest_mode",
                                    "num_outputs",
                                    "output_padding",
                                    "output_shape",
                                    "pads",
                                    "perm",
                                    "reduction",
                                    "reverse",
                                    "sorted",
                                    "starts",
                                    "ends",
                                    "storage_order",
                                    "strides",
                                    "then_branch",
                                    "to",
                                    "transA",
                                    "transB",
                                    "value"};

struct Place {
  Message* message;
  std::size_t index;

  Field& field() const { return message->fields[index]; }
};

class Mutation {
 public:
  Mutation(Message& model, Random& random, ByteMutator bytes) : random_(random), bytes_(bytes) {
    walk(model);
  }

  void apply() {
    if (places_.empty()) return;
    switch (random_.below(10)) {
      case 0:
      case 1:
      case 2:
        return change_number();
      case 3:
        return change_text();
      case 4:
        return rewire();
      case 5:
        return rename();
      case 6:
        return remove();
      case 7:
        return duplicate();
      case 8:
        return copy_over();
      default:
        return reshape();
    }
  }

 private:
  void walk(Message& message) {
    messages_.push_back(&message);
    for (std::size_t i = 0; i < message.fields.size(); ++i) {
      places_.push_back({&message, i});
      for (Message& inner : message.fields[i].message) walk(inner);
    }
  }

  template <class Wanted>
  Place* find(Wanted wanted) {
    std::vector<Place*> found;
    for (Place& place : places_)
      if (wanted(place)) found.push_back(&place);
    return found.empty() ? nullptr : random_.pick(found);
  }

  static bool is_bytes(const Place& place) {
    return place.field().wire_type == 2 && place.field().message.empty();
  }

  void change_number() {
    Place* place = find([](const Place& p) { return p.field().wire_type != 2; });
    if (place == nullptr) return;
    Field& field = place->field();
    if (field.wire_type == 5) {  // a float
      constexpr std::uint32_t kFloats[] = {0,          0x80000000, 0x3f800000, 0xbf800000, 0x40000000,
                                           0x7f800000, 0x7fc00000, 0x00000001, 0x3f000000, 0x501502f9};
      field.value = kFloats[random_.below(std::size(kFloats))];
      return;
    }
    field.value = static_cast<std::uint64_t>(random_.number(static_cast<std::int64_t>(field.value)));
  }

  void change_text() {
    Place* place = find(is_bytes);
    if (place == nullptr) return;
    std::string& text = place->field().bytes;
    const std::size_t most = text.size() + 16;
    std::vector<std::uint8_t> buffer(text.begin(), text.end());
    buffer.resize(most);
    const std::size_t size = bytes_(buffer.data(), text.size(), most);
    text.assign(reinterpret_cast<const char*>(buffer.data()), std::min(size, most));
  }

  /// An input or output of a node becomes another of the values that nodes name.
  void rewire() {
    const auto names = [](const Place& p) {
      return p.message->kind == Kind::node &&
             (p.field().number == kNodeInput || p.field().number == kNodeOutput) && is_bytes(p);
    };
    Place *to = find(names), *from = find(names);
    if (to != nullptr) to->field().bytes = random_.one_in(8) ? std::string() : from->field().bytes;
  }

  void rename() {
    const auto is_operator = [](const Place& p) {
      return p.message->kind == Kind::node && p.field().number == kOpType && is_bytes(p);
    };
    const auto is_attribute = [](const Place& p) {
      return p.message->kind == Kind::attribute && p.field().number == kAttributeName && is_bytes(p);
    };
    if (random_.one_in(2)) {
      if (Place* place = find(is_operator)) place->field().bytes = random_.pick(kOperators);
    } else if (Place* place = find(is_attribute)) {
      place->field().bytes = random_.pick(kAttributes);
    }
  }

  void remove() {
    const Place place = random_.pick(places_);
    place.message->fields.erase(place.message->fields.begin() + static_cast<std::ptrdiff_t>(place.index));
  }

  void duplicate() {
    const Place place = random_.pick(places_);
    const Field copy = place.field();
    place.message->fields.insert(place.message->fields.begin() + static_cast<std::ptrdiff_t>(place.index),
                                 copy);
  }

  /// A field of one message goes to another of its kind, beside the one that is there or in its place.
  void copy_over() {
    const Place from = random_.pick(places_);
    std::vector<Message*> targets;
    for (Message* message : messages_)
      if (message->kind == from.message->kind) targets.push_back(message);
    Message& target = *random_.pick(targets);
    const Field copy = from.field();
    if (random_.one_in(2))
      for (Field& field : target.fields)
        if (field.number == copy.number) {
          field = copy;
          return;
        }
    target.fields.push_back(copy);
  }

  /// A dimension of a tensor changes, and its data with it.
  void reshape() {
    Place* place = find([](const Place& p) {
      return p.message->kind == Kind::tensor && p.field().number == kDims && p.field().wire_type == 0;
    });
    if (place == nullptr) return;
    place->field().value = random_.below(7);
    std::size_t bytes = 4;
    for (const Field& field : place->message->fields) {
      if (field.number == kDims && field.wire_type == 0) bytes *= std::min<std::uint64_t>(field.value, 4096);
      if (field.number == kDataType && field.value == 7) bytes *= 2;
      bytes = std::min(bytes, kMostTensorBytes);
    }
    for (Field& field : place->message->fields)
      if (field.number == kRawData && !field.bytes.empty()) {
        const std::string pattern = field.bytes;
        for (std::size_t i = 0; field.bytes.size() < bytes; ++i)
          field.bytes.push_back(pattern[i % pattern.size()]);
        field.bytes.resize(bytes);
      }
  }

  Random& random_;
  ByteMutator bytes_;
  std::vector<Message*> messages_;
  std::vector<Place> places_;
};

}  // namespace

std::size_t mutate_onnx(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed,
                        ByteMutator bytes) {
  Random random(seed);
  std::optional<Message> model;
  if (!random.one_in(16)) model = parse_wire({reinterpret_cast<const char*>(data), size}, Kind::model);
  if (!model) return bytes(data, size, most);
  for (std::size_t n = 1 + random.below(3); n > 0; --n) Mutation(*model, random, bytes).apply();
  const std::string changed = write_wire(*model);
  if (changed.size() > most) return bytes(data, size, most);
  std::memcpy(data, changed.data(), changed.size());
  return changed.size();
}

}  // namespace saccade::fuzz
