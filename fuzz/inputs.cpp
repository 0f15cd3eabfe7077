#include "fuzz/inputs.h"

#include <random>

#include "ir/graph.h"
#include "saccade/error.h"

namespace saccade::fuzz {

namespace {

constexpr std::int64_t kUnknown = 4;                // in place of a dimension that is not known
constexpr std::int64_t kMostElements = 512 * 1024;  // of all inputs
constexpr float kNudge = 1e-6f;
/// Constants of so few elements may be sizes or scales, whose change would change shapes.
constexpr std::int64_t kFewElements = 8;

std::int64_t below(std::mt19937& random, std::int64_t bound) {
  return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(bound));
}

template <class T>
void fill(Tensor& tensor, std::mt19937& random, std::int64_t low, std::int64_t high) {
  T* data = tensor.data<T>();
  for (std::int64_t i = 0; i < tensor.count(); ++i)
    data[i] = static_cast<T>(low + below(random, high - low + 1));
}

template <class T>
void fill_reals(Tensor& tensor, std::mt19937& random) {
  T* data = tensor.data<T>();
  for (std::int64_t i = 0; i < tensor.count(); ++i)
    data[i] = static_cast<T>(below(random, 4001) - 2000) / T{1000};
}

/// Both 16-bit formats have a short list of values here: 0, 1, -1, 2 and their like.
template <class T>
void fill_bits(Tensor& tensor, std::mt19937& random, std::initializer_list<std::uint16_t> bits) {
  T* data = tensor.data<T>();
  for (std::int64_t i = 0; i < tensor.count(); ++i)
    data[i] =
        T{bits.begin()[static_cast<std::size_t>(below(random, static_cast<std::int64_t>(bits.size())))]};
}

void fill_any(Tensor& tensor, std::mt19937& random) {
  switch (tensor.dtype()) {
    case DType::f32:
      return fill_reals<float>(tensor, random);
    case DType::f64:
      return fill_reals<double>(tensor, random);
    case DType::f16:
      return fill_bits<Half>(tensor, random, {0x0000, 0x3c00, 0xbc00, 0x4000, 0x3555, 0xb800});
    case DType::bf16:
      return fill_bits<BFloat16>(tensor, random, {0x0000, 0x3f80, 0xbf80, 0x4000, 0x3eaa, 0xbf00});
    case DType::i8:
      return fill<std::int8_t>(tensor, random, -100, 100);
    case DType::u8:
      return fill<std::uint8_t>(tensor, random, 0, 200);
    case DType::i16:
      return fill<std::int16_t>(tensor, random, -1000, 1000);
    case DType::u16:
      return fill<std::uint16_t>(tensor, random, 0, 1000);
    case DType::i32:
      return fill<std::int32_t>(tensor, random, 0, 2);
    case DType::u32:
      return fill<std::uint32_t>(tensor, random, 0, 2);
    case DType::i64:
      return fill<std::int64_t>(tensor, random, 0, 2);
    case DType::u64:
      return fill<std::uint64_t>(tensor, random, 0, 2);
    case DType::boolean: {
      bool* data = tensor.data<bool>();
      for (std::int64_t i = 0; i < tensor.count(); ++i) data[i] = random() % 2 != 0;
      return;
    }
  }
}

Tensor nudged(const Tensor& tensor, std::mt19937& random) {
  if (tensor.dtype() != DType::f32 || tensor.empty()) return tensor;
  Tensor copy = tensor.clone();
  float* data = copy.data<float>();
  for (std::int64_t i = 0; i < copy.count(); ++i) data[i] *= random() % 2 != 0 ? 1 + kNudge : 1 - kNudge;
  return copy;
}

}  // namespace

std::vector<Shape> input_shapes(const Model& model) {
  std::vector<Shape> shapes;
  std::int64_t left = kMostElements;
  for (const TensorInfo& info : model.inputs()) {
    Shape shape = info.shape;
    for (std::size_t d = 0; d < shape.size(); ++d)
      if (shape[d] < 0) shape[d] = d == 0 ? 1 : kUnknown;
    const std::int64_t count = element_count(shape);
    if (count > left) throw Error(ErrorCode::limit, "input '" + info.name + "' is large");
    left -= count;
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

std::vector<Tensor> make_inputs(const Model& model, const std::vector<Shape>& shapes, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    inputs.emplace_back(model.inputs()[i].dtype, shapes[i]);
    fill_any(inputs.back(), random);
  }
  return inputs;
}

ir::Graph nudged(const ir::Graph& graph, std::uint32_t seed) {
  std::mt19937 random(seed);
  ir::Graph copy = graph;
  for (ir::Value& value : copy.values)
    if (value.constant && value.constant->count() > kFewElements)
      value.constant = nudged(*value.constant, random);
  return copy;
}

std::vector<Tensor> nudged(const std::vector<Tensor>& inputs, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<Tensor> copies;
  for (const Tensor& input : inputs) copies.push_back(nudged(input, random));
  return copies;
}

}  // namespace saccade::fuzz
