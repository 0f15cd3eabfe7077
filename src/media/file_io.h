// How FFmpeg reads and writes files: through file descriptors of ours. So names are literal (no protocols, no
// %03d), every write error is seen with its cause, and a regular output appears under its name only when it
// is whole.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "media/box_gate.h"
#include "media/claim_watch.h"
#include "media/ffmpeg.h"

namespace saccade::media {

struct AvioDeleter {
  void operator()(AVIOContext* context) const noexcept {
    av_freep(&context->buffer);
    avio_context_free(&context);
  }
};
using AvioPtr = std::unique_ptr<AVIOContext, AvioDeleter>;

/// A file, named pipe or device to read, or standard input for "-". Not movable: FFmpeg holds its address.
/// For the address of an input that lies elsewhere it holds nothing: context() is null.
class InputFile {
 public:
  /// Throws Error(not_found | io), for directories too. Reads fail with AVERROR_EXIT once `*cancel` is set.
  explicit InputFile(const std::filesystem::path& path, const std::atomic<bool>* cancel = nullptr);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  AVIOContext* context() noexcept { return avio_.get(); }
  const AVIOContext* context() const noexcept { return avio_.get(); }
  /// Makes reads that wait, now or later, fail with AVERROR_EXIT. Thread-safe.
  void stop() noexcept { stopped_.store(true, std::memory_order_relaxed); }
  /// Whether reading is to end.
  bool stopped() const noexcept {
    return stopped_.load(std::memory_order_relaxed) ||
           (cancel_ != nullptr && cancel_->load(std::memory_order_relaxed));
  }
  bool regular() const noexcept { return regular_; }
  std::int64_t size() const noexcept { return size_; }  ///< of a regular file, else -1
  /// Bytes of a pipe or device that have come so far, read or not; -1 for others. For the thread that reads.
  std::int64_t arrived() const noexcept;
  /// Bytes of a regular file, wherever reading is: fewer at its end.
  std::size_t read_at(std::int64_t offset, std::span<std::byte> bytes) const noexcept;
  /// Throws what was wrong with the bytes where a read has failed for that: FFmpeg may take it for an end.
  void require_harmless() const;

 private:
  static int read(void* self, std::uint8_t* data, int size);
  static std::int64_t seek(void* self, std::int64_t offset, int whence);
  int read_descriptor(std::uint8_t* data, int size);
  int read_checked(std::uint8_t* data, int size);

  std::string name_;
  const std::atomic<bool>* cancel_;
  std::atomic<bool> stopped_{false};
  int fd_ = -1;
  bool regular_ = false;
  std::int64_t size_ = -1, read_ = 0, at_ = 0;
  std::optional<BoxGate> gate_;  ///< of a pipe
  bool gate_ended_ = false;
  std::optional<ClaimWatch> watch_;
  std::exception_ptr harm_;
  AvioPtr avio_;
};

struct OutputFileOptions {
  bool overwrite = false;
  /// Files that the output must not be (inputs, models, backgrounds): compared by device and inode.
  std::vector<std::filesystem::path> protect;
  /// Where a regular target is written until then; empty: a new name beside it. On the target's file system.
  std::filesystem::path temporary = {};
  /// What goes to a pipe, device or standard output waits in a temporary file until commit(), so that it can
  /// be changed.
  bool spool = false;
  /// Where a pipe waits for its reader: what ends the wait.
  const std::atomic<bool>* cancel = nullptr;
};

/// Which file it is, whatever its name.
struct FileIdentity {
  std::uint64_t inode = 0;
  std::int64_t bytes = 0;
  bool operator==(const FileIdentity&) const = default;
};
/// Of a regular file; nothing where there is none.
std::optional<FileIdentity> identity_of_file(const std::filesystem::path& path);

/// Brings the names in a folder to the disk.
void sync_folder(const std::filesystem::path& folder);

/// Where a result goes. A regular target is written under a hidden name beside it; commit() gives it its
/// name. Without commit() nothing remains. Pipes, devices and "-" (standard output) are written directly.
class OutputFile {
 public:
  /// Throws Error(invalid_argument) if the target exists without `overwrite` or is a protected file, Error(io
  /// | not_found) if it cannot be written, Error(interrupted).
  OutputFile(const std::filesystem::path& path, OutputFileOptions options);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Throws as the constructor does for an existing target, without touching anything.
  static void require_free(const std::filesystem::path& path, const OutputFileOptions& options);

  AVIOContext* context() noexcept { return avio_.get(); }
  /// Whether earlier bytes can still be changed: no for pipes, devices and standard output
  /// without `spool`.
  bool seekable() const noexcept { return regular_ || sink_ >= 0; }
  const std::filesystem::path& path() const noexcept { return path_; }
  std::int64_t bytes_written() const noexcept { return written_; }

  /// Throws the first write error there was, naming the file.
  void check_written() const;
  /// Brings what was written to the disk; commit() does the same for the name then. Only commit() may follow.
  /// For regular targets. Throws Error(io).
  FileIdentity settle();
  /// Flushes, closes and renames. Throws Error(io).
  void commit();
  /// The same under STEM.partial.EXT; returns that name. For a pipe or device: its own name.
  std::filesystem::path commit_partial();

 private:
  static int write(void* self, std::uint8_t* data, int size);
  static std::int64_t seek(void* self, std::int64_t offset, int whence);
  void close();
  void pass_on();
  void rename_to(const std::filesystem::path& target);

  std::filesystem::path path_;    ///< as the user names it
  std::filesystem::path target_;  ///< with links resolved
  std::string temporary_;
  OutputFileOptions options_;
  int fd_ = -1;
  int sink_ = -1;  ///< the pipe or device behind a temporary file
  bool regular_ = false, settled_ = false;
  int error_ = 0;  ///< errno of the first failed write
  std::int64_t written_ = 0;
  AvioPtr avio_;
};

/// Whether the name stands for standard input or output.
bool is_standard_stream(const std::filesystem::path& path);

}  // namespace saccade::media
