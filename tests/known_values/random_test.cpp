// Random numbers: the same from every executor and in every run, different from node to node.
#include <gtest/gtest.h>

#include "cpu/target.h"
#include "known_values/executors.h"
#include "saccade/error.h"

namespace saccade::known {
namespace {

std::vector<float> values(const Tensor& t) { return {t.values<float>().begin(), t.values<float>().end()}; }

/// The first output, which every executor must give alike, twice.
Tensor drawn(const OnnxModel& m, const std::vector<Tensor>& inputs) {
  const Model model = imported(m.bytes());
  const Tensor first = model.interpret(inputs).at(0);
  for (const Executor& executor : executors())
    for (int round = 0; round < 2; ++round) {
      const Tensor y = executor.run(model, inputs).at(0);
      EXPECT_EQ(y.shape(), first.shape()) << executor.name;
      EXPECT_EQ(values(y), values(first)) << executor.name;
    }
  return first;
}

OnnxModel noise(float first_seed, float second_seed, const std::string& op = "RandomNormalLike") {
  OnnxModel m(15);
  m.input("x", DType::f32, {1, 2, 8}).output("y");
  OnnxModel::Node a = m.node(op, {"x"}, {"a"});
  OnnxModel::Node b = m.node(op, {"x"}, {"b"});
  if (first_seed != 0) a.set("seed", first_seed);
  if (second_seed != 0) b.set("seed", second_seed);
  m.node("Sub", {"a", "b"}, {"y"});
  return m;
}

TEST(KnownRandom, NodesWithoutASeedDifferAndEqualSeedsAgree) {
  const std::vector<Tensor> x{Tensor::zeros(DType::f32, {1, 2, 8})};
  for (const char* op : {"RandomNormalLike", "RandomUniformLike"}) {
    for (const float v : values(drawn(noise(0, 0, op), x))) EXPECT_NE(v, 0);
    for (const float v : values(drawn(noise(3, 4.5f, op), x))) EXPECT_NE(v, 0);
    for (const float v : values(drawn(noise(3, 3, op), x))) EXPECT_EQ(v, 0);
  }
}

TEST(KnownRandom, BernoulliIsOneWithItsProbability) {
  OnnxModel m(15);
  m.input("p", DType::f32, {4, 4000}).output("y");
  m.node("Bernoulli", {"p"}, {"y"}).set("seed", 5.0f);
  Tensor p(DType::f32, {4, 4000});
  const float rows[] = {0, 1, 0.25f, 0.9f};
  for (std::int64_t i = 0; i < p.count(); ++i) p.data<float>()[i] = rows[i / 4000];
  const Tensor y = drawn(m, {p});
  for (std::int64_t row = 0; row < 4; ++row) {
    double sum = 0;
    for (std::int64_t i = 0; i < 4000; ++i) {
      const float v = y.data<float>()[row * 4000 + i];
      EXPECT_TRUE(v == 0 || v == 1);
      sum += static_cast<double>(v);
    }
    EXPECT_NEAR(sum / 4000, static_cast<double>(rows[row]), row < 2 ? 0.0 : 0.03);
  }
}

TEST(KnownRandom, ShapeAndTypeCanBeAttributes) {
  OnnxModel m(13);
  m.input("x", DType::f32, {2, 3}).output("y");
  m.node("RandomUniform", {}, {"r"})
      .set("shape", Integers{2, 3})
      .set("low", 5.0f)
      .set("high", 6.0f)
      .set("dtype", std::int64_t{10});
  m.node("Cast", {"r"}, {"f"}).set("to", std::int64_t{1});
  m.node("Add", {"x", "f"}, {"y"});
  for (const float v : values(drawn(m, {Tensor::zeros(DType::f32, {2, 3})}))) {
    EXPECT_GE(v, 5);
    EXPECT_LE(v, 6);
  }
}

TEST(KnownRandom, AnotherBatchIsRefusedWhereSamplesWouldDiffer) {
  const Model model = imported(noise(0, 0).bytes());
  CompileOptions options;
  options.batch = 2;
  EXPECT_THROW(model.compile(cpu::target(), options), Error);
  OnnxModel shared(13);
  shared.input("x", DType::f32, {1, 3}).output("y");
  shared.node("RandomUniform", {}, {"r"}).set("shape", Integers{1, 3});
  shared.node("Add", {"x", "r"}, {"y"});
  const Tensor y = imported(shared.bytes())
                       .compile(cpu::target(), options)
                       .make_context()
                       .run(std::vector<Tensor>{Tensor::zeros(DType::f32, {2, 3})})[0];
  for (int i = 0; i < 3; ++i) EXPECT_EQ(y.data<float>()[i], y.data<float>()[3 + i]);
}

}  // namespace
}  // namespace saccade::known
