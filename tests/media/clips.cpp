#include "media/clips.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace saccade::test {

namespace {

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, by);) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

}  // namespace

std::vector<std::string> Scratch::names() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path()))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

CommandResult run_command(const std::vector<std::string>& arguments) {
  const Scratch scratch;
  const std::string out = (scratch / "out").string(), error = (scratch / "error").string();
  std::vector<char*> argv;
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(::open("/dev/null", O_RDONLY), STDIN_FILENO);
    ::dup2(::open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDOUT_FILENO);
    ::dup2(::open(error.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
    ::execvp(argv[0], argv.data());
    ::_exit(127);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read_file(out), read_file(error)};
}

void ffmpeg(const std::string& arguments, const std::vector<std::filesystem::path>& files) {
  std::vector<std::string> command{FFMPEG_PROGRAM, "-y", "-v", "error", "-nostdin"};
  std::size_t next = 0;
  for (std::string part : split(arguments, ' ')) {
    if (const auto at = part.find("{}"); at != std::string::npos)
      part.replace(at, 2, files.at(next++).string());
    command.push_back(part);
  }
  const CommandResult result = run_command(command);
  if (result.exit_code != 0) throw std::runtime_error("ffmpeg " + arguments + ": " + result.error);
}

std::vector<std::string> ffprobe(const std::string& arguments, const std::filesystem::path& file) {
  std::vector<std::string> command{FFPROBE_PROGRAM, "-v", "error"};
  for (const std::string& part : split(arguments, ' ')) command.push_back(part);
  command.insert(command.end(), {"-of", "csv=p=0", "file:" + file.string()});
  const CommandResult result = run_command(command);
  if (result.exit_code != 0) throw std::runtime_error("ffprobe " + file.string() + ": " + result.error);
  std::vector<std::string> lines = split(result.out, '\n');
  for (std::string& line : lines) {
    while (!line.empty() && line.back() == ',') line.pop_back();
    while (!line.empty() && line.front() == ',') line.erase(0, 1);
  }
  std::erase_if(lines, [](const std::string& line) { return line.empty(); });
  return lines;
}

std::vector<std::string> frame_times(const std::filesystem::path& file, const std::string& stream) {
  std::vector<std::string> lines =
      ffprobe("-select_streams " + stream + " -show_entries frame=best_effort_timestamp_time", file);
  for (std::string& line : lines) line = line.substr(0, line.find(','));  // side data adds columns
  return lines;
}

std::vector<std::string> packet_hashes(const std::filesystem::path& file, const std::string& stream) {
  return ffprobe("-select_streams " + stream + " -show_entries packet=data_hash -show_data_hash md5", file);
}

std::string stream_value(const std::filesystem::path& file, const std::string& stream,
                         const std::string& entry) {
  const std::string section = entry.find('=') == std::string::npos ? "stream=" + entry
                              : entry.starts_with("tags=")         ? "stream_tags=" + entry.substr(5)
                                                                   : "stream_side_data=" + entry.substr(10);
  const auto lines = ffprobe("-select_streams " + stream + " -show_entries " + section, file);
  return lines.empty() ? "" : lines.front();
}

std::string raw_frames(const std::filesystem::path& file, const std::string& pixel_format,
                       const std::string& options) {
  const Scratch scratch;
  const std::string out = (scratch / "frames").string();
  ffmpeg(options + " -i {} -map 0:V:0 -vsync passthrough -f rawvideo -pix_fmt " + pixel_format + " {}",
         {"file:" + file.string(), out});
  return read_file(out);
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void write_text(const std::filesystem::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

}  // namespace saccade::test
