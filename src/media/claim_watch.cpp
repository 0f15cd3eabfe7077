#include "media/claim_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace saccade::media {

namespace {

using Bytes = std::span<const std::byte>;
using std::literals::string_view_literals::operator""sv;

/// What each kind's claims are told by, and how many bytes from there on say all of one.
constexpr std::string_view kRiffList = "LIST";
constexpr std::string_view kFlvTimes = "\0\x05times\n"sv, kFlvPositions = "\0\rfilepositions\n"sv;
constexpr std::string_view kMxfKey = "\x06\x0e\x2b\x34"sv;
constexpr std::string_view kMxfIndex = "\x06\x0e\x2b\x34\x02\x53\x01\x01\x0d\x01\x02\x01\x01\x10\x01\x00"sv;
constexpr std::size_t kMostSeam = 32;
/// FFmpeg looks for the first key of an MXF so far.
constexpr std::size_t kMostBeforeMxf = 64 * 1024;
/// Texts in a file whose size nobody knows.
constexpr std::int64_t kMostText = std::int64_t{1} << 24;
/// Of an index segment: a local set of tags of 16 bits of length.
constexpr std::size_t kMostIndex = 512 * 1024;

std::uint64_t big(Bytes b, std::size_t at, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < count; ++i) value = value << 8 | std::to_integer<std::uint64_t>(b[at + i]);
  return value;
}

std::uint32_t little(Bytes b, std::size_t at) {
  return std::to_integer<std::uint32_t>(b[at]) | std::to_integer<std::uint32_t>(b[at + 1]) << 8 |
         std::to_integer<std::uint32_t>(b[at + 2]) << 16 | std::to_integer<std::uint32_t>(b[at + 3]) << 24;
}

bool begins_with(Bytes bytes, std::string_view text) {
  return bytes.size() >= text.size() && std::memcmp(bytes.data(), text.data(), text.size()) == 0;
}

std::size_t find(Bytes bytes, std::string_view text, std::size_t from) {
  const auto* begin = reinterpret_cast<const char*>(bytes.data());
  return std::string_view(begin, bytes.size()).find(text, from);
}

}  // namespace

void ClaimWatch::recognise(Bytes bytes) {
  kind_ = Kind::none;
  for (const std::string_view riff : {"RIFF"sv, "RF64"sv, "BW64"sv, "ON2 "sv}) {
    if (begins_with(bytes, riff)) kind_ = Kind::riff;
  }
  if (begins_with(bytes, "FLV")) kind_ = Kind::flv;
  if (kind_ == Kind::none && size_ >= 0 &&
      find(bytes.first(std::min(bytes.size(), kMostBeforeMxf)), kMxfKey, 0) != std::string_view::npos) {
    kind_ = Kind::mxf;
  }
}

std::string ClaimWatch::look(std::int64_t at, Bytes bytes) {
  if (kind_ == Kind::unknown && at == 0) recognise(bytes);
  if (kind_ == Kind::none || kind_ == Kind::unknown) return "";
  // A claim may lie across two reads.
  if (tail_end_ != at) tail_.clear();
  std::vector<std::byte> seam = tail_;
  seam.insert(seam.end(), bytes.begin(),
              bytes.begin() + static_cast<std::ptrdiff_t>(std::min(bytes.size(), kMostSeam)));
  std::string claim;
  if (!tail_.empty()) claim = search(at - static_cast<std::int64_t>(tail_.size()), seam);
  if (claim.empty()) claim = search(at, bytes);
  const Bytes last = bytes.size() >= kMostSeam ? bytes : Bytes(seam);
  tail_.assign(last.end() - static_cast<std::ptrdiff_t>(std::min(last.size(), kMostSeam)), last.end());
  tail_end_ = at + static_cast<std::int64_t>(bytes.size());
  return claim;
}

std::string ClaimWatch::search(std::int64_t at, Bytes bytes) const {
  const auto each = [&](std::string_view text) {
    for (std::size_t i = find(bytes, text, 0); i != std::string_view::npos; i = find(bytes, text, i + 1)) {
      std::string claim = check(at + static_cast<std::int64_t>(i), bytes.subspan(i));
      if (!claim.empty()) return claim;
    }
    return std::string();
  };
  if (kind_ == Kind::riff) return each(kRiffList);
  if (kind_ == Kind::mxf) return each(kMxfIndex);
  std::string claim = each(kFlvTimes);
  return claim.empty() ? each(kFlvPositions) : claim;
}

/// One claim, by the bytes from there on.
std::string ClaimWatch::check(std::int64_t at, Bytes found) const {
  std::vector<std::byte> more;
  const std::size_t needed = kind_ == Kind::mxf ? kMostIndex : kMostSeam;
  if (size_ >= 0 && found.size() < needed) {
    more.resize(needed);
    more.resize(read_at_(at, more));
    found = more;
  }
  if (kind_ == Kind::mxf) return check_mxf(found);
  if (kind_ == Kind::riff) {
    if (found.size() < 12 || !begins_with(found.subspan(8), "INFO")) return "";
    const std::int64_t bytes = little(found, 4), room = size_ >= 0 ? size_ - at - 8 : kMostText;
    // FFmpeg reads texts that end with the file, and takes twice the memory for them at most.
    return bytes > 2 * room + kMostText
               ? fmt::format("its list of texts claims {} bytes, but there are {} for it", bytes, room)
               : "";
  }
  const std::size_t count_at = begins_with(found, kFlvTimes) ? kFlvTimes.size() : kFlvPositions.size();
  if (found.size() < count_at + 4) return "";
  const auto entries = static_cast<std::int64_t>(big(found, count_at, 4));
  constexpr int kBytesEach = 9;
  return size_ >= 0 && entries > size_ / kBytesEach
             ? fmt::format("its list of key frames claims {} of them, more than a file of {} bytes can list",
                           entries, size_)
             : "";
}

/// An index that lists where pictures lie: there is an entry for each of them.
std::string ClaimWatch::check_mxf(Bytes segment) const {
  std::size_t at = kMxfIndex.size();
  if (segment.size() <= at) return "";
  const auto first = std::to_integer<std::size_t>(segment[at]);
  at += 1 + (first >= 0x80 ? first & 0x7f : 0);
  std::uint64_t pictures = 0;
  bool lists = false;
  while (at + 4 <= segment.size()) {
    const std::uint64_t tag = big(segment, at, 2);
    const std::size_t bytes = big(segment, at + 2, 2);
    at += 4;
    if (at + bytes > segment.size()) break;
    if (tag == 0x3f0d && bytes >= 8) pictures = big(segment, at, 8);
    if (tag == 0x3f0a && bytes >= 4) lists = big(segment, at, 4) != 0;
    if (tag == 0) break;
    at += bytes;
  }
  return lists && pictures > static_cast<std::uint64_t>(size_) && pictures < std::uint64_t{1} << 63
             ? fmt::format("its index claims {} pictures, more than a file of {} bytes can hold", pictures,
                           size_)
             : "";
}

}  // namespace saccade::media
