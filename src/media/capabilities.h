// What the FFmpeg libraries that this program runs with can do.
#pragma once

#include <string>
#include <vector>

namespace saccade::media {

struct LibraryVersion {
  std::string name;     ///< "libavcodec"
  std::string version;  ///< "59.37.100", of the library that is loaded, not of the headers
};
std::vector<LibraryVersion> library_versions();

/// FFmpeg's release as its build says ("5.1.6-0+deb12u1"), and the licence of that build ("GPL version 2 or
/// later").
std::string ffmpeg_release();
std::string ffmpeg_licence();

/// By FFmpeg's own names: "h264", "libx264", "mp4". Never throw.
bool has_decoder(const std::string& name) noexcept;
bool has_encoder(const std::string& name) noexcept;
bool has_muxer(const std::string& name) noexcept;

}  // namespace saccade::media
