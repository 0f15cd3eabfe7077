// Plans and models that are kept in files.
#include "runtime/plan_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <random>
#include <thread>

#include "apps/tiny_onnx.h"
#include "base/archive.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/temporary_folder.h"
#include "compiler/random_network.h"
#include "cpu/target.h"
#include "import/import.h"
#include "runtime/model_card.h"
#include "runtime/model_impl.h"
#include "runtime/plan.h"
#include "saccade/error.h"

namespace saccade {
namespace {

namespace fs = std::filesystem;
using runtime::PlanCache;
using Kind = PlanCache::Kind;

class PlanCacheTest : public ::testing::Test {
 protected:
  void TearDown() override {  // else the folder could not be removed
    std::error_code ignored;
    fs::permissions(folder_, fs::perms::owner_all, ignored);
  }

  std::shared_ptr<const PlanCache> cache(std::int64_t most = std::int64_t{1} << 30,
                                         const std::string& build = "b1") const {
    return std::make_shared<PlanCache>(folder_ / "plans", most, build);
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> list;
    if (!fs::exists(folder_ / "plans")) return list;
    for (const auto& each : fs::directory_iterator(folder_ / "plans")) list.push_back(each.path());
    std::sort(list.begin(), list.end());
    return list;
  }

  TemporaryFolder scratch_{"saccade-plans."};
  fs::path folder_ = scratch_.path();
};

// Large enough that weights are kept in blocks only.
ir::Graph network(float scale = 1) {
  testing::GraphMaker m;
  auto x = m.input("picture", {1, 3, 20, 24});
  x = m.node("Relu", {m.conv(x, 3, 32)});
  auto y = m.node("Relu", {m.conv(x, 32, 64)});
  y = m.conv(y, 64, 64, 3, 1, 64);
  y = m.node("HardSwish", {m.conv(y, 64, 48, 1)});
  y = m.conv(y, 48, 5, 3, 2);
  ir::Graph graph = m.finish({m.node("Softmax", {y}, {{"axis", std::int64_t{1}}})});
  if (scale != 1)
    for (ir::Value& value : graph.values)
      if (value.constant && value.dtype == DType::f32) {
        value.constant = value.constant->clone();
        for (std::int64_t i = 0; i < value.constant->count(); ++i) value.constant->data<float>()[i] *= scale;
      }
  return graph;
}

std::vector<Tensor> inputs_of(const Model& model) {
  std::vector<Tensor> tensors;
  for (const TensorInfo& info : model.inputs()) {
    Tensor tensor(info.dtype, info.shape);
    for (std::int64_t i = 0; i < tensor.count(); ++i)
      tensor.data<float>()[i] = static_cast<float>((i * 7919 + 13) % 1009) / 504.5f - 1.0f;
    tensors.push_back(tensor);
  }
  return tensors;
}

std::vector<Tensor> results(const Model& model, const CompileOptions& options = {}) {
  return model.compile(cpu::target(), options).make_context().run(inputs_of(model));
}

bool same(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (a[i].shape() != b[i].shape() || std::memcmp(a[i].raw(), b[i].raw(), a[i].bytes()) != 0) return false;
  return true;
}

// A model with other weights under the same identity: its own results are others, so whoever returns those of
// the first one got them from the cache.
Model impostor(std::shared_ptr<const PlanCache> cache) {
  return runtime::make_model(network(0.5f), "network", std::move(cache));
}

TEST_F(PlanCacheTest, ReturnsThePlanThatWasKept) {
  const std::vector<Tensor> want = results(runtime::make_model(network()));
  EXPECT_TRUE(same(want, results(runtime::make_model(network(), "network", cache()))));
  ASSERT_EQ(files().size(), 1u);
  EXPECT_FALSE(same(want, results(runtime::make_model(network(0.5f)))));
  const Model model = impostor(cache());
  const Plan plan = model.compile(cpu::target(), {});
  EXPECT_TRUE(same(want, results(model)));
  const Plan fresh = runtime::make_model(network()).compile(cpu::target(), {});
  EXPECT_EQ(plan.arena_bytes(), fresh.arena_bytes());
  EXPECT_EQ(plan.weight_bytes(), fresh.weight_bytes());
  ASSERT_EQ(plan.impl().compiled.steps.size(), fresh.impl().compiled.steps.size());
  for (std::size_t i = 0; i < fresh.impl().compiled.steps.size(); ++i)
    EXPECT_EQ(plan.impl().compiled.steps[i].kernel, fresh.impl().compiled.steps[i].kernel);
}

// Weights are not kept twice.
TEST_F(PlanCacheTest, LeavesOutDataThatArePacked) {
  results(runtime::make_model(network(), "network", cache()));
  const Plan plan = runtime::make_model(network()).compile(cpu::target(), {});
  EXPECT_LT(fs::file_size(files().at(0)), static_cast<std::uintmax_t>(plan.weight_bytes()) * 3 / 2 + 16384);
}

TEST_F(PlanCacheTest, RandomNetworksComeBackBitByBit) {
  for (unsigned seed = 0; seed < 24; ++seed) {
    SCOPED_TRACE(seed);
    const ir::Graph graph = testing::random_network(seed, seed % 2 == 0);
    for (const Isa isa : {Isa::portable, Isa::avx2}) {
      if (isa > active_isa()) continue;
      CompileOptions options;
      options.max_isa = isa;
      const std::string identity = "random " + std::to_string(seed);
      const std::vector<Tensor> want = results(runtime::make_model(graph), options);
      const std::size_t before = files().size();
      EXPECT_TRUE(same(want, results(runtime::make_model(graph, identity, cache()), options)));
      EXPECT_EQ(files().size(), before + 1);
      const Model again = runtime::make_model(graph, identity, cache());
      EXPECT_TRUE(same(want, results(again, options)));
      EXPECT_EQ(files().size(), before + 1);
    }
  }
}

TEST_F(PlanCacheTest, KeysHoldEverythingThatMatters) {
  results(runtime::make_model(network(), "network", cache()));
  EXPECT_EQ(files().size(), 1u);
  CompileOptions options;
  options.disabled_passes = {"fuse_activation"};
  results(impostor(cache()), options);
  EXPECT_EQ(files().size(), 2u);
  options = {};
  options.max_isa = Isa::portable;
  results(impostor(cache()), options);
  EXPECT_EQ(files().size(), active_isa() == Isa::portable ? 2u : 3u);
  const std::size_t count = files().size();
  options = {};
  options.batch = 2;
  impostor(cache()).compile(cpu::target(), options);
  EXPECT_EQ(files().size(), count + 1);
  results(runtime::make_model(network(), "another", cache()));
  EXPECT_EQ(files().size(), count + 2);
  ir::Graph limited = network();
  limited.limits.max_total_bytes /= 2;
  results(runtime::make_model(limited, "network", cache()));
  EXPECT_EQ(files().size(), count + 3);
  // Another build of Saccade.
  results(runtime::make_model(network(), "network", cache(std::int64_t{1} << 30, "b2")));
  EXPECT_EQ(files().size(), count + 4);
}

TEST_F(PlanCacheTest, WithoutAnIdentityNothingIsKept) {
  results(runtime::make_model(network(), "", cache()));
  EXPECT_TRUE(files().empty());
}

void write(const fs::path& path, std::span<const std::byte> bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

std::vector<std::byte> content_of(const fs::path& path) {
  const MappedFile file = map_file(path);
  return {file.bytes.begin(), file.bytes.end()};
}

TEST_F(PlanCacheTest, DamagedEntriesAreMadeAnew) {
  const std::vector<Tensor> want = results(runtime::make_model(network(), "network", cache()));
  const fs::path path = files().at(0);
  const std::vector<std::byte> whole = content_of(path);
  const auto check = [&](std::span<const std::byte> bytes, const std::string& what) {
    SCOPED_TRACE(what);
    write(path, bytes);
    EXPECT_TRUE(same(want, results(runtime::make_model(network(), "network", cache()))));
    EXPECT_TRUE(content_of(path) == whole);
  };
  check({}, "empty");
  for (const std::size_t size :
       {std::size_t{1}, std::size_t{20}, std::size_t{200}, whole.size() / 2, whole.size() - 1})
    check(std::span(whole).first(size), "cut to " + std::to_string(size));
  std::vector<std::byte> longer = whole;
  longer.push_back(std::byte{0});
  check(longer, "longer");
  check(std::vector<std::byte>(whole.size(), std::byte{0xff}), "all ones");
  std::mt19937 random(3);
  int remade = 0;
  for (int i = 0; i < 200; ++i) {
    // Half of them near the start, where a flip means something else.
    const std::size_t at = random() % (i % 2 == 0 ? std::min<std::size_t>(whole.size(), 8192) : whole.size());
    std::vector<std::byte> flipped = whole;
    flipped[at] ^= std::byte{1} << (random() % 8);
    write(path, flipped);
    EXPECT_TRUE(same(want, results(runtime::make_model(network(), "network", cache())))) << at;
    // Made anew, unless nobody ever reads that byte.
    const std::vector<std::byte> after = content_of(path);
    EXPECT_TRUE(after == whole || after == flipped) << at;
    remade += after == whole ? 1 : 0;
  }
  EXPECT_GT(remade, 150);
}

// A file whose checksums are right and whose content is not: nothing may crash, and nothing is used that the
// model does not fit.
TEST_F(PlanCacheTest, ForgedEntriesDoNoHarm) {
  const auto disk = cache();
  const Model model = runtime::make_model(network(), "network", disk);
  results(model);
  const fs::path path = files().at(0);
  const std::vector<std::byte> whole = content_of(path);
  std::uint64_t head_bytes = 0;
  std::memcpy(&head_bytes, whole.data() + 8, sizeof(head_bytes));
  std::mt19937 random(5);
  int used = 0;
  for (int i = 0; i < 200; ++i) {
    std::vector<std::byte> forged = whole;
    const int flips = 1 + static_cast<int>(random() % 4);
    for (int flip = 0; flip < flips; ++flip) {
      std::byte& byte = forged[24 + random() % head_bytes];
      switch (random() % 3) {
        case 0:
          byte ^= std::byte{1} << (random() % 8);
          break;
        case 1:
          byte = std::byte{0xff};
          break;
        default:
          byte = static_cast<std::byte>(random());
      }
    }
    const std::uint64_t sum = checksum(std::span(forged).subspan(24, head_bytes));
    std::memcpy(forged.data() + 16, &sum, sizeof(sum));
    write(path, forged);
    const Model again = runtime::make_model(network(), "network", disk);
    const Plan plan = again.compile(cpu::target(), {});
    plan.make_context().run(inputs_of(again));
    used += content_of(path) == whole ? 0 : 1;
  }
  // Many flips hit names and weights of no consequence to safety; many do not.
  EXPECT_GT(used, 0);
  EXPECT_LT(used, 200);
}

TEST_F(PlanCacheTest, FilesOfOthersAreNotUsed) {
  const std::vector<std::byte> head(10, std::byte{1});
  cache()->keep(Kind::model, "key", head, {});
  ASSERT_EQ(files().size(), 1u);
  EXPECT_TRUE(cache()->find(Kind::model, "key").has_value());
  // A key that differs although the name of the file is the same.
  fs::rename(files()[0], cache()->path_of(Kind::model, "other"));
  EXPECT_FALSE(cache()->find(Kind::model, "other").has_value());
  fs::remove(files()[0]);
  fs::create_directory(cache()->path_of(Kind::model, "key"));
  EXPECT_FALSE(cache()->find(Kind::model, "key").has_value());
  fs::remove(files()[0]);
  ASSERT_EQ(::mkfifo(cache()->path_of(Kind::model, "key").c_str(), 0600), 0);
  EXPECT_FALSE(cache()->find(Kind::model, "key").has_value());
}

TEST_F(PlanCacheTest, BlocksComeBackAligned) {
  std::vector<compiler::PackedBlock> blocks;
  for (const std::size_t size : {1u, 64u, 65u, 0u, 300'000u, 3'000'000u}) {
    auto data = std::make_shared<std::vector<unsigned char>>(size);
    for (std::size_t i = 0; i < size; ++i) (*data)[i] = static_cast<unsigned char>(i * 31 + size);
    blocks.push_back({std::shared_ptr<const void>(data, data->data()), size});
  }
  cache()->keep(Kind::plan, "key", {}, blocks);
  const auto entry = cache()->find(Kind::plan, "key");
  ASSERT_TRUE(entry.has_value());
  ASSERT_EQ(entry->blocks.size(), blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    ASSERT_EQ(entry->blocks[i].bytes, blocks[i].bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(entry->blocks[i].data.get()) % 64, 0u);
    if (blocks[i].bytes == 0) continue;
    EXPECT_EQ(std::memcmp(entry->blocks[i].data.get(), blocks[i].data.get(), blocks[i].bytes), 0);
  }
}

TEST_F(PlanCacheTest, TheLeastRecentlyUsedGoFirst) {
  const auto small = cache(10'000);
  const std::vector<std::byte> head(3000, std::byte{7});
  const auto use_at = [&](const char* key, int minute) {
    const timespec times[2] = {{1'700'000'000 + 60 * minute, 0}, {1'700'000'000 + 60 * minute, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, small->path_of(Kind::model, key).c_str(), times, 0), 0);
  };
  small->keep(Kind::model, "a", head, {});
  small->keep(Kind::model, "b", head, {});
  small->keep(Kind::model, "c", head, {});
  use_at("a", 3), use_at("b", 1), use_at("c", 2);
  small->keep(Kind::model, "d", head, {});
  EXPECT_FALSE(small->find(Kind::model, "b").has_value());
  use_at("d", 4);
  EXPECT_TRUE(small->find(Kind::model, "c").has_value());  // used now, so a is the oldest
  small->keep(Kind::model, "e", head, {});
  EXPECT_FALSE(small->find(Kind::model, "a").has_value());
  EXPECT_TRUE(small->find(Kind::model, "c").has_value());
  EXPECT_TRUE(small->find(Kind::model, "e").has_value());
  // What does not fit at all is not written, and takes nothing away.
  small->keep(Kind::model, "f", std::vector<std::byte>(20'000), {});
  EXPECT_FALSE(small->find(Kind::model, "f").has_value());
  EXPECT_TRUE(small->find(Kind::model, "e").has_value());
}

TEST_F(PlanCacheTest, RemainsOfKilledWritersAreSweptUp) {
  cache()->keep(Kind::model, "a", {}, {});
  const fs::path plans = folder_ / "plans";
  const fs::path dead = plans / (std::string(32, 'a') + ".plan.Abc1e2"),
                 written = plans / (std::string(32, 'b') + ".plan.abcdef");
  std::vector<fs::path> foreign;
  for (const char* name : {"notes.txt", "my.model.onnx", "selfie.model.yaml", "terraform.plan", "x.model",
                           "0123.plan.abcdef", ".plan"})
    foreign.push_back(plans / name);
  foreign.push_back(plans / (std::string(32, 'a') + ".plan.pdf"));
  foreign.push_back(plans / (std::string(33, 'a') + ".plan"));
  foreign.push_back(plans / (std::string(31, 'a') + "g.model"));
  std::vector<fs::path> all = foreign;
  all.insert(all.end(), {dead, written});
  for (const fs::path& path : all) write(path, std::vector<std::byte>(10));
  const timespec times[2] = {{1'700'000'000, 0}, {1'700'000'000, 0}};
  for (const fs::path& path : all) ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  // Whoever writes a file holds a lock of it, however long that takes.
  const int writer = ::open(written.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(::flock(writer, LOCK_EX | LOCK_NB), 0);
  cache(1000)->keep(Kind::model, "b", std::vector<std::byte>(900), {});  // nothing else would fit
  EXPECT_FALSE(fs::exists(dead));
  EXPECT_TRUE(fs::exists(written));
  ::close(writer);
  for (const fs::path& path : foreign) EXPECT_TRUE(fs::exists(path)) << path;
}

TEST_F(PlanCacheTest, OthersCannotLookIntoItsFolder) {
  cache()->keep(Kind::model, "a", {}, {});
  EXPECT_EQ(fs::status(folder_ / "plans").permissions(), fs::perms::owner_all);
}

TEST_F(PlanCacheTest, AFolderThatCannotBeWrittenDoesNoHarm) {
  write(folder_ / "plans", {});  // a file where the folder would be: refused to root as well
  const std::vector<Tensor> want = results(runtime::make_model(network()));
  EXPECT_TRUE(same(want, results(runtime::make_model(network(), "network", cache()))));
}

TEST_F(PlanCacheTest, ThreadsAndProcessesWriteTheSameEntry) {
  const std::vector<Tensor> want = results(runtime::make_model(network()));
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  const auto work = [&] {
    bool good = true;
    for (int i = 0; i < 10; ++i) {
      good = same(want, results(runtime::make_model(network(), "network", cache()))) && good;
      if (i % 3 == 0) cache()->remove(Kind::plan, "none");
    }
    return good;
  };
  if (child == 0) ::_exit(work() ? 0 : 1);
  bool good[2] = {false, false};
  {
    std::jthread first([&] { good[0] = work(); });
    std::jthread second([&] { good[1] = work(); });
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(good[0] && good[1]);
  EXPECT_EQ(files().size(), 1u);
  EXPECT_TRUE(same(want, results(impostor(cache()))));
}

// Files of models.

fs::path write_model(const fs::path& path, float weight) {
  testing::OnnxWriter onnx;
  onnx.input("x", {1, 3, 8, 8});
  const std::vector<float> weights(6, weight);
  onnx.constant("w", {2, 3, 1, 1}, std::span<const float>(weights));
  onnx.node("Conv", {"x", "w"}, {"y"});
  onnx.output("y", {1, 2, 8, 8});
  onnx.write(path);
  return path;
}

class ModelCardTest : public PlanCacheTest {
 protected:
  PlanCacheOptions options() const { return {.enabled = true, .directory = folder_ / "plans"}; }
  Model load(const fs::path& path) const { return Model::load(path, {}, options()); }
  /// As a load of a file that has been there for long does.
  static void keep_card(const Model& model) {
    const import::Imported imported = import::read_model(map_file(model.path()), model.path(), {});
    runtime::keep_card(model.impl(), {import::signature_of(model.graph()), imported.metadata},
                       {{model.path(), stamp_of(model.path()).value()}},
                       std::chrono::system_clock::now() + std::chrono::hours(1));
  }
};

TEST_F(ModelCardTest, AKnownFileIsNotRead) {
  const fs::path path = write_model(folder_ / "a.onnx", 0.5f);
  const Model first = load(path);
  const std::vector<Tensor> want = results(first);
  EXPECT_TRUE(first.impl().graph_is_read());
  keep_card(first);
  const Model second = load(path);
  EXPECT_FALSE(second.impl().graph_is_read());
  EXPECT_EQ(second.impl().sha256, first.impl().sha256);
  EXPECT_EQ(describe(second.spec()), describe(first.spec()));
  EXPECT_EQ(second.impl().format, "ONNX");
  EXPECT_EQ(second.impl().foreign_ops, first.impl().foreign_ops);
  ASSERT_EQ(second.inputs().size(), 1u);
  EXPECT_EQ(second.inputs()[0].shape, first.inputs()[0].shape);
  EXPECT_TRUE(same(want, results(second)));
  EXPECT_FALSE(second.impl().graph_is_read());  // the plan was there too
  EXPECT_EQ(second.graph().nodes.size(), first.graph().nodes.size());
  EXPECT_TRUE(second.impl().graph_is_read());
}

TEST_F(ModelCardTest, AChangedFileIsReadAgain) {
  const fs::path path = write_model(folder_ / "a.onnx", 0.5f);
  const Model first = load(path);
  keep_card(first);
  const std::vector<Tensor> before = results(first);
  write_model(path, 0.25f);  // of the same size
  const Model second = load(path);
  EXPECT_TRUE(second.impl().graph_is_read());
  EXPECT_NE(second.impl().identity, first.impl().identity);
  EXPECT_FALSE(same(before, results(second)));
  // Changed after the card was believed: what is read later must be what was loaded.
  keep_card(second);
  const Model third = load(path);
  ASSERT_FALSE(third.impl().graph_is_read());
  write_model(path, 0.125f);
  try {
    third.graph();
    FAIL() << "the graph of another file was returned";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::io);
    EXPECT_NE(std::string(e.what()).find("changed"), std::string::npos) << e.what();
  }
}

TEST_F(ModelCardTest, APathThroughALinkIsAnotherFile) {
  fs::create_directories(folder_ / "x");
  fs::create_directories(folder_ / "y" / "sub");
  fs::create_directory_symlink(folder_ / "y" / "sub", folder_ / "x" / "link");
  write_model(folder_ / "x" / "m.onnx", 0.5f);
  write_model(folder_ / "y" / "m.onnx", 0.25f);
  const Model behind = load(folder_ / "x" / "link" / ".." / "m.onnx");  // that of y
  keep_card(behind);
  EXPECT_NE(load(folder_ / "x" / "m.onnx").impl().identity, behind.impl().identity);
}

TEST_F(ModelCardTest, ALinkThatLeadsElsewhereIsAnotherFile) {
  write_model(folder_ / "v1.onnx", 0.5f);
  write_model(folder_ / "v2.onnx", 0.25f);
  const fs::path link = folder_ / "m.onnx";
  fs::create_symlink("v1.onnx", link);
  const fs::path before = fs::current_path();
  fs::current_path(folder_);
  const Model first = load("m.onnx");
  keep_card(first);
  fs::current_path(before);
  EXPECT_FALSE(load(link).impl().graph_is_read());
  fs::remove(link);
  fs::create_symlink("v2.onnx", link);
  fs::create_directories(folder_ / "other");
  fs::create_symlink("../v1.onnx", folder_ / "other" / "m.onnx");
  fs::current_path(folder_ / "other");  // where the relative name still leads to the first
  const Model second = load(link);
  fs::current_path(before);
  EXPECT_NE(second.impl().identity, first.impl().identity);
}

TEST_F(ModelCardTest, YoungFilesHaveNoCard) {
  const fs::path path = write_model(folder_ / "a.onnx", 0.5f);
  load(path);
  EXPECT_TRUE(load(path).impl().graph_is_read());
}

TEST_F(ModelCardTest, ASpecBesideTheModelCountsAtOnce) {
  const fs::path path = write_model(folder_ / "a.onnx", 0.5f);
  keep_card(load(path));
  std::ofstream(folder_ / "a.yaml") << "input:\n  color: bgr\n";
  const Model model = load(path);
  EXPECT_FALSE(model.impl().graph_is_read());
  EXPECT_EQ(model.spec().input.order, ColorOrder::bgr);
}

TEST_F(ModelCardTest, IsOffUnlessAskedFor) {
  const fs::path path = write_model(folder_ / "a.onnx", 0.5f);
  results(Model::load(path));
  EXPECT_TRUE(files().empty());
  ::setenv("SACCADE_PLAN_CACHE", "off", 1);
  EXPECT_EQ(PlanCache::open(options()), nullptr);
  ::setenv("SACCADE_PLAN_CACHE", "nonsense", 1);
  EXPECT_THROW(PlanCache::open(options()), Error);
  ::setenv("SACCADE_PLAN_CACHE", "64M", 1);
  EXPECT_NE(PlanCache::open(options()), nullptr);
  ::unsetenv("SACCADE_PLAN_CACHE");
  EXPECT_NE(PlanCache::open(options()), nullptr);
  EXPECT_EQ(PlanCache::open({}), nullptr);
}

}  // namespace
}  // namespace saccade
