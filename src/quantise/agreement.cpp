#include "quantise/agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "saccade/error.h"

namespace saccade::quantise {

namespace {

/// The tensor as pictures of channels of pixels that lie `step` apart.
struct Planes {
  std::int64_t outer = 1, channels = 1, inner = 1;
};

Planes planes_of(const Tensor& output, std::size_t axis) {
  Planes planes;
  for (std::size_t d = 0; d < output.rank(); ++d)
    (d < axis ? planes.outer : d == axis ? planes.channels : planes.inner) *= output.dim(d);
  if (axis >= output.rank()) return {output.count(), 1, 1};
  return planes;
}

template <class T>
std::vector<std::int32_t> as_labels(const Tensor& output) {
  std::vector<std::int32_t> labels;
  labels.reserve(static_cast<std::size_t>(output.count()));
  for (const T value : output.values<T>()) labels.push_back(static_cast<std::int32_t>(value));
  return labels;
}

std::vector<std::int32_t> mapped(const Tensor& output) {
  switch (output.dtype()) {
    case DType::f32:
      return as_labels<float>(output);
    case DType::u8:
      return as_labels<std::uint8_t>(output);
    case DType::i32:
      return as_labels<std::int32_t>(output);
    case DType::i64:
      return as_labels<std::int64_t>(output);
    default:
      throw Error(ErrorCode::unsupported,
                  fmt::format("an output of {} is no map of classes", dtype_name(output.dtype())));
  }
}

}  // namespace

std::vector<std::int32_t> labels_of(const Tensor& output, const LabelRule& rule) {
  if (rule.kind == LabelRule::Kind::map) return mapped(output);
  if (output.dtype() != DType::f32)
    throw Error(ErrorCode::unsupported,
                fmt::format("masks cannot be compared in an output of {}", dtype_name(output.dtype())));
  const Planes p = planes_of(output, rule.axis);
  if (rule.kind == LabelRule::Kind::threshold && (rule.channel < 0 || rule.channel >= p.channels))
    throw Error(ErrorCode::unsupported, fmt::format("the output has {} channels, so there is no channel {}",
                                                    p.channels, rule.channel));
  std::vector<std::int32_t> labels(static_cast<std::size_t>(p.outer * p.inner));
  const float* x = output.data<float>();
  for (std::int64_t o = 0; o < p.outer; ++o)
    for (std::int64_t i = 0; i < p.inner; ++i) {
      const float* pixel = x + o * p.channels * p.inner + i;
      std::int32_t label = 0;
      if (rule.kind == LabelRule::Kind::threshold) {
        label = pixel[rule.channel * p.inner] > rule.threshold ? 1 : 0;
      } else {
        for (std::int64_t c = 1; c < p.channels; ++c)
          if (pixel[c * p.inner] > pixel[label * p.inner]) label = static_cast<std::int32_t>(c);
      }
      labels[static_cast<std::size_t>(o * p.inner + i)] = label;
    }
  return labels;
}

double changed_share(std::span<const std::int32_t> a, std::span<const std::int32_t> b) {
  std::size_t changed = 0;
  for (std::size_t i = 0; i < a.size(); ++i) changed += a[i] != b[i] ? 1 : 0;
  return a.empty() ? 0 : static_cast<double>(changed) / static_cast<double>(a.size());
}

Brink::Brink(const Tensor& output, const LabelRule& rule) : rule_(rule) {
  labels_ = labels_of(output, rule);  // checks too
  if (rule.kind == LabelRule::Kind::map) return;
  const Planes p = planes_of(output, rule.axis);
  const float* x = output.data<float>();
  for (std::int64_t o = 0; o < p.outer; ++o)
    for (std::int64_t i = 0; i < p.inner; ++i) {
      const auto at = [&](std::int64_t channel) { return (o * p.channels + channel) * p.inner + i; };
      Pixel pixel{at(rule.channel), -1, 0};
      if (rule.kind == LabelRule::Kind::threshold) {
        pixel.margin = x[pixel.winner] - rule.threshold;
      } else {
        const std::int64_t label = labels_[static_cast<std::size_t>(o * p.inner + i)];
        pixel.winner = at(label);
        for (std::int64_t c = 0; c < p.channels; ++c)
          if (c != label && (pixel.other < 0 || x[at(c)] > x[pixel.other])) pixel.other = at(c);
        pixel.margin = x[pixel.winner] - (pixel.other < 0 ? 0 : x[pixel.other]);
      }
      if (std::isfinite(pixel.margin)) pixels_.push_back(pixel);
    }
  labels_.clear();
  const auto nearer = [](const Pixel& a, const Pixel& b) {
    return std::fabs(a.margin) < std::fabs(b.margin);
  };
  const auto few =
      static_cast<std::ptrdiff_t>(std::min(pixels_.size(), std::max<std::size_t>(100, pixels_.size() / 100)));
  std::nth_element(pixels_.begin(), pixels_.begin() + few, pixels_.end(), nearer);
  pixels_.resize(static_cast<std::size_t>(few));
}

double Brink::moved(const Tensor& output) const {
  if (rule_.kind == LabelRule::Kind::map) return changed_share(labels_, labels_of(output, rule_));
  const float* x = output.data<float>();
  double sum = 0;
  for (const Pixel& pixel : pixels_) {
    const double now = pixel.other >= 0 ? double{x[pixel.winner]} - double{x[pixel.other]}
                       : rule_.kind == LabelRule::Kind::threshold
                           ? double{x[pixel.winner]} - double{rule_.threshold}
                           : double{x[pixel.winner]};
    const double moved = now - double{pixel.margin};
    sum += moved * moved;
  }
  return pixels_.empty() ? 0 : sum / static_cast<double>(pixels_.size());
}

Overlap::Counts& Overlap::of(std::int32_t label) {
  const auto index = static_cast<std::size_t>(label);
  if (index >= counts_.size()) counts_.resize(index + 1);
  return counts_[index];
}

void Overlap::add(std::span<const std::int32_t> labels, std::span<const std::int32_t> truth) {
  for (std::size_t i = 0; i < truth.size(); ++i) {
    if (truth[i] < 0) continue;
    if (labels[i] == truth[i]) {
      Counts& counts = of(truth[i]);
      ++counts.both, ++counts.either;
    } else {
      ++of(truth[i]).either;
      if (labels[i] >= 0) ++of(labels[i]).either;
    }
  }
}

double Overlap::mean_iou() const {
  double sum = 0;
  int classes = 0;
  for (const Counts& counts : counts_)
    if (counts.either > 0)
      sum += static_cast<double>(counts.both) / static_cast<double>(counts.either), ++classes;
  return classes == 0 ? 1 : sum / classes;
}

}  // namespace saccade::quantise
