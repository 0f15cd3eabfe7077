// Which build of Saccade this is.
#pragma once

#include <string>

namespace saccade::platform {

/// The linker's build identity of the program or library that this code is in, in hexadecimal: any change of
/// code changes it. Empty where it has none.
std::string build_id();

}  // namespace saccade::platform
