// Large weights stay where they lie in the file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "base/files.h"
#include "import/onnx/skeleton.h"
#include "import/onnx_model.h"

namespace saccade::import {

namespace {

using ::testing::HasSubstr;

std::vector<float> counted(std::size_t n) {
  std::vector<float> values(n);
  std::iota(values.begin(), values.end(), 0.5f);
  return values;
}

/// y = x + w with a large w; `name` shifts the weights in the file by its length.
OnnxModel model_with(const std::vector<float>& values, const std::string& name, bool raw = true) {
  OnnxModel m;
  m.input("x", DType::f32, {1, static_cast<std::int64_t>(values.size())}).output("y");
  auto& w = m.initializer(name, 1, {1, static_cast<std::int64_t>(values.size())});
  if (raw)
    w.set_raw_data(std::string(reinterpret_cast<const char*>(values.data()), values.size() * 4));
  else
    for (const float v : values) w.add_float_data(v);
  m.node("Add", {"x", name}, {"y"});
  return m;
}

const Tensor& weights(const Imported& imported) {
  return *imported.graph.constant_input(imported.graph.nodes.at(0), 1);
}

TEST(OnnxWeights, ArePartsOfTheFileWhereTheyAreAligned) {
  const std::vector<float> values = counted(1000);
  int views = 0;
  for (const bool raw : {true, false})
    for (std::size_t length = 1; length <= 4; ++length) {
      const std::string text = model_with(values, std::string(length, 'w'), raw).bytes();
      auto file = std::make_shared<std::vector<std::byte>>(text.size());
      std::memcpy(file->data(), text.data(), text.size());
      const Imported imported = read_model(*file, file, {}, {});
      const Tensor& w = weights(imported);
      EXPECT_EQ(std::memcmp(w.raw(), values.data(), w.bytes()), 0);
      const auto* at = static_cast<const std::byte*>(w.raw());
      views += at >= file->data() && at < file->data() + file->size() ? 1 : 0;
    }
  EXPECT_GT(views, 0);
  EXPECT_LT(views, 8);  // the length of a name decides whether they are aligned
}

TEST(OnnxWeights, AreCopiedWithoutAnOwner) {
  const std::vector<float> values = counted(1000);
  std::string text = model_with(values, "w").bytes();
  const Imported imported = read_model(std::as_bytes(std::span(text)), nullptr, {}, {});
  std::fill(text.begin(), text.end(), 'x');
  EXPECT_EQ(weights(imported).values<float>()[999], values[999]);
}

TEST(OnnxWeights, AreTheSameFromAMappedFile) {
  const std::vector<float> values = counted(20'000);
  const auto path =
      std::filesystem::temp_directory_path() / ("saccade_weights_" + std::to_string(::getpid()));
  for (std::size_t length = 1; length <= 4; ++length) {
    const std::string text = model_with(values, std::string(length, 'w')).bytes();
    write_file(path, std::as_bytes(std::span(text)));
    const Imported imported = read_model(map_file(path), path, {});
    EXPECT_EQ(std::memcmp(weights(imported).raw(), values.data(), values.size() * 4), 0);
  }
  std::filesystem::remove(path);
}

TEST(OnnxWeights, OfNodesAndSubgraphsAreFoundToo) {
  const std::vector<float> values = counted(1000);
  OnnxModel m;
  m.input("x", DType::f32, {1, 1000}).output("y");
  auto& t = *m.node("Constant", {}, {"w"}).attribute("value", 4).mutable_t();
  t.set_data_type(1);
  t.add_dims(1000);
  t.set_raw_data(std::string(reinterpret_cast<const char*>(values.data()), values.size() * 4));
  m.node("Add", {"x", "w"}, {"y"});
  const std::string text = m.bytes();
  const OnnxSkeleton skeleton = onnx_skeleton(std::as_bytes(std::span(text)), 100);
  ASSERT_EQ(skeleton.payloads.size(), 1u);
  EXPECT_LT(skeleton.message.size(), 300u);
  const Imported imported = m.read();
  EXPECT_EQ(imported.graph.constant_input(imported.graph.nodes.at(0), 1)->values<float>()[7], values[7]);
}

TEST(OnnxWeights, RefusesDataThatDoesNotFit) {
  OnnxModel two = model_with(counted(1000), "w");
  for (int i = 0; i < 1000; ++i) two.proto.mutable_graph()->mutable_initializer(0)->add_float_data(1);
  EXPECT_THAT(refusal(two.bytes()).message, HasSubstr("in several pieces"));
  OnnxModel type = model_with(counted(1000), "w", false);
  type.proto.mutable_graph()->mutable_initializer(0)->set_data_type(11);
  EXPECT_THAT(refusal(type.bytes()).message, HasSubstr("holds float_data where its type is"));
  OnnxModel size = model_with(counted(1000), "w");
  size.proto.mutable_graph()->mutable_initializer(0)->set_dims(1, 999);
  EXPECT_THAT(refusal(size.bytes()).message, HasSubstr("raw_data holds 4000 bytes, expected 3996"));
  OnnxModel forged = model_with(counted(10), "w");
  forged.proto.mutable_graph()->mutable_initializer(0)->add_payload(7);
  EXPECT_NE(refusal(forged.bytes()).message, "");
}

}  // namespace

}  // namespace saccade::import
