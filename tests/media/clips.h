// Clips made by the ffmpeg program, and what ffprobe says about a file: independent of our own use of the
// libraries.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/temporary_folder.h"

namespace saccade::test {

/// A folder that lives as long as the object.
class Scratch {
 public:
  std::filesystem::path operator/(const std::string& name) const { return path() / name; }
  const std::filesystem::path& path() const { return folder_.path(); }
  /// Names of everything in it, hidden files too, sorted.
  std::vector<std::string> names() const;

 private:
  TemporaryFolder folder_{"saccade-test-"};
};

struct CommandResult {
  int exit_code = -1;  ///< -1: killed by a signal
  std::string out, error;
};
/// Runs a program with arguments (no shell) and waits for it.
CommandResult run_command(const std::vector<std::string>& arguments);

/// "ffmpeg -y ARGUMENTS..." with `arguments` split at blanks and `files` put for {}. Throws with what it said
/// if it fails.
void ffmpeg(const std::string& arguments, const std::vector<std::filesystem::path>& files);

/// Lines of "ffprobe -v error ARGUMENTS -of csv=p=0 FILE".
std::vector<std::string> ffprobe(const std::string& arguments, const std::filesystem::path& file);
/// Presentation times of the decoded frames of a stream ("v:0"), in seconds as ffprobe prints them.
std::vector<std::string> frame_times(const std::filesystem::path& file, const std::string& stream = "v:0");
/// MD5 of each packet of a stream.
std::vector<std::string> packet_hashes(const std::filesystem::path& file, const std::string& stream);
/// One value of a stream ("pix_fmt", "r_frame_rate", "side_data=rotation", "tags=language").
std::string stream_value(const std::filesystem::path& file, const std::string& stream,
                         const std::string& entry);
/// Frames of a stream as raw bytes in a pixel format, through the ffmpeg program.
std::string raw_frames(const std::filesystem::path& file, const std::string& pixel_format,
                       const std::string& options = "");

std::string read_file(const std::filesystem::path& path);
void write_text(const std::filesystem::path& path, const std::string& content);

}  // namespace saccade::test
