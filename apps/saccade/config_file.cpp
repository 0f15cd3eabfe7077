#include "config_file.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/files.h"
#include "command.h"

namespace saccade::cli {

namespace {

/// Steps that turn one word into the other: insertions, deletions and exchanges of a letter.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t exchange = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, exchange});
    }
  }
  return row.back();
}

std::string name_of(const CLI::Option& option) {
  return option.get_lnames().empty() ? option.get_name() : option.get_lnames().front();
}

CLI::Option* find_option(CLI::App& command, const std::string& key) {
  for (CLI::Option* option : command.get_options()) {
    if (name_of(*option) == key && key != "help" && key != "config") return option;
  }
  return nullptr;
}

std::string nearest(CLI::App& command, const std::string& key) {
  std::string best;
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = name_of(*option);
    if (name == "help" || name == "config") continue;  // not for files
    if (best.empty() || distance(name, key) < distance(best, key)) best = name;
  }
  return best;
}

std::vector<std::string> values_of(const YAML::Node& node, const std::string& where) {
  std::vector<std::string> values;
  if (node.IsScalar()) {
    values.push_back(node.as<std::string>());
  } else if (node.IsSequence()) {
    for (const YAML::Node& item : node) {
      if (!item.IsScalar()) throw UsageError(where + ": expected a value or a list of values");
      values.push_back(item.as<std::string>());
    }
  } else {
    throw UsageError(where + ": expected a value or a list of values");
  }
  return values;
}

void apply(CLI::App& command, const std::string& file, const std::string& key, const YAML::Node& node) {
  const std::string where = fmt::format("{}: '{}'", file, key);
  CLI::Option* option = find_option(command, key);
  if (option == nullptr)
    throw UsageError(fmt::format("{} is not an option; did you mean '{}'?", where, nearest(command, key)));
  const std::vector<std::string> values = values_of(node, where);
  if (option->count() > 0) return;  // the command line wins
  try {
    if (option->get_expected_max() == 0) {  // a flag
      bool on = false;
      if (values.size() != 1 || !YAML::convert<bool>::decode(node, on))
        throw UsageError(where + ": expected true or false");
      if (!on) return;
      option->add_result("true");
    } else {
      for (const std::string& value : values) option->add_result(value);
    }
    option->run_callback();
  } catch (const CLI::Error& e) {
    throw UsageError(fmt::format("{}: {}", where, e.what()));
  }
}

}  // namespace

void apply_config_file(CLI::App& command, const std::filesystem::path& file) {
  YAML::Node root;
  try {
    root = YAML::Load(read_text(file));
  } catch (const YAML::Exception& e) {
    throw UsageError(fmt::format("{}: is neither YAML nor JSON: {}", file.string(), e.what()));
  }
  if (root.IsNull()) return;
  if (!root.IsMap())
    throw UsageError(fmt::format("{}: expected options, one a line: 'name: value'", file.string()));
  std::set<std::string> seen;
  for (const auto& entry : root) {
    if (!entry.first.IsScalar())
      throw UsageError(fmt::format("{}: expected options, one a line: 'name: value'", file.string()));
    const auto key = entry.first.as<std::string>();
    if (!seen.insert(key).second)
      throw UsageError(fmt::format("{}: '{}' stands there twice", file.string(), key));
    apply(command, file.string(), key, entry.second);
  }
}

}  // namespace saccade::cli
