#include "settings/file.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/files.h"
#include "saccade/error.h"
#include "settings/nearest.h"

namespace saccade::settings {

namespace {

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorCode::invalid_argument, message); }

std::string suggestion(std::string_view name, Command command) {
  std::vector<std::string> names;
  for (const Setting& setting : table())
    if (setting.in_files && (setting.commands & command) != 0) names.emplace_back(setting.name);
  for (const Setting& setting : table())
    if (setting.in_files) names.emplace_back(setting.name);
  const std::string best = nearest(name, names);
  return best.empty() ? "; 'saccade config --reference' lists the settings"
                      : "; did you mean '" + best + "'?";
}

Values values_of(const YAML::Node& node, const std::string& where) {
  Values values;
  const auto add = [&](const YAML::Node& item) {
    if (!item.IsScalar()) refuse(where + ": expected a value or a list of values");
    values.push_back(item.Scalar());
  };
  if (node.IsSequence()) {
    for (const YAML::Node& item : node) add(item);
  } else {
    add(node);
  }
  return values;
}

/// As the command line would have them.
Values checked(const Setting& setting, const YAML::Node& node, const std::string& where) {
  Values values = values_of(node, where);
  if (!setting.many && values.size() != 1) refuse(where + ": expected one value");
  if (setting.commas && node.IsScalar()) values = split_commas(node.Scalar());
  if (setting.kind == Kind::flag) {
    const std::optional<bool> on = parse_flag(values.front());
    if (!on) refuse(fmt::format("{}: '{}': expected true or false", where, values.front()));
    return {*on ? "true" : "false"};
  }
  if (setting.kind == Kind::limit && (setting.commands & kRun) == 0) {
    // Limits of what is read may stand in a file that serves several commands.
    const Setting& of_run = *find(setting.name, kRun);
    std::erase_if(values, [&](const std::string& value) {
      return !problem_with(setting, value).empty() && problem_with(of_run, value).empty();
    });
  }
  for (const std::string& value : values)
    if (const std::string problem = problem_with(setting, value); !problem.empty())
      refuse(fmt::format("{}: {}", where, problem));
  return values;
}

/// Refuses what no command takes: a file may hold what only others know.
void check_of_others(std::string_view name, const YAML::Node& node, const std::string& where) {
  std::string problem;
  for (const Setting& setting : table()) {
    if (setting.name != name || !setting.in_files) continue;
    try {
      (void)checked(setting, node, where);
      return;
    } catch (const Error& error) {
      if (problem.empty()) problem = error.what();
    }
  }
  refuse(problem.empty() ? where + " cannot stand in a file" : problem);
}

}  // namespace

std::vector<FileEntry> parse_settings(const std::string& text, const std::string& name, Command command) {
  std::vector<YAML::Node> documents;
  try {
    documents = YAML::LoadAll(text);
  } catch (const YAML::Exception& e) {
    refuse(fmt::format("{}: is neither YAML nor JSON: {}", name, e.what()));
  }
  for (std::size_t i = 1; i < documents.size(); ++i)
    if (!documents[i].IsNull())
      refuse(
          fmt::format("{}:{}: another document begins here, behind '---', and only one is read; put all "
                      "settings into one",
                      name, documents[i].Mark().line + 1));
  const YAML::Node root = documents.empty() ? YAML::Node() : documents.front();
  std::vector<FileEntry> entries;
  if (root.IsNull()) return entries;
  if (!root.IsMap()) refuse(fmt::format("{}: expected settings, one a line: 'name: value'", name));
  std::set<std::string> seen;
  for (const auto& entry : root) {
    if (!entry.first.IsScalar())
      refuse(fmt::format("{}: expected settings, one a line: 'name: value'", name));
    const std::string key = entry.first.Scalar();
    const int line = entry.first.Mark().line + 1;
    const std::string where = fmt::format("{}:{}: '{}'", name, line, key);
    if (!seen.insert(key).second) refuse(where + " stands there twice");
    const Setting* setting = find(key, command);
    if (setting == nullptr && !is_known(key)) refuse(where + " is no setting" + suggestion(key, command));
    if (setting == nullptr) {
      check_of_others(key, entry.second, where);
      continue;
    }
    if (!setting->in_files) refuse(where + " cannot stand in a file");
    if (entry.second.IsNull())
      refuse(where +
             " has no value; leave the line out for the default, or quote a value that begins with "
             "'#', as a comment does: \"#ff0000\"");
    entries.push_back({key, checked(*setting, entry.second, where), line});
  }
  return entries;
}

std::vector<FileEntry> read_settings(const std::filesystem::path& file, Command command) {
  return parse_settings(read_text(file), file.string(), command);
}

std::string write_settings(const std::vector<FileEntry>& entries, const std::string& comment) {
  std::string text;
  for (std::size_t at = 0; at < comment.size();) {
    const std::size_t end = std::min(comment.find('\n', at), comment.size());
    text += "# " + comment.substr(at, end - at) + "\n";
    at = end + 1;
  }
  if (entries.empty()) return text;
  YAML::Emitter out;
  out << YAML::BeginMap;
  for (const FileEntry& entry : entries) {
    out << YAML::Key << entry.name << YAML::Value;
    if (entry.values.size() == 1) {
      out << entry.values.front();
    } else {
      out << YAML::Flow << entry.values;
    }
  }
  out << YAML::EndMap;
  text += out.c_str();
  text += "\n";
  return text;
}

}  // namespace saccade::settings
