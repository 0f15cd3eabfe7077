// A segmentation network as the pipeline sees it: floats in, one output tensor back.
#pragma once

#include <memory>
#include <string>

#include "saccade/error.h"
#include "saccade/isa.h"
#include "saccade/model_spec.h"
#include "saccade/precision.h"
#include "trace/recorder.h"
#include "vision/mask.h"
#include "vision/parts.h"

namespace saccade {
class Plan;
}

namespace saccade::pipeline {

/// One execution at a time: a worker of its own for each thread that runs pictures.
class NetworkRun {
 public:
  virtual ~NetworkRun() = default;
  /// Where the caller writes the input before run(): channels x height x width floats, in the spec's layout,
  /// for each picture of the batch.
  virtual float* input() = 0;
  /// Runs and returns the output tensor's data, picture by picture, valid until the next run.
  virtual const void* run() = 0;
  /// From now on each run leaves a span for each layer there.
  virtual void record(trace::Recorder& /*recorder*/) {}
};

/// How a picture may be divided so that the network sees it in tiles.
struct TileRules {
  vision::TileRule y, x;
};

/// Immutable, shared by threads.
class Network {
 public:
  virtual ~Network() = default;
  virtual const ModelSpec& spec() const = 0;
  /// What its results depend on: the model, and the kernels that compute it.
  virtual std::string identity() const { return spec().name; }
  virtual int input_width() const = 0;
  virtual int input_height() const = 0;
  virtual vision::OutputLayout output() const = 0;
  /// Pictures that one execution takes at once.
  virtual int batch() const { return 1; }
  /// The same network for inputs of another size and number; null where it takes no others. Throws as the
  /// compiler.
  virtual std::unique_ptr<Network> with_input(int width, int height, int batch) const {
    (void)width, (void)height, (void)batch;
    return nullptr;
  }
  /// For tiles of its input's size. Throws Error(unsupported) where there is no such rule, with the reason.
  virtual TileRules tile_rules() const {
    throw Error(ErrorCode::unsupported,
                spec().name + ": cannot be worked on in tiles, since what it looks at is not known");
  }
  /// What it computes in, and why.
  virtual PrecisionReport precision() const { return {}; }
  /// What it was compiled to; null where it was not.
  virtual const Plan* plan() const { return nullptr; }
  /// `threads` share one execution.
  virtual std::unique_ptr<NetworkRun> make_run(int threads) const = 0;
};

}  // namespace saccade::pipeline
