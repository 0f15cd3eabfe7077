#include "base/archive.h"

#include "saccade/error.h"

namespace saccade {

void ArchiveReader::fail() { throw Error(ErrorCode::io, "the data are damaged"); }

}  // namespace saccade
