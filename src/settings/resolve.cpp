#include "settings/resolve.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "saccade/error.h"
#include "settings/file.h"

namespace saccade::settings {

namespace {

Values from_variable(const Setting& setting, const std::string& text) {
  Values values = setting.commas ? split_commas(text) : Values{text};
  // What is read elsewhere is checked there.
  if (setting.role != VariableRole::fills_in) return values;
  for (const std::string& value : values)
    if (const std::string problem = problem_with(setting, value); !problem.empty())
      throw Error(ErrorCode::invalid_argument, fmt::format("{}: {}", setting.variable, problem));
  return values;
}

}  // namespace

std::string_view source_name(Source source) noexcept {
  switch (source) {
    case Source::fallback:
      return "default";
    case Source::file:
      return "file";
    case Source::environment:
      return "environment";
    case Source::command_line:
      return "command line";
  }
  return "";
}

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* text = std::getenv(name.c_str());
    if (text == nullptr || *text == '\0') return std::nullopt;
    return text;
  };
}

Effective::Effective(Command command, const std::map<std::string, Values>& said,
                     const Environment& environment) {
  for (const Setting& setting : table()) {
    if ((setting.commands & command) == 0) continue;
    Resolved& resolved = all_.emplace_back();
    resolved.setting = &setting;
    if (!setting.fallback.empty()) resolved.values = {std::string(setting.fallback)};
    const auto take = [&](Values values, Source source, std::string place) {
      resolved.values = std::move(values);
      resolved.source = source;
      resolved.place = std::move(place);
    };
    const auto typed = said.find(std::string(setting.name));
    if (typed != said.end()) take(typed->second, Source::command_line, "--" + std::string(setting.name));
    if (setting.variable.empty()) continue;
    if (typed != said.end() && setting.role != VariableRole::overrides) continue;
    const std::string variable(setting.variable);
    if (const auto text = environment(variable))
      take(from_variable(setting, *text), Source::environment, variable);
  }
  const std::string file = text("config");
  if (file.empty()) return;
  for (FileEntry& entry : read_settings(file, command)) {
    const auto resolved = std::find_if(all_.begin(), all_.end(),
                                       [&](const Resolved& r) { return r.setting->name == entry.name; });
    const bool bound =
        resolved->source == Source::environment && resolved->setting->role == VariableRole::bounds;
    if (resolved->source != Source::fallback && !bound) continue;
    resolved->values = std::move(entry.values);
    resolved->source = Source::file;
    resolved->place = fmt::format("{}:{}", file, entry.line);
  }
}

const Resolved& Effective::of(std::string_view name) const {
  const auto found =
      std::find_if(all_.begin(), all_.end(), [&](const Resolved& r) { return r.setting->name == name; });
  if (found == all_.end())
    throw Error(ErrorCode::internal, fmt::format("the command has no setting '{}'", name));
  return *found;
}

Source Effective::source(std::string_view name) const { return of(name).source; }

const Values& Effective::values(std::string_view name) const { return of(name).values; }

std::string Effective::text(std::string_view name) const {
  const Values& all = values(name);
  return all.empty() ? "" : all.back();
}

bool Effective::flag(std::string_view name) const { return text(name) == "true"; }

int Effective::integer(std::string_view name, int otherwise) const {
  const std::string said = text(name);
  int value = otherwise;
  if (!said.empty()) std::from_chars(said.data(), said.data() + said.size(), value);
  return value;
}

void Effective::apply(JobOptions& job) const {
  for (const Resolved& resolved : all_) {
    const bool read_elsewhere =
        resolved.source == Source::environment && resolved.setting->role != VariableRole::fills_in;
    if (resolved.source == Source::fallback || read_elsewhere || resolved.setting->apply == nullptr ||
        resolved.values.empty())
      continue;
    resolved.setting->apply(job, resolved.values);
  }
}

}  // namespace saccade::settings
