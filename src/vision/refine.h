// Edge refinement: a guided filter that lets a mask's edge follow the picture's.
#pragma once

#include <vector>

#include "saccade/isa.h"
#include "vision/kernels/mask/mask_kernels.h"
#include "vision/kernels/refine/refine_kernels.h"
#include "vision/picture.h"
#include "vision/spread.h"
#include "vision/workspace.h"

namespace saccade::vision {

/// Radius in pixels that suits a picture: a hundredth of its shorter side, at least a cell.
float refine_radius(int width, int height) noexcept;

/// Fast guided filter on luma (for RGB on green): statistics of cells of kRefineCell pixels over windows of
/// the radius, their linear models averaged and enlarged bilinearly (docs/numerics.md). Where the mask is
/// uniform for two radii around, it stays bit for bit, and nothing is computed. Immutable: shared by threads,
/// each with a Workspace of its own.
class MaskRefiner {
 public:
  /// Throws Error(invalid_argument) for a radius outside 1..128 pixels.
  MaskRefiner(const PictureSpec& picture, float radius, Isa isa = active_isa());

  /// In place. Throws Error(invalid_argument) if a view does not fit.
  void run(const ConstPictureView& picture, const PlaneView& alpha, Workspace& workspace) const;

 private:
  struct Maps;
  template <class Rows>
  void means(const Rows& row, int depth, int begin, int end, float* out) const;
  void average_alpha(const PlaneView& alpha, const Maps& maps) const;
  void average_luma(const ConstPictureView& picture, int cell, const Maps& maps) const;
  void find_edges(int y, const Maps& maps) const;
  /// Which blocks of which rows of cells each step has to compute, from the edges.
  void plan(const Maps& maps) const;
  void grow_rows(const std::uint8_t* in, int radius, std::uint8_t* out, const Maps& maps) const;
  void grow_blocks(std::uint8_t* flags, int cells, const Maps& maps) const;
  void fit(const Maps& maps) const;
  void smooth(const Maps& maps) const;
  void use(const ConstPictureView& picture, const PlaneView& alpha, const Maps& maps) const;
  void apply(const std::uint8_t* luma, const PlaneView& alpha, int y, int begin, int end,
             const Maps& maps) const;
  /// Row y of the component that guides; packed samples are unpacked into `buffer`.
  const std::uint8_t* guide(const ConstPictureView& picture, int y, std::uint8_t* buffer) const noexcept;
  int blocks() const noexcept;

  PictureSpec picture_;
  const RefineKernels* kernels_;
  const MaskKernels* mask_kernels_;
  int cells_x_, cells_y_, radius_;  ///< the radius in cells
  Spread across_, down_;
};

}  // namespace saccade::vision
