// Changes of model files that keep their structure, so that most of what comes out gets past the parser.
#pragma once

#include <cstddef>
#include <cstdint>

namespace saccade::fuzz {

/// Changes bytes that have no structure: `size` of them in a buffer of `most`; returns how many there are
/// then.
using ByteMutator = std::size_t (*)(std::uint8_t* data, std::size_t size, std::size_t most);

/// Changes a file in place, the same way for the same seed (and ByteMutator); returns its new size. Now and
/// then, and where the file does not parse, the bytes are changed without regard to structure.
std::size_t mutate_onnx(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed,
                        ByteMutator bytes);
std::size_t mutate_tflite(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed,
                          ByteMutator bytes);

}  // namespace saccade::fuzz
