#include "runtime/plan_cache.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <system_error>
#include <thread>

#include "base/archive.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/log.h"
#include "platform/build.h"
#include "platform/machine.h"
#include "platform/pages.h"
#include "platform/thread_pool.h"

namespace saccade::runtime {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "SACCADE\2";  // ends with the number of the format
constexpr std::size_t kPage = 4096, kLine = 64;
constexpr std::size_t kDigits = 32;  // of names
constexpr std::array<const char*, 3> kExtensions = {".plan", ".model", ".precision"};

struct Start {
  std::array<char, 8> magic;
  std::uint64_t head_bytes, head_checksum;
};

std::size_t to_page(std::size_t offset) { return (offset + kPage - 1) / kPage * kPage; }
std::size_t to_line(std::size_t offset) { return (offset + kLine - 1) / kLine * kLine; }

struct File {
  int fd = -1;
  explicit File(const fs::path& path) : fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~File() {
    if (fd >= 0) ::close(fd);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  /// False where the file ends before or cannot be read.
  bool read(std::byte* to, std::size_t size, std::size_t offset) const noexcept {
    while (size > 0) {
      const ssize_t n = ::pread(fd, to, size, static_cast<off_t>(offset));
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      to += n, size -= static_cast<std::size_t>(n), offset += static_cast<std::size_t>(n);
    }
    return true;
  }
};

// Blocks are checked in pieces, by several threads; the sum of a block is that of its pieces' sums.
constexpr std::size_t kPiece = std::size_t{256} << 10;

std::uint64_t block_checksum(std::span<const std::byte> block) {
  std::vector<std::uint64_t> sums;
  for (std::size_t at = 0; at < block.size(); at += kPiece)
    sums.push_back(checksum(block.subspan(at, std::min(kPiece, block.size() - at))));
  return checksum(std::as_bytes(std::span<const std::uint64_t>(sums)));
}

/// One piece of a block.
struct Piece {
  const std::byte* data;
  std::size_t size;
  std::uint64_t sum = 0;
};

// Maps what a piece needs at once rather than page by page; older kernels do not know how, and nothing
// depends on it.
void populate(const Piece& piece) noexcept {
#ifdef MADV_POPULATE_READ
  const auto address = reinterpret_cast<std::uintptr_t>(piece.data);
  const std::size_t before = address % kPage;
  // Below the address there is the same mapping: blocks start on a page of it.
  (void)::madvise(const_cast<std::byte*>(piece.data) - before, to_page(before + piece.size),
                  MADV_POPULATE_READ);
#else
  (void)piece;
#endif
}

void sum_pieces(std::vector<Piece>& pieces) {
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < pieces.size(); i = next++) {
      populate(pieces[i]);
      pieces[i].sum = checksum({pieces[i].data, pieces[i].size});
    }
  };
  constexpr std::size_t kPiecesAThread = 16, kMostReaders = 4;
  const std::size_t threads = std::min({kMostReaders, static_cast<std::size_t>(platform::available_cpus()),
                                        pieces.size() / kPiecesAThread + 1});
  std::vector<std::jthread> helpers;
  try {
    for (std::size_t i = 1; i < threads; ++i) helpers.emplace_back(work);
  } catch (const std::system_error&) {
    // No more threads: those that run do it all.
  }
  work();
}

/// `total` bytes from `offset` on, a multiple of a page, in memory: a small part is read, a large one mapped,
/// which spares clearing and copying as many pages. Nothing where that fails.
std::shared_ptr<const std::byte> bring_in(const File& file, std::size_t offset, std::size_t total) {
  constexpr std::size_t kMapped = std::size_t{2} << 20;
  if (total < kMapped) {
    auto memory = std::make_shared<platform::Pages>(std::max<std::size_t>(total, 1));
    auto* data = static_cast<std::byte*>(memory->data());
    if (!file.read(data, total, offset)) return nullptr;
    return {std::move(memory), data};
  }
  void* data = ::mmap(nullptr, total, PROT_READ, MAP_PRIVATE, file.fd, static_cast<off_t>(offset));
  if (data == MAP_FAILED) return nullptr;
  return {static_cast<const std::byte*>(data),
          [total](const std::byte* p) { ::munmap(const_cast<std::byte*>(p), total); }};
}

std::optional<std::vector<compiler::PackedBlock>> read_blocks(const File& file, std::size_t offset,
                                                              const std::vector<std::uint64_t>& sizes,
                                                              const std::vector<std::uint64_t>& sums) {
  std::size_t total = 0;
  for (const std::uint64_t size : sizes) total += to_line(size);
  const std::shared_ptr<const std::byte> memory = bring_in(file, offset, total);
  if (memory == nullptr) return std::nullopt;
  std::vector<Piece> pieces;
  std::vector<compiler::PackedBlock> blocks;
  std::size_t at = 0;
  for (const std::uint64_t size : sizes) {
    const std::byte* data = memory.get() + at;
    blocks.push_back({std::shared_ptr<const void>(memory, data), size});
    for (std::size_t begin = 0; begin < size; begin += kPiece)
      pieces.push_back({data + begin, std::min<std::size_t>(kPiece, size - begin)});
    at += to_line(size);
  }
  sum_pieces(pieces);
  auto piece = pieces.begin();
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    std::vector<std::uint64_t> parts((sizes[i] + kPiece - 1) / kPiece);
    for (std::uint64_t& part : parts) part = (piece++)->sum;
    if (checksum(std::as_bytes(std::span<const std::uint64_t>(parts))) != sums[i]) return std::nullopt;
  }
  return blocks;
}

/// What a name in the folder is: an entry; what a process left that was killed while it wrote one; or nothing
/// of the cache's.
enum class Owned { no, entry, unfinished };

Owned owned_by_name(std::string_view name) {
  if (name.size() < kDigits || name.find_first_not_of("0123456789abcdef") != kDigits) return Owned::no;
  constexpr std::size_t kSuffix = 7;  // of files that write_file has not finished: a dot and six letters
  for (const std::string_view extension : kExtensions) {
    const std::string_view rest = name.substr(kDigits);
    if (rest == extension) return Owned::entry;
    if (rest.starts_with(extension) && rest.size() == extension.size() + kSuffix &&
        rest[extension.size()] == '.')
      return Owned::unfinished;
  }
  return Owned::no;
}

std::optional<PlanCache::Entry> read_entry(const File& file, const std::string& key) {
  struct stat info {};
  if (file.fd < 0 || ::fstat(file.fd, &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  // What others own is not trusted to be ours.
  if (info.st_uid != ::geteuid() && info.st_uid != 0) return std::nullopt;
  const auto size = static_cast<std::uint64_t>(info.st_size);
  Start start{};
  if (size < sizeof(start) || !file.read(reinterpret_cast<std::byte*>(&start), sizeof(start), 0))
    return std::nullopt;
  if (std::string_view(start.magic.data(), start.magic.size()) != kMagic ||
      start.head_bytes > size - sizeof(start))
    return std::nullopt;
  PlanCache::Entry entry;
  std::vector<std::byte> head(start.head_bytes);
  if (!file.read(head.data(), head.size(), sizeof(start)) || checksum(head) != start.head_checksum)
    return std::nullopt;
  ArchiveReader in(head);
  if (in.text() != key) return std::nullopt;
  const std::vector<std::uint64_t> sizes = in.numbers<std::uint64_t>(), sums = in.numbers<std::uint64_t>();
  const std::size_t offset = to_page(sizeof(start) + head.size());
  std::size_t end = sizes.empty() ? sizeof(start) + head.size() : offset;
  for (const std::uint64_t block : sizes) {
    if (block > size || end > size) return std::nullopt;
    end = to_line(end + block);
  }
  if (sums.size() != sizes.size() || end != size) return std::nullopt;
  entry.head = in.take(in.left());
  entry.bytes = std::move(head);  // and what lies in it stays where it is
  if (sizes.empty()) return entry;
  std::optional<std::vector<compiler::PackedBlock>> blocks = read_blocks(file, offset, sizes, sums);
  if (!blocks) return std::nullopt;
  entry.blocks = std::move(*blocks);
  return entry;
}

/// Options as SACCADE_PLAN_CACHE changes them: "off", or the bound like "512M"; anything else changes
/// nothing.
std::int64_t bound_of(const PlanCacheOptions& options) {
  const char* text = std::getenv("SACCADE_PLAN_CACHE");
  if (text == nullptr || *text == '\0') return options.max_bytes;
  if (std::string_view(text) == "off") return 0;
  if (const std::optional<std::int64_t> size = platform::parse_size(text)) return *size;
  throw Error(ErrorCode::invalid_argument,
              "SACCADE_PLAN_CACHE is '" + std::string(text) + "', expected off or a size like 512M or 2G");
}

}  // namespace

std::shared_ptr<const PlanCache> PlanCache::open(const PlanCacheOptions& options) {
  if (!options.enabled) return nullptr;
  const std::int64_t max_bytes = bound_of(options);
  std::string build = platform::build_id();
  if (max_bytes <= 0 || build.empty()) return nullptr;
  return std::make_shared<PlanCache>(
      options.directory.empty() ? cache_directory() / "plans" : options.directory, max_bytes,
      std::move(build));
}

PlanCache::PlanCache(fs::path directory, std::int64_t max_bytes, std::string build)
    : directory_(std::move(directory)), max_bytes_(max_bytes), build_(std::move(build)) {}

std::string PlanCache::full_key(const std::string& key) const { return "build " + build_ + "\n" + key; }

fs::path PlanCache::path_of(Kind kind, const std::string& key) const {
  const std::string whole = full_key(key);
  const std::string name =
      Sha256::hex(std::as_bytes(std::span(whole.data(), whole.size()))).substr(0, kDigits);
  return directory_ / (name + kExtensions[static_cast<std::size_t>(kind)]);
}

std::optional<PlanCache::Entry> PlanCache::find(Kind kind, const std::string& key) const noexcept {
  try {
    const fs::path path = path_of(kind, key);
    const File file(path);
    if (file.fd < 0) {
      log::debug("cache", "no entry {}", path.string());
      return std::nullopt;
    }
    std::optional<Entry> entry;
    try {
      entry = read_entry(file, full_key(key));
    } catch (const std::exception&) {
      // As if it were damaged: it holds what cannot be.
    }
    if (!entry) {
      log::debug("cache", "{} is damaged or not ours; it is made anew", path.string());
      return std::nullopt;
    }
    // The time of the last use is what pruning goes by.
    ::futimens(file.fd, nullptr);
    log::debug("cache", "{} is used", path.string());
    return entry;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

void PlanCache::keep(Kind kind, const std::string& key, std::span<const std::byte> head,
                     std::span<const compiler::PackedBlock> blocks) const noexcept {
  try {
    std::vector<std::uint64_t> sizes, sums;
    std::size_t bytes = 0;
    for (const compiler::PackedBlock& block : blocks) {
      sizes.push_back(block.bytes);
      sums.push_back(block_checksum({static_cast<const std::byte*>(block.data.get()), block.bytes}));
      bytes += to_line(block.bytes);
    }
    ArchiveWriter out;
    out.text(full_key(key));
    out.numbers(sizes);
    out.numbers(sums);
    out.raw(head);
    const std::size_t front = sizeof(Start) + out.bytes().size();
    const std::size_t size = blocks.empty() ? front : to_page(front) + bytes;
    if (size > static_cast<std::uint64_t>(max_bytes_)) {
      log::debug("cache", "an entry of {} bytes is larger than the cache may be", size);
      return;
    }
    Start start{};
    std::copy(kMagic.begin(), kMagic.end(), start.magic.begin());
    start.head_bytes = out.bytes().size();
    start.head_checksum = checksum(out.bytes());
    const std::vector<std::byte> padding(kPage);
    std::vector<std::span<const std::byte>> pieces;
    pieces.push_back(std::as_bytes(std::span(&start, 1)));
    pieces.emplace_back(out.bytes());
    if (!blocks.empty()) pieces.push_back(std::span(padding).first(to_page(front) - front));
    for (const compiler::PackedBlock& block : blocks) {
      pieces.emplace_back(static_cast<const std::byte*>(block.data.get()), block.bytes);
      pieces.push_back(std::span(padding).first(to_line(block.bytes) - block.bytes));
    }
    // Models may be private, and plans hold their weights.
    if (fs::create_directories(directory_)) fs::permissions(directory_, fs::perms::owner_all);
    const fs::path path = path_of(kind, key);
    write_file(path, pieces);
    log::debug("cache", "{} is written, {} bytes", path.string(), size);
    prune(path);
  } catch (const std::exception& error) {
    log::debug("cache", "nothing is kept: {}", error.what());
  }
}

void PlanCache::remove(Kind kind, const std::string& key) const noexcept {
  std::error_code ignored;
  try {
    fs::remove(path_of(kind, key), ignored);
  } catch (const std::exception&) {
    // It is written over, or stays.
  }
}

void PlanCache::prune(const fs::path& newest) const {
  struct Found {
    fs::path path;
    std::int64_t size, used;
  };
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::int64_t hour_ago = std::chrono::nanoseconds(now - std::chrono::hours(1)).count();
  std::vector<Found> found;
  std::int64_t total = 0;
  std::error_code ignored;
  for (const fs::directory_entry& each : fs::directory_iterator(directory_, ignored)) {
    const fs::path& path = each.path();
    const std::string name = path.filename().string();
    const Owned owned = owned_by_name(name);
    if (owned == Owned::no) continue;
    const std::optional<FileStamp> stamp = stamp_of(path);
    if (!stamp) continue;
    if (owned == Owned::unfinished) {
      if (stamp->modified < hour_ago) fs::remove(path, ignored);
      continue;
    }
    total += stamp->size;
    if (path != newest) found.push_back({path, stamp->size, stamp->modified});
  }
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) { return a.used < b.used; });
  for (const Found& each : found) {
    if (total <= max_bytes_) break;
    fs::remove(each.path, ignored);
    total -= each.size;
    log::debug("cache", "{} is removed: the cache is full", each.path.string());
  }
}

}  // namespace saccade::runtime
