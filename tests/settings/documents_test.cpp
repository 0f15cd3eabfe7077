// What stands in docs/ is what the table says, and the schema means what the program does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>

#include "base/files.h"
#include "saccade/error.h"
#include "settings/describe.h"
#include "settings/file.h"

namespace saccade::settings {
namespace {

using Json = nlohmann::json;

const std::filesystem::path kSource = SACCADE_SOURCE_DIR;

TEST(SettingsDocuments, AreUpToDate) {
  EXPECT_TRUE(read_text(kSource / "docs/saccade.schema.json") == json_schema())
      << "saccade config --schema > docs/saccade.schema.json";
  EXPECT_TRUE(read_text(kSource / "docs/configuration-reference.md") == reference_page())
      << "saccade config --reference > docs/configuration-reference.md";
}

TEST(SettingsDocuments, EveryVariableIsExplained) {
  const std::string page = read_text(kSource / "docs/environment-variables.md");
  for (const Setting& setting : table())
    if (!setting.variable.empty()) {
      EXPECT_NE(page.find("`" + std::string(setting.variable) + "`"), std::string::npos) << setting.variable;
    }
}

/// The part of JSON Schema that ours uses; anything else fails.
bool valid(const Json& schema, const Json& value) {
  for (const auto& [key, rule] : schema.items()) {
    if (key == "anyOf") {
      bool any = false;
      for (const Json& each : rule) any = any || valid(each, value);
      if (!any) return false;
    } else if (key == "enum") {
      if (std::find(rule.begin(), rule.end(), value) == rule.end()) return false;
    } else if (key == "type") {
      const auto is = [&](const std::string& type) {
        return type == "string"    ? value.is_string()
               : type == "boolean" ? value.is_boolean()
               : type == "integer" ? value.is_number_integer()
               : type == "number"  ? value.is_number()
               : type == "array"   ? value.is_array()
                                   : type == "object" && value.is_object();
      };
      bool any = false;
      for (const Json& type : rule.is_array() ? rule : Json::array({rule})) any = any || is(type);
      if (!any) return false;
    } else if (key == "minimum") {
      if (value.is_number() && value.get<double>() < rule.get<double>()) return false;
    } else if (key == "maximum") {
      if (value.is_number() && value.get<double>() > rule.get<double>()) return false;
    } else if (key == "pattern") {
      if (value.is_string() &&
          !std::regex_search(value.get<std::string>(), std::regex(rule.get<std::string>())))
        return false;
    } else if (key == "items") {
      if (value.is_array())
        for (const Json& item : value)
          if (!valid(rule, item)) return false;
    } else if (key == "properties") {
      for (const auto& [name, item] : value.items())
        if (rule.contains(name) ? !valid(rule[name], item) : schema.at("additionalProperties") == false)
          return false;
    } else {
      EXPECT_TRUE(key == "$schema" || key == "title" || key == "description" || key == "default" ||
                  key == "additionalProperties")
          << key;
    }
  }
  return true;
}

bool taken(const Json& file) {
  try {
    (void)parse_settings(file.dump(), "a.json", kRun);
    (void)parse_settings(file.dump(), "a.json", kBench);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// JSON is YAML, so the program can be asked about the very same values.
TEST(SettingsDocuments, TheSchemaTakesWhatTheProgramTakes) {
  const Json schema = Json::parse(json_schema());
  const std::vector<Json> good = {
      Json::object(),
      {{"effect", "blur"},
       {"strength", 70},
       {"crf", 18.5},
       {"overwrite", true},
       {"encoder-option", {"tune=film", "g=60"}}},
      {{"threads", 4}, {"mode", "latency"}, {"tokens", 6}, {"encoder-threads", 2}, {"precision", "auto"}},
      {{"classes", {"person", 3}}, {"refine", "auto"}, {"mask-depth", 16}, {"max-memory", "200M"}},
      {{"classes", "person,cat"},
       {"refine", 2.5},
       {"max-memory", 1000000},
       {"start", "1:02:03.5"},
       {"duration", 3}},
      {{"limit", "pixels=1M"},
       {"input", {"a.mp4", "b.mp4"}},
       {"plan-cache-size", "1G"},
       {"deinterlace", "off"}}};
  for (const Json& file : good) {
    EXPECT_TRUE(valid(schema, file)) << file;
    EXPECT_TRUE(taken(file)) << file;
  }
  const std::vector<Json> bad = {
      {{"efect", "blur"}},      {{"effect", "explode"}},    {{"effect", 3}},        {{"strength", 101}},
      {{"strength", "much"}},   {{"overwrite", "perhaps"}}, {{"threads", 0}},       {{"threads", 2.5}},
      {{"max-memory", "much"}}, {{"encoder-option", "g"}},  {{"start", "1:2:3:4"}}, {{"config", "a.yaml"}},
      {{"tokens", {1, 2}}},     {{"limit", "pixels"}},      {{"mask-depth", 4}}};
  for (const Json& file : bad) {
    EXPECT_FALSE(valid(schema, file)) << file;
    EXPECT_FALSE(taken(file)) << file;
  }
}

TEST(SettingsDocuments, ExamplesInTheDocumentsAreValid) {
  int examples = 0;
  for (const char* page : {"docs/configuration.md", "README.md"}) {
    const std::string text = read_text(kSource / page);
    constexpr std::string_view kBegin = "```yaml\n", kEnd = "```";
    for (std::size_t at = text.find(kBegin); at != std::string::npos; at = text.find(kBegin, at + 1)) {
      const std::size_t start = at + kBegin.size();
      EXPECT_NO_THROW((void)parse_settings(text.substr(start, text.find(kEnd, start) - start), page, kRun));
      ++examples;
    }
  }
  EXPECT_GE(examples, 1);
}

}  // namespace
}  // namespace saccade::settings
