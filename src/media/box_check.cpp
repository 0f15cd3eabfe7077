#include "media/box_check.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "saccade/error.h"

namespace saccade::media {

namespace {

using Bytes = std::span<const std::byte>;

constexpr std::uint32_t tag(const char (&name)[5]) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | static_cast<std::uint8_t>(name[i]);
  return value;
}

std::uint32_t u32(Bytes b, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8 | std::to_integer<std::uint32_t>(b[at + i]);
  return value;
}
std::uint64_t u64(Bytes b, std::size_t at) { return std::uint64_t{u32(b, at)} << 32 | u32(b, at + 4); }
std::uint32_t version(Bytes b) { return std::to_integer<std::uint32_t>(b[0]); }
std::uint32_t flags(Bytes b) { return u32(b, 0) & 0xffffff; }

/// Boxes of boxes.
constexpr std::uint32_t kContainers[] = {tag("dinf"), tag("edts"), tag("ilst"), tag("jp2h"), tag("mdia"),
                                         tag("meta"), tag("minf"), tag("moof"), tag("moov"), tag("mvex"),
                                         tag("schi"), tag("sinf"), tag("stbl"), tag("traf"), tag("trak"),
                                         tag("tref"), tag("udta"), tag("wave")};

/// Boxes that say how much there is of something, with the bytes that they have at least.
struct Table {
  std::uint32_t type;
  std::size_t fixed_bytes;
};
constexpr Table kTables[] = {{tag("cmov"), 24}, {tag("co64"), 8},  {tag("ctts"), 8},  {tag("elst"), 8},
                             {tag("hdlr"), 12}, {tag("keys"), 8},  {tag("pssh"), 20}, {tag("saiz"), 9},
                             {tag("sbgp"), 12}, {tag("senc"), 8},  {tag("sgpd"), 12}, {tag("sidx"), 24},
                             {tag("stco"), 8},  {tag("stps"), 8},  {tag("stsc"), 8},  {tag("stsd"), 8},
                             {tag("stss"), 8},  {tag("stsz"), 12}, {tag("stts"), 8},  {tag("stz2"), 12},
                             {tag("trun"), 8}};
/// Of these, what must not be hidden in the description of a codec, where FFmpeg looks for boxes too.
constexpr std::uint32_t kNeverInDescriptions[] = {
    tag("cmov"), tag("elst"), tag("keys"), tag("moof"), tag("moov"), tag("saiz"), tag("senc"),
    tag("sgpd"), tag("sidx"), tag("stsz"), tag("stz2"), tag("traf"), tag("trak"), tag("trun")};

constexpr int kMostNested = 24;
/// Of one outermost box other than one of media data: far more than the index of a day of video.
constexpr std::int64_t kMostContent = std::int64_t{1} << 29;
/// Of it, at the end of a file that was cut off.
constexpr std::int64_t kMostMissing = std::int64_t{1} << 24;
/// FFmpeg makes no more entries than one for so many samples of sound that is read in pieces.
constexpr std::uint64_t kSamplesAPiece = 160;
/// What any file may ask for, however small it is: at most some ten megabytes of memory each.
constexpr std::uint64_t kFewSamples = 4096, kManyEdited = std::uint64_t{1} << 21,
                        kManyFragments = std::uint64_t{1} << 19;
/// Samples whose bytes may still come, where nobody knows how much does.
constexpr std::uint64_t kSamplesToCome = std::uint64_t{1} << 20;

bool is_container(std::uint32_t type) {
  return std::find(std::begin(kContainers), std::end(kContainers), type) != std::end(kContainers);
}

const Table* table(std::uint32_t type) {
  const auto found =
      std::find_if(std::begin(kTables), std::end(kTables), [=](const Table& t) { return t.type == type; });
  return found == std::end(kTables) ? nullptr : found;
}

/// FFmpeg finds an index that was put away as free space.
bool is_hidden_index(std::uint32_t type, Bytes content) {
  if (type != tag("free") && type != tag("hoov")) return false;
  return content.size() >= 8 && (u32(content, 4) == tag("mvhd") || u32(content, 4) == tag("cmov"));
}

struct Header {
  std::uint32_t type = 0;
  std::int64_t bytes = 8;    ///< of the header itself
  std::int64_t content = 0;  ///< as claimed
};

/// The header that `b` begins with, of a box that has `room` bytes in all; nothing if it is none.
std::optional<Header> read_header(Bytes b, std::int64_t room) {
  if (b.size() < 8) return std::nullopt;
  Header header{u32(b, 4), 8, u32(b, 0)};
  if (header.content == 1) {
    if (b.size() < 16) return std::nullopt;
    header.bytes = 16;
    header.content = static_cast<std::int64_t>(u64(b, 8));
  } else if (header.content == 0) {
    header.content = room;
  }
  header.content -= header.bytes;
  if (header.content < 0) return std::nullopt;
  return header;
}

std::string name_of(std::uint32_t type) {
  std::string name;
  for (int shift = 24; shift >= 0; shift -= 8) {
    const auto c = static_cast<unsigned char>(type >> shift);
    name += c >= 0x20 && c < 0x7f ? static_cast<char>(c) : '?';
  }
  return name;
}

std::vector<std::byte> unpacked(Bytes packed, std::size_t size) {
  std::vector<std::byte> content(size);
  uLongf length = size;
  if (::uncompress(reinterpret_cast<Bytef*>(content.data()), &length,
                   reinterpret_cast<const Bytef*>(packed.data()), packed.size()) != Z_OK) {
    length = 0;  // FFmpeg refuses it too
  }
  content.resize(length);
  return content;
}

}  // namespace

/// What is known of a track once all of its boxes were looked at.
struct BoxCheck::Track {
  std::uint64_t equal_samples = 0;  ///< of one size for all
  std::uint64_t samples = 0;        ///< in any table
  std::uint64_t chunks = 0, edits = 0;
  int size_tables = 0, time_tables = 0;
  bool unit_time = false, sound = false, other_kind = false;
  std::vector<std::array<std::uint64_t, 2>> chunk_runs;  ///< first chunk, samples in each

  std::uint64_t samples_in_chunks() const;
  /// Sound is not listed sample by sample if each takes one tick.
  bool read_in_pieces() const {
    return sound && !other_kind && size_tables == 1 && time_tables == 1 && unit_time;
  }
};

/// At most; of runs that are out of order, whatever may be made of them.
std::uint64_t BoxCheck::Track::samples_in_chunks() const {
  std::uint64_t total = 0, most = 0;
  bool ordered = true;
  for (std::size_t i = 0; i < chunk_runs.size(); ++i) {
    const auto [first, count] = chunk_runs[i];
    most = std::max(most, count);
    const std::uint64_t end = i + 1 < chunk_runs.size() ? chunk_runs[i + 1][0] : chunks + 1;
    if (first < i + 1 || (first >= end && i + 1 < chunk_runs.size())) {
      ordered = false;
    } else if (end > first) {
      total += (end - first) * count;  // both below 2^32, and so few that it cannot overflow twice
      if (total > std::uint64_t{1} << 62) return total;
    }
  }
  return ordered ? total : chunks * most;
}

std::optional<BoxCheck::Outermost> BoxCheck::outermost(Bytes bytes, std::int64_t at) {
  const auto header = read_header(bytes, std::numeric_limits<std::int64_t>::max() - at);
  if (!header) return std::nullopt;
  return Outermost{header->type, at + header->bytes, header->content};
}

bool BoxCheck::has_effect(const Outermost& box, Bytes begin) noexcept {
  return is_container(box.type) || table(box.type) != nullptr || is_hidden_index(box.type, begin);
}

void BoxCheck::require_size(const Outermost& box, std::int64_t there) const {
  const std::int64_t missing = box.content - there;
  if (missing > 0 && (box.type == tag("moov") || missing > kMostMissing)) {
    throw Error(
        ErrorCode::media,
        fmt::format("{}: the file is cut off: {} of {} bytes of its {} are there", name_, there, box.content,
                    box.type == tag("moov") ? "index" : "box '" + name_of(box.type) + "'"));
  }
  if (there > kMostContent) refuse(box.type, fmt::format("has {} bytes, more than can be right", there));
}

void BoxCheck::require_passed(const Outermost& box) const {
  const auto within = targets_.upper_bound(box.begin - 8);
  if (within != targets_.end() && *within - box.begin < box.content)
    refuse(tag("sidx"),
           fmt::format("says that a fragment begins at byte {}, in the midst of a box", *within));
}

void BoxCheck::refuse(std::uint32_t type, const std::string& what) const {
  throw Error(ErrorCode::media,
              fmt::format("{}: is damaged, or made to do harm: its box '{}' {}; get the file once more from "
                          "where it comes from",
                          name_, name_of(type), what));
}

void BoxCheck::require_entries(std::uint32_t type, std::uint64_t entries, std::uint64_t bits_each,
                               std::size_t bytes) const {
  if (entries > (std::uint64_t{bytes} * 8) / bits_each) {
    refuse(type, fmt::format("announces {} entries of {} bits, but has {} bytes for them", entries, bits_each,
                             bytes));
  }
}

void BoxCheck::add_samples(std::uint32_t type, std::uint64_t samples) {
  samples_ += samples;
  if (samples_ > std::max(bytes_, kFewSamples))
    refuse(type, fmt::format("announces {} samples, more than the {} bytes that they could lie in", samples,
                             bytes_));
}

void BoxCheck::add_fragments(std::uint64_t fragments) {
  fragments_ += fragments;
  if (fragments_ * std::max<std::uint64_t>(1, streams_) > std::max(bytes_, kManyFragments))
    refuse(tag("moof"), fmt::format("is one of {} fragments of {} streams, more than the file has room for",
                                    fragments_, streams_));
}

void BoxCheck::check_file(std::int64_t size, const ReadAt& read_at) {
  bytes_ = static_cast<std::uint64_t>(size);
  walk_file(0, size, read_at);
  while (!targets_.empty()) walk_file(targets_.extract(targets_.begin()).value(), size, read_at);
}

void BoxCheck::walk_file(std::int64_t at, std::int64_t size, const ReadAt& read_at) {
  std::array<std::byte, 4096> head;
  while (at >= 0 && at + 8 <= size && seen_.insert(at).second) {
    const Bytes read(head.data(), read_at(at, head));
    std::optional<Outermost> box = outermost(read, at);
    if (!box) return;
    const std::int64_t room = size - box->begin;
    if (u32(read, 0) == 0) box->content = room;
    const std::int64_t there = std::min(box->content, room);
    const Bytes near = read.subspan(static_cast<std::size_t>(box->begin - at));
    if (has_effect(*box, near)) {
      require_size(*box, there);
      looked_at_ += static_cast<std::uint64_t>(there);
      if (looked_at_ > 4 * bytes_) refuse(box->type, "lies across others");
      if (there <= static_cast<std::int64_t>(near.size())) {
        check_content(*box, near.first(static_cast<std::size_t>(there)));
      } else {
        std::vector<std::byte> content(static_cast<std::size_t>(there));
        check_content(*box, Bytes(content).first(read_at(box->begin, content)));
      }
    }
    if (box->content > room) return;
    at = box->begin + box->content;
  }
}

void BoxCheck::check_arrived(const Outermost& box, Bytes content) {
  bytes_ = static_cast<std::uint64_t>(box.begin) + content.size() + kSamplesToCome;
  check_content(box, content);
}

void BoxCheck::check_content(const Outermost& box, Bytes content) {
  check_box(is_hidden_index(box.type, content) ? tag("moov") : box.type, content, box.begin, 0);
}

void BoxCheck::walk(Bytes content, std::int64_t at, int depth) {
  while (content.size() >= 8) {
    const std::optional<Header> header = read_header(content, static_cast<std::int64_t>(content.size()));
    if (!header) return;
    Bytes inner = content.subspan(static_cast<std::size_t>(header->bytes));
    const auto claimed = static_cast<std::uint64_t>(header->content);
    const std::size_t there = std::min<std::uint64_t>(claimed, inner.size());
    inner = inner.first(there);
    check_box(is_hidden_index(header->type, inner) ? tag("moov") : header->type, inner, at + header->bytes,
              depth + 1);
    const std::size_t step = static_cast<std::size_t>(header->bytes) + there;
    content = content.subspan(step);
    at += static_cast<std::int64_t>(step);
  }
}

void BoxCheck::check_box(std::uint32_t type, Bytes content, std::int64_t at, int depth) {
  if (depth > kMostNested) return;  // more than FFmpeg follows
  if (type == tag("moof")) add_fragments(1);
  if (type == tag("trak")) return check_track(content, at, depth);
  if (type == tag("meta")) {  // its boxes begin where the first one of this type does
    for (std::size_t i = 0; i + 8 <= content.size(); i += 4) {
      if (u32(content, i + 4) == tag("hdlr"))
        return walk(content.subspan(i), at + static_cast<std::int64_t>(i), depth);
    }
    return;
  }
  if (is_container(type)) return walk(content, at, depth);
  const Table* const known = table(type);
  if (known == nullptr) return;
  if (content.size() < known->fixed_bytes) {
    if (type == tag("hdlr")) return;
    refuse(type, fmt::format("has {} bytes, too few to say anything", content.size()));
  }
  const std::size_t rest = content.size() - known->fixed_bytes;
  Track none;
  Track& track = track_ != nullptr ? *track_ : none;
  switch (type) {
    case tag("trun"):
      return check_run(content);
    case tag("senc"):
    case tag("saiz"):
      return check_encryption(type, content);
    case tag("sidx"):
      return check_segment_index(content, at + static_cast<std::int64_t>(content.size()));
    case tag("stsd"):
      return check_description(content);
    case tag("cmov"): {
      const std::size_t size = u32(content, 20);
      // The most that zlib can do, and a bound on what is held here.
      if (size > 1040 * (rest + 16) || size > kMostContent)
        refuse(type, fmt::format("has {} bytes and claims to hold {}", rest, size));
      return walk(unpacked(content.subspan(24), size), 0, depth);
    }
    case tag("hdlr"):
      track.sound |= u32(content, 8) == tag("soun");
      track.other_kind |=
          u32(content, 8) == tag("vide") || u32(content, 8) == tag("subp") || u32(content, 8) == tag("clcp");
      return;
    case tag("stsz"):
      ++track.size_tables;
      track.samples = std::max<std::uint64_t>(track.samples, u32(content, 8));
      if (u32(content, 4) != 0) {
        track.equal_samples += u32(content, 8);
        return;
      }
      return require_entries(type, u32(content, 8), 32, rest);
    case tag("stz2"):
      ++track.size_tables;
      track.samples = std::max<std::uint64_t>(track.samples, u32(content, 8));
      return require_entries(type, u32(content, 8), std::max(4u, u32(content, 4) & 0xff), rest);
    case tag("stts"):
      ++track.time_tables;
      track.unit_time = u32(content, 4) == 1 && rest >= 8 && u32(content, 12) == 1;
      return require_entries(type, u32(content, 4), 64, rest);
    case tag("stco"):
    case tag("co64"):
      track.chunks = std::max<std::uint64_t>(track.chunks, u32(content, 4));
      return require_entries(type, u32(content, 4), type == tag("stco") ? 32 : 64, rest);
    case tag("stsc"):
      require_entries(type, u32(content, 4), 96, rest);
      if (!track.chunk_runs.empty()) return;
      for (std::size_t i = 0; i < u32(content, 4); ++i)
        track.chunk_runs.push_back({u32(content, 8 + 12 * i), u32(content, 12 + 12 * i)});
      return;
    case tag("elst"):
      track.edits = std::max<std::uint64_t>(track.edits, rest / (version(content) == 1 ? 20 : 12));
      return;
    case tag("sbgp"):
      return require_entries(type, u32(content, version(content) == 1 && rest >= 4 ? 12 : 8), 64, rest);
    case tag("sgpd"): {
      if (u32(content, 4) != tag("sync")) return;  // no other is read
      const std::size_t count_at = 8 + (version(content) >= 1 ? 4 : 0) + (version(content) >= 2 ? 4 : 0);
      if (content.size() < count_at + 4) refuse(type, "is too short");
      return require_entries(type, u32(content, count_at), 8, content.size() - count_at - 4);
    }
    case tag("pssh"):
      if (version(content) == 0) return;
      if (rest < 4) refuse(type, "is too short");
      return require_entries(type, u32(content, 20), 128, rest - 4);
    case tag("keys"):
      return require_entries(type, u32(content, 4), 64, rest);
    default:  // ctts, stss, stps
      return require_entries(type, u32(content, 4), type == tag("ctts") ? 64 : 32, rest);
  }
}

void BoxCheck::check_track(Bytes content, std::int64_t at, int depth) {
  ++streams_;
  Track track;
  Track* const outer = std::exchange(track_, &track);
  walk(content, at, depth);
  track_ = outer;
  finish_track(track);
}

void BoxCheck::finish_track(const Track& track) {
  const std::uint64_t in_chunks = track.samples_in_chunks();
  if (in_chunks / kSamplesAPiece > std::max(bytes_, kFewSamples)) {
    refuse(tag("stsc"), fmt::format("announces {} samples in {} chunks, more than {} bytes can hold",
                                    in_chunks, track.chunks, bytes_));
  }
  std::uint64_t listed = track.samples;
  if (track.read_in_pieces()) {
    listed = track.chunks + in_chunks / kSamplesAPiece;
  } else {
    add_samples(tag("stsz"), track.equal_samples);
  }
  // Each edit may begin so far behind a key frame that all samples are listed for it once more.
  if (track.edits > 1 && track.edits * listed > std::max(bytes_, kManyEdited)) {
    refuse(tag("elst"),
           fmt::format("has {} edits of {} samples, more together than can be right", track.edits, listed));
  }
}

/// A run of samples, which may leave out all that is the same for each.
void BoxCheck::check_run(Bytes content) {
  const std::uint32_t has = flags(content), samples = u32(content, 4);
  const std::size_t fixed = 8 + (has & 1 ? 4 : 0) + (has & 4 ? 4 : 0);
  const auto fields = static_cast<std::uint64_t>(std::popcount(has & 0xf00u));
  if (content.size() < fixed) refuse(tag("trun"), "is too short");
  if (fields == 0) return add_samples(tag("trun"), samples);
  require_entries(tag("trun"), samples, 32 * fields, content.size() - fixed);
}

/// How each sample is encrypted: may be the same for all, and takes memory for each.
void BoxCheck::check_encryption(std::uint32_t type, Bytes content) {
  std::size_t at = 4;
  if (type == tag("saiz")) {
    at = (flags(content) & 1) != 0 ? 13 : 5;
    if (content.size() < at + 4) refuse(type, "is too short");
    if (std::to_integer<int>(content[at - 1]) == 0)
      require_entries(type, u32(content, at), 8, content.size() - at - 4);
  }
  encrypted_ += u32(content, at);
  if (encrypted_ > std::max(bytes_, kFewSamples))
    refuse(type, fmt::format("announces {} samples, more than the {} bytes that they could lie in",
                             u32(content, at), bytes_));
}

/// Says where fragments begin, which is believed: boxes are read from there.
void BoxCheck::check_segment_index(Bytes content, std::int64_t end) {
  const std::size_t count_at = version(content) == 0 ? 22 : 30;
  if (version(content) > 1) return;
  if (content.size() < count_at + 2) refuse(tag("sidx"), "is too short");
  const std::size_t count = u32(content, count_at - 2) & 0xffff;
  require_entries(tag("sidx"), count, 96, content.size() - count_at - 2);
  add_fragments(count);
  const std::uint64_t offset = version(content) == 0 ? u32(content, 16) : u64(content, 20);
  if (offset > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max() - end)) return;
  std::int64_t target = end + static_cast<std::int64_t>(offset);
  for (std::size_t i = 0; i < count; ++i) {
    targets_.insert(target);
    const std::int64_t step = u32(content, count_at + 2 + 12 * i) & 0x7fffffff;
    if (target > std::numeric_limits<std::int64_t>::max() - step) return;
    target += step;
  }
}

/// Where the boxes in the description of a codec begin depends on the codec: nowhere may be one of those that
/// have no business there.
void BoxCheck::check_description(Bytes content) const {
  for (std::size_t at = 8; at + 8 <= content.size();) {
    const std::optional<Header> entry =
        read_header(content.subspan(at), static_cast<std::int64_t>(content.size() - at));
    if (!entry) return check_entry(content.subspan(at));
    const std::size_t whole = static_cast<std::size_t>(entry->bytes) +
                              static_cast<std::size_t>(std::min<std::uint64_t>(
                                  static_cast<std::uint64_t>(entry->content), content.size()));
    const Bytes bytes = content.subspan(at, std::min(whole, content.size() - at));
    // Of timed metadata, as phones record it, FFmpeg passes the description over; it lists keys.
    if (entry->type != tag("mebx")) check_entry(bytes);
    at += bytes.size();
  }
}

void BoxCheck::check_entry(Bytes content) const {
  for (std::size_t i = 4; i + 4 <= content.size(); ++i) {
    const std::uint32_t type = u32(content, i);
    if ((type >> 24) < 0x63 || (type >> 24) > 0x74) continue;  // 'c' to 't'
    if (std::find(std::begin(kNeverInDescriptions), std::end(kNeverInDescriptions), type) ==
        std::end(kNeverInDescriptions)) {
      continue;
    }
    const std::uint32_t size = u32(content, i - 4);
    if (size <= 1 || (size >= 8 && size <= content.size()))
      refuse(type, "lies in the description of a codec, where it does not belong");
  }
}

}  // namespace saccade::media
