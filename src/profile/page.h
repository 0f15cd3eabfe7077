// The page that shows a profile: page.html as it lies beside this file.
#pragma once

#include <string_view>

namespace saccade::profile {

/// Holds kPlace once, where the profile's JSON goes.
std::string_view page() noexcept;
inline constexpr std::string_view kPlace = "{\"place\":\"profile\"}";

}  // namespace saccade::profile
