#include "saccade/error.h"

namespace saccade {

const char* error_code_name(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::invalid_argument:
      return "invalid_argument";
    case ErrorCode::not_found:
      return "not_found";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::invalid_model:
      return "invalid_model";
    case ErrorCode::shape_mismatch:
      return "shape_mismatch";
    case ErrorCode::io:
      return "io";
    case ErrorCode::media:
      return "media";
    case ErrorCode::limit:
      return "limit";
    case ErrorCode::interrupted:
      return "interrupted";
    case ErrorCode::internal:
      return "internal";
  }
  return "unknown";
}

}  // namespace saccade
