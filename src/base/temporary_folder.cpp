#include "base/temporary_folder.h"

#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

#include "saccade/error.h"

namespace saccade {

namespace {

std::filesystem::path system_folder() {
  std::error_code error;
  std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  if (error)
    throw Error(ErrorCode::io, "no folder for temporary files: " + error.message() + "; TMPDIR says where");
  return folder;
}

}  // namespace

TemporaryFolder::TemporaryFolder(const std::filesystem::path& parent, std::string_view stem) {
  // mkdtemp puts letters in the place of the marks.
  std::string name = (parent / stem).string() + "XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) {
    throw Error(ErrorCode::io,
                parent.string() + ": cannot create a temporary folder in it: " + std::strerror(errno));
  }
  path_ = name;
}

TemporaryFolder::TemporaryFolder(std::string_view stem) : TemporaryFolder(system_folder(), stem) {}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace saccade
