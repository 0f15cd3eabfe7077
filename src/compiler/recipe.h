// What a compilation decided and packed: enough to repeat it without passes, without comparing kernels and
// without packing weights. The plan cache keeps it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/archive.h"
#include "compiler/lowered.h"
#include "compiler/target.h"
#include "ir/graph.h"
#include "platform/pages.h"

namespace saccade::compiler {

/// Packed weights of one kernel, on a 64-byte boundary.
struct PackedBlock {
  std::shared_ptr<const void> data;
  std::size_t bytes = 0;
};

struct Recipe {
  ir::Graph graph;                  ///< as it was lowered: after passes and legalisation
  std::vector<bool> without_data;   ///< per value: a constant whose data are in blocks only
  std::vector<Decision> decisions;  ///< in the order of lowering
  std::vector<PackedBlock> blocks;  ///< in the order in which kernels ask for them
};

/// Everything but the blocks' data.
void write_recipe(ArchiveWriter& out, const Recipe& recipe);
/// The recipe with blocks that have sizes only. Reads any bytes: throws an Error for what cannot have been
/// written by write_recipe, and checks the graph as if it had been imported.
Recipe read_recipe(ArchiveReader& in, const LoadLimits& limits);

/// Notes which blocks kernels make.
class RecordingStore final : public PackedStore {
 public:
  bool complete() const noexcept override { return false; }
  std::shared_ptr<const void> take(std::size_t /*bytes*/) override { return nullptr; }
  void keep(std::shared_ptr<const void> data, std::size_t bytes) override {
    blocks.push_back({std::move(data), bytes});
  }
  std::vector<PackedBlock> blocks;
};

/// For preparations whose sizes count and nothing else: no kernel packs, all get the same zeros, and no
/// memory is used.
class MeasuringStore final : public PackedStore {
 public:
  bool complete() const noexcept override { return false; }
  std::shared_ptr<const void> take(std::size_t bytes) override;
  void keep(std::shared_ptr<const void> /*data*/, std::size_t /*bytes*/) override {}

 private:
  std::shared_ptr<platform::Pages> zeros_;
};

/// Hands blocks out again.
class ReplayingStore final : public PackedStore {
 public:
  explicit ReplayingStore(const std::vector<PackedBlock>& blocks) : blocks_(blocks) {}
  bool complete() const noexcept override { return true; }
  std::shared_ptr<const void> take(std::size_t bytes) override;
  void keep(std::shared_ptr<const void> /*data*/, std::size_t /*bytes*/) override {}
  bool exhausted() const noexcept { return next_ == blocks_.size(); }

 private:
  const std::vector<PackedBlock>& blocks_;
  std::size_t next_ = 0;
};

}  // namespace saccade::compiler
