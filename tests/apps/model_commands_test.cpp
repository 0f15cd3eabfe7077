// The real program: infer, inspect, verify and bench.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "npy.h"
#include "run_saccade.h"
#include "saccade/isa.h"
#include "tiny_onnx.h"

namespace saccade {
namespace {

using nlohmann::json;
using testing::Result;

class Commands : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              ("commands_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    model_ = (folder_ / "tiny.onnx").string();
    testing::write_tiny_network(model_);
    write_picture("x.npy", 1);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string at(const std::string& name) const { return (folder_ / name).string(); }
  void write_picture(const std::string& name, std::int64_t batch) {
    Tensor x(DType::f32, {batch, 3, 8, 6});
    for (std::int64_t i = 0; i < x.count(); ++i)
      x.data<float>()[i] = static_cast<float>(i % 144 * 37 % 101) / 50.0f - 1.0f;
    cli::write_npy(folder_ / name, x);
  }
  Result run(const std::vector<std::string>& arguments, const std::string& environment = "") const {
    return testing::run_saccade(folder_, arguments, environment);
  }
  // Fails with one line on stderr that holds `text`, and prints nothing else.
  void expect_failure(const std::vector<std::string>& arguments, int code, const std::string& text) const {
    const Result result = run(arguments);
    EXPECT_EQ(result.code, code) << result.err;
    EXPECT_NE(result.err.find(text), std::string::npos) << result.err;
    EXPECT_TRUE(result.err.starts_with("saccade: ")) << result.err;
    EXPECT_TRUE(code != 1 || std::count(result.err.begin(), result.err.end(), '\n') == 1) << result.err;
  }

  std::filesystem::path folder_;
  std::string model_;
};

TEST_F(Commands, InferWritesOneFileAnOutput) {
  const Result result = run({"infer", model_, "--input", at("x.npy"), "--output", at("out")});
  ASSERT_EQ(result.code, 0) << result.err;
  const Tensor mask = cli::read_npy(folder_ / "out" / "mask.npy");
  const Tensor logits = cli::read_npy(folder_ / "out" / "head_logits.npy");
  EXPECT_EQ(mask.shape(), (Shape{1, 1, 8, 6}));
  for (std::int64_t i = 0; i < mask.count(); ++i)
    EXPECT_NEAR(mask.data<float>()[i], 1.0 / (1.0 + std::exp(-static_cast<double>(logits.data<float>()[i]))),
                1e-6);
}

TEST_F(Commands, ExecutorsThreadsIsasAndBatchesAgree) {
  ASSERT_EQ(run({"infer", model_, "--input", "picture=" + at("x.npy"), "--output", at("reference"),
                 "--executor", "reference"})
                .code,
            0);
  const Tensor want = cli::read_npy(folder_ / "reference" / "mask.npy");
  for (const char* isa : {"portable", "avx2", "avx512", "avx512_vnni", "avx512_bf16", "amx"}) {
    if (*parse_isa(isa) > active_isa()) continue;
    std::string first;
    for (const char* threads : {"1", "2", "3"}) {
      const Result result = run({"infer", model_, "--input", at("x.npy"), "--output", at("out"), "--isa", isa,
                                 "--threads", threads, "--overwrite"});
      ASSERT_EQ(result.code, 0) << result.err;
      const std::string bytes = testing::content(folder_ / "out" / "mask.npy");
      if (first.empty()) first = bytes;
      EXPECT_EQ(bytes, first) << isa << ", " << threads;
    }
    const Tensor one = cli::read_npy(folder_ / "out" / "mask.npy");
    for (std::int64_t i = 0; i < want.count(); ++i)
      EXPECT_NEAR(want.data<float>()[i], one.data<float>()[i], 1e-6);
    write_picture("four.npy", 4);
    for (const std::vector<std::string>& input :
         {std::vector<std::string>{at("four.npy")}, {at("x.npy"), "--batch", "4"}}) {
      std::vector<std::string> arguments{"infer",     model_,  "--overwrite", "--output",
                                         at("batch"), "--isa", isa,           "--input"};
      arguments.insert(arguments.end(), input.begin(), input.end());
      const Result result = run(arguments);
      ASSERT_EQ(result.code, 0) << result.err;
      const Tensor four = cli::read_npy(folder_ / "batch" / "mask.npy");
      ASSERT_EQ(four.shape(), (Shape{4, 1, 8, 6}));
      for (std::size_t b = 0; b < 4; ++b)
        EXPECT_EQ(
            std::memcmp(static_cast<const std::byte*>(four.raw()) + b * one.bytes(), one.raw(), one.bytes()),
            0);
    }
  }
}

TEST_F(Commands, InferSaysWhatIsWrong) {
  const std::string out = at("out");
  cli::write_npy(folder_ / "bytes.npy", Tensor::zeros(DType::u8, {1, 3, 8, 6}));
  cli::write_npy(folder_ / "size.npy", Tensor::zeros(DType::f32, {1, 3, 9, 6}));
  expect_failure({"infer", model_, "--input", at("bytes.npy"), "--output", out}, 1,
                 "input 'picture': expected float32, got uint8");
  expect_failure({"infer", model_, "--input", at("size.npy"), "--output", out}, 1,
                 "expected shape 1x3x8x6, got 1x3x9x6");
  expect_failure({"infer", model_, "--input", at("none.npy"), "--output", out}, 1, "none.npy");
  expect_failure({"infer", at("none.onnx"), "--input", at("x.npy"), "--output", out}, 1, "none.onnx");
  expect_failure({"infer", model_, "--input", "mask=" + at("x.npy"), "--output", out}, 2,
                 "the model's inputs are 'picture'");
  expect_failure({"infer", model_, "--input", at("x.npy"), "--input", at("x.npy"), "--output", out}, 2,
                 "the model's inputs are");
  expect_failure({"infer", model_, "--input", at("x.npy"), "--output", out, "--isa", "sse9"}, 2, "sse9");
  expect_failure({"infer", model_, "--input", at("x.npy"), "--output", out, "--threads", "0"}, 2, "threads");
  expect_failure({"infer", model_, "--input", at("x.npy"), "--output", out, "--executor", "magic"}, 2,
                 "executor");
  expect_failure({"infer", model_, "--input", at("x.npy"), "--output", out, "--disable-pass", "magic"}, 1,
                 "no compiler pass 'magic'");
  expect_failure({"infer", model_, "--input", at("x.npy"), "--output", model_ + "/sub"}, 1, "cannot create");
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST_F(Commands, NothingThatIsThereIsReplacedUnasked) {
  std::filesystem::create_directories(folder_ / "cases/good");
  std::filesystem::copy_file(model_, folder_ / "cases/good/model.onnx");
  std::filesystem::create_directories(folder_ / "out");
  const std::string model = testing::content(model_), input = testing::content(at("x.npy"));
  const std::vector<std::pair<std::string, std::vector<std::string>>> commands = {
      {at("out/mask.npy"), {"infer", model_, "--input", at("x.npy"), "--output", at("out")}},
      {at("bench.json"), {"bench", model_, "--repeats", "1", "--json", at("bench.json")}},
      {at("verify.json"), {"verify", at("cases"), "--json", at("verify.json")}}};
  for (const auto& [file, command] : commands) {
    std::ofstream(file) << "precious";
    expect_failure(command, 1, file + ": exists already; use --overwrite");
    EXPECT_EQ(testing::content(file), "precious");
    std::vector<std::string> asked = command;
    asked.emplace_back("--overwrite");
    run(asked);
    EXPECT_NE(testing::content(file), "precious") << command.front();
  }
  // What is read is never written.
  expect_failure({"bench", model_, "--repeats", "1", "--json", model_, "--overwrite"}, 1, "which is read");
  const std::string tested = at("cases/good/model.onnx");
  expect_failure({"verify", at("cases"), "--json", tested, "--overwrite"}, 1, "which is read");
  EXPECT_EQ(testing::content(tested), model);
  std::filesystem::copy_file(at("x.npy"), at("out/mask.npy"),
                             std::filesystem::copy_options::overwrite_existing);
  expect_failure({"infer", model_, "--input", at("out/mask.npy"), "--output", at("out"), "--overwrite"}, 1,
                 "which is read");
  EXPECT_EQ(testing::content(model_), model);
  EXPECT_EQ(testing::content(at("out/mask.npy")), input);
}

TEST_F(Commands, InspectKnowsAnOutputThatIsNotThere) {
  std::ofstream(at("model.yaml")) << "output: {tensor: nothing}\n";
  expect_failure({"inspect", model_}, 1, "has no output 'nothing'; its outputs are");
  std::ofstream(at("model.yaml")) << "output: {tensor: mask}\n";
  EXPECT_EQ(run({"inspect", model_}).code, 0);
}

TEST_F(Commands, AskingForMoreThanTheMachineHasIsAnError) {
  const Result result = run({"infer", model_, "--input", at("x.npy"), "--output", at("out"), "--isa", "avx2"},
                            "SACCADE_MAX_ISA=portable");
  EXPECT_EQ(result.code, 1);
  EXPECT_NE(result.err.find("avx2"), std::string::npos) << result.err;
}

TEST_F(Commands, InspectAsTextAndJson) {
  const Result text = run({"inspect", model_, "--passes"});
  ASSERT_EQ(text.code, 0) << text.err;
  for (const char* part : {"'picture' float32 1x3x8x6", "'head/logits' float32 1x1x8x6", "Conv 2",
                           "multiply-adds", "fuse_activation"})
    EXPECT_NE(text.out.find(part), std::string::npos) << part << "\n" << text.out;
  const Result result = run({"inspect", model_, "--json"});
  ASSERT_EQ(result.code, 0) << result.err;
  const json j = json::parse(result.out);
  EXPECT_EQ(j["inputs"][0]["shape"], json({1, 3, 8, 6}));
  EXPECT_EQ(j["outputs"][1]["name"], "head/logits");
  EXPECT_EQ(j["operators"]["Conv"], 2);
  EXPECT_EQ(j["parameters"], 4 * 27 + 4);
  EXPECT_EQ(j["multiply_adds"], 48 * (4 * 27 + 4));
  EXPECT_GT(j["activation_bytes"], 0);
  EXPECT_TRUE(j["supported"]);
}

TEST_F(Commands, InspectListsEverythingThatIsMissing) {
  testing::OnnxWriter onnx;
  onnx.input("x", {1, 4});
  onnx.node("Frobnicate", {"x"}, {"a"});
  onnx.node("Relu", {"a"}, {"b"});
  onnx.node("Transmogrify", {"b"}, {"c"});
  onnx.node("Frobnicate", {"c"}, {"y"});
  onnx.output("y", {1, 4});
  onnx.write(at("odd.onnx"));
  const Result text = run({"inspect", at("odd.onnx")});
  EXPECT_EQ(text.code, 1);
  EXPECT_NE(text.out.find("Frobnicate"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("Transmogrify"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find(" x2: unknown operator, at 'Frobnicate_a', 'Frobnicate_y'\n"), std::string::npos)
      << text.out;
  const Result result = run({"inspect", at("odd.onnx"), "--json"});
  EXPECT_EQ(result.code, 1);
  const json j = json::parse(result.out);
  EXPECT_FALSE(j["supported"]);
  ASSERT_EQ(j["missing"].size(), 2u);
  EXPECT_EQ(j["missing"][0]["nodes"], (json{"Frobnicate_a", "Frobnicate_y"}));
  EXPECT_EQ(j["missing"][1]["nodes"], json{"Transmogrify_c"});
  cli::write_npy(folder_ / "v.npy", Tensor::zeros(DType::f32, {1, 4}));
  const Result infer = run({"infer", at("odd.onnx"), "--input", at("v.npy"), "--output", at("out")});
  EXPECT_EQ(infer.code, 1);
  EXPECT_NE(infer.err.find("Frobnicate"), std::string::npos) << infer.err;
  EXPECT_NE(infer.err.find("Transmogrify"), std::string::npos) << infer.err;
}

TEST_F(Commands, InspectOfFilesThatAreNoModels) {
  std::ofstream(at("text.onnx")) << "this is no model";
  std::ofstream(at("empty.onnx"));
  for (const std::string& path : {at("text.onnx"), at("empty.onnx"), folder_.string(), at("none")})
    expect_failure({"inspect", path}, 1, path.substr(path.rfind('/') + 1));
  const std::string whole = testing::content(model_);
  std::ofstream(at("half.onnx"), std::ios::binary)
      .write(whole.data(), static_cast<std::streamsize>(whole.size() / 2));
  expect_failure({"inspect", at("half.onnx")}, 1, "half.onnx");
}

TEST_F(Commands, LimitsAreOptions) {
  expect_failure({"inspect", model_, "--limit", "nodes=1"}, 1, "more than 1 nodes");
  expect_failure({"bench", "--limit", "work=2000", model_}, 1, "more than 2000 elements");
  expect_failure(
      {"infer", model_, "--input", at("x.npy"), "--output", at("out"), "--limit", "tensor-bytes=100"}, 1,
      "at most 100");
  expect_failure({"infer", model_, "--input", at("x.npy"), "--output", at("out"), "--executor", "reference",
                  "--limit", "total-bytes=1K", "--limit", "rank=4"},
                 1, "at most 1024");
  expect_failure({"inspect", model_, "--limit", "noodles=1"}, 2, "the limits are nodes, rank");
  expect_failure({"inspect", model_, "--limit", "nodes=many"}, 2, "expected a number");
  expect_failure({"inspect", model_, "--limit", "nodes=0"}, 2, "expected a number");
  EXPECT_EQ(run({"inspect", model_, "--limit", "tensor-bytes=1M"}).code, 0);
}

TEST_F(Commands, BenchReportsConfigurationsAndLayers) {
  const Result result = run({"bench", model_, "--threads", "1,2", "--isa", "portable", "--repeats", "3",
                             "--warmup", "1", "--json", "-"});
  ASSERT_EQ(result.code, 0) << result.err;
  const json j = json::parse(result.out);
  ASSERT_EQ(j["configurations"].size(), 2u);
  for (const json& c : j["configurations"]) {
    EXPECT_GT(c["median_ms"], 0);
    EXPECT_EQ(c["runs"], 3);
    EXPECT_EQ(c["multiply_adds"], 48 * (4 * 27 + 4));
    std::int64_t sum = 0;
    for (const json& layer : c["layers"]) {
      EXPECT_TRUE(layer.contains("kernel") && layer.contains("median_us") && layer.contains("gflops") &&
                  layer.contains("gbytes_per_s"));
      sum += layer["multiply_adds"].get<std::int64_t>();
    }
    EXPECT_EQ(sum, c["multiply_adds"]);
  }
  const Result text = run({"bench", model_, "--repeats", "2", "--json", at("bench.json")});
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_NE(text.out.find("median ms"), std::string::npos);
  EXPECT_TRUE(json::accept(testing::content(at("bench.json"))));
}

TEST_F(Commands, BenchComparesLayersWithTheirFloors) {
  const Result result =
      run({"bench", model_, "--repeats", "2", "--isa", "portable", "--floor", "--json", "-"});
  ASSERT_EQ(result.code, 0) << result.err;
  const json j = json::parse(result.out);
  const json& c = j["configurations"][0];
  EXPECT_GT(c["ceilings"]["fp32_gflops"], 0);
  EXPECT_GE(c["ceilings"]["levels"].size(), 3u);
  EXPECT_EQ(c["ceilings"]["levels"].back()["name"], "memory");
  double floor = 0;
  std::int64_t needed = 0;
  for (const json& layer : c["layers"]) {
    floor += layer["floor_us"].get<double>();
    needed += layer["needed_multiply_adds"].get<std::int64_t>();
    EXPECT_TRUE(layer.contains("floor_bound"));
  }
  EXPECT_NEAR(c["floor_ms"].get<double>(), floor / 1e3, 1e-9);
  // No kernel here has an algorithm of its own.
  EXPECT_DOUBLE_EQ(c["direct_floor_ms"].get<double>(), c["floor_ms"].get<double>());
  for (const json& layer : c["layers"])
    EXPECT_EQ(layer["kernel_multiply_adds"], layer["needed_multiply_adds"]);
  // The 3x3 convolution of 8x6 pixels meets its padding at the border.
  EXPECT_EQ(needed, 4 * 3 * (3 * 8 - 2) * (3 * 6 - 2) + 48 * 4);
  const Result text = run({"bench", model_, "--repeats", "2", "--isa", "portable", "--floor"});
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_NE(text.out.find("bound by"), std::string::npos);
  EXPECT_NE(text.out.find("ceilings: "), std::string::npos);
}

/// A case that holds y = Relu(x) of four elements, with these as what must come out.
void write_case(const std::filesystem::path& folder, const std::vector<float>& expected) {
  std::filesystem::create_directories(folder / "test_data_set_0");
  testing::OnnxWriter onnx;
  onnx.input("x", {4});
  onnx.node("Relu", {"x"}, {"y"});
  onnx.output("y", {4});
  onnx.write(folder / "model.onnx");
  const auto tensor = [&](const char* name, const std::vector<float>& values) {
    const testing::Message message = testing::Message().number(1, 4).number(2, 1).text(
        9, std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)));
    std::ofstream(folder / "test_data_set_0" / name, std::ios::binary) << message.bytes();
  };
  tensor("input_0.pb", {-1, 0, 1, 100});
  tensor("output_0.pb", expected);
}

TEST_F(Commands, VerifyCountsWhatPassesFailsAndIsLeftOut) {
  write_case(folder_ / "cases/good", {0, 0, 1, 100});
  write_case(folder_ / "cases/deep/down/near", {0, 0, 1, 100.05f});
  write_case(folder_ / "cases/wrong", {0, 0, 2, 100});
  write_case(folder_ / "cases/refused", {});
  std::ofstream(folder_ / "cases/refused/model.onnx") << "dummy";
  std::ofstream(folder_ / "cases/refused/must_fail.txt");
  for (const std::vector<std::string>& how : {std::vector<std::string>{},
                                              {"--executor", "reference"},
                                              {"--executor", "planned", "--isa", "portable"}}) {
    std::vector<std::string> arguments{"verify", at("cases")};
    arguments.insert(arguments.end(), how.begin(), how.end());
    const Result result = run(arguments);
    EXPECT_EQ(result.code, 1);
    EXPECT_TRUE(result.out.ends_with("3 passed, 1 failed, 0 skipped\n")) << result.out;
    EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 2) << result.out;
    EXPECT_NE(result.out.find(at("cases/wrong") + ": "), std::string::npos) << result.out;
  }
  const Result direct = run({"verify", at("cases/good"), at("cases/refused")});
  EXPECT_EQ(direct.code, 0);
  EXPECT_EQ(direct.out, "2 passed, 0 failed, 0 skipped\n");
  EXPECT_EQ(run({"verify", at("cases/deep"), "--rtol", "1e-4"}).code, 1);
  EXPECT_EQ(run({"verify", at("cases/deep"), "--rtol", "0", "--atol", "0.1"}).code, 0);
  std::filesystem::create_directories(folder_ / "nothing");
  expect_failure({"verify", at("cases/good"), at("nothing")}, 1, "holds no model.onnx");
  expect_failure({"verify", at("cases/good"), at("gone")}, 1, "gone");
  expect_failure({"verify", model_}, 1, "not a folder");
  EXPECT_EQ(run({"verify"}).code, 2);
  EXPECT_EQ(run({"verify", at("cases"), "--executor", "fast"}).code, 2);
  EXPECT_EQ(run({"verify", at("cases"), "--rtol", "-1"}).code, 2);
}

TEST_F(Commands, ReportsGoIntoPipesAndThroughLinks) {
  write_case(folder_ / "cases/good", {0, 0, 1, 100});
  const std::string bench = "bench", verify = "verify";
  for (const std::string& command : {bench, verify}) {
    std::vector<std::string> arguments = {command, command == bench ? model_ : at("cases")};
    if (command == bench) arguments.insert(arguments.end(), {"--repeats", "1", "--no-layers"});
    arguments.insert(arguments.end(), {"--json", ""});
    const std::string pipe = at(command + ".pipe"), link = at(command + ".link");
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    arguments.back() = pipe;
    Result result = run(arguments);
    EXPECT_EQ(result.code, 0) << result.err;
    std::string text(1 << 16, '\0');
    const ssize_t count = ::read(reader, text.data(), text.size());
    ::close(reader);
    EXPECT_TRUE(count > 0 && json::accept(text.substr(0, static_cast<std::size_t>(count)))) << command;
    EXPECT_TRUE(std::filesystem::is_fifo(pipe)) << command;
    std::filesystem::create_symlink(command + ".json", link);
    arguments.back() = link;
    EXPECT_EQ(run(arguments).code, 0);
    EXPECT_TRUE(std::filesystem::is_symlink(link)) << command;
    EXPECT_TRUE(json::accept(testing::content(at(command + ".json")))) << command;
    EXPECT_EQ(run(arguments).code, 1) << "the file behind the link is there now";
    for (const char* output : {"-", "/dev/stdout"}) {
      arguments.back() = output;
      result = run(arguments);
      EXPECT_EQ(result.code, 0) << result.err;
      EXPECT_TRUE(json::accept(result.out)) << result.out;
    }
  }
}

TEST_F(Commands, UsageErrors) {
  EXPECT_EQ(run({}).code, 2);
  EXPECT_EQ(run({"--help"}).code, 0);
  EXPECT_EQ(run({"--version"}).code, 0);
  expect_failure({"segment"}, 2, "no command 'segment'");
  expect_failure({"infer"}, 2, "no model is named");
  expect_failure({"bench", model_, "--shape", "1x3xlarge"}, 2, "1x3xlarge");
  expect_failure({"inspect", "selfie-of-nobody"}, 1, "selfie-of-nobody");
}

TEST_F(Commands, ModelsAreNamedInTheSameWordsEverywhere) {
  for (const char* command :
       {"run", "profile", "infer", "inspect", "bench", "optimize", "compare", "config", "evaluate"}) {
    const Result result = run({command, "--help"});
    EXPECT_EQ(result.code, 0) << command;
    EXPECT_NE(result.out.find("Model file, or the name of one that saccade fetch gets"), std::string::npos)
        << result.out;
    EXPECT_EQ(result.out.find("alias"), std::string::npos) << result.out;
  }
}

TEST_F(Commands, SmallLettersAreUnitsOfSizesToo) {
  for (const char* size : {"200000k", "200m", "1g", "1t"}) {
    EXPECT_EQ(run({"inspect", model_, "--max-memory", size}).code, 0) << size;
    EXPECT_EQ(run({"bench", model_, "--repeats", "1", "--max-memory", size, "--limit",
                   std::string("tensor-bytes=") + size})
                  .code,
              0)
        << size;
  }
}

TEST_F(Commands, AnAliasThatIsNotFetchedSaysHowToGetIt) {
  const Result result = run({"inspect", "selfie"}, "SACCADE_CACHE_DIR='" + folder_.string() + "'");
  EXPECT_EQ(result.code, 1);
  EXPECT_NE(result.err.find("saccade fetch selfie"), std::string::npos) << result.err;
}

}  // namespace
}  // namespace saccade
