#include "compiler/recipe.h"

#include <algorithm>

#include "ir/archive.h"
#include "ops/infer.h"
#include "saccade/error.h"

namespace saccade::compiler {

namespace {

constexpr std::size_t kLeastDecision = sizeof(std::uint64_t) + sizeof(std::uint32_t) + 1;

// Stands for data that nobody looks at. Zeros that take no memory, should a damaged recipe make somebody
// look.
class Blank {
 public:
  explicit Blank(const LoadLimits& limits) : limits_(limits) {}

  Tensor like(DType dtype, const Shape& shape) {
    const std::int64_t bytes = element_count(shape) * static_cast<std::int64_t>(dtype_size(dtype));
    if (bytes > limits_.max_tensor_bytes) ArchiveReader::fail();
    if (pages_ == nullptr || pages_->size() < static_cast<std::size_t>(bytes))
      pages_ = std::make_shared<platform::Pages>(static_cast<std::size_t>(std::max<std::int64_t>(bytes, 1)));
    return Tensor::view(dtype, shape, pages_->data(), pages_);
  }

 private:
  const LoadLimits& limits_;
  std::shared_ptr<platform::Pages> pages_;
};

void check_types(ir::Graph& graph) {
  ops::verify(graph);
  const std::vector<ir::Value> stored = graph.values;
  ops::infer_graph(graph);
  for (std::size_t i = 0; i < stored.size(); ++i)
    if (graph.values[i].dtype != stored[i].dtype || graph.values[i].shape != stored[i].shape)
      ArchiveReader::fail();
}

}  // namespace

std::shared_ptr<const void> MeasuringStore::take(std::size_t bytes) {
  // Never touched, so the pages stay the system's.
  if (zeros_ == nullptr || zeros_->size() < bytes) zeros_ = std::make_shared<platform::Pages>(bytes);
  return {zeros_, zeros_->data()};
}

std::shared_ptr<const void> ReplayingStore::take(std::size_t bytes) {
  if (next_ == blocks_.size() || blocks_[next_].bytes != bytes) ArchiveReader::fail();
  return blocks_[next_++].data;
}

void write_recipe(ArchiveWriter& out, const Recipe& recipe) {
  ir::write_graph(out, recipe.graph,
                  [&](ir::ValueId id) { return !recipe.without_data[static_cast<std::size_t>(id)]; });
  out.number(static_cast<std::uint64_t>(recipe.decisions.size()));
  for (const Decision& decision : recipe.decisions) {
    out.text(decision.kernel);
    out.number(decision.assignment);
    out.number(static_cast<std::uint8_t>(decision.in_concat));
  }
  out.number(static_cast<std::uint64_t>(recipe.blocks.size()));
  for (const PackedBlock& block : recipe.blocks) out.number(static_cast<std::uint64_t>(block.bytes));
}

Recipe read_recipe(ArchiveReader& in, const LoadLimits& limits) {
  Recipe recipe;
  Blank blank(limits);
  std::vector<ir::ValueId> left_out;
  recipe.graph = ir::read_graph(in, [&](ir::ValueId id, DType dtype, const Shape& shape) {
    left_out.push_back(id);
    return blank.like(dtype, shape);
  });
  recipe.graph.limits = limits;
  recipe.without_data.assign(recipe.graph.values.size(), false);
  for (const ir::ValueId id : left_out) recipe.without_data[static_cast<std::size_t>(id)] = true;
  recipe.decisions.resize(in.count(kLeastDecision));
  for (Decision& decision : recipe.decisions) {
    decision.kernel = in.text();
    decision.assignment = in.number<std::uint32_t>();
    decision.in_concat = in.flag();
  }
  recipe.blocks.resize(in.count(sizeof(std::uint64_t)));
  std::size_t total = 0;
  for (PackedBlock& block : recipe.blocks) {
    block.bytes = static_cast<std::size_t>(in.number<std::uint64_t>());
    if (__builtin_add_overflow(total, block.bytes, &total) ||
        total > static_cast<std::size_t>(limits.max_total_bytes))
      ArchiveReader::fail();
  }
  check_types(recipe.graph);
  return recipe;
}

}  // namespace saccade::compiler
