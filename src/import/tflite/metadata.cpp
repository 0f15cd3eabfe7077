#include "import/tflite/metadata.h"

#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <vector>

#include "import/tflite/associated_file.h"
#include "import/tflite/metadata_generated.h"
#include "saccade/error.h"

namespace saccade::import {

namespace {

namespace md = tflite::metadata;
using Bytes = std::span<const std::byte>;

[[noreturn]] void fail(const std::string& message) { throw Error(ErrorCode::invalid_model, message); }

/// A string as YAML writes any text: in double quotes.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      out += fmt::format("\\{}", c);
    else if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      out += c;
  }
  return out + "\"";
}

/// A table that another buffer holds, verified; kept aligned.
template <class Table>
class Embedded {
 public:
  Embedded(Bytes bytes, const char* identifier, const char* what) : words_(bytes.size() / 8 + 1) {
    auto* data = reinterpret_cast<std::uint8_t*>(words_.data());
    if (!bytes.empty()) std::memcpy(data, bytes.data(), bytes.size());
    flatbuffers::Verifier verifier(data, bytes.size());
    if (!verifier.VerifyBuffer<Table>(identifier)) fail(fmt::format("{} is damaged", what));
    table_ = flatbuffers::GetRoot<Table>(data);
  }
  const Table& operator*() const { return *table_; }

 private:
  std::vector<std::uint64_t> words_;
  const Table* table_ = nullptr;
};

template <class Vector>
std::string list_of(const Vector& values) {
  std::string text;
  for (const float v : values) text += fmt::format("{}{}", text.empty() ? "" : ", ", v);
  return "[" + text + "]";
}

std::string input_text(const md::TensorMetadata& tensor) {
  std::string text;
  if (tensor.content() != nullptr) {
    const auto* image = tensor.content()->content_properties_as_ImageProperties();
    if (image != nullptr && image->color_space() == md::ColorSpace::RGB) text += "  color: rgb\n";
    if (image != nullptr && image->color_space() == md::ColorSpace::GRAYSCALE) text += "  color: gray\n";
  }
  if (tensor.process_units() == nullptr) return text;
  for (const md::ProcessUnit* unit : *tensor.process_units()) {
    const auto* norm = unit != nullptr ? unit->options_as_NormalizationOptions() : nullptr;
    if (norm == nullptr || norm->mean() == nullptr || norm->std() == nullptr) continue;
    const auto fits = [](std::size_t n) { return n == 1 || n == 3; };
    if (!fits(norm->mean()->size()) || !fits(norm->std()->size())) continue;  // not of a picture
    text += fmt::format("  scale: 1\n  mean: {}\n  std: {}\n", list_of(*norm->mean()), list_of(*norm->std()));
  }
  return text;
}

/// One label a line.
std::string labels_text(const std::string& content) {
  std::string text;
  std::size_t at = 0;
  while (at < content.size()) {
    const std::size_t end = std::min(content.find('\n', at), content.size());
    std::string_view line(content.data() + at, end - at);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.empty() || end + 1 < content.size()) text += (text.empty() ? "" : ", ") + quoted(line);
    at = end + 1;
  }
  return text;
}

std::string output_text(const md::TensorMetadata& tensor, Bytes file) {
  if (tensor.associated_files() == nullptr) return "";
  for (const md::AssociatedFile* entry : *tensor.associated_files()) {
    if (entry == nullptr || entry->name() == nullptr) continue;
    if (entry->type() != md::FileType::TENSOR_AXIS_LABELS &&
        entry->type() != md::FileType::TENSOR_VALUE_LABELS)
      continue;
    const std::optional<std::string> labels = associated_file(file, entry->name()->string_view());
    if (!labels) continue;
    const std::string text = labels_text(*labels);
    if (!text.empty()) return "  classes: [" + text + "]\n";
  }
  return "";
}

/// What an image segmenter still does to the output.
std::string activation_text(const md::SubGraphMetadata& graph) {
  if (graph.custom_metadata() == nullptr) return "";
  for (const md::CustomMetadata* entry : *graph.custom_metadata()) {
    if (entry == nullptr || entry->name() == nullptr || entry->data() == nullptr ||
        entry->name()->string_view() != "SEGMENTER_METADATA")
      continue;
    const Embedded<md::SegmenterOptions> options(
        std::as_bytes(std::span(entry->data()->data(), entry->data()->size())), "V001",
        "the segmenter's metadata");
    if ((*options).activation() == md::Activation::SIGMOID) return "  kind: logits\n";
    if ((*options).activation() == md::Activation::SOFTMAX) return "  kind: class_logits\n";
  }
  return "";
}

Bytes metadata_bytes(const TfliteFile& file) {
  const auto* entries = file.model->metadata();
  const auto* buffers = file.model->buffers();
  if (entries == nullptr || buffers == nullptr) return {};
  for (const tflite::Metadata* entry : *entries) {
    if (entry == nullptr || entry->name() == nullptr || entry->name()->string_view() != "TFLITE_METADATA")
      continue;
    if (entry->buffer() >= buffers->size())
      fail(fmt::format("its metadata refers to buffer {} of {}", entry->buffer(), buffers->size()));
    const tflite::Buffer* buffer = buffers->Get(entry->buffer());
    if (buffer == nullptr || buffer->data() == nullptr) return {};
    return std::as_bytes(std::span(buffer->data()->data(), buffer->data()->size()));
  }
  return {};
}

}  // namespace

std::string tflite_spec(const TfliteFile& file) {
  const Bytes bytes = metadata_bytes(file);
  if (bytes.empty()) return "";
  const Embedded<md::ModelMetadata> model(bytes, "M001", "its metadata");
  std::string text;
  if ((*model).name() != nullptr && (*model).name()->size() > 0)
    text += "name: " + quoted((*model).name()->string_view()) + "\n";
  const auto* graphs = (*model).subgraph_metadata();
  if (graphs == nullptr || graphs->size() == 0 || graphs->Get(0) == nullptr) return text;
  const md::SubGraphMetadata& graph = *graphs->Get(0);
  const auto* inputs = graph.input_tensor_metadata();
  const auto* outputs = graph.output_tensor_metadata();
  std::string input, output;
  if (inputs != nullptr && inputs->size() > 0 && inputs->Get(0) != nullptr)
    input = input_text(*inputs->Get(0));
  if (outputs != nullptr && outputs->size() > 0 && outputs->Get(0) != nullptr)
    output = output_text(*outputs->Get(0), file.bytes);
  output += activation_text(graph);
  if (!input.empty()) text += "input:\n" + input;
  if (!output.empty()) text += "output:\n" + output;
  return text;
}

}  // namespace saccade::import
