// Encoded packets in a file of our own form, as exact as in memory: what a job that can be resumed keeps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "media/ffmpeg.h"

namespace saccade::media {

/// Not thread-safe.
class PacketWriter {
 public:
  /// An existing file is replaced. Throws Error(io | not_found).
  explicit PacketWriter(const std::filesystem::path& path);
  ~PacketWriter();
  PacketWriter(const PacketWriter&) = delete;
  PacketWriter& operator=(const PacketWriter&) = delete;

  void write(const AVPacket& packet);
  /// Brings everything to the disk. Throws Error(io).
  void close();

  std::int64_t packets() const noexcept { return packets_; }
  std::int64_t bytes() const noexcept { return bytes_; }

 private:
  void flush();

  std::filesystem::path path_;
  int fd_ = -1;
  std::vector<std::byte> buffer_;
  std::int64_t packets_ = 0, bytes_ = 0;
};

/// Reads the first `bytes` of a file that PacketWriter wrote. Damage is Error(io), never a crash. Not
/// thread-safe.
class PacketReader {
 public:
  PacketReader(const std::filesystem::path& path, std::int64_t bytes);
  ~PacketReader();
  PacketReader(const PacketReader&) = delete;
  PacketReader& operator=(const PacketReader&) = delete;

  /// Null at the end.
  PacketPtr read();

 private:
  void fetch(void* to, std::size_t size);
  [[noreturn]] void damaged() const;

  std::filesystem::path path_;
  int fd_ = -1;
  std::int64_t left_;
  std::vector<std::byte> record_;
};

/// Writes a file durably: beside its name, brought to the disk, renamed, the folder brought to the disk.
/// Throws Error(io).
void write_durably(const std::filesystem::path& path, const std::string& content);

}  // namespace saccade::media
