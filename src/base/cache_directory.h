// Where caches go, and whether they may.
#pragma once

#include <filesystem>
#include <string>

namespace saccade {

/// Where caches go: $SACCADE_CACHE_DIR, else $XDG_CACHE_HOME/saccade, else ~/.cache/saccade, else
/// saccade-cache-UID in the folder for temporary files. Not created.
std::filesystem::path cache_directory();
/// Why nothing in cache_directory() may be used: somebody else can put files there. Empty: nothing speaks
/// against it. The folder among temporary files, where everybody may take any name, is made first, and must
/// be ours alone; $SACCADE_CACHE_DIR is as its user wants it.
std::string cache_distrust();

}  // namespace saccade
