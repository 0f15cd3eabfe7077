// Discrete Fourier transforms: what DFT and STFT share.
#pragma once

#include <complex>
#include <vector>

namespace saccade::ops {

/// X[k] = sum of x[n] exp(-2 pi i k n / N); with `inverse` the sign is + and the sum is divided by N. Powers
/// of two are split, other lengths summed as they stand.
std::vector<std::complex<double>> fourier(const std::vector<std::complex<double>>& x, bool inverse);

}  // namespace saccade::ops
