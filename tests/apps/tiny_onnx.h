// Writes small ONNX files field by field, so that tests of whole programs need no model from elsewhere.
#pragma once

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

namespace saccade::testing {

/// One protobuf message under construction. Field numbers are those of the ONNX format.
class Message {
 public:
  Message& number(int field, std::int64_t value) {
    tag(field, 0);
    varint(static_cast<std::uint64_t>(value));
    return *this;
  }
  Message& text(int field, const std::string& value) {
    tag(field, 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  Message& message(int field, const Message& value) { return text(field, value.bytes_); }
  const std::string& bytes() const { return bytes_; }

 private:
  void tag(int field, int kind) {
    varint(static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(kind));
  }
  void varint(std::uint64_t value) {
    while (value >= 0x80) {
      bytes_ += static_cast<char>(value | 0x80);
      value >>= 7;
    }
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

class OnnxWriter {
 public:
  static Message integers(const std::string& name, const std::vector<std::int64_t>& values) {
    Message attribute;
    attribute.text(1, name);
    for (const std::int64_t v : values) attribute.number(8, v);
    return attribute.number(20, 7);
  }
  static Message integer(const std::string& name, std::int64_t value) {
    return Message().text(1, name).number(3, value).number(20, 2);
  }

  void node(const std::string& op, const std::vector<std::string>& inputs,
            const std::vector<std::string>& outputs, const std::vector<Message>& attributes = {}) {
    Message m;
    for (const std::string& name : inputs) m.text(1, name);
    for (const std::string& name : outputs) m.text(2, name);
    m.text(3, op + "_" + outputs[0]).text(4, op);
    for (const Message& attribute : attributes) m.message(5, attribute);
    graph_.message(1, m);
  }
  void constant(const std::string& name, const std::vector<std::int64_t>& dims,
                std::span<const float> values) {
    raw(name, dims, 1, values.data(), values.size_bytes());
  }
  void constant(const std::string& name, const std::vector<std::int64_t>& dims,
                std::span<const std::int64_t> values) {
    raw(name, dims, 7, values.data(), values.size_bytes());
  }
  /// `dims` of -1 are written as the symbol "N". `type` 1 is float32, 2 uint8, 7 int64.
  void input(const std::string& name, const std::vector<std::int64_t>& dims, int type = 1) {
    graph_.message(11, value(name, dims, type));
  }
  void output(const std::string& name, const std::vector<std::int64_t>& dims, int type = 1) {
    graph_.message(12, value(name, dims, type));
  }

  void write(const std::filesystem::path& path, std::int64_t opset = 13) const {
    Message graph = graph_;
    graph.text(2, "tiny");
    const Message model = Message()
                              .number(1, 8)
                              .text(2, "saccade-test")
                              .message(7, graph)
                              .message(8, Message().text(1, "").number(2, opset));
    std::ofstream(path, std::ios::binary)
        .write(model.bytes().data(), static_cast<std::streamsize>(model.bytes().size()));
  }

 private:
  void raw(const std::string& name, const std::vector<std::int64_t>& dims, int type, const void* data,
           std::size_t size) {
    Message tensor;
    for (const std::int64_t d : dims) tensor.number(1, d);
    tensor.number(2, type).text(8, name).text(9, std::string(static_cast<const char*>(data), size));
    graph_.message(5, tensor);
  }
  static Message value(const std::string& name, const std::vector<std::int64_t>& dims, int type) {
    Message shape;
    for (const std::int64_t d : dims)
      shape.message(1, d < 0 ? Message().text(2, "N") : Message().number(1, d));
    return Message().text(1, name).message(2,
                                           Message().message(1, Message().number(1, type).message(2, shape)));
  }
  Message graph_;
};

/// conv 3x3 (3 -> 4 channels) + relu, then a 1x1 convolution to one channel + sigmoid; 1x3x8x6 in, 1x1x8x6
/// out.
inline void write_tiny_network(const std::filesystem::path& path) {
  OnnxWriter onnx;
  std::vector<float> w1(4 * 3 * 9), w2(4);
  for (std::size_t i = 0; i < w1.size(); ++i) w1[i] = static_cast<float>(i % 7) / 10.0f - 0.3f;
  for (std::size_t i = 0; i < w2.size(); ++i) w2[i] = static_cast<float>(i) / 4.0f - 0.4f;
  onnx.input("picture", {1, 3, 8, 6});
  onnx.constant("w1", {4, 3, 3, 3}, std::span<const float>(w1));
  onnx.constant("w2", {1, 4, 1, 1}, std::span<const float>(w2));
  onnx.node("Conv", {"picture", "w1"}, {"a"}, {OnnxWriter::integers("pads", {1, 1, 1, 1})});
  onnx.node("Relu", {"a"}, {"b"});
  onnx.node("Conv", {"b", "w2"}, {"head/logits"});
  onnx.node("Sigmoid", {"head/logits"}, {"mask"});
  onnx.output("mask", {1, 1, 8, 6});
  onnx.output("head/logits", {1, 1, 8, 6});
  onnx.write(path);
}

/// Three 3x3 convolutions of eight channels with relu, then one to one channel + sigmoid; 1x3x24x32 in. One
/// filter of layer `damaged` is turned round; -1: none.
inline void write_small_network(const std::filesystem::path& path, int damaged = -1) {
  OnnxWriter onnx;
  std::string x = "picture";
  onnx.input(x, {1, 3, 24, 32});
  for (int layer = 0; layer < 4; ++layer) {
    const std::string name = std::to_string(layer);
    const std::int64_t in = layer == 0 ? 3 : 8, out = layer == 3 ? 1 : 8;
    std::vector<float> w(static_cast<std::size_t>(in * out * 9));
    for (std::size_t i = 0; i < w.size(); ++i)
      w[i] = static_cast<float>((i * 37 + static_cast<std::size_t>(layer) * 11) % 23) / 60.0f - 0.17f;
    if (layer == damaged)
      for (std::size_t i = 0; i < static_cast<std::size_t>(in * 9); ++i) w[i] = 0.4f - w[i];
    onnx.constant("w" + name, {out, in, 3, 3}, std::span<const float>(w));
    onnx.node("Conv", {x, "w" + name}, {"c" + name}, {OnnxWriter::integers("pads", {1, 1, 1, 1})});
    onnx.node(layer == 3 ? "Sigmoid" : "Relu", {"c" + name}, {layer == 3 ? "mask" : "r" + name});
    x = "r" + name;
  }
  onnx.output("mask", {1, 1, 24, 32});
  onnx.write(path);
}

}  // namespace saccade::testing
