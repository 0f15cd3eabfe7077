#include "setting_options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "command.h"
#include "saccade/error.h"

namespace saccade::cli {

namespace {

using settings::Kind;
using settings::Setting;

std::string option_name(const Setting& setting) {
  if (setting.positional) return std::string(setting.name);
  const std::string name = "--" + std::string(setting.name);
  if (setting.negatable) return name + ",!--no-" + std::string(setting.name);
  return setting.short_flag.empty() ? name : std::string(setting.short_flag) + "," + name;
}

std::string description(const Setting& setting) {
  std::string text(setting.doc);
  const std::string_view fallback = setting.fallback.empty() ? setting.fallback_note : setting.fallback;
  if (setting.kind != Kind::flag && !fallback.empty()) text += fmt::format(" (default: {})", fallback);
  return text;
}

void add_setting(CLI::App& command, const Setting& setting) {
  if (setting.kind == Kind::flag) {
    const std::string text = description(setting) + (setting.negatable ? " (the default)" : "");
    command.add_flag(option_name(setting), text);
    return;
  }
  // The values are asked for when all are known; here they are only checked.
  CLI::Option* option =
      command.add_option(option_name(setting), CLI::callback_t([](const CLI::results_t&) { return true; }),
                         description(setting));
  std::string type(setting.value_name);
  if (type.empty()) type = "{" + std::string(setting.words) + "}";
  std::replace(type.begin(), type.end(), '|', setting.value_name.empty() ? ',' : '|');
  option->type_name(type);
  option->type_size(1);
  if (setting.positional && setting.many) {
    option->expected(CLI::detail::expected_max_vector_size);
  } else if (setting.many) {
    option->expected(1)->take_all();
  }
  option->check(CLI::Validator(
      [&setting](std::string& text) {
        // CLI11 would leave out an empty value between two commas.
        for (const std::string& value :
             setting.commas ? settings::split_commas(text) : settings::Values{text})
          if (std::string problem = settings::problem_with(setting, value); !problem.empty()) return problem;
        return std::string();
      },
      ""));
}

std::string joined(const settings::Values& values) {
  std::string text;
  for (const std::string& value : values) text += (text.empty() ? "" : ", ") + value;
  return text;
}

std::string shown(const settings::Resolved& resolved) {
  if (!resolved.values.empty()) return joined(resolved.values);
  const std::string_view note = resolved.setting->fallback_note;
  return note.empty() ? "-" : fmt::format("({})", note);
}

}  // namespace

void add_settings(CLI::App& command, settings::Command which) {
  for (const Setting& setting : settings::table())
    if ((setting.commands & which) != 0) add_setting(command, setting);
}

void refuse_on_command_line(const settings::Effective& said, const std::vector<std::string>& names,
                            const std::string& where) {
  for (const std::string& name : names)
    if (said.source(name) == settings::Source::command_line)
      throw UsageError(fmt::format("--{} has no use {}", name, where));
}

void refuse_search(const settings::Effective& said) {
  refuse_on_command_line(said, {"auto-optimize", "tuning-budget", "target-fps", "max-latency"},
                         "here: saccade optimize and saccade run --auto-optimize look for settings");
}

void as_usage(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::invalid_argument) throw UsageError(error.what());
    throw;
  }
}

settings::Effective effective_settings(const CLI::App& command, settings::Command which) {
  std::map<std::string, settings::Values> said;
  for (const Setting& setting : settings::table()) {
    if ((setting.commands & which) == 0) continue;
    const std::string name =
        setting.positional ? std::string(setting.name) : "--" + std::string(setting.name);
    const CLI::Option* option = command.get_option(name);
    if (option->count() == 0) continue;
    settings::Values& values = said[std::string(setting.name)];
    for (const std::string& text : option->reduced_results()) {
      settings::Values parts = setting.commas ? settings::split_commas(text) : settings::Values{text};
      values.insert(values.end(), parts.begin(), parts.end());
    }
  }
  try {
    return settings::Effective(which, said, settings::process_environment());
  } catch (const Error& error) {
    if (error.code() == ErrorCode::invalid_argument) throw UsageError(error.what());
    throw;
  }
}

std::string effective_json(const settings::Effective& effective) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const settings::Resolved& resolved : effective.all()) {
    nlohmann::ordered_json value;  // null: there is none, or it is found out when the job starts
    const Setting& setting = *resolved.setting;
    if (!resolved.values.empty()) {
      if (setting.many) {
        value = resolved.values;
      } else if (setting.kind == Kind::flag) {
        value = resolved.values.back() == "true";
      } else {
        value = resolved.values.back();
      }
    }
    nlohmann::ordered_json entry = {{"value", value}, {"source", settings::source_name(resolved.source)}};
    if (!resolved.place.empty()) entry["place"] = resolved.place;
    if (resolved.source == settings::Source::fallback && !setting.fallback_note.empty())
      entry["default"] = setting.fallback_note;
    json[std::string(setting.name)] = std::move(entry);
  }
  return json_text(json, 2) + "\n";
}

std::string effective_table(const settings::Effective& effective) {
  std::size_t name_width = 0, value_width = 0;
  constexpr std::size_t kWidestValue = 40;
  for (const settings::Resolved& resolved : effective.all()) {
    name_width = std::max(name_width, resolved.setting->name.size());
    value_width = std::max(value_width, std::min(kWidestValue, shown(resolved).size()));
  }
  std::string text = fmt::format("{:<{}}  {:<{}}  from\n", "setting", name_width, "value", value_width);
  for (const bool defaults : {false, true})  // what was said comes first
    for (const settings::Resolved& resolved : effective.all()) {
      if ((resolved.source == settings::Source::fallback) != defaults) continue;
      std::string from(settings::source_name(resolved.source));
      if (!resolved.place.empty()) from += " (" + resolved.place + ")";
      text += fmt::format("{:<{}}  {:<{}}  {}\n", resolved.setting->name, name_width, shown(resolved),
                          value_width, from);
    }
  return text;
}

}  // namespace saccade::cli
