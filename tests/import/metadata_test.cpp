// What model files say of themselves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "import/onnx_model.h"
#include "import/tflite/metadata_generated.h"
#include "import/tflite_model.h"
#include "spec/spec.h"

namespace saccade::import {

namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace md = tflite::metadata;

ModelSpec spec_of(const Imported& imported) {
  return spec::resolve({}, "", signature_of(imported.graph), imported.metadata);
}

std::vector<std::uint8_t> metadata(md::Activation activation = md::Activation::NONE) {
  flatbuffers::FlatBufferBuilder options, b;
  options.Finish(md::CreateSegmenterOptions(options, activation), "V001");
  const std::vector<float> mean = {127.5f}, deviation = {127.5f};
  const std::vector<flatbuffers::Offset<md::ProcessUnit>> units = {
      md::CreateProcessUnit(b, md::ProcessUnitOptions::NormalizationOptions,
                            md::CreateNormalizationOptionsDirect(b, &mean, &deviation).Union())};
  const auto content = md::CreateContent(b, md::ContentProperties::ImageProperties,
                                         md::CreateImageProperties(b, md::ColorSpace::GRAYSCALE).Union());
  const std::vector<flatbuffers::Offset<md::TensorMetadata>> inputs = {
      md::CreateTensorMetadata(b, 0, 0, 0, content, b.CreateVector(units))};
  const std::vector<flatbuffers::Offset<md::AssociatedFile>> files = {
      md::CreateAssociatedFileDirect(b, "labels.txt", nullptr, md::FileType::TENSOR_AXIS_LABELS)};
  const std::vector<flatbuffers::Offset<md::TensorMetadata>> outputs = {
      md::CreateTensorMetadata(b, 0, 0, 0, 0, 0, 0, b.CreateVector(files))};
  const std::vector<std::uint8_t> packed(options.GetBufferPointer(),
                                         options.GetBufferPointer() + options.GetSize());
  b.ForceVectorAlignment(packed.size(), 1, 16);
  const auto data = b.CreateVector(packed);
  const std::vector<flatbuffers::Offset<md::CustomMetadata>> custom = {
      md::CreateCustomMetadata(b, b.CreateString("SEGMENTER_METADATA"), data)};
  const std::vector<flatbuffers::Offset<md::SubGraphMetadata>> graphs = {md::CreateSubGraphMetadata(
      b, 0, 0, b.CreateVector(inputs), b.CreateVector(outputs), 0, 0, 0, 0, 0, b.CreateVector(custom))};
  md::FinishModelMetadataBuffer(
      b, md::CreateModelMetadataDirect(b, "a \"good\" network", nullptr, nullptr, &graphs));
  return {b.GetBufferPointer(), b.GetBufferPointer() + b.GetSize()};
}

/// An archive with one stored file, as zip programs write it.
std::string archive(const std::string& name, const std::string& content) {
  const auto number = [](std::size_t value, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> (8 * i));
    return text;
  };
  const std::string sizes = number(content.size(), 4) + number(content.size(), 4);
  const std::string local = "PK\x03\x04" + number(20, 2) + number(0, 2) + number(0, 2) + number(0, 4) +
                            number(0, 4) + sizes + number(name.size(), 2) + number(0, 2) + name + content;
  const std::string entry = "PK\x01\x02" + number(20, 2) + number(20, 2) + number(0, 2) + number(0, 2) +
                            number(0, 4) + number(0, 4) + sizes + number(name.size(), 2) + number(0, 2) +
                            number(0, 2) + number(0, 2) + number(0, 2) + number(0, 4) + number(0, 4) + name;
  return local + entry + "PK\x05\x06" + number(0, 4) + number(1, 2) + number(1, 2) + number(entry.size(), 4) +
         number(local.size(), 4) + number(0, 2);
}

std::string model_with(const std::vector<std::uint8_t>& bytes) {
  TfliteModel m;
  const int x = m.tensor("x", {1, 6, 6, 1}), y = m.tensor("y", {1, 6, 6, 1});
  m.op(tflite::BuiltinOperator::RELU, {x}, {y});
  m.metadata("TFLITE_METADATA", bytes);
  return m.bytes({x}, {y});
}

TEST(Metadata, OfTfliteFillsTheSpec) {
  const Imported imported = read_bytes(model_with(metadata(md::Activation::SIGMOID)) +
                                       archive("labels.txt", "sky\r\ncat, \"wild\"\n\nend\n"));
  const ModelSpec spec = spec_of(imported);
  EXPECT_EQ(spec.source, "metadata");
  EXPECT_EQ(spec.name, "a \"good\" network");
  EXPECT_EQ(spec.input.order, ColorOrder::gray);
  EXPECT_EQ(spec.input.scale, 1.0f);
  EXPECT_EQ(spec.input.mean[2], 127.5f);
  EXPECT_EQ(spec.input.stddev[0], 127.5f);
  EXPECT_EQ(spec.input.layout, TensorLayout::nhwc);  // from the defaults
  EXPECT_EQ(spec.output.kind, OutputKind::logits);
  EXPECT_THAT(spec.output.class_names, ElementsAre("sky", "cat, \"wild\"", "", "end"));
}

TEST(Metadata, OfTfliteWorksWithoutItsFiles) {
  const ModelSpec spec = spec_of(read_bytes(model_with(metadata())));
  EXPECT_EQ(spec.input.order, ColorOrder::gray);
  EXPECT_TRUE(spec.output.class_names.empty());
}

TEST(Metadata, OfTfliteMustBeWhole) {
  std::vector<std::uint8_t> cut = metadata();
  cut.resize(cut.size() / 2);
  EXPECT_THAT(refusal(model_with(cut)).message, HasSubstr("its metadata is damaged"));
  const std::string whole = archive("labels.txt", "one\ntwo\n");
  // Any damage to the archive is refused or gives other labels, and never reads beyond the file.
  for (std::size_t i = 0; i < whole.size(); ++i)
    for (const char c : {'\0', '\x7f', '\xff'}) {
      std::string damaged = whole;
      damaged[i] = c;
      refusal(model_with(metadata()) + damaged);
    }
  for (std::size_t i = 0; i < whole.size(); ++i) refusal(model_with(metadata()) + whole.substr(i));
}

TEST(Metadata, OfOnnxFillsTheSpec) {
  OnnxModel m;
  m.input("x", DType::f32, {1, 3, 4, 4}).output("y");
  m.node("Relu", {"x"}, {"y"});
  const auto add = [&](const std::string& key, const std::string& value) {
    auto& entry = *m.proto.add_metadata_props();
    entry.set_key(key);
    entry.set_value(value);
  };
  add("saccade.input.mean", "[0.1, 0.2, 0.3]");
  add("saccade", "name: whole\ninput: {mean: 7, color: bgr}\noutput: {classes: [a, b]}");
  add("saccade.name", "mine");
  add("author", "somebody");
  const ModelSpec spec = spec_of(m.read());
  EXPECT_EQ(spec.source, "metadata");
  EXPECT_EQ(spec.name, "mine");
  EXPECT_EQ(spec.input.mean[1], 0.2f);  // a single key says more than the whole
  EXPECT_EQ(spec.input.order, ColorOrder::bgr);
  EXPECT_THAT(spec.output.class_names, ElementsAre("a", "b"));
  add("saccade.input.colour", "rgb");
  const Imported faulty = m.read();
  try {
    spec_of(faulty);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::AllOf(HasSubstr("saccade.input.colour"), HasSubstr("'color'?")));
  }
}

}  // namespace

}  // namespace saccade::import
