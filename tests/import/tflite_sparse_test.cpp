// Sparse TFLite constants, made dense by DENSIFY.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "import/onnx_model.h"
#include "import/tflite_model.h"

namespace saccade::import {

namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using Format = tflite::DimensionFormat;
using Index = tflite::SparseIndexVector;

/// One stored level: dense of that size, or the segments and indices of a sparse one.
struct Level {
  int size = 0;
  std::vector<int> segments = {}, indices = {};
};

template <class Wide, class Make>
flatbuffers::Offset<void> list(TfliteModel& m, const std::vector<int>& values, Make make) {
  const std::vector<Wide> narrow(values.begin(), values.end());
  return make(m.builder(), &narrow).Union();
}

/// `index_type` is how the sparse levels write their lists.
std::string sparse_model(const std::vector<int>& shape, const std::vector<float>& stored,
                         const std::vector<int>& order, const std::vector<int>& blocks,
                         const std::vector<Level>& levels, Index index_type = Index::Int32Vector) {
  TfliteModel m;
  std::vector<std::uint8_t> bytes(stored.size() * 4);
  std::memcpy(bytes.data(), stored.data(), bytes.size());
  const int w = m.raw("w", shape, tflite::TensorType::FLOAT32, bytes), y = m.tensor("y", shape);
  const auto written = [&](const std::vector<int>& values) -> flatbuffers::Offset<void> {
    if (index_type == Index::Uint8Vector)
      return list<std::uint8_t>(m, values,
                                [](auto& b, auto* v) { return tflite::CreateUint8VectorDirect(b, v); });
    if (index_type == Index::Uint16Vector)
      return list<std::uint16_t>(m, values,
                                 [](auto& b, auto* v) { return tflite::CreateUint16VectorDirect(b, v); });
    return list<std::int32_t>(m, values,
                              [](auto& b, auto* v) { return tflite::CreateInt32VectorDirect(b, v); });
  };
  std::vector<flatbuffers::Offset<tflite::DimensionMetadata>> fields;
  for (const Level& level : levels) {
    if (level.size > 0) {
      fields.push_back(tflite::CreateDimensionMetadata(m.builder(), Format::DENSE, level.size));
      continue;
    }
    const auto segments = written(level.segments), indices = written(level.indices);
    fields.push_back(tflite::CreateDimensionMetadata(m.builder(), Format::SPARSE_CSR, 0, index_type, segments,
                                                     index_type, indices));
  }
  m.set_sparse(w, tflite::CreateSparsityParametersDirect(m.builder(), &order,
                                                         blocks.empty() ? nullptr : &blocks, &fields));
  m.op(tflite::BuiltinOperator::DENSIFY, {w}, {y});
  return m.bytes({}, {y});
}

std::vector<float> dense(const std::string& model) {
  const Imported imported = read_bytes(model);
  EXPECT_TRUE(imported.missing.empty()) << missing_message(imported.missing);
  const auto values = imported.graph.constant(imported.graph.outputs.at(0))->values<float>();
  return {values.begin(), values.end()};
}

TEST(TfliteSparse, ReadsRowsWithFewElements) {
  for (const Index type : {Index::Int32Vector, Index::Uint16Vector, Index::Uint8Vector})
    EXPECT_THAT(dense(sparse_model({3, 4}, {1, 2, 3}, {0, 1}, {}, {{3}, {0, {0, 2, 2, 3}, {0, 3, 1}}}, type)),
                ElementsAre(1, 0, 0, 2, 0, 0, 0, 0, 0, 3, 0, 0));
}

TEST(TfliteSparse, FollowsTheOrderInWhichDimensionsAreStored) {
  // Columns first: column 0 holds row 2, column 1 rows 0 and 1.
  EXPECT_THAT(dense(sparse_model({3, 2}, {5, 6, 7}, {1, 0}, {}, {{2}, {0, {0, 1, 3}, {2, 0, 1}}})),
              ElementsAre(0, 6, 0, 7, 5, 0));
}

TEST(TfliteSparse, ReadsBlocks) {
  // Blocks of 2x2 in 4x4; those at (0, 1) and (1, 0) exist.
  const std::vector<float> stored = {1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_THAT(
      dense(sparse_model({4, 4}, stored, {0, 1, 2, 3}, {0, 1}, {{2}, {0, {0, 1, 2}, {1, 0}}, {2}, {2}})),
      ElementsAreArray({0, 0, 1, 2, 0, 0, 3, 4, 5, 6, 0, 0, 7, 8, 0, 0}));
}

TEST(TfliteSparse, RefusesWhatDoesNotFit) {
  const auto message = [](const std::vector<Level>& levels, const std::vector<int>& order = {0, 1},
                          const std::vector<int>& blocks = {}) {
    return refusal(sparse_model({3, 4}, {1, 2, 3}, order, blocks, levels)).message;
  };
  const Level good{0, {0, 2, 2, 3}, {0, 3, 1}};
  EXPECT_THAT(message({{3}}, {0}), HasSubstr("stores 1 dimensions, expected 2"));
  EXPECT_THAT(message({{4}, good}), HasSubstr("stores 4 indices of a dimension of 3"));
  EXPECT_THAT(message({{3}, {0, {0, 2, 2, 3}, {0, 4, 1}}}), HasSubstr("stores index 4 of a dimension of 4"));
  EXPECT_THAT(message({{3}, {0, {0, 2, 1, 3}, {0, 3, 1}}}), HasSubstr("segments"));
  EXPECT_THAT(message({{3}, {0, {0, 3, 3}, {0, 3, 1}}}), HasSubstr("segments"));
  EXPECT_THAT(message({{3}, {0, {0, 2, 2, 9}, {0, 3, 1}}}), HasSubstr("segments"));
  EXPECT_THAT(message({{3}, {4}}), HasSubstr("stores 3 elements, expected 12"));
  EXPECT_THAT(message({{3}, good}, {0, 0}), HasSubstr("stores dimension 0"));
  EXPECT_THAT(message({{3}, good}, {0, 7}), HasSubstr("stores dimension 7"));
  EXPECT_THAT(message({{3}, good, {2}}, {0, 1, 2}, {5}), HasSubstr("along dimension 5"));
  EXPECT_THAT(message({{3}, good, {2}}, {0, 1, 2}, {0}), HasSubstr("cuts a dimension of 3 into blocks of 2"));
}

}  // namespace

}  // namespace saccade::import
