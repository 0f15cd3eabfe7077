// Several files that one command writes.
#pragma once

#include <filesystem>
#include <span>
#include <string>

namespace saccade {

struct NamedOutput {
  std::filesystem::path path;  ///< empty: it is not written
  std::string role;            ///< "output", "mask output"
};

/// Whether what is written under the two names is one file or folder, be it there yet or not; links are
/// followed.
bool same_target(const std::filesystem::path& a, const std::filesystem::path& b);

/// Throws Error(invalid_argument) where two outputs are one file, or both standard output: the later would
/// replace the earlier.
void require_apart(std::span<const NamedOutput> outputs);

}  // namespace saccade
