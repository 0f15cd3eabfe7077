// Sound in a container that counts samples from its beginning and knows no times (AVI): what keeps it beside
// the pictures.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "media/ffmpeg.h"
#include "media/source.h"
#include "media/stream_plan.h"

namespace saccade::media {

/// Whether streams of the container start at its beginning and go on without gaps.
bool only_counts(const AVOutputFormat& container);

/// Where the first packet of a stream lies, in microseconds of the result, as far as it is known.
std::optional<std::int64_t> known_start(const Source& source, int stream);

/// Whether sound starts so long after the other streams that a copy of its packets would come too early in a
/// container that only counts.
bool starts_late(const Source& source, int stream);

/// Where a file that only counts begins.
struct CountedStart {
  std::int64_t origin = 0;  ///< microseconds of the result that become time zero
  std::int64_t lead = 0;    ///< pictures' units before the first picture
  CountedStart() = default;
  /// Sound may start before the pictures: as many whole `unit`s as lie in between are left empty. Without
  /// `unit` it is cut.
  CountedStart(const Source& source, const StreamPlan& plan, std::optional<AVRational> unit);
};

/// Brings packets of sound to where their times say: raw samples are cut and silence is put between them;
/// of others those before the start are left out, and gaps remain closed. Not thread-safe.
class SoundCount {
 public:
  /// Packets in `unit`; `origin` becomes sample 0.
  SoundCount(const AVCodecParameters& parameters, AVRational unit, std::int64_t origin_microseconds);
  /// What is to be written for a packet, times in 1/sample_rate.
  std::vector<PacketPtr> place(PacketPtr packet);
  /// Gaps that could not be filled, and by how many seconds the sound after them comes too early.
  std::int64_t gaps() const noexcept { return gaps_; }
  double early_seconds() const noexcept { return static_cast<double>(early_) / parameters_->sample_rate; }

 private:
  bool raw() const noexcept { return block_ > 0; }
  std::int64_t length(const AVPacket& packet) const;
  void add_silence(std::int64_t samples, std::vector<PacketPtr>& packets);

  ParametersPtr parameters_;
  AVRational unit_;
  std::int64_t origin_;      ///< in samples
  int block_ = 0;            ///< bytes of a sample of all channels, of raw samples; else 0
  std::uint8_t silent_ = 0;  ///< byte that raw silence consists of
  std::int64_t count_ = 0;   ///< samples so far
  std::int64_t gaps_ = 0, early_ = 0;
};

}  // namespace saccade::media
