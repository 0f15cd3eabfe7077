// JSON as it is written out. In one place, since names of files may hold any bytes.
#pragma once

#include <string>

namespace saccade {

/// Text of a JSON value of nlohmann's: valid UTF-8 whatever its strings hold, by replacement characters in
/// the place of bytes that are none; dump() would throw. `indent` below 0: on one line.
template <class Json>
std::string json_text(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace saccade
