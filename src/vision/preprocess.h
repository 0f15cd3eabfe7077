// From the decoder's planes to the network's input, in one pass.
#pragma once

#include <memory>

#include "saccade/isa.h"
#include "saccade/model_spec.h"
#include "vision/geometry.h"
#include "vision/picture.h"
#include "vision/workspace.h"

namespace saccade::vision {

/// Prepared for pictures of one kind. Immutable: shared by threads, each with a Workspace of its own. The
/// definition of every filter is in docs/numerics.md.
class Preprocessor {
 public:
  /// Throws Error(invalid_argument) for impossible sizes or an InputSpec with a zero deviation.
  Preprocessor(const PictureSpec& picture, const InputSpec& input, int network_width, int network_height,
               Isa isa = active_isa());
  ~Preprocessor();
  Preprocessor(Preprocessor&&) noexcept;
  Preprocessor& operator=(Preprocessor&&) noexcept;

  const Geometry& geometry() const noexcept;
  int channels() const noexcept;
  /// Floats that `run` writes: channels x network height x network width, in the layout of the InputSpec.
  std::int64_t output_count() const noexcept;

  /// Writes the whole input of one picture. Throws Error(invalid_argument) if the view does not fit the
  /// PictureSpec.
  void run(const ConstPictureView& picture, float* output, Workspace& workspace) const;
  /// Parts 0 .. parts()-1 may be written by different threads; together they are `run`.
  int parts() const noexcept;
  void run_parts(const ConstPictureView& picture, float* output, Workspace& workspace, int begin,
                 int end) const;
  /// The rows [first, last) of the network's input alone: `output` is as for an input of so many rows.
  void run_rows(const ConstPictureView& picture, float* output, Workspace& workspace, int first,
                int last) const;

 private:
  struct Impl;
  std::unique_ptr<const Impl> impl_;
};

}  // namespace saccade::vision
