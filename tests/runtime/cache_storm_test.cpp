// Several processes fill and prune one cache, and are killed while they do: nobody ever reads what nobody
// wrote, and nothing is left over. SACCADE_STORM_SECONDS is how long (3).
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "base/files.h"
#include "base/temporary_folder.h"
#include "runtime/cache_folder.h"
#include "runtime/plan_cache.h"

namespace saccade::runtime {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int kKeys = 40;
constexpr std::int64_t kBound = 3 << 20;  // a third of what all entries would take
constexpr int kWrongResult = 3;

std::string key_of(int number) { return "model " + std::to_string(number); }

/// What an entry holds is told by its number.
std::vector<std::byte> content_of(int number, std::uint32_t part, std::size_t size) {
  std::mt19937 random(static_cast<std::uint32_t>(number) * 31 + part);
  std::vector<std::byte> bytes(size);
  for (std::byte& b : bytes) b = static_cast<std::byte>(random() & 255u);
  return bytes;
}

struct Content {
  std::vector<std::byte> head;
  std::vector<std::vector<std::byte>> blocks;
};

Content content_of(int number) {
  Content content{content_of(number, 0, 100 + static_cast<std::size_t>(number)), {}};
  for (std::uint32_t block = 1; block <= 3; ++block)
    content.blocks.push_back(content_of(number, block, 30'000u * block + static_cast<std::size_t>(number)));
  return content;
}

void keep(const PlanCache& cache, int number, const Content& content) {
  std::vector<compiler::PackedBlock> blocks;
  for (const std::vector<std::byte>& block : content.blocks)
    blocks.push_back({std::shared_ptr<const void>(block.data(), [](const void*) {}), block.size()});
  cache.keep(PlanCache::Kind::plan, key_of(number), content.head, blocks);
}

bool matches(const PlanCache::Entry& entry, const Content& content) {
  if (!std::equal(entry.head.begin(), entry.head.end(), content.head.begin(), content.head.end()) ||
      entry.blocks.size() != content.blocks.size())
    return false;
  for (std::size_t i = 0; i < content.blocks.size(); ++i)
    if (entry.blocks[i].bytes != content.blocks[i].size() ||
        std::memcmp(entry.blocks[i].data.get(), content.blocks[i].data(), content.blocks[i].size()) != 0)
      return false;
  return true;
}

/// Flips a byte of some file, as a failing disk would.
void damage(const fs::path& folder, std::mt19937& random) {
  const std::vector<CacheItem> items = list_cache(folder);
  if (items.empty()) return;
  const CacheItem& item = items[random() % items.size()];
  const int fd = ::open(item.path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0 || item.bytes == 0) return;
  const auto at = static_cast<off_t>(random() % static_cast<std::uint64_t>(item.bytes));
  unsigned char byte = 0;
  if (::pread(fd, &byte, 1, at) == 1) {
    byte ^= 0x40;
    (void)!::pwrite(fd, &byte, 1, at);
  }
  ::close(fd);
}

/// What a child does until it is killed or the time is over; its exit code.
int work(const fs::path& folder, std::uint32_t seed, Clock::time_point end, std::vector<Content>& contents) {
  const PlanCache cache(folder, kBound, "b1");
  std::mt19937 random(seed);
  while (Clock::now() < end) {
    const int number = static_cast<int>(random() % kKeys);
    const Content& content = contents[static_cast<std::size_t>(number)];
    const auto entry = cache.find(PlanCache::Kind::plan, key_of(number));
    if (entry && !matches(*entry, content)) return kWrongResult;
    if (!entry) keep(cache, number, content);
    const std::uint32_t dice = static_cast<std::uint32_t>(random() % 100);
    if (dice < 3) prune_cache(folder, {.max_bytes = kBound / 2});
    if (dice == 4) damage(folder, random);
    if (dice == 5) cache.remove(PlanCache::Kind::plan, key_of(number));
    if (dice == 6) clear_cache(folder);
  }
  return 0;
}

struct CacheStorm : ::testing::Test {
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator{}));
  }
  TemporaryFolder scratch{"saccade-storm."};
  fs::path folder = scratch.path();
};

TEST_F(CacheStorm, ProcessesThatAreKilledLeaveNoWrongResultAndNothingOver) {
  const char* wanted = std::getenv("SACCADE_STORM_SECONDS");
  const int seconds = wanted != nullptr ? std::atoi(wanted) : 3;
  std::vector<Content> contents;
  for (int i = 0; i < kKeys; ++i) contents.push_back(content_of(i));
  const Clock::time_point end = Clock::now() + std::chrono::seconds(seconds);
  std::mt19937 random(7);
  const auto start = [&]() -> pid_t {
    const auto seed = static_cast<std::uint32_t>(random());
    const pid_t child = ::fork();
    if (child == 0) ::_exit(work(folder, seed, end, contents));
    return child;
  };
  std::vector<pid_t> children;
  for (int i = 0; i < 2; ++i) children.push_back(start());
  int killed = 0;
  const auto reap = [&](pid_t child) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    if (WIFEXITED(status)) {
      EXPECT_EQ(WEXITSTATUS(status), 0) << "an entry held what was never written";
    }
    if (WIFSIGNALED(status)) {
      EXPECT_EQ(WTERMSIG(status), SIGKILL);
    }
  };
  while (Clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::microseconds(1000 + random() % 60'000));
    pid_t& child = children[random() % children.size()];
    ::kill(child, SIGKILL);
    reap(child);
    ++killed;
    child = start();
  }
  for (const pid_t child : children) reap(child);
  EXPECT_GE(killed, seconds * 5);

  // What the killed ones were writing goes with the next pruning.
  const CacheRemoval removal = prune_cache(folder, {.max_bytes = kBound});
  std::int64_t total = 0;
  std::size_t entries = 0;
  for (const CacheItem& item : list_cache(folder)) {
    EXPECT_FALSE(item.unfinished) << item.path;
    total += item.bytes, ++entries;
  }
  EXPECT_LE(total, kBound);
  EXPECT_EQ(files(), entries);
  RecordProperty("killed", killed);
  RecordProperty("unfinished", static_cast<int>(removal.unfinished));
  // It works as ever.
  const PlanCache cache(folder, kBound, "b1");
  for (int i = 0; i < kKeys; ++i) {
    keep(cache, i, contents[static_cast<std::size_t>(i)]);
    const auto entry = cache.find(PlanCache::Kind::plan, key_of(i));
    ASSERT_TRUE(entry) << i;
    EXPECT_TRUE(matches(*entry, contents[static_cast<std::size_t>(i)])) << i;
  }
}

TEST_F(CacheStorm, FilesOfTheLivingStayAndThoseOfTheDeadGo) {
  const fs::path name = folder / (std::string(kCacheDigits, 'a') + ".plan.ABCDEF");
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    // As write_file leaves it in the middle of its work.
    const int fd = ::open(name.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    (void)!::flock(fd, LOCK_EX | LOCK_NB);
    (void)!::write(ends[1], "x", 1);
    ::pause();
    ::_exit(0);
  }
  char byte = 0;
  ASSERT_EQ(::read(ends[0], &byte, 1), 1);
  EXPECT_EQ(prune_cache(folder, {}).unfinished, 0);
  EXPECT_TRUE(fs::exists(name));
  ::kill(child, SIGKILL);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_EQ(prune_cache(folder, {}).unfinished, 1);
  EXPECT_FALSE(fs::exists(name));
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(CacheStorm, AFullDiskCostsAnEntryOnly) {
  const Content content = content_of(5);
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{50'000, 50'000};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) ::_exit(9);
    const PlanCache cache(folder, kBound, "b1");
    keep(cache, 5, content);
    ::_exit(cache.find(PlanCache::Kind::plan, key_of(5)) ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(files(), 0u);
  const PlanCache cache(folder, kBound, "b1");
  keep(cache, 5, content);
  const auto entry = cache.find(PlanCache::Kind::plan, key_of(5));
  ASSERT_TRUE(entry);
  EXPECT_TRUE(matches(*entry, content));
}

TEST_F(CacheStorm, PruningGoesByUseAndAge) {
  const PlanCache cache(folder, std::int64_t{1} << 30, "b1");
  for (int i = 0; i < 4; ++i) {
    keep(cache, i, content_of(i));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  std::ofstream(folder / "somebody's.txt") << "mine";
  EXPECT_TRUE(cache.find(PlanCache::Kind::plan, key_of(0)));  // now used last
  std::vector<CacheItem> items = list_cache(folder);
  ASSERT_EQ(items.size(), 4u);
  EXPECT_EQ(items[0].path, cache.path_of(PlanCache::Kind::plan, key_of(1)));
  EXPECT_EQ(items[3].path, cache.path_of(PlanCache::Kind::plan, key_of(0)));
  const CacheCheck check = check_cache_item(items[0]);
  EXPECT_TRUE(check.sound);
  EXPECT_EQ(check.build, "b1");
  EXPECT_EQ(check.about, key_of(1));
  CacheRemoval removal = prune_cache(folder, {.max_bytes = items[2].bytes + items[3].bytes});
  EXPECT_EQ(removal.entries, 2);
  EXPECT_EQ(removal.bytes, items[0].bytes + items[1].bytes);
  EXPECT_TRUE(cache.find(PlanCache::Kind::plan, key_of(0)));
  items = list_cache(folder);
  ASSERT_EQ(items.size(), 2u);
  removal = prune_cache(folder, {.used_before = items[1].used});
  EXPECT_EQ(removal.entries, 1);
  EXPECT_EQ(clear_cache(folder, CacheKind::model).entries, 0);
  EXPECT_EQ(clear_cache(folder).entries, 1);
  EXPECT_EQ(files(), 1u);  // what is not the cache's
  EXPECT_TRUE(list_cache(folder / "none").empty());
}

TEST_F(CacheStorm, DamageIsSeenWhereverItIs) {
  const PlanCache cache(folder, std::int64_t{1} << 30, "b1");
  const Content content = content_of(2);
  const fs::path path = cache.path_of(PlanCache::Kind::plan, key_of(2));
  keep(cache, 2, content);
  const std::string whole = read_text(path);
  for (const std::size_t at :
       {std::size_t{0}, std::size_t{9}, std::size_t{40}, std::size_t{5000}, whole.size() - 70}) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    std::ofstream(path, std::ios::binary) << bytes;
    EXPECT_FALSE(check_cache_item(list_cache(folder).at(0)).sound) << at;
    EXPECT_FALSE(cache.find(PlanCache::Kind::plan, key_of(2))) << at;
  }
  for (const std::size_t size : {std::size_t{0}, std::size_t{10}, whole.size() - 1}) {
    std::ofstream(path, std::ios::binary) << whole.substr(0, size);
    EXPECT_FALSE(check_cache_item(list_cache(folder).at(0)).sound) << size;
  }
  keep(cache, 2, content);
  EXPECT_TRUE(check_cache_item(list_cache(folder).at(0)).sound);
}

}  // namespace
}  // namespace saccade::runtime
