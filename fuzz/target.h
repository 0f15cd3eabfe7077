// What a libFuzzer target is made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "fuzz/mutate.h"

extern "C" {
// libFuzzer's own changes of bytes.
std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed);
}
