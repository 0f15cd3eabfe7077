#include "media/packet_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "base/hash.h"
#include "media/file_io.h"

namespace saccade::media {

namespace {

constexpr std::size_t kPacketBufferBytes = std::size_t{1} << 20;
constexpr std::uint64_t kMagic = 0x31746b7064636173;  // "sacdpkt1"

/// Of each packet, before its side data and its data.
struct RecordHead {
  std::uint64_t checksum = 0;  ///< of the body
  std::uint64_t body = 0;      ///< bytes behind this head
  std::int64_t pts = 0, dts = 0, duration = 0;
  std::int32_t flags = 0;
  std::uint32_t side_count = 0;
  std::uint64_t size = 0;  ///< of the data, which comes last
};
struct SideHead {
  std::uint32_t type = 0, unused = 0;
  std::uint64_t size = 0;
};

[[noreturn]] void fail(const std::filesystem::path& path, const char* what, int error) {
  throw Error(error == ENOENT ? ErrorCode::not_found : ErrorCode::io,
              path.string() + ": " + what + ": " + std::strerror(error));
}

void append(std::vector<std::byte>& to, const void* data, std::size_t size) {
  const auto* bytes = static_cast<const std::byte*>(data);
  to.insert(to.end(), bytes, bytes + size);
}

void write_all(int fd, const std::filesystem::path& path, std::span<const std::byte> content) {
  while (!content.empty()) {
    const ssize_t n = ::write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail(path, "cannot write", n == 0 ? EIO : errno);
    content = content.subspan(static_cast<std::size_t>(n));
  }
}

}  // namespace

PacketWriter::PacketWriter(const std::filesystem::path& path) : path_(path) {
  fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd_ < 0) fail(path, "cannot create", errno);
  buffer_.reserve(kPacketBufferBytes);
  append(buffer_, &kMagic, sizeof(kMagic));
  bytes_ = sizeof(kMagic);
}

PacketWriter::~PacketWriter() {
  if (fd_ >= 0) ::close(fd_);
}

void PacketWriter::write(const AVPacket& packet) {
  const std::size_t start = buffer_.size();
  RecordHead head;
  head.pts = packet.pts;
  head.dts = packet.dts;
  head.duration = packet.duration;
  head.flags = packet.flags;
  head.side_count = static_cast<std::uint32_t>(packet.side_data_elems);
  head.size = static_cast<std::uint64_t>(packet.size);
  append(buffer_, &head, sizeof(head));
  const std::size_t body = buffer_.size();
  for (int i = 0; i < packet.side_data_elems; ++i) {
    const AVPacketSideData& side = packet.side_data[i];
    const SideHead side_head{static_cast<std::uint32_t>(side.type), 0, side.size};
    append(buffer_, &side_head, sizeof(side_head));
    append(buffer_, side.data, side.size);
  }
  append(buffer_, packet.data, static_cast<std::size_t>(packet.size));
  head.body = buffer_.size() - body;
  head.checksum = checksum(std::span(buffer_).subspan(body));
  std::memcpy(buffer_.data() + start, &head, sizeof(head));
  bytes_ += static_cast<std::int64_t>(buffer_.size() - start);
  ++packets_;
  if (buffer_.size() >= kPacketBufferBytes) flush();
}

void PacketWriter::flush() {
  write_all(fd_, path_, buffer_);
  buffer_.clear();
}

void PacketWriter::close() {
  flush();
  if (::fsync(fd_) != 0 && errno != EINVAL && errno != ENOSYS) fail(path_, "cannot write", errno);
  if (::close(std::exchange(fd_, -1)) != 0) fail(path_, "cannot write", errno);
}

PacketReader::PacketReader(const std::filesystem::path& path, std::int64_t bytes)
    : path_(path), left_(bytes) {
  fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd_ < 0) fail(path, "cannot open", errno);
  std::uint64_t magic = 0;
  try {
    fetch(&magic, sizeof(magic));
    if (magic != kMagic) damaged();
  } catch (...) {
    ::close(fd_);
    throw;
  }
}

PacketReader::~PacketReader() { ::close(fd_); }

void PacketReader::damaged() const {
  throw Error(ErrorCode::io, path_.string() + ": is damaged; begin the job anew");
}

void PacketReader::fetch(void* to, std::size_t size) {
  if (size > static_cast<std::uint64_t>(left_)) damaged();
  left_ -= static_cast<std::int64_t>(size);
  auto* bytes = static_cast<std::byte*>(to);
  while (size > 0) {
    const ssize_t n = ::read(fd_, bytes, size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(path_, "cannot read", errno);
    if (n == 0) damaged();
    bytes += n;
    size -= static_cast<std::size_t>(n);
  }
}

PacketPtr PacketReader::read() {
  if (left_ == 0) return nullptr;
  RecordHead head;
  fetch(&head, sizeof(head));
  if (head.body > static_cast<std::uint64_t>(left_) || head.size > head.body || head.size > INT32_MAX)
    damaged();
  record_.resize(head.body);
  fetch(record_.data(), record_.size());
  if (checksum(record_) != head.checksum) damaged();
  PacketPtr packet = make_packet();
  if (head.size > 0) check(av_new_packet(packet.get(), static_cast<int>(head.size)), path_.string());
  packet->pts = head.pts;
  packet->dts = head.dts;
  packet->duration = head.duration;
  packet->flags = head.flags;
  std::span<const std::byte> rest(record_);
  for (std::uint32_t i = 0; i < head.side_count; ++i) {
    SideHead side;
    if (rest.size() < sizeof(side)) damaged();
    std::memcpy(&side, rest.data(), sizeof(side));
    rest = rest.subspan(sizeof(side));
    if (rest.size() < side.size) damaged();
    std::uint8_t* data =
        av_packet_new_side_data(packet.get(), static_cast<AVPacketSideDataType>(side.type), side.size);
    if (data == nullptr) throw Error(ErrorCode::limit, "out of memory for a packet");
    if (side.size > 0) std::memcpy(data, rest.data(), side.size);
    rest = rest.subspan(side.size);
  }
  if (rest.size() != head.size) damaged();
  if (head.size > 0) std::memcpy(packet->data, rest.data(), rest.size());
  return packet;
}

void write_durably(const std::filesystem::path& path, const std::string& content) {
  const std::filesystem::path beside = path.string() + ".new";
  const int fd = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) fail(beside, "cannot create", errno);
  try {
    write_all(fd, beside, std::as_bytes(std::span(content)));
    if (::fsync(fd) != 0 && errno != EINVAL && errno != ENOSYS) fail(beside, "cannot write", errno);
  } catch (...) {
    ::close(fd);
    throw;
  }
  if (::close(fd) != 0) fail(beside, "cannot write", errno);
  if (::rename(beside.c_str(), path.c_str()) != 0) fail(path, "cannot rename", errno);
  sync_folder(path.parent_path());
}

}  // namespace saccade::media
