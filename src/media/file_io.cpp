#include "media/file_io.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/files.h"
#include "base/open_file.h"
#include "media/address.h"
#include "media/temporary.h"

namespace saccade::media {

namespace {

constexpr int kBufferBytes = 256 * 1024;
constexpr int kPollMilliseconds = 100;

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& what, int error) {
  throw Error(error == ENOENT ? ErrorCode::not_found : ErrorCode::io,
              path.string() + ": " + what + ": " + std::strerror(error));
}

AvioPtr make_avio(void* self, bool writing, bool seekable, int (*read)(void*, std::uint8_t*, int),
                  int (*write)(void*, std::uint8_t*, int), std::int64_t (*seek)(void*, std::int64_t, int)) {
  auto* buffer = static_cast<unsigned char*>(av_malloc(kBufferBytes));
  AVIOContext* context =
      buffer != nullptr ? avio_alloc_context(buffer, kBufferBytes, writing ? 1 : 0, self, read, write, seek)
                        : nullptr;
  if (context == nullptr) {
    av_free(buffer);
    throw Error(ErrorCode::limit, "out of memory for an I/O buffer");
  }
  context->seekable = seekable ? AVIO_SEEKABLE_NORMAL : 0;
  return AvioPtr(context);
}

}  // namespace

std::optional<FileIdentity> identity_of_file(const std::filesystem::path& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  return FileIdentity{info.st_ino, info.st_size};
}

void sync_folder(const std::filesystem::path& folder) {
  const int fd = ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  ::fsync(fd);  // some file systems cannot; there is nothing else to be done
  ::close(fd);
}

bool is_standard_stream(const std::filesystem::path& path) {
  return is_standard_output(path) || path == "/dev/stdin" || path == "/dev/fd/0" || path == "/proc/self/fd/0";
}

InputFile::InputFile(const std::filesystem::path& path, const std::atomic<bool>* cancel)
    : name_(path.string()), cancel_(cancel) {
  if (path.empty()) throw Error(ErrorCode::invalid_argument, "the input's name is empty");
  if (is_address(path.string())) return;
  fd_ = path == "-" ? ::dup(STDIN_FILENO) : open_to_read(path);
  if (fd_ < 0) fail(path, "cannot open", errno);
  try {
    struct stat info {};
    if (::fstat(fd_, &info) != 0) fail(path, "cannot read", errno);
    if (S_ISDIR(info.st_mode))
      throw Error(ErrorCode::io, path.string() + ": is a directory, expected a video or picture file");
    regular_ = S_ISREG(info.st_mode);
    if (regular_) {
      size_ = info.st_size;
      if (size_ == 0) throw Error(ErrorCode::media, path.string() + ": the file is empty (0 bytes)");
    }
    const bool seekable = regular_ || S_ISBLK(info.st_mode);
    if (!seekable) gate_.emplace(name_);
    watch_.emplace(
        size_, [this](std::int64_t offset, std::span<std::byte> bytes) { return read_at(offset, bytes); });
    avio_ = make_avio(this, false, seekable, &InputFile::read, nullptr, &InputFile::seek);
  } catch (...) {
    ::close(fd_);
    throw;
  }
}

InputFile::~InputFile() {
  if (fd_ >= 0) ::close(fd_);
}

int InputFile::read_descriptor(std::uint8_t* data, int size) {
  while (true) {
    if (stopped()) return AVERROR_EXIT;
    if (!regular_) {  // may never deliver anything: look at `cancel` now and then
      pollfd waiting{fd_, POLLIN, 0};
      if (::poll(&waiting, 1, kPollMilliseconds) == 0) continue;
    }
    const ssize_t n = ::read(fd_, data, static_cast<std::size_t>(size));
    if (n > 0) {
      read_ += n;
      return static_cast<int>(n);
    }
    if (n == 0) return AVERROR_EOF;
    if (errno != EINTR) return AVERROR(errno);
  }
}

int InputFile::read_checked(std::uint8_t* data, int size) {
  const std::span bytes(reinterpret_cast<std::byte*>(data), static_cast<std::size_t>(size));
  int count = 0;
  while (true) {
    if (gate_ && gate_->is_open()) gate_.reset();
    if (gate_) count = static_cast<int>(gate_->take(bytes));
    if (count > 0) break;
    if (gate_ended_) return AVERROR_EOF;
    count = read_descriptor(data, size);
    if (!gate_ && count > 0) break;
    if (!gate_ || (count <= 0 && count != AVERROR_EOF)) return count;
    if (count > 0) {
      gate_->put(bytes.first(static_cast<std::size_t>(count)));
    } else {
      gate_->end();
      gate_ended_ = true;
    }
  }
  const std::string claim = watch_->look(at_, bytes.first(static_cast<std::size_t>(count)));
  if (!claim.empty()) {
    throw Error(ErrorCode::media,
                fmt::format("{}: is damaged, or made to do harm: {}; get the file once more "
                            "from where it comes from",
                            name_, claim));
  }
  at_ += count;
  return count;
}

int InputFile::read(void* self, std::uint8_t* data, int size) {
  auto& file = *static_cast<InputFile*>(self);
  if (file.harm_) return AVERROR_INVALIDDATA;
  try {
    return file.read_checked(data, size);
  } catch (...) {
    file.harm_ = std::current_exception();
    return AVERROR_INVALIDDATA;
  }
}

void InputFile::require_harmless() const {
  if (harm_) std::rethrow_exception(harm_);
}

std::size_t InputFile::read_at(std::int64_t offset, std::span<std::byte> bytes) const noexcept {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n =
        ::pread(fd_, bytes.data() + done, bytes.size() - done, offset + static_cast<std::int64_t>(done));
    if (n > 0) {
      done += static_cast<std::size_t>(n);
    } else if (n == 0 || errno != EINTR) {
      break;
    }
  }
  return done;
}

std::int64_t InputFile::arrived() const noexcept {
  if (fd_ < 0 || regular_) return -1;
  int waiting = 0;
  return read_ + (::ioctl(fd_, FIONREAD, &waiting) == 0 ? waiting : 0);
}

std::int64_t InputFile::seek(void* self, std::int64_t offset, int whence) {
  auto& file = *static_cast<InputFile*>(self);
  if ((whence & AVSEEK_SIZE) != 0) {  // as it is now
    struct stat info {};
    return file.regular_ && ::fstat(file.fd_, &info) == 0 ? info.st_size : AVERROR(ENOSYS);
  }
  const off_t at = ::lseek(file.fd_, offset, whence & ~AVSEEK_FORCE);
  if (at < 0) return AVERROR(errno);
  file.at_ = at;
  return at;
}

void OutputFile::require_free(const std::filesystem::path& path, const OutputFileOptions& options) {
  struct stat info {};
  if (is_standard_stream(path) || ::stat(path.c_str(), &info) != 0) return;
  for (const auto& other : options.protect) {
    if (same_file(path, other)) {
      throw Error(ErrorCode::invalid_argument, path.string() + ": the output is the same file as the input " +
                                                   other.string() + "; name another output");
    }
  }
  if (S_ISDIR(info.st_mode)) {
    throw Error(ErrorCode::io, path.string() + ": is a directory, expected the name of a file to write");
  }
  if (S_ISREG(info.st_mode) && !options.overwrite) {
    throw Error(ErrorCode::invalid_argument,
                path.string() + ": exists already; use --overwrite to replace it");
  }
}

OutputFile::OutputFile(const std::filesystem::path& path, OutputFileOptions options)
    : path_(path), target_(path), options_(std::move(options)) {
  if (path_.empty()) throw Error(ErrorCode::invalid_argument, "the output's name is empty");
  require_free(path_, options_);
  struct stat info {};
  const bool standard = is_standard_stream(path_);
  const bool exists = !standard && ::stat(path_.c_str(), &info) == 0;
  regular_ = !standard && (!exists || S_ISREG(info.st_mode));
  if (!regular_) {
    fd_ = standard ? ::dup(STDOUT_FILENO) : open_to_write(path_, options_.cancel);
    if (fd_ < 0) fail(path_, "cannot open for writing", errno);
    if (options_.spool) {
      std::error_code none;
      std::filesystem::path folder = std::filesystem::temp_directory_path(none);
      if (none) folder = "/tmp";
      std::string name = (folder / ".saccade.XXXXXX").string();
      const int spool = ::mkostemp(name.data(), O_CLOEXEC);
      if (spool < 0) {
        const int error = errno;
        close();
        fail(path_, "cannot create a file in " + folder.string(), error);
      }
      ::unlink(name.c_str());
      sink_ = std::exchange(fd_, spool);
    }
  } else {
    // A link stays a link: what it points to is replaced.
    std::error_code ignored;
    target_ = behind_links(path_);
    if (target_.filename().empty())
      throw Error(ErrorCode::io, path_.string() + ": names a folder, expected the name of a file to write");
    const auto folder = target_.has_parent_path() ? target_.parent_path() : std::filesystem::path(".");
    if (!std::filesystem::is_directory(folder, ignored)) {
      throw Error(ErrorCode::not_found,
                  path_.string() + ": the folder " + folder.string() + " does not exist");
    }
    // Only the final renaming would notice.
    if (const long longest = ::pathconf(folder.c_str(), _PC_NAME_MAX);
        longest > 0 && target_.filename().string().size() > static_cast<std::size_t>(longest)) {
      throw Error(ErrorCode::io, fmt::format("{}: the name has {} bytes, the folder allows {}",
                                             path_.string(), target_.filename().string().size(), longest));
    }
    if (exists && ::access(target_.c_str(), W_OK) != 0) fail(path_, "cannot write", errno);
    if (options_.temporary.empty()) {
      Temporary made = make_temporary_file(folder, target_.filename().string());
      fd_ = made.fd;
      temporary_ = std::move(made.name);
    } else {
      temporary_ = options_.temporary.string();
      fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    }
    if (fd_ < 0) {
      const int error = errno;
      temporary_.clear();
      fail(path_, "cannot create a file in " + folder.string(), error);
    }
    if (exists && ::fchmod(fd_, info.st_mode & 07777u) != 0 && errno != EPERM && errno != ENOTSUP) {
      const int error = errno;
      close();
      ::unlink(temporary_.c_str());
      fail(path_, "cannot set permissions", error);
    }
  }
  avio_ = make_avio(this, true, seekable(), nullptr, &OutputFile::write, &OutputFile::seek);
}

OutputFile::~OutputFile() {
  close();
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::close() {
  for (int* fd : {&fd_, &sink_}) {
    if (*fd >= 0 && ::close(*fd) != 0 && error_ == 0) error_ = errno;
    *fd = -1;
  }
}

int OutputFile::write(void* self, std::uint8_t* data, int size) {
  auto& file = *static_cast<OutputFile*>(self);
  if (file.error_ != 0) return AVERROR(file.error_);
  int done = 0;
  while (done < size) {
    const ssize_t n = ::write(file.fd_, data + done, static_cast<std::size_t>(size - done));
    if (n > 0) {
      done += static_cast<int>(n);
    } else if (n == 0 || errno != EINTR) {
      file.error_ = n == 0 ? EIO : errno;
      return AVERROR(file.error_);
    }
  }
  file.written_ += size;
  return size;
}

std::int64_t OutputFile::seek(void* self, std::int64_t offset, int whence) {
  auto& file = *static_cast<OutputFile*>(self);
  if (!file.seekable()) return AVERROR(ESPIPE);
  if ((whence & AVSEEK_SIZE) != 0) {
    struct stat info {};
    return ::fstat(file.fd_, &info) == 0 ? info.st_size : AVERROR(errno);
  }
  const off_t at = ::lseek(file.fd_, offset, whence & ~AVSEEK_FORCE);
  return at < 0 ? AVERROR(errno) : at;
}

void OutputFile::check_written() const {
  if (error_ != 0) fail(path_, "cannot write", error_);
}

/// From the temporary file to where it is to go.
void OutputFile::pass_on() {
  if (error_ != 0) return;
  if (::lseek(fd_, 0, SEEK_SET) < 0) {
    error_ = errno;
    return;
  }
  std::swap(fd_, sink_);
  std::vector<std::uint8_t> bytes(std::size_t{1} << 16);
  const std::int64_t written = written_;
  while (error_ == 0) {
    const ssize_t n = ::read(sink_, bytes.data(), bytes.size());
    if (n > 0) write(this, bytes.data(), static_cast<int>(n));
    if (n == 0) break;
    if (n < 0 && errno != EINTR) error_ = errno;
  }
  written_ = written;
}

void OutputFile::rename_to(const std::filesystem::path& target) {
  avio_flush(avio_.get());
  if (sink_ >= 0) pass_on();
  // A duplicate keeps the lock until the file has its name.
  const int lock = regular_ ? ::fcntl(fd_, F_DUPFD_CLOEXEC, 0) : -1;
  const std::shared_ptr<void> unlock(nullptr, [lock](void*) {
    if (lock >= 0) ::close(lock);
  });
  close();
  check_written();
  if (!regular_) return;
  // Somebody may have put a file there since we started.
  struct stat info {};
  if (!options_.overwrite && target == target_ && ::lstat(target.c_str(), &info) == 0) {
    throw Error(ErrorCode::io,
                path_.string() + ": appeared while the job ran; not replaced without --overwrite");
  }
  if (::rename(temporary_.c_str(), target.c_str()) != 0)
    fail(path_, "cannot rename the finished file", errno);
  temporary_.clear();
  if (settled_) sync_folder(target.parent_path());
}

FileIdentity OutputFile::settle() {
  avio_flush(avio_.get());
  struct stat info {};
  if (error_ == 0 && ::fsync(fd_) != 0 && errno != EINVAL && errno != ENOSYS) error_ = errno;
  if (error_ == 0 && ::fstat(fd_, &info) != 0) error_ = errno;
  check_written();
  settled_ = true;
  return {info.st_ino, info.st_size};
}

void OutputFile::commit() { rename_to(target_); }

std::filesystem::path OutputFile::commit_partial() {
  if (!regular_) {
    rename_to(target_);
    return path_;
  }
  const auto named = [this](const std::string& suffix) {
    return target_.parent_path() / (target_.stem().string() + suffix + target_.extension().string());
  };
  auto partial = named(".partial");
  for (int i = 2; std::any_of(options_.protect.begin(), options_.protect.end(),
                              [&](const auto& other) { return same_file(partial, other); });
       ++i) {
    partial = named(".partial-" + std::to_string(i));
  }
  rename_to(partial);
  return path_.parent_path() / partial.filename();
}

}  // namespace saccade::media
