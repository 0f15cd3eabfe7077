#include "find_model.h"

#include <fmt/format.h>

#include <algorithm>

#include "python_package.h"
#include "saccade/error.h"
#include "spec/spec.h"

namespace saccade::cli {

std::filesystem::path find_model(const std::string& model) {
  std::error_code ignored;
  if (std::filesystem::exists(model, ignored)) return model;
  const std::vector<spec::Alias>& aliases = spec::aliases();
  const auto alias =
      std::find_if(aliases.begin(), aliases.end(), [&](const spec::Alias& a) { return a.name == model; });
  if (alias != aliases.end()) {
    require_trusted_cache();
    std::filesystem::path path = model_path(*alias);
    if (std::filesystem::exists(path, ignored)) return path;
    throw Error(ErrorCode::not_found,
                fmt::format("model '{}' is not in the cache ({}); 'saccade fetch {}' gets it", model,
                            path.string(), model));
  }
  std::string names;
  for (const spec::Alias& a : aliases) names += fmt::format("{}{}", names.empty() ? "" : ", ", a.name);
  throw Error(ErrorCode::not_found,
              fmt::format("{}: no such file, nor a model known by that name ({})", model, names));
}

}  // namespace saccade::cli
