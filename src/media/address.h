// Inputs that lie elsewhere: which names are addresses, and what opening one may open besides.
#pragma once

#include <string>

namespace saccade::media {

/// Whether the name is an address that FFmpeg can read ("rtsp://…", "https://…") and no file of that name
/// exists. Names of files are literal.
bool is_address(const std::string& name);

/// The protocols that an input at `address` may use, as FFmpeg's allow-list: its own, what that is carried
/// by, and their encrypted forms. Never one that reads this machine's files. Throws Error(unsupported) for
/// schemes that stand for such ("file:", "concat:", …).
std::string allowed_protocols(const std::string& address);

}  // namespace saccade::media
