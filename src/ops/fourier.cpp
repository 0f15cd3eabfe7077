#include "ops/fourier.h"

#include <cmath>
#include <numbers>

namespace saccade::ops {

namespace {

using Complex = std::complex<double>;

std::vector<Complex> transform(const std::vector<Complex>& x, double sign) {
  const std::size_t n = x.size();
  if (n <= 1) return x;
  const auto turn = [&](std::size_t k) {
    const double angle = sign * 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
    return Complex(std::cos(angle), std::sin(angle));
  };
  std::vector<Complex> y(n);
  if (n % 2 != 0) {
    std::vector<Complex> turns(n);
    for (std::size_t k = 0; k < n; ++k) turns[k] = turn(k);
    for (std::size_t k = 0; k < n; ++k)
      for (std::size_t i = 0; i < n; ++i) y[k] += x[i] * turns[k * i % n];
    return y;
  }
  std::vector<Complex> even(n / 2), odd(n / 2);
  for (std::size_t i = 0; i < n / 2; ++i) {
    even[i] = x[2 * i];
    odd[i] = x[2 * i + 1];
  }
  even = transform(even, sign);
  odd = transform(odd, sign);
  for (std::size_t k = 0; k < n / 2; ++k) {
    const Complex turned = turn(k) * odd[k];
    y[k] = even[k] + turned;
    y[k + n / 2] = even[k] - turned;
  }
  return y;
}

}  // namespace

std::vector<Complex> fourier(const std::vector<Complex>& x, bool inverse) {
  std::vector<Complex> y = transform(x, inverse ? 1 : -1);
  if (inverse)
    for (Complex& v : y) v /= static_cast<double>(x.size());
  return y;
}

}  // namespace saccade::ops
