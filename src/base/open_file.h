// Opening what may be a named pipe.
#pragma once

#include <atomic>
#include <filesystem>

namespace saccade {

/// Opens what is there (a file, device or pipe) to be read. A named pipe does not wait for its writer here:
/// who reads it has to poll it first. Throws Error(not_found | io).
int open_to_read(const std::filesystem::path& path);

/// The same to be written into. A named pipe waits for its reader; `cancel`, or a signal where there is none,
/// ends that. Throws Error(interrupted | not_found | io).
int open_to_write(const std::filesystem::path& path, const std::atomic<bool>* cancel = nullptr);

}  // namespace saccade
