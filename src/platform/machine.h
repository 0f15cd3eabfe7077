// What the machine is called and how much memory it grants: for reports and diagnoses, not for decisions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace saccade::platform {

/// "AMD EPYC 7763 64-Core Processor", or the architecture's name where the kernel does not say.
std::string cpu_name();

/// What the processor says of itself: maker, model, instructions and sizes of caches. Two machines of the
/// same signature run the same code alike.
std::string cpu_signature();

/// Logical CPUs of the machine, whatever this process may use of them (see available_cpus()).
int machine_cpus() noexcept;

/// Bytes of physical memory; 0 if unknown.
std::int64_t machine_memory() noexcept;

/// Bytes of it that this process takes now; 0 if unknown.
std::int64_t resident_memory() noexcept;

/// The smallest limit among this process's control group and its parents (version 2, or the version 1 memory
/// controller); nothing where there is none below the machine's memory.
std::optional<std::int64_t> cgroup_memory_limit();

/// The value of a limit file: a count of bytes; nothing for "max", for version 1's "unlimited" number and for
/// anything else.
std::optional<std::int64_t> parse_memory_limit(std::string_view text) noexcept;

/// A size as people write it: 512, 64K, 512m, 3G, 1T, in powers of 1024; nothing for anything else.
std::optional<std::int64_t> parse_size(std::string_view text) noexcept;

}  // namespace saccade::platform
