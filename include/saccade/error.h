// The one exception type of the library.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace saccade {

/// What kind of thing went wrong; decides nothing but how a caller may react.
enum class ErrorCode {
  invalid_argument,  ///< the caller's option or value is out of range
  not_found,         ///< a file, model, codec or alias does not exist
  unsupported,       ///< understood, but this version cannot do it
  invalid_model,     ///< the model file is malformed or contradicts itself
  shape_mismatch,    ///< a tensor's dtype or shape is not what the model expects
  io,                ///< reading or writing failed (permissions, disk full, pipe closed)
  media,             ///< FFmpeg refused; the message holds what it said
  limit,             ///< a documented limit (size, nesting, memory) was exceeded
  interrupted,       ///< the caller asked to stop
  internal,          ///< a fault in Saccade
};

const char* error_code_name(ErrorCode code) noexcept;

/// Thrown by every function of the API that can fail. `what()` is one line that names the culprit (file,
/// node, operator, frame), the offending value and, where there is one, the remedy. Immutable, safe to copy
/// across threads.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const noexcept { return code_; }

  /// The same error with `where` ("model.onnx", "node 'Conv_3' (Conv)", "frame 17") put in front of its
  /// message.
  Error within(const std::string& where) const { return Error(code_, where + ": " + what()); }

 private:
  ErrorCode code_;
};

}  // namespace saccade
