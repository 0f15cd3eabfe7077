#include "base/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <system_error>
#include <utility>

#include "base/open_file.h"
#include "saccade/error.h"

namespace saccade {

namespace {

struct FileDescriptor {
  int fd = -1;
  ~FileDescriptor() {
    if (fd >= 0) ::close(fd);
  }
};

[[noreturn]] void throw_errno(const std::filesystem::path& path, const char* what, int error) {
  const auto code = error == ENOENT ? ErrorCode::not_found : ErrorCode::io;
  throw Error(code, path.string() + ": cannot " + what + ": " + std::strerror(error));
}

/// Returns false and errno on failure.
bool write_all(int fd, std::span<const std::span<const std::byte>> pieces) {
  for (std::span<const std::byte> content : pieces)
    while (!content.empty()) {
      const ssize_t n = ::write(fd, content.data(), content.size());
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      content = content.subspan(static_cast<std::size_t>(n));
    }
  return true;
}

/// Into what is no regular file, which stays what it is.
void write_into(const std::filesystem::path& path, std::span<const std::span<const std::byte>> pieces) {
  const bool standard = is_standard_output(path);
  if (standard) std::fflush(stdout);  // what was said before comes before
  FileDescriptor file{standard ? ::dup(STDOUT_FILENO) : open_to_write(path)};
  if (file.fd < 0) throw_errno(path, "open for writing", errno);
  if (!write_all(file.fd, pieces)) throw_errno(path, "write", errno);
  const int fd = file.fd;
  file.fd = -1;
  if (::close(fd) != 0) throw_errno(path, "write", errno);
}

void replace_file(const std::filesystem::path& path, mode_t mode,
                  std::span<const std::span<const std::byte>> pieces) {
  std::string name = path.string() + ".XXXXXX";
  FileDescriptor file{::mkostemp(name.data(), O_CLOEXEC)};
  if (file.fd < 0) throw_errno(path, "create a file beside it", errno);
  // Says that somebody is still writing it; ends with the process. Where there are no locks, nobody asks.
  (void)::flock(file.fd, LOCK_EX | LOCK_NB);
  const auto fail = [&](const char* what) {
    const int error = errno;
    ::unlink(name.c_str());
    throw_errno(path, what, error);
  };
  if (!write_all(file.fd, pieces)) fail("write");
  if (::fchmod(file.fd, mode) != 0) fail("set permissions");
  const int fd = file.fd;
  file.fd = -1;
  if (::close(fd) != 0) fail("close");
  if (::rename(name.c_str(), path.c_str()) != 0) fail("rename");
}

}  // namespace

MappedFile map_file(const std::filesystem::path& path) {
  FileDescriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};  // a pipe would be waited for
  if (file.fd < 0) throw_errno(path, "open", errno);
  struct stat info {};
  if (::fstat(file.fd, &info) != 0) throw_errno(path, "read", errno);
  if (S_ISDIR(info.st_mode)) throw Error(ErrorCode::io, path.string() + ": is a directory, expected a file");
  if (!S_ISREG(info.st_mode)) throw Error(ErrorCode::io, path.string() + ": is not a regular file");
  const auto size = static_cast<std::size_t>(info.st_size);
  if (size == 0) return {};
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (data == MAP_FAILED) throw_errno(path, "map", errno);
  std::shared_ptr<const void> owner(data, [size](void* p) { ::munmap(p, size); });
  return {{static_cast<const std::byte*>(data), size}, std::move(owner)};
}

void release_pages(std::span<const std::byte> part) noexcept {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(part.data());
  const std::uintptr_t first = (begin + page - 1) / page * page, last = (begin + part.size()) / page * page;
  if (first < last)
    ::madvise(reinterpret_cast<void*>(first), last - first,
              MADV_DONTNEED);  // NOLINT(performance-no-int-to-ptr)
}

std::string read_text(const std::filesystem::path& path) {
  const MappedFile file = map_file(path);
  return {reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size()};
}

std::filesystem::path behind_links(std::filesystem::path path) {
  constexpr int kMostLinks = 40;
  std::error_code error;
  for (int i = 0; i < kMostLinks && std::filesystem::is_symlink(path, error); ++i) {
    const auto next = std::filesystem::read_symlink(path, error);
    if (error) break;
    path = next.is_absolute() ? next : path.parent_path() / next;
  }
  const auto resolved = std::filesystem::weakly_canonical(path, error);
  return error ? path : resolved;
}

bool is_standard_output(const std::filesystem::path& path) noexcept {
  return path == "-" || path == "/dev/stdout" || path == "/dev/fd/1" || path == "/proc/self/fd/1";
}

void write_file(const std::filesystem::path& path, std::span<const std::byte> content) {
  write_file(path, std::span(&content, 1));
}

void write_file(const std::filesystem::path& path, std::span<const std::span<const std::byte>> pieces) {
  struct stat info {};
  const bool exists = ::stat(path.c_str(), &info) == 0;
  if (is_standard_output(path) || (exists && !S_ISREG(info.st_mode))) {
    write_into(path, pieces);
    return;
  }
  if (exists && ::access(path.c_str(), W_OK) != 0) throw_errno(path, "write", errno);
  replace_file(behind_links(path), exists ? info.st_mode & 07777u : 0644u, pieces);
}

std::optional<FileStamp> stamp_of(const std::filesystem::path& path) noexcept {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  const auto nanoseconds = [](const timespec& time) {
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  };
  return FileStamp{info.st_dev, info.st_ino, info.st_size, nanoseconds(info.st_mtim),
                   nanoseconds(info.st_ctim)};
}

SourceFile stamped(std::filesystem::path path) {
  const FileStamp stamp = stamp_of(path).value_or(FileStamp{});
  return {std::move(path), stamp};
}

bool unchanged(std::span<const SourceFile> sources) noexcept {
  return std::all_of(sources.begin(), sources.end(),
                     [](const SourceFile& source) { return stamp_of(source.path) == source.stamp; });
}

bool same_file(const std::filesystem::path& a, const std::filesystem::path& b) {
  struct stat sa {
  }, sb{};
  if (::stat(a.c_str(), &sa) != 0 || ::stat(b.c_str(), &sb) != 0) return false;
  return sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

void create_own_directories(const std::filesystem::path& folder) {
  std::error_code ignored;
  if (folder.empty() || std::filesystem::is_directory(folder, ignored)) return;
  create_own_directories(folder.parent_path());
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) throw_errno(folder, "create the folder", errno);
  if (!std::filesystem::is_directory(folder, ignored)) throw_errno(folder, "create the folder", ENOTDIR);
}

}  // namespace saccade
