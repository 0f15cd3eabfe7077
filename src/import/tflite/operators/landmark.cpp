// MediaPipe's operators on landmarks, of version 2: a face network finds points, cuts the eyes and lips out
// of its own features along them, and moves what it finds there back to the whole face. Each is written with
// operators that the IR has.
#include <flatbuffers/flexbuffers.h>
#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "import/tflite/operator.h"

namespace saccade::import {

namespace {

void check_version(TfliteOperator& op) {
  if (op.version() != 2) op.unsupported(fmt::format("version {} is not supported", op.version()));
}

/// The options: a map in FlexBuffers' encoding.
class Options {
 public:
  explicit Options(TfliteOperator& op) : op_(op) {
    const auto bytes = op.custom_options();
    std::vector<std::uint8_t> reused;
    flexbuffers::Verifier verifier(bytes.data(), bytes.size(), &reused, false);
    if (bytes.size() < 3 || !verifier.VerifyBuffer()) op.invalid("its options are damaged");
    const flexbuffers::Reference root = flexbuffers::GetRoot(bytes.data(), bytes.size());
    if (!root.IsMap()) op.invalid("its options are not a map");
    map_ = root.AsMap();
  }

  double number(const char* key, double least, double most) const {
    const flexbuffers::Reference field = map_[key];
    const double value = field.IsNumeric() ? field.AsDouble() : std::nan("");
    if (!(value >= least && value <= most))
      op_.invalid(fmt::format("option '{}' is {}, expected {} to {}", key, value, least, most));
    return value;
  }

  std::int64_t integer(const char* key, std::int64_t least, std::int64_t most) const {
    return static_cast<std::int64_t>(number(key, static_cast<double>(least), static_cast<double>(most)));
  }

  std::vector<std::int64_t> integers(const char* key, std::int64_t least, std::int64_t most) const {
    const flexbuffers::Reference field = map_[key];
    std::vector<std::int64_t> values;
    if (field.IsTypedVector()) {
      const flexbuffers::TypedVector list = field.AsTypedVector();
      for (std::size_t i = 0; i < list.size(); ++i) values.push_back(list[i].AsInt64());
    } else if (field.IsUntypedVector()) {
      const flexbuffers::Vector list = field.AsVector();
      for (std::size_t i = 0; i < list.size(); ++i) values.push_back(list[i].AsInt64());
    }
    if (values.empty()) op_.invalid(fmt::format("option '{}' is not a list of integers", key));
    for (const std::int64_t v : values)
      if (v < least || v > most)
        op_.invalid(fmt::format("option '{}' holds {}, expected {} to {}", key, v, least, most));
    return values;
  }

 private:
  TfliteOperator& op_;
  flexbuffers::Map map_ = flexbuffers::Map::EmptyMap();
};

constexpr std::int64_t kMostPixels = 1 << 15;  // a side of what is cut out

/// The part of a matrix (1, 4, 4): rows from..from + count, columns likewise.
ir::ValueId part(TfliteOperator& op, ir::ValueId x, std::int64_t row, std::int64_t rows, std::int64_t column,
                 std::int64_t columns) {
  const ir::ValueId from = op.integers_constant({row, column}),
                    to = op.integers_constant({row + rows, column + columns});
  return op.emit("Slice", {x, from, to, op.integers_constant({1, 2})});
}

ir::ValueId reals(TfliteOperator& op, const Shape& shape, const std::vector<float>& values) {
  return op.tensor_constant(Tensor::of<float>(shape, std::span<const float>(values)));
}

ir::ValueId transposed(TfliteOperator& op, ir::ValueId matrix) {
  return op.emit("Transpose", {matrix}, {{"perm", std::vector<std::int64_t>{0, 2, 1}}});
}

void check_matrix(TfliteOperator& op, std::size_t input) {
  const Shape matrix = op.input_shape(input);
  if (matrix != Shape{1, 4, 4})
    op.invalid(fmt::format("the matrix has shape {}, expected 1x4x4", shape_string(matrix)));
}

/// (x, y) of (1, N, 2) or (1, N, 3) by the first two rows of a matrix; z stays.
void translate_transform_landmarks(TfliteOperator& op) {
  check_version(op);
  const Shape shape = op.input_shape(0);
  if (shape.size() != 3 || shape[0] != 1 || (shape[2] != 2 && shape[2] != 3))
    op.invalid(fmt::format("landmarks have shape {}, expected 1xNx2 or 1xNx3", shape_string(shape)));
  check_matrix(op, 1);
  const ir::ValueId points = op.input(0), matrix = op.input(1);
  const ir::ValueId xy = shape[2] == 2 ? points : part(op, points, 0, std::numeric_limits<int>::max(), 0, 2);
  const ir::ValueId turned = op.emit("MatMul", {xy, transposed(op, part(op, matrix, 0, 2, 0, 2))});
  const ir::ValueId moved = op.emit("Add", {turned, transposed(op, part(op, matrix, 0, 2, 3, 1))});
  if (shape[2] == 2) return op.finish(moved);
  const ir::ValueId z = part(op, points, 0, std::numeric_limits<int>::max(), 2, 1);
  op.finish(op.emit("Concat", {moved, z}, {{"axis", std::int64_t{2}}}));
}

/// Cuts a picture out of another: the middle of target pixel (x, y) reads at matrix * (x + 0.5, y + 0.5),
/// bilinear; a position outside the middles of the outermost pixels gives 0.
void translate_transform_tensor(TfliteOperator& op) {
  check_version(op);
  const Options options(op);
  const std::int64_t height = options.integer("output_height", 1, kMostPixels),
                     width = options.integer("output_width", 1, kMostPixels);
  const Shape in = op.input_shape(0);
  if (in.size() != 4 || in[0] != 1)
    op.invalid(fmt::format("input has shape {}, expected 1 x H x W x C", shape_string(in)));
  if (in[1] < 1 || in[2] < 1) op.unsupported("height and width must be known");
  check_matrix(op, 1);

  op.check_room(DType::f32, {height, width, 2});
  std::vector<float> middles;
  for (std::int64_t y = 0; y < height; ++y)
    for (std::int64_t x = 0; x < width; ++x) {
      middles.push_back(static_cast<float>(x) + 0.5f);
      middles.push_back(static_cast<float>(y) + 0.5f);
    }
  const ir::ValueId matrix = op.input(1), targets = reals(op, {1, height * width, 2}, middles);
  const ir::ValueId turned = op.emit("MatMul", {targets, transposed(op, part(op, matrix, 0, 2, 0, 2))});
  const ir::ValueId shift =
      op.emit("Sub", {transposed(op, part(op, matrix, 0, 2, 3, 1)), op.real_constant(0.5)});
  const ir::ValueId positions = op.emit("Add", {turned, shift});  // (1, H * W, 2), in pixels

  const float last_x = static_cast<float>(in[2] - 1), last_y = static_cast<float>(in[1] - 1);
  const ir::ValueId last = reals(op, {2}, {last_x, last_y});
  const ir::ValueId inside = op.emit("And", {op.emit("GreaterOrEqual", {positions, op.real_constant(0)}),
                                             op.emit("LessOrEqual", {positions, last})});
  const ir::ValueId both = op.emit(
      "ReduceMin",
      {op.emit("Cast", {inside}, {{"to", std::string(dtype_name(DType::f32))}}), op.integers_constant({2})},
      {{"keepdims", std::int64_t{0}}});
  const ir::ValueId mask = op.emit("Reshape", {both, op.integers_constant({1, 1, height, width})});

  const ir::ValueId half = reals(op, {2}, {std::max(last_x, 1.0f) / 2, std::max(last_y, 1.0f) / 2});
  const ir::ValueId scaled = op.emit("Sub", {op.emit("Div", {positions, half}), op.real_constant(1)});
  const ir::ValueId grid = op.emit("Reshape", {scaled, op.integers_constant({1, height, width, 2})});
  const ir::ValueId cut = op.emit("GridSample", {op.planar_input(0), grid},
                                  {{"mode", std::string("linear")},
                                   {"padding_mode", std::string("border")},
                                   {"align_corners", std::int64_t{1}}});
  op.finish_planar(op.emit("Mul", {cut, mask}));
}

/// The matrix that maps a crop of output_width x output_height onto the upright box around some landmarks,
/// turned so that the line from one landmark to another has the wanted angle.
void translate_landmarks_to_matrix(TfliteOperator& op) {
  check_version(op);
  const Shape shape = op.input_shape(0);
  if (shape.size() != 3 || shape[0] != 1 || shape[1] < 1 || shape[2] != 3)
    op.invalid(fmt::format("landmarks have shape {}, expected 1xNx3", shape_string(shape)));
  const Options options(op);
  const std::int64_t last = shape[1] - 1;
  const double width = static_cast<double>(options.integer("output_width", 1, kMostPixels)),
               height = static_cast<double>(options.integer("output_height", 1, kMostPixels)),
               angle = options.number("target_rotation_radians", -1e3, 1e3);
  const auto scale_x = static_cast<float>(options.number("scale_x", 1e-6, 1e6) / width),
             scale_y = static_cast<float>(options.number("scale_y", 1e-6, 1e6) / height);
  const ir::ValueId points = part(op, op.input(0), 0, shape[1], 0, 2);
  const auto point = [&](const char* key) {
    return part(op, points, options.integer(key, 0, last), 1, 0, 2);
  };

  // Cosine and sine of the turn, wanted angle minus angle of the line, without going through the angles.
  const ir::ValueId left = point("left_rotation_idx");
  const ir::ValueId line = op.emit("Sub", {point("right_rotation_idx"), left});
  const ir::ValueId length =
      op.emit("Sqrt", {op.emit("ReduceSum", {op.emit("Square", {line}), op.integers_constant({2})},
                               {{"keepdims", std::int64_t{1}}})});
  const ir::ValueId no_line = op.emit("Equal", {length, op.real_constant(0)});
  const ir::ValueId direction =  // of two equal points: along x
      op.emit("Where", {no_line, reals(op, {1, 1, 2}, {1, 0}), op.emit("Div", {line, length})});
  const auto c = static_cast<float>(std::cos(angle)), s = static_cast<float>(std::sin(angle));
  const ir::ValueId turn = op.emit("MatMul", {direction, reals(op, {2, 2}, {c, s, s, -c})});  // (cos, sin)
  const ir::ValueId cos = part(op, turn, 0, 1, 0, 1), sin = part(op, turn, 0, 1, 1, 1);
  const ir::ValueId minus_sin = op.emit("Neg", {sin});
  const auto joined = [&](ir::ValueId a, ir::ValueId b, std::int64_t axis) {
    return op.emit("Concat", {a, b}, {{"axis", axis}});
  };
  // Row vectors are turned forwards by the transposed matrix, and back by the matrix.
  const ir::ValueId forwards = joined(joined(cos, sin, 2), joined(minus_sin, cos, 2), 1);
  const ir::ValueId backwards = joined(joined(cos, minus_sin, 2), joined(sin, cos, 2), 1);

  const std::vector<std::int64_t> subset = options.integers("subset_idxs", 0, last);
  const ir::ValueId chosen =
      op.emit("Gather", {points, op.integers_constant(subset)}, {{"axis", std::int64_t{1}}});
  const ir::ValueId upright = op.emit("MatMul", {chosen, forwards}), along = op.integers_constant({1});
  const ir::ValueId most = op.emit("ReduceMax", {upright, along}, {{"keepdims", std::int64_t{1}}}),
                    least = op.emit("ReduceMin", {upright, along}, {{"keepdims", std::int64_t{1}}});
  const ir::ValueId middle = op.emit("Mul", {op.emit("Add", {most, least}), op.real_constant(0.5)});
  const ir::ValueId centre = op.emit("MatMul", {middle, backwards});  // (1, 1, 2)

  // shift to the centre * turn back * scale * shift by half the crop
  const ir::ValueId scale =
      op.emit("Mul", {op.emit("Sub", {most, least}), reals(op, {1, 1, 2}, {scale_x, scale_y})});
  const ir::ValueId linear = op.emit("Mul", {transposed(op, backwards), scale});  // (1, 2, 2)
  const ir::ValueId corner =
      reals(op, {1, 2, 1}, {static_cast<float>(-width / 2), static_cast<float>(-height / 2)});
  const ir::ValueId shift = op.emit("Add", {op.emit("MatMul", {linear, corner}), transposed(op, centre)});
  const ir::ValueId top =
      op.emit("Concat", {linear, reals(op, {1, 2, 1}, {0, 0}), shift}, {{"axis", std::int64_t{2}}});
  op.finish(joined(top, reals(op, {1, 2, 4}, {0, 0, 1, 0, 0, 0, 0, 1}), 1));
}

constexpr TfliteCustomTranslation kTranslations[] = {
    {"Landmarks2TransformMatrix", translate_landmarks_to_matrix},
    {"TransformLandmarks", translate_transform_landmarks},
    {"TransformTensorBilinear", translate_transform_tensor},
};

}  // namespace

std::span<const TfliteCustomTranslation> tflite_custom_landmark_translations() { return kTranslations; }

}  // namespace saccade::import
