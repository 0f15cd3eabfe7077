// Convolutions of the networks that the project is measured on.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace saccade::bench {

struct ConvLayer {
  std::string_view network, name;
  std::int64_t channels, filters, size, kernel, stride,
      dilation;             ///< size: of the (square) input; "same" padding
  std::int64_t count;       ///< how often the network has it
  bool transposed = false;  ///< 2x2, stride 2, no padding
};

std::span<const ConvLayer> conv_layers();

}  // namespace saccade::bench
