// `saccade config`: what the settings are, and which of them hold.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "base/counted.h"
#include "command.h"
#include "saccade/error.h"
#include "setting_options.h"
#include "settings/describe.h"
#include "settings/file.h"

namespace saccade::cli {

namespace {

struct ConfigArguments {
  bool effective = false, schema = false, reference = false;
  std::string check;
};

void print(const std::string& text) { std::fputs(text.c_str(), stdout); }

void config(const CLI::App& command, const ConfigArguments& a) {
  if (a.effective + a.schema + a.reference + !a.check.empty() != 1)
    throw UsageError("one of --show-effective, --check FILE, --schema and --reference is needed");
  if (a.schema) {
    print(settings::json_schema());
  } else if (a.reference) {
    print(settings::reference_page());
  } else if (!a.check.empty()) {
    std::vector<settings::FileEntry> entries;
    as_usage([&] { entries = settings::read_settings(a.check, settings::kRun); });
    fmt::print("{}: {} of saccade run, all right\n", a.check, counted(entries.size(), "setting"));
  } else {
    const settings::Effective effective = effective_settings(command, settings::kRun);
    print(effective.flag("json") ? effective_json(effective) : effective_table(effective));
  }
}

}  // namespace

void add_config(CLI::App& app) {
  CLI::App* command = app.add_subcommand("config", "Show settings and where their values come from.");
  auto arguments = std::make_shared<ConfigArguments>();
  command->add_flag("--show-effective", arguments->effective,
                    "What holds for 'saccade run' with the same options, and where it was said");
  command->add_option("--check", arguments->check, "Check a configuration file")->type_name("FILE");
  command->add_flag("--schema", arguments->schema, "Print the JSON Schema of configuration files");
  command->add_flag("--reference", arguments->reference, "Print the reference page (Markdown)");
  add_settings(*command, settings::kRun);
  command->callback([command, arguments] { config(*command, *arguments); });
}

}  // namespace saccade::cli
