// What the table says, for programs and for people.
#pragma once

#include <string>

namespace saccade::settings {

/// JSON Schema (draft 2020-12) of configuration files: docs/saccade.schema.json.
std::string json_schema();

/// docs/configuration-reference.md.
std::string reference_page();

}  // namespace saccade::settings
