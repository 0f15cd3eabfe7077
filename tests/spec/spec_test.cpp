#include "spec/spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <set>

#include "saccade/error.h"

namespace saccade::spec {

namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Signature signature(Shape input, Shape output, DType dtype = DType::f32, const std::string& producer = "") {
  return {{{"in", std::move(input), DType::f32, ""}}, {{"out", std::move(output), dtype, producer}}};
}

TEST(BuiltIn, KnowsTheSelfieNetworksByContent) {
  for (const char* sha : {"9ee168ec7c8f2a16c56fe8e1cfbc514974cbbb7e434051b455635f1bd1462f5c",
                          "8d13b7fae74af625c641226813616a2117bd6bca19eb3b75574621fc08557f27"}) {
    const auto spec = built_in(sha);
    ASSERT_TRUE(spec);
    EXPECT_EQ(spec->name, "selfie");
    EXPECT_EQ(spec->source, "built-in");
    EXPECT_EQ(spec->input.order, ColorOrder::rgb);
    EXPECT_EQ(spec->input.layout, TensorLayout::nhwc);
    EXPECT_FLOAT_EQ(spec->input.scale, 1.0f / 255.0f);
    EXPECT_THAT(spec->input.mean, ElementsAre(0, 0, 0));
    EXPECT_EQ(spec->output.kind, OutputKind::probability);
  }
  EXPECT_EQ(built_in("a77d03f4659b9f6b6c1f5106947bf40e99d7655094b6527f214ea7d451106edd")->name,
            "selfie-landscape");
  EXPECT_FALSE(built_in("0000"));
}

TEST(BuiltIn, EveryAliasHasASpec) {
  std::set<std::string> names;
  for (const Alias& alias : aliases()) {
    EXPECT_TRUE(names.insert(alias.name).second) << alias.name;
    const auto spec = built_in(alias.sha256);
    ASSERT_TRUE(spec) << alias.name;
    EXPECT_EQ(spec->name, alias.name);
    EXPECT_EQ(alias.wheel_sha256.size(), 64u);
    EXPECT_EQ(alias.sha256.size(), 64u);
    EXPECT_THAT(alias.package, HasSubstr("=="));
  }
  EXPECT_THAT(names, ElementsAre("selfie", "selfie-landscape", "u2netp"));
}

TEST(Defaults, FollowTheShapes) {
  const ModelSpec planar = defaults("m", signature({1, 3, 256, 256}, {1, 1, 256, 256}));
  EXPECT_EQ(planar.name, "m");
  EXPECT_EQ(planar.source, "defaults");
  EXPECT_EQ(planar.input.layout, TensorLayout::nchw);
  EXPECT_EQ(planar.output.layout, TensorLayout::nchw);
  const ModelSpec last = defaults("m", signature({1, 256, 256, 3}, {1, 256, 256, 1}));
  EXPECT_EQ(last.input.layout, TensorLayout::nhwc);
  EXPECT_EQ(last.output.layout, TensorLayout::nhwc);
  EXPECT_EQ(defaults("m", signature({1, 1, 64, 64}, {1, 1, 64, 64})).input.order, ColorOrder::gray);
  EXPECT_EQ(defaults("m", signature({-1, 3, -1, -1}, {-1, 1, -1, -1})).input.layout, TensorLayout::nchw);
}

TEST(Defaults, TellProbabilitiesFromLogits) {
  const auto kind = [](Shape output, DType dtype, const std::string& producer) {
    return defaults("m", signature({1, 3, 8, 8}, std::move(output), dtype, producer)).output.kind;
  };
  EXPECT_EQ(kind({1, 1, 8, 8}, DType::f32, "Sigmoid"), OutputKind::probability);
  EXPECT_EQ(kind({1, 1, 8, 8}, DType::f32, "Conv"), OutputKind::logits);
  EXPECT_EQ(kind({1, 1, 8, 8}, DType::f32, ""), OutputKind::probability);
  EXPECT_EQ(kind({1, 5, 8, 8}, DType::f32, "Conv"), OutputKind::class_logits);
  EXPECT_EQ(kind({1, 8, 8}, DType::i64, "ArgMax"), OutputKind::class_map);
  // A soft max must not be applied twice.
  EXPECT_EQ(kind({1, 2, 8, 8}, DType::f32, "Softmax"), OutputKind::probability);
  EXPECT_EQ(kind({1, 5, 8, 8}, DType::f32, "Sigmoid"), OutputKind::probability);
  EXPECT_EQ(kind({1, 5, 8, 8}, DType::f32, "LogSoftmax"), OutputKind::class_logits);
}

TEST(Defaults, TakeTwentyOneClassesForVoc) {
  const ModelSpec spec = defaults("m", signature({1, 3, 520, 520}, {1, 21, 520, 520}, DType::f32, "Resize"));
  EXPECT_EQ(spec.output.class_names.at(15), "person");
  EXPECT_FLOAT_EQ(spec.input.mean[0], 0.485f);
  EXPECT_FLOAT_EQ(spec.input.stddev[2], 0.225f);
}

TEST(Defaults, NormaliseForNetworksThatTellClassesApart) {
  const auto mean = [](Shape input, Shape output, DType dtype, const std::string& producer) {
    return defaults("m", signature(std::move(input), std::move(output), dtype, producer)).input.mean[0];
  };
  EXPECT_FLOAT_EQ(mean({1, 3, 8, 8}, {1, 5, 8, 8}, DType::f32, "Conv"), 0.485f);
  EXPECT_FLOAT_EQ(mean({1, 3, 8, 8}, {1, 5, 8, 8}, DType::f32, "Softmax"), 0.485f);
  EXPECT_FLOAT_EQ(mean({1, 3, 8, 8}, {1, 8, 8}, DType::i64, "ArgMax"), 0.485f);
  EXPECT_EQ(mean({1, 3, 8, 8}, {1, 1, 8, 8}, DType::f32, "Sigmoid"), 0);
  EXPECT_EQ(mean({1, 8, 8, 3}, {1, 8, 8, 5}, DType::f32, "Softmax"), 0);
}

ModelSpec parse(const std::string& text) { return parse_yaml(text, "model.yaml", ModelSpec{}); }

std::string refusal(const std::string& text) {
  try {
    parse(text);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.what();
  }
}

TEST(Yaml, ReadsEveryKey) {
  const ModelSpec spec = parse(R"(
name: mine
input:
  color: bgr
  layout: nhwc
  scale: 1/127.5
  mean: 1
  std: [0.5, 0.25, 2]
  resize: area
  fit: letterbox
  pad_value: 114
  width: 320
  height: 240
output:
  tensor: mask
  kind: class_logits
  layout: nhwc
  classes: [back, "front"]
  colors: [[0, 0, 0], [255, 128, 0]]
  background: 1
  foreground_channel: 2
)");
  EXPECT_EQ(spec.name, "mine");
  EXPECT_EQ(spec.source, "model.yaml");
  EXPECT_EQ(spec.input.order, ColorOrder::bgr);
  EXPECT_EQ(spec.input.layout, TensorLayout::nhwc);
  EXPECT_FLOAT_EQ(spec.input.scale, 1 / 127.5f);
  EXPECT_THAT(spec.input.mean, ElementsAre(1, 1, 1));
  EXPECT_THAT(spec.input.stddev, ElementsAre(0.5f, 0.25f, 2.0f));
  EXPECT_EQ(spec.input.resize, ResizeRule::area);
  EXPECT_EQ(spec.input.fit, Fit::letterbox);
  EXPECT_FLOAT_EQ(spec.input.pad_value, 114);
  EXPECT_EQ(spec.input.width, 320);
  EXPECT_EQ(spec.input.height, 240);
  EXPECT_EQ(spec.output.tensor, "mask");
  EXPECT_EQ(spec.output.kind, OutputKind::class_logits);
  EXPECT_THAT(spec.output.class_names, ElementsAre("back", "front"));
  EXPECT_EQ(spec.output.class_colors.at(1), (std::array<std::uint8_t, 3>{255, 128, 0}));
  EXPECT_EQ(spec.output.background_class, 1);
  EXPECT_EQ(spec.output.foreground_channel, 2);
}

TEST(Yaml, KeepsWhatItDoesNotName) {
  ModelSpec base;
  base.name = "before";
  base.input.mean = {1, 2, 3};
  const ModelSpec spec = parse_yaml("input: {color: bgr}", "a.yaml", base);
  EXPECT_EQ(spec.name, "before");
  EXPECT_THAT(spec.input.mean, ElementsAre(1, 2, 3));
  EXPECT_EQ(parse_yaml("", "a.yaml", base).name, "before");
}

TEST(Yaml, LeavesTheForegroundToTheClassesWhereNoChannelIsNamed) {
  EXPECT_EQ(parse("output: {kind: probability}").output.foreground_channel, -1);
  EXPECT_EQ(parse("output: {foreground_channel: 0}").output.foreground_channel, 0);
}

TEST(Yaml, SuggestsTheWordThatWasMeant) {
  EXPECT_THAT(refusal("input:\n  colour: rgb\n"),
              AllOf(HasSubstr("model.yaml: line 2"), HasSubstr("input.colour"), HasSubstr("'color'?")));
  EXPECT_THAT(refusal("inptu: {}"), HasSubstr("'input'?"));
  EXPECT_THAT(refusal("output: {kind: probabilty}"), HasSubstr("'probability'?"));
  EXPECT_THAT(refusal("output: {kind: banana}"), HasSubstr("known are"));
}

TEST(Yaml, RefusesValuesThatMakeNoSense) {
  EXPECT_THAT(refusal("input: {scale: fast}"), HasSubstr("not a number"));
  EXPECT_THAT(refusal("input: {scale: 1/0}"), HasSubstr("not a number"));
  EXPECT_THAT(refusal("input: {scale: nan}"), HasSubstr("not a number"));
  EXPECT_THAT(refusal("input: {mean: [1, 2]}"), HasSubstr("2 numbers"));
  EXPECT_THAT(refusal("input: {std: 0}"), HasSubstr("above 0"));
  EXPECT_THAT(refusal("input: {width: -4}"), HasSubstr("whole number"));
  EXPECT_THAT(refusal("input: {width: 1.5}"), HasSubstr("whole number"));
  EXPECT_THAT(refusal("input: {pad_value: 300}"), HasSubstr("whole number"));
  EXPECT_THAT(refusal("input: [1]"), HasSubstr("keys and values"));
  EXPECT_THAT(refusal("just text"), HasSubstr("keys and values"));
  EXPECT_THAT(refusal("output: {classes: a}"), HasSubstr("list"));
  EXPECT_THAT(refusal("name: a\nname: b\n"), HasSubstr("twice"));
  EXPECT_THAT(refusal("input: {color: rgb"), HasSubstr("not valid YAML"));
  EXPECT_NE(refusal(std::string(100'000, '[')), "");
}

class ResolveTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("saccade_spec_" + std::to_string(::getpid()) + "_" +
               ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(const char* name, const std::string& content) { std::ofstream(folder_ / name) << content; }
  ModelSpec found(const std::string& sha = "", const std::vector<Metadata>& metadata = {}) {
    return resolve(folder_ / "net.onnx", sha, signature({1, 3, 8, 8}, {1, 1, 8, 8}), metadata);
  }

  std::filesystem::path folder_;
};

TEST_F(ResolveTest, PrefersWhatIsCloser) {
  const std::string selfie = "9ee168ec7c8f2a16c56fe8e1cfbc514974cbbb7e434051b455635f1bd1462f5c";
  const std::vector<Metadata> metadata = {{"metadata 'saccade'", "input: {mean: 0.25, std: 2}"},
                                          {"metadata 'saccade.input.mean'", "input:\n  mean: 0.5"}};
  EXPECT_EQ(found().source, "defaults");
  EXPECT_EQ(found().name, "net");
  EXPECT_EQ(found("", metadata).source, "metadata");
  EXPECT_EQ(found("", metadata).input.mean[1], 0.5f);  // the later entry
  EXPECT_EQ(found("", metadata).input.stddev[1], 2.0f);
  EXPECT_EQ(found("", metadata).name, "net");  // as without
  EXPECT_EQ(found(selfie, metadata).source, "built-in");
  write("model.yaml", "name: folder");
  EXPECT_EQ(found(selfie).name, "folder");
  EXPECT_EQ(found(selfie).input.layout, TensorLayout::nhwc);  // from the built-in spec
  write("net.yaml", "name: own");
  EXPECT_EQ(found(selfie).name, "own");
  EXPECT_THAT(found(selfie).source, HasSubstr("net.yaml"));
}

TEST_F(ResolveTest, NamesTheFaultyFile) {
  write("net.yaml", "outputs: {}");
  try {
    found();
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("net.yaml"), HasSubstr("'output'?")));
  }
}

TEST_F(ResolveTest, NamesTheFaultyMetadata) {
  try {
    found("", {{"metadata 'saccade.input.maen'", "input:\n  maen: 1"}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("metadata 'saccade.input.maen'"), HasSubstr("'mean'?")));
  }
}

TEST(Describe, SaysWhatIsForeground) {
  EXPECT_THAT(describe(parse("output: {kind: class_logits, background: 3}")),
              HasSubstr("background: class 3"));
  EXPECT_THAT(describe(parse("output: {kind: class_map, background: -1}")),
              HasSubstr("background: no class"));
  EXPECT_THAT(describe(parse("output: {kind: alpha, foreground_channel: 1}")),
              HasSubstr("foreground: channel 1"));
}

TEST(Describe, SaysWhatIsUsed) {
  const std::string text =
      describe(*built_in("309c8469258dda742793dce0ebea8e6dd393174f89934733ecc8b14c76f4ddd8"));
  EXPECT_THAT(text, AllOf(HasSubstr("u2netp"), HasSubstr("built-in"), HasSubstr("rgb nchw"),
                          HasSubstr("1/255"), HasSubstr("0.485, 0.456, 0.406"), HasSubstr("alpha")));
}

}  // namespace

}  // namespace saccade::spec
