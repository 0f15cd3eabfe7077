#include "runtime/context.h"

#include <gtest/gtest.h>
#include <xmmintrin.h>

#include <cstring>
#include <thread>

#include "compiler/fake_target.h"
#include "compiler/random_network.h"
#include "cpu/target.h"
#include "runtime/model_impl.h"
#include "saccade/error.h"

namespace saccade {
namespace {

using testing::GraphMaker;

Model network() { return runtime::make_model(testing::random_network(5, false)); }

Tensor picture(const Model& model, int variant) {
  Tensor x(DType::f32, model.inputs()[0].shape);
  for (std::int64_t i = 0; i < x.count(); ++i)
    x.data<float>()[i] = static_cast<float>((i * (31 + variant)) % 97) / 97.0f;
  return x;
}

TEST(Context, ManyAtOnceGiveWhatOneGives) {
  const Model model = network();
  const Plan plan = model.compile(cpu::target(), {});
  std::vector<std::vector<Tensor>> expected;
  for (int v = 0; v < 4; ++v)
    expected.push_back(plan.make_context().run(std::vector<Tensor>{picture(model, v)}));
  std::vector<int> wrong(4, 0);
  std::vector<std::thread> threads;
  for (int v = 0; v < 4; ++v)
    threads.emplace_back([&, v] {
      Context context = plan.make_context({1 + v % 2});
      for (int run = 0; run < 5; ++run) {
        const std::vector<Tensor> outputs = context.run(std::vector<Tensor>{picture(model, v)});
        for (std::size_t o = 0; o < outputs.size(); ++o)
          if (std::memcmp(outputs[o].raw(), expected[static_cast<std::size_t>(v)][o].raw(),
                          outputs[o].bytes()) != 0)
            ++wrong[static_cast<std::size_t>(v)];
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
}

TEST(Context, CompilingFromManyThreadsIsSafe) {
  const Model model = network();
  std::vector<std::thread> threads;
  std::vector<const void*> plans(3, nullptr);
  for (std::size_t i = 0; i < 3; ++i)
    threads.emplace_back([&, i] { plans[i] = &model.compile(cpu::target(), {}).impl(); });
  for (std::thread& thread : threads) thread.join();
  // Whoever came last, the same request now comes from the cache.
  EXPECT_EQ(&model.compile(cpu::target(), {}).impl(), &model.compile(cpu::target(), {}).impl());
}

TEST(Context, NothingIsLeftOverFromTheRunBefore) {
  const Model model = network();
  Context context = model.compile(cpu::target(), {}).make_context({2});
  const std::vector<Tensor> first = context.run(std::vector<Tensor>{picture(model, 0)});
  context.run(std::vector<Tensor>{picture(model, 1)});
  const std::vector<Tensor> again = context.run(std::vector<Tensor>{picture(model, 0)});
  for (std::size_t o = 0; o < first.size(); ++o)
    EXPECT_EQ(std::memcmp(first[o].raw(), again[o].raw(), first[o].bytes()), 0);
}

TEST(Context, WrongTensorsAreNamed) {
  const Model model = network();
  Context context = model.compile(cpu::target(), {}).make_context();
  const auto message = [&](const std::vector<Tensor>& inputs) -> std::string {
    try {
      context.run(inputs);
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::shape_mismatch);
      return e.what();
    }
    return "accepted";
  };
  EXPECT_NE(message({}).find("1 inputs"), std::string::npos) << message({});
  EXPECT_NE(message({Tensor::zeros(DType::f32, {1, 3, 2, 2})}).find("'picture': expected float32"),
            std::string::npos);
  EXPECT_NE(message({Tensor::zeros(DType::u8, model.inputs()[0].shape)}).find("got uint8"),
            std::string::npos);
}

TEST(Context, BuffersMustNotOverlap) {
  GraphMaker m;
  const Model model = runtime::make_model(m.finish({m.node("Relu", {m.input("x", {16})})}));
  Context context = model.compile(cpu::target(), {}).make_context();
  Tensor x = Tensor::zeros(DType::f32, {16});
  std::vector<Tensor> outputs{x};
  EXPECT_THROW(context.run(std::vector<Tensor>{x}, outputs), Error);
}

TEST(Context, BadDataInAReferenceStepIsAnErrorAndTheContextLivesOn) {
  GraphMaker m;
  const auto table = m.input("table", {4, 8});
  const auto index = m.input("index", {1}, DType::i64);
  const auto y = m.node("Relu", {m.node("Gather", {table, index}, {{"axis", std::int64_t{0}}})});
  const Model model = runtime::make_model(m.finish({y}));
  for (const int threads : {1, 3}) {
    Context context = model.compile(testing::empty_target(), {}).make_context({threads});
    const Tensor rows = Tensor::zeros(DType::f32, {4, 8});
    for (int round = 0; round < 2; ++round) {
      EXPECT_THROW(context.run(std::vector<Tensor>{rows, Tensor::of<std::int64_t>({1}, {99})}), Error);
      EXPECT_NO_THROW(context.run(std::vector<Tensor>{rows, Tensor::of<std::int64_t>({1}, {3})}));
    }
  }
}

TEST(Context, AConstantIndexOutOfRangeIsAnErrorToo) {
  GraphMaker m;
  const auto y =
      m.node("Gather", {m.input("table", {4, 8}), m.integers({0, 4})}, {{"axis", std::int64_t{0}}});
  const Model model = runtime::make_model(m.finish({y}));
  const std::vector<Tensor> table{Tensor::zeros(DType::f32, {4, 8})};
  for (const Isa isa : {Isa::portable, active_isa()}) {
    CompileOptions options;
    options.max_isa = isa;
    EXPECT_THROW(model.compile(cpu::target(), options).make_context().run(table), Error);
  }
}

TEST(Context, APartThatIsBroadcastIsNotOverwritten) {
  for (const std::int64_t axis : {std::int64_t{0}, std::int64_t{1}}) {
    GraphMaker m;
    const auto x = m.node("Softmax", {m.input("x", {24, 700})}, {{"axis", std::int64_t{1}}});
    const auto first = m.node("Slice", {x, m.integers({0}), m.integers({1}), m.integers({axis})});
    const auto y = m.node("Softmax", {m.node("Sub", {x, first})}, {{"axis", std::int64_t{0}}});
    const Model model = runtime::make_model(m.finish({y}));
    Tensor input(DType::f32, {24, 700});
    for (std::int64_t i = 0; i < input.count(); ++i)
      input.data<float>()[i] = static_cast<float>(i * 31 % 97) / 9.0f;
    const std::vector<Tensor> inputs{input};
    const Tensor want = model.interpret(inputs)[0];
    const Tensor got = model.compile(cpu::target(), {}).make_context().run(inputs)[0];
    for (std::int64_t i = 0; i < want.count(); ++i)
      ASSERT_NEAR(got.data<float>()[i], want.data<float>()[i], 1e-6f) << "axis " << axis << ", " << i;
  }
}

TEST(Context, DenormalsAreFlushedDuringTheRunOnly) {
  const unsigned before = _mm_getcsr();
  GraphMaker m;
  const auto x = m.input("x", {64});
  const Model model = runtime::make_model(m.finish({m.node("Mul", {m.node("Mul", {x, x}), m.scalar(3)})}));
  Tensor tiny(DType::f32, {64});
  for (std::int64_t i = 0; i < 64; ++i) tiny.data<float>()[i] = 1e-20f;  // its square is denormal
  const std::vector<Tensor> y =
      model.compile(cpu::target(), {}).make_context({2}).run(std::vector<Tensor>{tiny});
  for (const float v : y[0].values<float>()) EXPECT_EQ(v, 0.0f);
  EXPECT_EQ(_mm_getcsr() & 0x8040u, before & 0x8040u);
}

TEST(Context, TimedRunsCoverEveryStep) {
  const Model model = network();
  const Plan plan = model.compile(cpu::target(), {});
  for (const int threads : {1, 2}) {
    Context context = plan.make_context({threads});
    std::vector<Tensor> outputs;
    for (const TensorInfo& info : plan.outputs()) outputs.emplace_back(info.dtype, info.shape);
    std::vector<std::int64_t> times(plan.impl().compiled.steps.size(), 0);
    context.impl().run_timed(std::vector<Tensor>{picture(model, 0)}, outputs, times);
    std::vector<Tensor> plain = context.run(std::vector<Tensor>{picture(model, 0)});
    for (std::size_t o = 0; o < plain.size(); ++o)
      EXPECT_EQ(std::memcmp(plain[o].raw(), outputs[o].raw(), plain[o].bytes()), 0);
    for (std::size_t s = 0; s < times.size(); ++s)
      EXPECT_TRUE(times[s] > 0 || plan.impl().compiled.steps[s].prepared.phase_tasks[0] == 0) << s;
  }
}

TEST(Context, ThreadCountIsChecked) {
  const Plan plan = network().compile(cpu::target(), {});
  EXPECT_THROW(plan.make_context({0}), Error);
  EXPECT_THROW(plan.make_context({-3}), Error);
  EXPECT_THROW(plan.make_context({100000}), Error);
}

TEST(Phases, BarriersOnlyWhereThreadsMustMeet) {
  compiler::CompiledGraph graph;
  for (const std::vector<std::int64_t>& tasks :
       std::vector<std::vector<std::int64_t>>{{1}, {1}, {8}, {0}, {1, 4}, {1}, {1}}) {
    compiler::Step step;
    step.prepared.phase_tasks = tasks;
    graph.steps.push_back(step);
  }
  std::vector<bool> barriers;
  for (const runtime::Phase& phase : runtime::phases_of(graph)) barriers.push_back(phase.barrier);
  //                                         1      1     8     1     4     1      1
  EXPECT_EQ(barriers, (std::vector<bool>{false, true, true, true, true, false, false}));
}

TEST(Phases, AFollowerHasNoFirstPhaseOfItsOwn) {
  compiler::CompiledGraph graph;
  for (const std::vector<std::int64_t>& tasks : std::vector<std::vector<std::int64_t>>{{2, 8}, {1}, {8, 1}}) {
    compiler::Step step;
    step.prepared.phase_tasks = tasks;
    graph.steps.push_back(step);
  }
  graph.steps[2].follows = 0;
  const std::vector<runtime::Phase> phases = runtime::phases_of(graph);
  ASSERT_EQ(phases.size(), 4u);
  EXPECT_TRUE(phases[0].followers.empty());
  EXPECT_EQ(phases[1].followers, std::vector<std::size_t>{2});
  EXPECT_EQ(phases[3].step, 2u);
  EXPECT_EQ(phases[3].phase, 1);
  EXPECT_FALSE(phases[2].barrier);
}

}  // namespace
}  // namespace saccade
