// What a network was run in, for people and for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "saccade/precision.h"

namespace saccade::cli {

/// "int8 (10 of 12 convolutions), 0.04 % of mask pixels change, 3.1 ms a run (fp32: 5.2)".
std::string precision_text(const PrecisionReport& p);
nlohmann::json precision_json(const PrecisionReport& p);

}  // namespace saccade::cli
