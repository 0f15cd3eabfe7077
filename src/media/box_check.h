// What the boxes of an MP4 or QuickTime file claim, held against the bytes that there are. FFmpeg believes
// the numbers, and makes tables of gigabytes for a file of two kilobytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>

namespace saccade::media {

/// Looks at boxes in the way FFmpeg does: nearly any of them, wherever it lies, has an effect. What is
/// allowed takes at most memory in proportion to the file. All of it throws Error(media) that names the box
/// and what it claims.
class BoxCheck {
 public:
  /// Reads up to so many bytes from a place in the file; fewer at its end.
  using ReadAt = std::function<std::size_t(std::int64_t offset, std::span<std::byte> bytes)>;

  /// `name` is the input's, for errors.
  explicit BoxCheck(std::string name) : name_(std::move(name)) {}

  /// All boxes of a file of `size` bytes.
  void check_file(std::int64_t size, const ReadAt& read_at);

  /// An outermost box of a stream.
  struct Outermost {
    std::uint32_t type = 0;
    std::int64_t begin = 0;    ///< of its content
    std::int64_t content = 0;  ///< bytes, as claimed
  };
  /// The box whose header `bytes` begin with, at a place in the stream; nothing if they are none or too few.
  static std::optional<Outermost> outermost(std::span<const std::byte> bytes, std::int64_t at);
  /// Whether FFmpeg looks into it, so that check_arrived() must. `begin` is what its content begins with.
  static bool has_effect(const Outermost& box, std::span<const std::byte> begin) noexcept;
  /// Whether it can be right, by its header. For one whose content arrived: after that was cut off at the end
  /// of the stream, too.
  void require_size(const Outermost& box, std::int64_t there) const;
  /// The content of a box.
  void check_arrived(const Outermost& box, std::span<const std::byte> content);
  /// A box that FFmpeg passes over, if it does.
  void require_passed(const Outermost& box) const;

 private:
  struct Track;
  void walk_file(std::int64_t at, std::int64_t size, const ReadAt& read_at);
  void check_content(const Outermost& box, std::span<const std::byte> content);
  void walk(std::span<const std::byte> content, std::int64_t at, int depth);
  void check_box(std::uint32_t type, std::span<const std::byte> content, std::int64_t at, int depth);
  void check_track(std::span<const std::byte> content, std::int64_t at, int depth);
  void finish_track(const Track& track);
  void check_run(std::span<const std::byte> content);
  void check_encryption(std::uint32_t type, std::span<const std::byte> content);
  void check_segment_index(std::span<const std::byte> content, std::int64_t end);
  void check_description(std::span<const std::byte> content) const;
  void check_entry(std::span<const std::byte> content) const;
  void require_entries(std::uint32_t type, std::uint64_t entries, std::uint64_t bits_each,
                       std::size_t bytes) const;
  void add_samples(std::uint32_t type, std::uint64_t samples);
  void add_fragments(std::uint64_t fragments);
  [[noreturn]] void refuse(std::uint32_t type, const std::string& what) const;

  std::string name_;
  std::uint64_t bytes_ = 0;      ///< that samples may lie in
  std::uint64_t looked_at_ = 0;  ///< bytes of outermost boxes
  std::uint64_t samples_ = 0;    ///< that no bytes of their own in a table tell of
  std::uint64_t encrypted_ = 0, fragments_ = 0, streams_ = 0;
  Track* track_ = nullptr;          ///< that is being read
  std::set<std::int64_t> targets_;  ///< where indices say that fragments begin
  std::set<std::int64_t> seen_;     ///< outermost boxes
};

}  // namespace saccade::media
