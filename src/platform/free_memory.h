// What the allocator keeps of memory that was freed.
#pragma once

namespace saccade::platform {

/// Hands it back to the system where the C library can (glibc), so that parts of a long job that allocate
/// much and free it again do not leave more behind each time. Takes a millisecond or so. Thread-safe.
void return_free_memory() noexcept;

}  // namespace saccade::platform
