#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "fuzz/mutate.h"
#include "fuzz/random.h"
#include "tflite_objects_generated.h"

namespace saccade::fuzz {

namespace {

constexpr std::size_t kMostBufferBytes = 4096;

template <class T>
T narrow(std::int64_t value) {
  return static_cast<T>(static_cast<std::uint64_t>(value));  // wraps
}

class Mutation {
 public:
  Mutation(tflite::ModelT& model, Random& random, ByteMutator bytes)
      : model_(model), random_(random), bytes_(bytes) {}

  void apply() {
    if (model_.subgraphs.empty() || model_.subgraphs[0] == nullptr) return;
    tflite::SubGraphT& graph = *model_.subgraphs[random_.below(model_.subgraphs.size())];
    switch (random_.below(10)) {
      case 0:
      case 1:
        return change_tensor(graph);
      case 2:
        return reshape(graph);
      case 3:
        return change_quantisation(graph);
      case 4:
      case 5:
        return rewire(graph);
      case 6:
        return change_operators(graph);
      case 7:
        return change_code();
      case 8:
        return change_buffer();
      default:
        return change_ends(graph);
    }
  }

 private:
  template <class List>
  auto* any(List& list) {
    return list.empty() ? nullptr : random_.pick(list).get();
  }

  /// One more, one less or another of a few numbers.
  template <class T>
  void change(std::vector<T>& list) {
    const std::size_t choice = random_.below(6);
    if (choice == 0 && !list.empty())
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(random_.below(list.size())));
    if (choice == 1) list.push_back(list.empty() ? T{1} : random_.pick(list));
    if (choice > 1 && !list.empty()) {
      T& value = random_.pick(list);
      value = narrow<T>(random_.number(static_cast<std::int64_t>(value)));
    }
  }

  void change_tensor(tflite::SubGraphT& graph) {
    tflite::TensorT* tensor = any(graph.tensors);
    if (tensor == nullptr) return;
    switch (random_.below(5)) {
      case 0:
        tensor->type = static_cast<tflite::TensorType>(random_.below(23));
        return;
      case 1:
        tensor->buffer = static_cast<std::uint32_t>(random_.below(model_.buffers.size() + 1));
        return;
      case 2:
        return change(tensor->shape_signature);
      case 3:
        return change_sparsity(*tensor);
      default:
        return change(tensor->shape);
    }
  }

  void change_sparsity(tflite::TensorT& tensor) {
    if (tensor.sparsity == nullptr) return;
    change(random_.one_in(2) ? tensor.sparsity->traversal_order : tensor.sparsity->block_map);
    tflite::DimensionMetadataT* dimension = any(tensor.sparsity->dim_metadata);
    if (dimension == nullptr) return;
    if (random_.one_in(2))
      dimension->dense_size = narrow<std::int32_t>(random_.number(dimension->dense_size));
    if (auto* segments = dimension->array_segments.AsInt32Vector()) change(segments->values);
    if (auto* indices = dimension->array_indices.AsInt32Vector()) change(indices->values);
  }

  /// A dimension changes, and the data with it.
  void reshape(tflite::SubGraphT& graph) {
    tflite::TensorT* tensor = any(graph.tensors);
    if (tensor == nullptr || tensor->shape.empty()) return;
    random_.pick(tensor->shape) = static_cast<std::int32_t>(random_.below(7));
    if (tensor->buffer >= model_.buffers.size() || model_.buffers[tensor->buffer] == nullptr) return;
    std::vector<std::uint8_t>& data = model_.buffers[tensor->buffer]->data;
    if (data.empty()) return;
    const bool bytes = tensor->type == tflite::TensorType::INT8 || tensor->type == tflite::TensorType::UINT8;
    std::size_t size = bytes ? 1 : 4;
    for (const std::int32_t dim : tensor->shape)
      size = std::min(size * static_cast<std::size_t>(std::clamp(dim, 0, 4096)), kMostBufferBytes);
    const std::vector<std::uint8_t> pattern = data;
    for (std::size_t i = 0; data.size() < size; ++i) data.push_back(pattern[i % pattern.size()]);
    data.resize(size);
  }

  void change_quantisation(tflite::SubGraphT& graph) {
    tflite::TensorT* tensor = any(graph.tensors);
    if (tensor == nullptr) return;
    if (tensor->quantization == nullptr) {
      tensor->quantization = std::make_unique<tflite::QuantizationParametersT>();
      tensor->quantization->scale = {0.5f};
      tensor->quantization->zero_point = {3};
      return;
    }
    constexpr float kScales[] = {0, 1, -1, 0.007f, 1e30f, 1e-30f, 1e-45f};
    switch (random_.below(4)) {
      case 0:
        if (!tensor->quantization->scale.empty())
          random_.pick(tensor->quantization->scale) = kScales[random_.below(std::size(kScales))];
        return;
      case 1:
        return change(tensor->quantization->zero_point);
      case 2:
        tensor->quantization->quantized_dimension =
            narrow<std::int32_t>(random_.number(tensor->quantization->quantized_dimension));
        return;
      default:
        tensor->quantization.reset();
    }
  }

  void rewire(tflite::SubGraphT& graph) {
    tflite::OperatorT* op = any(graph.operators);
    if (op == nullptr) return;
    std::vector<std::int32_t>& list = random_.one_in(4) ? op->outputs : op->inputs;
    if (random_.one_in(2) || list.empty()) return change(list);
    random_.pick(list) = static_cast<std::int32_t>(random_.below(graph.tensors.size() + 1)) - 1;
  }

  void change_operators(tflite::SubGraphT& graph) {
    if (graph.operators.empty()) return;
    const std::size_t i = random_.below(graph.operators.size()), j = random_.below(graph.operators.size());
    switch (random_.below(4)) {
      case 0:
        graph.operators.erase(graph.operators.begin() + static_cast<std::ptrdiff_t>(i));
        return;
      case 1:
        std::swap(graph.operators[i], graph.operators[j]);
        return;
      case 2:
        if (graph.operators[i] != nullptr)
          graph.operators.push_back(std::make_unique<tflite::OperatorT>(*graph.operators[i]));
        return;
      default:
        if (graph.operators[i] != nullptr)
          graph.operators[i]->opcode_index =
              static_cast<std::uint32_t>(random_.below(model_.operator_codes.size() + 1));
    }
  }

  void change_code() {
    tflite::OperatorCodeT* code = any(model_.operator_codes);
    if (code == nullptr) return;
    const auto number = static_cast<std::int32_t>(random_.below(160));
    code->deprecated_builtin_code = static_cast<std::int8_t>(std::min(number, 127));
    code->builtin_code = static_cast<tflite::BuiltinOperator>(number);
    if (random_.one_in(4)) code->version = narrow<std::int32_t>(random_.number(code->version));
  }

  void change_bytes(std::vector<std::uint8_t>& data) {
    const std::size_t size = data.size();
    data.resize(size + 16);
    data.resize(std::min(bytes_(data.data(), size, size + 16), size + 16));
  }

  /// The data of a constant: as integers where it may be some, else as bytes.
  void change_buffer() {
    if (tflite::SubGraphT& graph = *model_.subgraphs[0]; random_.one_in(4)) {
      if (tflite::OperatorT* op = any(graph.operators)) change_bytes(op->custom_options);
      return;
    }
    tflite::BufferT* buffer = any(model_.buffers);
    if (buffer == nullptr) return;
    if (buffer->data.size() < 4 || random_.one_in(3)) return change_bytes(buffer->data);
    const std::size_t at = random_.below(buffer->data.size() / 4) * 4;
    std::int32_t value = 0;
    std::memcpy(&value, buffer->data.data() + at, sizeof value);
    value = narrow<std::int32_t>(random_.number(value));
    std::memcpy(buffer->data.data() + at, &value, sizeof value);
  }

  void change_ends(tflite::SubGraphT& graph) { change(random_.one_in(2) ? graph.inputs : graph.outputs); }

  tflite::ModelT& model_;
  Random& random_;
  ByteMutator bytes_;
};

/// Whether all lists lie where their elements want to; neither the verifier nor flatc's code for objects sees
/// to it.
bool is_aligned(const tflite::Model& model) {
  if (model.subgraphs() == nullptr) return true;
  for (const tflite::SubGraph* graph : *model.subgraphs()) {
    if (graph->tensors() == nullptr) continue;
    for (const tflite::Tensor* tensor : *graph->tensors()) {
      const auto* zeros = tensor->quantization() != nullptr ? tensor->quantization()->zero_point() : nullptr;
      if (zeros != nullptr && reinterpret_cast<std::uintptr_t>(zeros->Data()) % alignof(std::int64_t) != 0)
        return false;
    }
  }
  return true;
}

/// A file may name the type of a union whose value it leaves out; flatc's code for objects does not expect
/// that.
template <class Union>
void drop_empty(Union& value) {
  if (value.value == nullptr) value.Reset();
}

void drop_empty_unions(tflite::ModelT& model) {
  for (auto& graph : model.subgraphs) {
    for (auto& op : graph->operators) drop_empty(op->builtin_options);
    for (auto& tensor : graph->tensors) {
      if (tensor->sparsity == nullptr) continue;
      for (auto& dimension : tensor->sparsity->dim_metadata) {
        drop_empty(dimension->array_segments);
        drop_empty(dimension->array_indices);
      }
    }
  }
}

/// A field of the options of some operator, where it lies in the file; the object form has them as many
/// types.
void change_option(std::uint8_t* data, Random& random) {
  tflite::Model* model = flatbuffers::GetMutableRoot<tflite::Model>(data);
  if (model->subgraphs() == nullptr || model->subgraphs()->size() == 0) return;
  const auto* graph = model->subgraphs()->Get(0);
  if (graph == nullptr || graph->operators() == nullptr || graph->operators()->size() == 0) return;
  const auto count = graph->operators()->size();
  const auto* op = graph->operators()->Get(static_cast<flatbuffers::uoffset_t>(random.below(count)));
  if (op == nullptr || op->builtin_options() == nullptr) return;
  auto* options = static_cast<std::uint8_t*>(const_cast<void*>(op->builtin_options()));
  const std::uint8_t* vtable = options - flatbuffers::ReadScalar<flatbuffers::soffset_t>(options);
  const auto fields = (flatbuffers::ReadScalar<flatbuffers::voffset_t>(vtable) - 4) / 2;
  const auto size = flatbuffers::ReadScalar<flatbuffers::voffset_t>(vtable + 2);
  if (fields <= 0) return;
  const auto field = 4 + 2 * random.below(static_cast<std::size_t>(fields));
  const auto offset = flatbuffers::ReadScalar<flatbuffers::voffset_t>(vtable + field);
  if (offset == 0 || offset >= size) return;
  // Small numbers fit whatever the field is; a whole integer where the table has room for it.
  if (offset + 4 <= size && offset % 4 == 0 && random.one_in(2))
    flatbuffers::WriteScalar<std::int32_t>(
        options + offset,
        narrow<std::int32_t>(random.number(flatbuffers::ReadScalar<std::int32_t>(options + offset))));
  else
    options[offset] = static_cast<std::uint8_t>(random.below(8));
}

}  // namespace

std::size_t mutate_tflite(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed,
                          ByteMutator bytes) {
  Random random(seed);
  flatbuffers::Verifier verifier(data, size, 64, 100'000);
  if (random.one_in(16) || !tflite::VerifyModelBuffer(verifier) || !is_aligned(*tflite::GetModel(data)))
    return bytes(data, size, most);
  if (random.one_in(4)) {
    change_option(data, random);
    return size;
  }
  const std::unique_ptr<tflite::ModelT> model(tflite::GetModel(data)->UnPack());
  drop_empty_unions(*model);
  for (std::size_t n = 1 + random.below(3); n > 0; --n) Mutation(*model, random, bytes).apply();
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(tflite::Model::Pack(builder, model.get()), "TFL3");
  if (builder.GetSize() > most) return bytes(data, size, most);
  std::memcpy(data, builder.GetBufferPointer(), builder.GetSize());
  return builder.GetSize();
}

}  // namespace saccade::fuzz
