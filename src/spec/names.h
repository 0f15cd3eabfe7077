// The words for the enumerations of ModelSpec, as model.yaml and messages write them.
#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "saccade/model_spec.h"

namespace saccade::spec {

template <class Enum, std::size_t kCount>
using Names = std::array<std::pair<std::string_view, Enum>, kCount>;

inline constexpr Names<ColorOrder, 3> kColorOrders = {
    {{"rgb", ColorOrder::rgb}, {"bgr", ColorOrder::bgr}, {"gray", ColorOrder::gray}}};
inline constexpr Names<TensorLayout, 2> kLayouts = {
    {{"nchw", TensorLayout::nchw}, {"nhwc", TensorLayout::nhwc}}};
inline constexpr Names<ResizeRule, 3> kResizeRules = {
    {{"bilinear", ResizeRule::bilinear}, {"area", ResizeRule::area}, {"mediapipe", ResizeRule::mediapipe}}};
inline constexpr Names<Fit, 2> kFits = {{{"stretch", Fit::stretch}, {"letterbox", Fit::letterbox}}};
inline constexpr Names<OutputKind, 5> kOutputKinds = {{{"probability", OutputKind::probability},
                                                       {"logits", OutputKind::logits},
                                                       {"class_logits", OutputKind::class_logits},
                                                       {"class_map", OutputKind::class_map},
                                                       {"alpha", OutputKind::alpha}}};

template <class Enum, std::size_t kCount>
std::string_view name_of(const Names<Enum, kCount>& names, Enum value) {
  for (const auto& [name, known] : names)
    if (known == value) return name;
  return "?";
}

}  // namespace saccade::spec
