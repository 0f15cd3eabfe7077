#include "base/outputs.h"

#include <fmt/format.h>

#include "base/files.h"
#include "saccade/error.h"

namespace saccade {

namespace {

std::filesystem::path plain_name(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::absolute(path, error);
  const std::filesystem::path plain = behind_links(error ? path : whole).lexically_normal();
  return plain.has_filename() ? plain : plain.parent_path();
}

}  // namespace

bool same_target(const std::filesystem::path& a, const std::filesystem::path& b) {
  if (is_standard_output(a) || is_standard_output(b)) return is_standard_output(a) && is_standard_output(b);
  return same_file(a, b) || plain_name(a) == plain_name(b);
}

void require_apart(std::span<const NamedOutput> outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const NamedOutput &earlier = outputs[j], &later = outputs[i];
      if (earlier.path.empty() || later.path.empty() || !same_target(earlier.path, later.path)) continue;
      throw Error(ErrorCode::invalid_argument,
                  is_standard_output(later.path)
                      ? fmt::format("{} and {} are both standard output; only one of them can be",
                                    earlier.role, later.role)
                      : fmt::format("{}: {} and {} are the same file", later.path.string(), earlier.role,
                                    later.role));
    }
}

}  // namespace saccade
