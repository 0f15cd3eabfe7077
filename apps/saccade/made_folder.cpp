#include "made_folder.h"

#include <system_error>

#include "saccade/error.h"

namespace saccade::cli {

MadeFolder::MadeFolder(const std::filesystem::path& folder) {
  std::error_code error;
  for (std::filesystem::path at = folder; !at.empty() && !std::filesystem::exists(at, error);
       at = at.parent_path())
    made_.push_back(at);
  std::filesystem::create_directories(folder, error);
  if (error) throw Error(ErrorCode::io, folder.string() + ": the folder cannot be made: " + error.message());
}

MadeFolder::~MadeFolder() {
  std::error_code not_empty;
  for (const std::filesystem::path& folder : made_)
    if (!std::filesystem::remove(folder, not_empty)) return;
}

}  // namespace saccade::cli
