// Pooling.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

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

/// Window of MediaPipe's pooling operators. Options: six int32, little-endian: padding (1 SAME, 2 VALID),
/// stride width and height, filter width and height, activation.
struct CustomPool {
  std::int32_t padding, stride_w, stride_h, filter_w, filter_h, activation;

  /// Elements of padding before the first of `in`.
  std::int64_t pad(std::int64_t in, std::int64_t out, std::int64_t filter, std::int64_t stride) const {
    return std::max<std::int64_t>(0, (out - 1) * stride + filter - in) / 2;
  }
};

CustomPool custom_pool(TfliteOperator& op) {
  const auto bytes = op.custom_options();
  CustomPool pool;
  if (bytes.size() < sizeof pool)
    op.invalid(fmt::format("has {} bytes of options, expected {}", bytes.size(), sizeof pool));
  std::memcpy(&pool, bytes.data(), sizeof pool);
  if (pool.padding != 1 && pool.padding != 2)
    op.invalid(fmt::format("padding is {}, expected 1 (SAME) or 2 (VALID)", pool.padding));
  if (std::min({pool.stride_w, pool.stride_h, pool.filter_w, pool.filter_h}) < 1)
    op.invalid(fmt::format("window is {}x{} with stride {}x{}, expected at least 1", pool.filter_h,
                           pool.filter_w, pool.stride_h, pool.stride_w));
  if (pool.activation != 0)
    op.unsupported(fmt::format("fused activation {} is not supported", pool.activation));
  const Shape in = op.input_shape(0);
  if (in.size() != 4) op.invalid("input has shape " + shape_string(in) + ", expected 4 dimensions");
  if (in[0] != 1 || std::min({in[1], in[2], in[3]}) < 1)
    op.unsupported("the size must be known and the batch 1");
  return pool;
}

/// For every cell of a (1, 1, height, width) plane, the row and the column of its window's first element.
struct Origins {
  ir::ValueId row, column;
};

Origins origins(TfliteOperator& op, const CustomPool& pool, std::int64_t height, std::int64_t width,
                std::int64_t pad_h, std::int64_t pad_w) {
  op.check_room(DType::i64, {height});
  op.check_room(DType::i64, {width});
  std::vector<std::int64_t> rows, columns;
  for (std::int64_t y = 0; y < height; ++y) rows.push_back(y * pool.stride_h - pad_h);
  for (std::int64_t x = 0; x < width; ++x) columns.push_back(x * pool.stride_w - pad_w);
  return {
      op.tensor_constant(Tensor::of<std::int64_t>({1, 1, height, 1}, std::span<const std::int64_t>(rows))),
      op.tensor_constant(Tensor::of<std::int64_t>({1, 1, 1, width}, std::span<const std::int64_t>(columns)))};
}

ir::ValueId integer_constant(TfliteOperator& op, std::int64_t value) {
  return op.tensor_constant(Tensor::of<std::int64_t>({}, {value}));
}

/// Row and column of a number that counts row by row.
std::pair<ir::ValueId, ir::ValueId> row_and_column(TfliteOperator& op, ir::ValueId number,
                                                   std::int64_t width) {
  const ir::ValueId row = op.emit("Div", {number, integer_constant(op, width)});
  return {row, op.emit("Sub", {number, op.emit("Mul", {row, integer_constant(op, width)})})};
}

/// The second output says where in its window each maximum lies: row * filter width + column + 0.1, a float.
void translate_max_pool_with_argmax(TfliteOperator& op) {
  const CustomPool pool = custom_pool(op);
  const Shape in = op.input_shape(0);
  const auto results =
      op.emit_many("MaxPool", {op.planar_input(0)},
                   {{"auto_pad", std::string(pool.padding == 1 ? "same_upper" : "valid")},
                    {"kernel_shape", std::vector<std::int64_t>{pool.filter_h, pool.filter_w}},
                    {"strides", std::vector<std::int64_t>{pool.stride_h, pool.stride_w}}},
                   2);
  op.finish(0, results[0], true);
  if (op.output_count() < 2) return;
  const auto length = [&](std::int64_t n, std::int64_t filter, std::int64_t stride) {
    return pool.padding == 1 ? (n + stride - 1) / stride : (n - filter + stride) / stride;
  };
  const std::int64_t height = length(in[1], pool.filter_h, pool.stride_h),
                     width = length(in[2], pool.filter_w, pool.stride_w);
  const Origins origin =
      origins(op, pool, height, width, pool.pad(in[1], height, pool.filter_h, pool.stride_h),
              pool.pad(in[2], width, pool.filter_w, pool.stride_w));
  const ir::ValueId in_plane = row_and_column(op, results[1], in[1] * in[2]).second;
  const auto [y, x] = row_and_column(op, in_plane, in[2]);
  const ir::ValueId row = op.emit("Sub", {y, origin.row}), column = op.emit("Sub", {x, origin.column});
  const ir::ValueId where =
      op.emit("Add", {op.emit("Mul", {row, integer_constant(op, pool.filter_w)}), column});
  const ir::ValueId real = op.emit("Cast", {where}, {{"to", std::string(dtype_name(DType::f32))}});
  op.finish(1, op.emit("Add", {real, op.real_constant(static_cast<double>(0.1f))}), true);
}

/// Puts each value where its number says that it lies in its window; the rest is 0. The output has filter
/// times the input's size.
void translate_max_unpool(TfliteOperator& op) {
  const CustomPool pool = custom_pool(op);
  const Shape in = op.input_shape(0);
  if (pool.stride_h != pool.filter_h || pool.stride_w != pool.filter_w)
    op.unsupported("windows that overlap or leave gaps are not supported");
  const std::int64_t height = in[1] * pool.filter_h, width = in[2] * pool.filter_w;
  op.check_room(DType::f32, {in[3], height, width});
  const ir::ValueId x = op.planar_input(0);
  const ir::ValueId numbers =
      op.emit("Cast", {op.planar_input(1)}, {{"to", std::string(dtype_name(DType::i64))}});
  const auto [row, column] = row_and_column(op, numbers, pool.filter_w);
  const Origins origin = origins(op, pool, in[1], in[2], 0, 0);
  std::vector<std::int64_t> planes;
  for (std::int64_t c = 0; c < in[3]; ++c) planes.push_back(c * height * width);
  const ir::ValueId plane =
      op.tensor_constant(Tensor::of<std::int64_t>({1, in[3], 1, 1}, std::span<const std::int64_t>(planes)));
  const ir::ValueId line = op.emit("Mul", {op.emit("Add", {row, origin.row}), integer_constant(op, width)});
  const ir::ValueId within = op.emit("Add", {line, op.emit("Add", {column, origin.column})});
  op.finish_planar(op.emit("MaxUnpool", {x, op.emit("Add", {within, plane})},
                           {{"kernel_shape", std::vector<std::int64_t>{pool.filter_h, pool.filter_w}},
                            {"strides", std::vector<std::int64_t>{pool.stride_h, pool.stride_w}}}));
}

constexpr TfliteCustomTranslation kCustomTranslations[] = {
    {"MaxPoolingWithArgmax2D", translate_max_pool_with_argmax},
    {"MaxUnpooling2D", translate_max_unpool},
};

constexpr TfliteTranslation kTranslations[] = {
    {Code::AVERAGE_POOL_2D, translate_pool},
    {Code::MAX_POOL_2D, translate_pool},
};

}  // namespace

std::span<const TfliteTranslation> tflite_pool_translations() { return kTranslations; }
std::span<const TfliteCustomTranslation> tflite_custom_pool_translations() { return kCustomTranslations; }

}  // namespace saccade::import
