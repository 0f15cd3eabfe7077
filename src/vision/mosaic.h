// The results of a picture's parts put together: what is foreground, and which class each pixel is.
#pragma once

#include <memory>
#include <vector>

#include "saccade/isa.h"
#include "saccade/model_spec.h"
#include "vision/mask.h"
#include "vision/parts.h"

namespace saccade::vision {

/// Parts are given row of parts by row of parts. Only the rows that such a row of parts touches are kept with
/// all channels: as soon as no later part counts for a row, it becomes one number a pixel (and its class).
/// Immutable: shared by threads, each with a State of its own.
class Mosaic {
 public:
  /// `layout` is that of one part's result. `classes` as MaskOptions::classes; `class_map`: classes of all
  /// pixels are wanted too; without `mask`, they alone. Throws Error as Masker and ClassMapper.
  Mosaic(PartsAxis across, PartsAxis down, const OutputSpec& spec, const OutputLayout& layout,
         const std::vector<int>& classes, bool class_map, bool mask = true, Isa isa = active_isa());
  ~Mosaic();
  Mosaic(Mosaic&&) noexcept;
  Mosaic& operator=(Mosaic&&) noexcept;

  class State {
   public:
    State();
    ~State();
    State(State&&) noexcept;
    State& operator=(State&&) noexcept;
    /// Bytes of what does not belong to the finished result: rows with all their channels, and scratch.
    std::size_t band_bytes() const noexcept;
    const float* mask() const noexcept;
    const std::uint8_t* classes() const noexcept;

   private:
    friend class Mosaic;
    struct Data;
    std::unique_ptr<Data> data_;
  };
  State make_state() const;

  /// The result of the part in that row and column of parts. Rows of parts must come in order.
  void add(const void* output, int row, int column, State& state) const;
  /// All parts of that row have been added.
  void finish_row(int row, State& state) const;

  const PartsAxis& across() const noexcept;
  const PartsAxis& down() const noexcept;
  /// The finished result as a Masker takes it: probabilities of foreground, and the picture on them.
  const OutputSpec& mask_spec() const noexcept;
  OutputLayout mask_layout() const noexcept;
  /// As a ClassMapper takes it.
  OutputSpec class_spec() const;
  OutputLayout class_layout() const noexcept;
  /// Of the picture `picture` within the finished result.
  Geometry geometry(const PictureSpec& picture) const;

 private:
  struct Impl;
  std::unique_ptr<const Impl> impl_;
};

/// How a network's output is merged where windows overlap: class numbers cannot be averaged.
bool can_average(const OutputSpec& spec) noexcept;

}  // namespace saccade::vision
