#include "runtime/cache_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <system_error>
#include <thread>

#include "base/archive.h"
#include "base/files.h"
#include "base/hash.h"
#include "platform/machine.h"
#include "platform/pages.h"
#include "platform/thread_pool.h"

namespace saccade::runtime {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "SACCADE\2";  // ends with the number of the format
constexpr std::size_t kPage = 4096, kLine = 64;

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

std::optional<CacheFile> read_checked(const File& file) {
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
  CacheFile entry;
  std::vector<std::byte> head(start.head_bytes);
  if (!file.read(head.data(), head.size(), sizeof(start)) || checksum(head) != start.head_checksum)
    return std::nullopt;
  ArchiveReader in(head);
  entry.key = in.text();
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

}  // namespace

std::optional<CacheFile> read_cache_file(const fs::path& path, bool mark_used) {
  const File file(path);
  if (file.fd < 0) return std::nullopt;
  try {
    std::optional<CacheFile> entry = read_checked(file);
    // The time of the last use is what pruning goes by.
    if (entry && mark_used) ::futimens(file.fd, nullptr);
    return entry;
  } catch (const std::exception&) {
    return std::nullopt;  // as if it were damaged: it holds what cannot be
  }
}

CacheImage::CacheImage(std::string_view key, std::span<const std::byte> head,
                       std::span<const compiler::PackedBlock> blocks)
    : padding_(kPage) {
  std::vector<std::uint64_t> sizes, sums;
  std::size_t bytes = 0;
  for (const compiler::PackedBlock& block : blocks) {
    sizes.push_back(block.bytes);
    sums.push_back(block_checksum({static_cast<const std::byte*>(block.data.get()), block.bytes}));
    bytes += to_line(block.bytes);
  }
  ArchiveWriter out;
  out.text(std::string(key));
  out.numbers(sizes);
  out.numbers(sums);
  out.raw(head);
  Start start{};
  std::copy(kMagic.begin(), kMagic.end(), start.magic.begin());
  start.head_bytes = out.bytes().size();
  start.head_checksum = checksum(out.bytes());
  const auto* first = reinterpret_cast<const std::byte*>(&start);
  front_.assign(first, first + sizeof(start));
  front_.insert(front_.end(), out.bytes().begin(), out.bytes().end());
  size_ = blocks.empty() ? front_.size() : to_page(front_.size()) + bytes;
  pieces_.emplace_back(front_);
  if (!blocks.empty()) pieces_.push_back(std::span(padding_).first(to_page(front_.size()) - front_.size()));
  for (const compiler::PackedBlock& block : blocks) {
    pieces_.emplace_back(static_cast<const std::byte*>(block.data.get()), block.bytes);
    pieces_.push_back(std::span(padding_).first(to_line(block.bytes) - block.bytes));
  }
}

CacheName cache_name(std::string_view name) {
  constexpr std::size_t kSuffix = 7;  // of files that write_file has not finished: a dot and six letters
  if (name.size() < kCacheDigits || name.find_first_not_of("0123456789abcdef") != kCacheDigits) return {};
  for (std::size_t kind = 0; kind < kCacheExtensions.size(); ++kind) {
    const std::string_view extension = kCacheExtensions[kind], rest = name.substr(kCacheDigits);
    if (rest == extension) return {CacheName::State::entry, static_cast<CacheKind>(kind)};
    if (rest.starts_with(extension) && rest.size() == extension.size() + kSuffix &&
        rest[extension.size()] == '.')
      return {CacheName::State::unfinished, static_cast<CacheKind>(kind)};
  }
  return {};
}

bool remove_if_abandoned(const fs::path& path) noexcept {
  const File file(path);
  // Whoever writes it holds a lock, which ends with its process.
  if (file.fd < 0 || ::flock(file.fd, LOCK_EX | LOCK_NB) != 0) return false;
  return ::unlink(path.c_str()) == 0;
}

}  // namespace saccade::runtime
