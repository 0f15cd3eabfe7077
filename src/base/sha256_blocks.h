// The compression function of SHA-256, plain and with the processor's own instructions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace saccade {

/// Takes `count` blocks of 64 bytes into the eight words of state.
using Sha256Blocks = void (*)(std::uint32_t* state, const std::uint8_t* data, std::size_t count) noexcept;

void sha256_blocks_portable(std::uint32_t* state, const std::uint8_t* data, std::size_t count) noexcept;

/// With SHA instructions; nullptr where this processor has none.
Sha256Blocks sha256_blocks_native() noexcept;

/// The fastest that runs here. All give the same.
Sha256Blocks sha256_blocks() noexcept;

}  // namespace saccade
