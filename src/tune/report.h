// What a search found, for people: as text, and as a page of its own.
#pragma once

#include <string>

#include "saccade/optimize.h"

namespace saccade::tune {

/// "threads 0, tokens 6"; "as given" where nothing is changed.
std::string settings_text(const SettingValues& settings);

/// A table of the trials and what came of them.
std::string report_text(const OptimizeReport& report);

/// The same as an HTML page that needs nothing else. `job` says what was run.
std::string report_page(const OptimizeReport& report, const std::string& job);

}  // namespace saccade::tune
