#include "settings/describe.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "base/json_text.h"
#include "settings/setting.h"

namespace saccade::settings {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::pair<Command, const char*>, 3> kCommandNames = {
    {{kRun, "run"}, {kInfer, "infer"}, {kBench, "bench"}}};

std::string commands_of(const Setting& setting) {
  std::string text;
  for (const auto& [command, name] : kCommandNames)
    if ((setting.commands & command) != 0) text += fmt::format("{}{}", text.empty() ? "" : ", ", name);
  return text;
}

/// YAML reads 8 as a number and off as a word; JSON's editors know both.
Json words_schema(const Setting& setting) {
  Json values = Json::array();
  for (const std::string& word : words_of(setting)) {
    values.push_back(word);
    if (word.find_first_not_of("0123456789") == std::string::npos) values.push_back(std::stoi(word));
  }
  return {{"enum", values}};
}

Json number_schema(const Setting& setting) {
  Json schema = {{"type", setting.kind == Kind::integer ? "integer" : "number"}};
  const auto bound = [&](const char* key, double value) {
    if (!std::isfinite(value)) return;
    if (value == std::floor(value)) {
      schema[key] = static_cast<std::int64_t>(value);
    } else {
      schema[key] = value;
    }
  };
  bound("minimum", setting.low);
  bound("maximum", setting.high);
  if (setting.words.empty()) return schema;
  return {{"anyOf", {words_schema(setting), schema}}};
}

Json value_schema(const Setting& setting) {
  switch (setting.kind) {
    case Kind::text:
      return {{"type", {"string", "number"}}};
    case Kind::flag:
      return {{"type", "boolean"}};
    case Kind::choice:
      return words_schema(setting);
    case Kind::integer:
    case Kind::number:
      return number_schema(setting);
    case Kind::size:
      return {{"anyOf",
               {{{"type", "integer"}, {"minimum", 1}},
                {{"type", "string"}, {"pattern", "^[0-9]+[KMGTkmgt]?$"}}}}};
    case Kind::time:
      return {{"anyOf",
               {number_schema(setting),
                {{"type", "string"}, {"pattern", "^([0-9]+:){0,2}[0-9]+([.][0-9]*)?$"}}}}};
    case Kind::pair:
      return {{"type", "string"}, {"pattern", "^[^=]+="}};
    case Kind::limit:
      return {{"type", "string"}, {"pattern", "^[a-z-]+=[0-9]+[KMGTkmgt]?$"}};
  }
  return Json::object();
}

Json setting_schema(const Setting& setting) {
  Json schema = value_schema(setting);
  if (!setting.many) return schema;
  const Json list = {{"type", "array"}, {"items", schema}};
  Json forms = {list, schema};
  // Text of several with commas; of words and numbers, else any text will do anyway.
  if (setting.commas && setting.kind == Kind::integer)
    forms.push_back({{"type", "string"}, {"pattern", "^[0-9]+(,[0-9]+)*$"}});
  if (setting.commas && setting.kind == Kind::choice)
    forms.push_back({{"type", "string"}, {"pattern", "^[a-z0-9_]+(,[a-z0-9_]+)+$"}});
  return {{"anyOf", forms}};
}

/// The default as a JSON value.
Json fallback_value(const Setting& setting) {
  const std::string text(setting.fallback);
  if (setting.kind == Kind::flag) return text == "true";
  if (!setting.words.empty() && text.find_first_not_of("0123456789.-") != std::string::npos) return text;
  if (setting.kind == Kind::integer) return std::stoll(text);
  if (setting.kind == Kind::number) return std::stod(text);
  if (setting.kind == Kind::choice && text.find_first_not_of("0123456789") == std::string::npos)
    return std::stoi(text);
  if (setting.kind == Kind::time) return std::stod(text);
  return text;
}

std::string type_text(const Setting& setting) {
  std::string text;
  switch (setting.kind) {
    case Kind::text:
      text = "text";
      break;
    case Kind::flag:
      text = "true or false";
      break;
    case Kind::choice:
      for (const std::string& word : words_of(setting)) text += (text.empty() ? "`" : ", `") + word + "`";
      break;
    case Kind::integer:
    case Kind::number: {
      text = setting.kind == Kind::integer ? "whole number" : "number";
      if (std::isfinite(setting.high)) {
        if (setting.high < 1e6) text += fmt::format(", {:.15g} to {:.15g}", setting.low, setting.high);
      } else if (std::isfinite(setting.low)) {
        text += fmt::format(" from {:.15g}", setting.low);
      }
      for (const std::string& word : words_of(setting)) text += ", or `" + word + "`";
      break;
    }
    case Kind::size:
      text = "size: `512M`";
      break;
    case Kind::time:
      text = "time: `12.5`, `1:02:03`";
      break;
    case Kind::pair:
      text = "`NAME=VALUE`";
      break;
    case Kind::limit:
      text = "`NAME=N`";
      break;
  }
  return setting.many ? "list of " + text : text;
}

std::string cell(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string fallback_text(const Setting& setting) {
  if (!setting.fallback.empty()) return fmt::format("`{}`", setting.fallback);
  return std::string(setting.fallback_note);
}

}  // namespace

std::string json_schema() {
  Json properties = Json::object();
  std::set<std::string_view> done;
  for (const Setting& setting : table()) {
    if (!setting.in_files || !done.insert(setting.name).second) continue;
    std::vector<const Setting*> same;
    for (const Setting& other : table())
      if (other.name == setting.name) same.push_back(&other);
    Json property;
    std::string doc;
    for (const Setting* each : same) {
      if (!doc.empty()) doc += " ";
      if (same.size() > 1) doc += "(" + commands_of(*each) + ") ";
      doc += std::string(each->doc) + ".";
    }
    property["description"] = doc;
    if (same.size() == 1) {
      property.update(setting_schema(setting));
      if (!setting.fallback.empty()) property["default"] = fallback_value(setting);
    } else {
      Json forms = Json::array();
      for (const Setting* each : same)
        if (const Json form = setting_schema(*each);
            std::find(forms.begin(), forms.end(), form) == forms.end())
          forms.push_back(form);
      property["anyOf"] = forms;
    }
    properties[std::string(setting.name)] = std::move(property);
  }
  const Json schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                       {"title", "Configuration of Saccade"},
                       {"description", "saccade.yaml: what saccade run, infer and bench take with --config."},
                       {"type", "object"},
                       {"additionalProperties", false},
                       {"properties", properties}};
  return json_text(schema, 2) + "\n";
}

std::string reference_page() {
  std::string text =
      "# Configuration reference\n\n"
      "Every setting of `saccade run`, `infer` and `bench`: as an option (`--NAME`), and as a key of the "
      "file that `--config` names. "
      "[configuration.md](configuration.md) explains them; [saccade.schema.json](saccade.schema.json) is the "
      "JSON Schema of the file. "
      "This page is made by `saccade config --reference` from `src/settings/table.cpp`.\n\n"
      "What stands on the command line wins over the environment, that over the file, and that over the "
      "default. Two variables are "
      "different: `SACCADE_MAX_ISA` bounds what `isa` may ask for, and `SACCADE_PLAN_CACHE` wins over "
      "`plan-cache-size`. "
      "A file may hold what only other commands know; a name that none knows is an error.\n";
  std::string_view section;
  for (const Setting& setting : table()) {
    if (section_title(setting.section) != section) {
      section = section_title(setting.section);
      text += fmt::format(
          "\n## {}\n\n| setting | of | value | default | variable | meaning |\n|---|---|---|---|---|---|\n",
          section);
    }
    text +=
        fmt::format("| {} | {} | {} | {} | {} | {}{} |\n",
                    setting.positional ? fmt::format("`{}` (`{}`)", setting.name, cell(setting.value_name))
                                       : fmt::format("`{}`", setting.name),
                    commands_of(setting), cell(type_text(setting)), cell(fallback_text(setting)),
                    setting.variable.empty() ? "" : fmt::format("`{}`", setting.variable), cell(setting.doc),
                    setting.in_files ? "" : "; not in files");
  }
  return text;
}

}  // namespace saccade::settings
