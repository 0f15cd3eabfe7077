// A network as it could be run: each convolution in one of several precisions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "ir/graph.h"
#include "quantise/decide.h"
#include "quantise/recipe.h"
#include "runtime/plan.h"

namespace saccade::quantise {

/// What a layer runs in. `coarse` is bf16 with kernels that err more.
enum class Level : std::uint8_t { fp32, bf16, coarse, int8 };
inline constexpr std::size_t kLevels = 4;

/// Per layer of Variants::names.
using Levels = std::vector<Level>;

struct Variant {
  Levels levels;
  Precision precision = Precision::fp32;  ///< int8 where any layer is
  Precision rest = Precision::fp32;       ///< of int8: what the others run in
  std::vector<std::string> fp32_layers;   ///< of those that could be lowered
  bool coarse = false;
  std::vector<std::string> exact_layers;  ///< of those that could be coarse
  std::optional<Recipe> recipe;           ///< of int8
  std::shared_ptr<const runtime::PlanImpl> plan;

  int count(Level level) const;
};

class Variants {
 public:
  /// Both must outlive it.
  Variants(const ir::Graph& graph, const std::vector<Shape>& shapes, const Question& question);

  /// Finds out which layers have kernels of bytes. Throws Error(unsupported) where there are none. Until
  /// `calibrate` was called, variants in bytes are good for their times only.
  void allow_bytes();
  /// Makes the ranges of bytes those of all pictures, once. A large network takes as long as for a hundred
  /// runs.
  void calibrate();
  /// Which layers can be bf16, and which coarse. Throws Error(unsupported) where none can.
  void allow_halves();

  /// Convolutions that can be lowered, in the order in which they run.
  const std::vector<std::string>& names() const { return names_; }
  bool allows(std::size_t layer, Level level) const;
  /// Whether any layer can.
  bool allows(Level level) const;
  int count(Level level) const;

  /// All layers at a level; those that cannot be coarse in bf16, those that cannot be something in fp32.
  Levels all(Level level) const;
  /// Nothing where the layers in bytes would need another calibration, and there were enough.
  std::optional<Variant> make(const Levels& levels);

  /// Multiply-adds of a run.
  double work() const { return work_; }

 private:
  const ir::Graph& prepared();
  std::size_t add_name(const std::string& name);
  std::optional<Recipe> recipe_of(const std::vector<std::string>& single);
  compiler::Options options() const;

  const ir::Graph& graph_;
  const std::vector<Shape>& shapes_;
  const Question& question_;
  std::optional<ir::Graph> prepared_;
  std::optional<Recipe> draft_, whole_;                    // all layers in bytes; `whole_` once calibrated
  std::map<std::vector<std::string>, Recipe> calibrated_;  // by layers that are not in bytes
  std::vector<std::string> names_;
  std::vector<std::uint8_t> allowed_;  // bits by level
  double work_ = 0;
  int calibrations_left_ = 0;
};

/// Time of each step by its name in nanoseconds, from some runs, undisturbed as far as can be; of "" all.
std::map<std::string, double> step_times(const Variant& variant, const Sample& sample, int threads);

/// The recipe for a part of the layers that `whole` lowers; nothing where that part would need ranges that it
/// does not have.
std::optional<Recipe> part_of(const ir::Graph& prepared, const Recipe& whole,
                              const std::vector<std::string>& fp32_layers);

}  // namespace saccade::quantise
