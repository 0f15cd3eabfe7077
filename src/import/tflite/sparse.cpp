// A sparse tensor is a tree: one level a dimension, in the order in which they are stored. A dense level has
// all its indices, a sparse one lists those that exist, in segments, one for each node of the level above.
// Dimensions may be cut into blocks; the index inside a block is then a level of its own.
#include "import/tflite/sparse.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "saccade/error.h"

namespace saccade::import {

namespace {

[[noreturn]] void fail(const std::string& message) { throw Error(ErrorCode::invalid_model, message); }

template <class Values>
std::vector<std::int64_t> widened(const Values* values) {
  if (values == nullptr) fail("is sparse but lacks a list of indices");
  return {values->begin(), values->end()};
}

std::vector<std::int64_t> indices_of(tflite::SparseIndexVector type, const void* table) {
  if (table == nullptr) fail("is sparse but lacks a list of indices");
  switch (type) {
    case tflite::SparseIndexVector::Int32Vector:
      return widened(static_cast<const tflite::Int32Vector*>(table)->values());
    case tflite::SparseIndexVector::Uint16Vector:
      return widened(static_cast<const tflite::Uint16Vector*>(table)->values());
    case tflite::SparseIndexVector::Uint8Vector:
      return widened(static_cast<const tflite::Uint8Vector*>(table)->values());
    default:
      fail("is sparse but lacks a list of indices");
  }
}

struct Level {
  bool sparse = false;
  std::int64_t size = 0;    ///< number of indices
  std::int64_t stride = 0;  ///< elements of the whole tensor that one index moves by
  std::vector<std::int64_t> segments, indices;
};

/// Sizes and strides of the levels by expanded dimension: the tensor's own, then those inside blocks.
struct Expanded {
  std::vector<std::int64_t> size, stride;
};

Expanded expand(const tflite::SparsityParameters& sparsity, const Shape& shape) {
  Expanded e;
  e.size = shape;
  e.stride.assign(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) e.stride[i - 1] = e.stride[i] * shape[i];
  const auto* blocks = sparsity.block_map();
  const std::size_t count = blocks != nullptr ? blocks->size() : 0;
  if (count > shape.size()) fail(fmt::format("is cut into blocks along {} dimensions", count));
  const auto* order = sparsity.traversal_order();
  std::vector<bool> cut(shape.size(), false);
  for (std::size_t b = 0; b < count; ++b) {
    const std::int32_t axis = blocks->Get(static_cast<flatbuffers::uoffset_t>(b));
    if (axis < 0 || static_cast<std::size_t>(axis) >= shape.size() || cut[static_cast<std::size_t>(axis)])
      fail(fmt::format("is cut into blocks along dimension {} of {}", axis, shape.size()));
    const auto d = static_cast<std::size_t>(axis);
    cut[d] = true;
    std::int64_t block = 0;  // the block's length stands with the level that walks inside it
    for (std::size_t i = 0; i < order->size(); ++i) {
      const auto at = static_cast<flatbuffers::uoffset_t>(i);
      if (order->Get(at) != static_cast<std::int32_t>(shape.size() + b)) continue;
      if (const auto* level = sparsity.dim_metadata()->Get(at)) block = level->dense_size();
    }
    if (block < 1 || shape[d] % block != 0)
      fail(fmt::format("cuts a dimension of {} into blocks of {}", shape[d], block));
    e.size.push_back(block);
    e.stride.push_back(e.stride[d]);
    e.size[d] /= block;
    e.stride[d] *= block;
  }
  return e;
}

Level read_level(const tflite::DimensionMetadata* fields, std::int64_t size, std::int64_t stride,
                 std::int64_t nodes_above) {
  if (fields == nullptr) fail("is sparse but lacks a dimension");
  Level level;
  level.size = size;
  level.stride = stride;
  level.sparse = fields->format() == tflite::DimensionFormat::SPARSE_CSR;
  if (!level.sparse) {
    if (fields->dense_size() != size)
      fail(fmt::format("stores {} indices of a dimension of {}", fields->dense_size(), size));
    return level;
  }
  level.segments = indices_of(fields->array_segments_type(), fields->array_segments());
  level.indices = indices_of(fields->array_indices_type(), fields->array_indices());
  const auto& s = level.segments;
  if (static_cast<std::int64_t>(s.size()) != nodes_above + 1 || s.front() != 0 ||
      !std::is_sorted(s.begin(), s.end()) || s.back() != static_cast<std::int64_t>(level.indices.size()))
    fail(fmt::format("has {} segments that do not cover {} indices", s.size(), level.indices.size()));
  for (const std::int64_t i : level.indices)
    if (i < 0 || i >= size) fail(fmt::format("stores index {} of a dimension of {}", i, size));
  return level;
}

std::vector<Level> read_levels(const tflite::SparsityParameters& sparsity, const Shape& shape,
                               std::int64_t stored) {
  const auto* order = sparsity.traversal_order();
  const auto* fields = sparsity.dim_metadata();
  if (order == nullptr || fields == nullptr || order->size() != fields->size())
    fail("is sparse but does not say how its dimensions are stored");
  const Expanded e = expand(sparsity, shape);
  if (order->size() != e.size.size())
    fail(fmt::format("stores {} dimensions, expected {}", order->size(), e.size.size()));
  std::vector<Level> levels;
  std::vector<bool> seen(e.size.size(), false);
  std::int64_t nodes = 1;
  for (flatbuffers::uoffset_t i = 0; i < order->size(); ++i) {
    const auto d = static_cast<std::size_t>(order->Get(i));
    if (order->Get(i) < 0 || d >= e.size.size() || seen[d])
      fail(fmt::format("stores dimension {} of {}", order->Get(i), e.size.size()));
    seen[d] = true;
    levels.push_back(read_level(fields->Get(i), e.size[d], e.stride[d], nodes));
    nodes = levels.back().sparse ? static_cast<std::int64_t>(levels.back().indices.size())
                                 : nodes * levels.back().size;
  }
  if (nodes != stored) fail(fmt::format("stores {} elements, expected {}", stored, nodes));
  return levels;
}

}  // namespace

Tensor densified(const tflite::SparsityParameters& sparsity, DType dtype, const Shape& shape,
                 std::span<const std::byte> data) {
  const std::size_t size = dtype_size(dtype);
  if (data.size() % size != 0)
    fail(fmt::format("has {} bytes of data, not a multiple of {}", data.size(), size));
  Tensor tensor(dtype, shape);
  std::memset(tensor.raw(), 0, tensor.bytes());
  if (tensor.count() == 0) return tensor;
  // Level by level: where each node lies in the tensor.
  std::vector<std::int64_t> offsets = {0};
  for (const Level& level : read_levels(sparsity, shape, static_cast<std::int64_t>(data.size() / size))) {
    std::vector<std::int64_t> below;
    for (std::size_t node = 0; node < offsets.size(); ++node) {
      const std::int64_t from = level.sparse ? level.segments[node] : 0,
                         to = level.sparse ? level.segments[node + 1] : level.size;
      for (std::int64_t i = from; i < to; ++i)
        below.push_back(offsets[node] +
                        level.stride * (level.sparse ? level.indices[static_cast<std::size_t>(i)] : i));
    }
    offsets = std::move(below);
  }
  auto* out = static_cast<std::byte*>(tensor.raw());
  for (std::size_t i = 0; i < offsets.size(); ++i)
    std::memcpy(out + static_cast<std::size_t>(offsets[i]) * size, data.data() + i * size, size);
  if (dtype == DType::boolean)
    std::transform(out, out + tensor.bytes(), out,
                   [](std::byte b) { return b == std::byte{0} ? std::byte{0} : std::byte{1}; });
  return tensor;
}

}  // namespace saccade::import
