// From what the user typed to a model file.
#pragma once

#include <filesystem>
#include <string>

namespace saccade::cli {

/// `model` is a path, or an alias ("selfie") of a model in the cache; an existing file wins over an alias.
/// Throws Error(not_found) that says how to get an alias that is not in the cache, or lists the aliases.
std::filesystem::path find_model(const std::string& model);

}  // namespace saccade::cli
