#include "overwrite.h"

#include <span>
#include <system_error>

#include "base/files.h"
#include "saccade/error.h"

namespace saccade::cli {

namespace {

void require_free(const std::filesystem::path& target, bool overwrite,
                  const std::vector<std::filesystem::path>& inputs) {
  if (target.empty() || is_standard_output(target)) return;
  for (const std::filesystem::path& input : inputs) {
    if (same_file(target, input))
      throw Error(ErrorCode::invalid_argument,
                  target.string() + ": is " + input.string() + ", which is read; name another file");
  }
  // Devices and pipes are no results that could be lost.
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(target, ignored);
  if (!overwrite && (std::filesystem::is_regular_file(status) || std::filesystem::is_directory(status)))
    throw Error(ErrorCode::invalid_argument,
                target.string() + ": exists already; use --overwrite to replace it");
}

}  // namespace

void require_free(const std::vector<NamedOutput>& targets, bool overwrite,
                  const std::vector<std::filesystem::path>& inputs) {
  require_apart(targets);
  for (const NamedOutput& target : targets) require_free(target.path, overwrite, inputs);
}

void write_text(const std::filesystem::path& target, const std::string& text) {
  write_file(target, std::as_bytes(std::span(text)));
}

}  // namespace saccade::cli
