#include "fuzz/compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "ops/convert.h"

namespace saccade::fuzz {

namespace {

constexpr double kRelative = 1e-3;
constexpr double kAbsolute = 1e-5;
constexpr double kNudged = 100;         // times what a nudge changes
constexpr double kOnTheWay = 1e-6;      // of the largest value on the way
constexpr double kHalfBits = 1.0 / 64;  // f16 and bf16 round each value on the way
constexpr double kRounded = 0.05;       // of the largest element, where values are quantised on the way

/// What elements may differ by for the type alone, `largest` being the largest element.
double base_tolerance(const Reference& reference, DType dtype, double largest) {
  switch (dtype) {
    case DType::f32:
    case DType::f64:
      return (reference.rounds ? kRounded : kRelative) * largest + kAbsolute + kOnTheWay * reference.largest;
    case DType::f16:
    case DType::bf16:
      return (reference.rounds ? kRounded : kHalfBits) * largest + kAbsolute;
    case DType::i8:
    case DType::u8:
    case DType::i16:
    case DType::u16:
      return 1;  // a quantised value on the other side of a half
    default:
      return 0;
  }
}

}  // namespace

bool identical(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         (a.bytes() == 0 || std::memcmp(a.raw(), b.raw(), a.bytes()) == 0);
}

std::string difference(const Reference& reference, std::span<const Tensor> got) {
  for (std::size_t k = 0; k < got.size(); ++k) {
    const Tensor& want = reference.results[k];
    const std::string where = "output " + std::to_string(k);
    if (want.dtype() != got[k].dtype() || want.shape() != got[k].shape())
      return where + " is " + dtype_name(got[k].dtype()) + " " + shape_string(got[k].shape()) +
             ", expected " + dtype_name(want.dtype()) + " " + shape_string(want.shape());
    const Tensor numbers = ops::convert(want, DType::f64), others = ops::convert(got[k], DType::f64);
    const std::span<const double> wanted = numbers.values<double>(), found = others.values<double>();
    std::vector<Tensor> nudged;
    for (const std::vector<Tensor>& moved : reference.nudged)
      nudged.push_back(ops::convert(moved[k], DType::f64));
    double largest = 0;
    for (const double value : wanted) largest = std::max(largest, std::abs(value));
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (!std::isfinite(wanted[i])) continue;
      double tolerance = base_tolerance(reference, want.dtype(), largest);
      for (const Tensor& moved : nudged)
        tolerance += kNudged * std::abs(moved.values<double>()[i] - wanted[i]);
      const double off = std::abs(found[i] - wanted[i]);
      if (!(off <= tolerance))
        return where + ", element " + std::to_string(i) + ": " + std::to_string(found[i]) + ", expected " +
               std::to_string(wanted[i]) + " within " + std::to_string(tolerance);
    }
  }
  return "";
}

}  // namespace saccade::fuzz
