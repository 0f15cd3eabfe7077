#include "vision/foreground.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "saccade/error.h"
#include "vision/kernels/kernel_tables.h"
#include "vision/network_rows.h"

namespace saccade::vision {

namespace {

// What classes that lie so far behind have together is less than e^-12.5, an eighth of a step of the 15 bits
// that probabilities are rounded to.
constexpr float kBeyondDoubt = 12.5f;

// One flag a class: is it foreground?
std::vector<std::uint8_t> selected_classes(const OutputSpec& spec, const std::vector<int>& wanted,
                                           int classes) {
  std::vector<std::uint8_t> selected(static_cast<std::size_t>(classes), wanted.empty() ? 1 : 0);
  if (wanted.empty() && spec.background_class >= 0 && spec.background_class < classes)
    selected[static_cast<std::size_t>(spec.background_class)] = 0;
  for (const int c : wanted) {
    if (c < 0 || c >= classes)
      throw Error(
          ErrorCode::invalid_argument,
          "class " + std::to_string(c) + ": the model has classes 0 to " + std::to_string(classes - 1));
    selected[static_cast<std::size_t>(c)] = 1;
  }
  return selected;
}

template <class T>
void read_members(const void* output, std::ptrdiff_t step, int n, const std::vector<std::uint8_t>& selected,
                  float* out) noexcept {
  const T* p = static_cast<const T*>(output);
  for (int i = 0; i < n; ++i) {
    const int c = class_index(p[i * step]);
    out[i] = c >= 0 && c < static_cast<int>(selected.size()) && selected[static_cast<std::size_t>(c)] != 0
                 ? 1.0f
                 : 0.0f;
  }
}

}  // namespace

Foreground::Foreground(const OutputSpec& spec, const OutputLayout& layout, const std::vector<int>& classes,
                       Isa isa)
    : kind_(spec.kind),
      dtype_(layout.dtype),
      channels_(layout.channels),
      channel_(spec.foreground_channel),
      bound_(kBeyondDoubt + std::log(static_cast<float>(layout.channels))),
      kernels_(&mask_kernels(isa)) {
  if (spec.kind == OutputKind::class_map) {
    // The map itself may hold any of 256 classes.
    const int named = static_cast<int>(spec.class_names.size());
    selected_ = selected_classes(spec, classes, named > 0 ? named : 256);
  } else if (spec.kind != OutputKind::class_logits && spec.foreground_channel >= 0) {
    for (const int c : classes)
      if (c != spec.foreground_channel)
        throw Error(ErrorCode::invalid_argument,
                    "class " + std::to_string(c) + ": the model's spec says that channel " +
                        std::to_string(spec.foreground_channel) + " alone is the foreground");
  } else if (layout.channels > 1) {
    selected_ = selected_classes(spec, classes, layout.channels);
  } else if (!classes.empty() && (classes.size() > 1 || classes[0] != 0)) {
    throw Error(ErrorCode::invalid_argument,
                "class " + std::to_string(classes.back()) + ": the model has one output channel only");
  }
}

const float* Foreground::read(const void* first, std::ptrdiff_t pixel_step, std::ptrdiff_t channel_step,
                              int n, float* values, std::ptrdiff_t& step) const noexcept {
  step = 1;
  if (kind_ == OutputKind::class_map) {
    switch (dtype_) {
      case DType::u8:
        read_members<std::uint8_t>(first, pixel_step, n, selected_, values);
        break;
      case DType::i32:
        read_members<std::int32_t>(first, pixel_step, n, selected_, values);
        break;
      case DType::i64:
        read_members<std::int64_t>(first, pixel_step, n, selected_, values);
        break;
      default:
        read_members<float>(first, pixel_step, n, selected_, values);
        break;
    }
    return values;
  }
  const float* p = static_cast<const float*>(first);
  if (kind_ == OutputKind::class_logits) {
    kernels_->softmax_share(p, pixel_step, channel_step, channels_, selected_.data(), bound_, n, values);
    return values;
  }
  if (channels_ > 1 && channel_ < 0) {
    std::fill_n(values, n, 0.0f);
    for (int c = 0; c < channels_; ++c) {
      if (selected_[static_cast<std::size_t>(c)] == 0) continue;
      for (int i = 0; i < n; ++i) values[i] += p[i * pixel_step + c * channel_step];
    }
    return values;
  }
  p += std::max(channel_, 0) * channel_step;
  if (kind_ == OutputKind::logits) {
    kernels_->sigmoid(p, pixel_step, n, values);
    return values;
  }
  step = pixel_step;
  return p;
}

}  // namespace saccade::vision
