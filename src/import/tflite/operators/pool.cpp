// Pooling.
#include <fmt/format.h>

#include "import/tflite/operator.h"

namespace saccade::import {

namespace {

using Code = tflite::BuiltinOperator;

void translate_pool(TfliteOperator& op) {
  const auto& options = op.options<tflite::Pool2DOptions>();
  if (options.stride_h() < 1 || options.stride_w() < 1 || options.filter_height() < 1 ||
      options.filter_width() < 1)
    op.invalid(fmt::format("window is {}x{} with stride {}x{}, expected at least 1", options.filter_height(),
                           options.filter_width(), options.stride_h(), options.stride_w()));
  if (options.padding() != tflite::Padding::SAME && options.padding() != tflite::Padding::VALID)
    op.invalid(fmt::format("padding is {}, expected SAME or VALID", static_cast<int>(options.padding())));
  ir::Attributes attributes{
      {"auto_pad", std::string(options.padding() == tflite::Padding::SAME ? "same_upper" : "valid")},
      {"kernel_shape", std::vector<std::int64_t>{options.filter_height(), options.filter_width()}},
      {"strides", std::vector<std::int64_t>{options.stride_h(), options.stride_w()}},
      {"ceil_mode", std::int64_t{0}}};
  const bool average = op.code() == Code::AVERAGE_POOL_2D;
  if (average) attributes.emplace("count_include_pad", std::int64_t{0});
  const ir::ValueId y =
      op.emit(average ? "AveragePool" : "MaxPool", {op.planar_input(0)}, std::move(attributes));
  op.finish_planar(op.activate(y, options.fused_activation_function()));
}

constexpr TfliteTranslation kTranslations[] = {
    {Code::AVERAGE_POOL_2D, translate_pool},
    {Code::MAX_POOL_2D, translate_pool},
};

}  // namespace

std::span<const TfliteTranslation> tflite_pool_translations() { return kTranslations; }

}  // namespace saccade::import
