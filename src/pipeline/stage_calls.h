// What the scheduler calls. Nothing else may happen in this file: between the scheduler's threads and ours
// only Visit orders memory in a way that the thread sanitizer sees, and tests/pipeline/thread_sanitizer.cpp
// exempts this file.
#pragma once

#include <oneapi/tbb/parallel_pipeline.h>

#include "pipeline/frame_stages.h"

namespace saccade::pipeline {

struct DecodeStage {
  FrameStages* stages;
  Token* operator()(oneapi::tbb::flow_control& control) const {
    const FrameStages::Visit visit(*stages);
    Token* token = nullptr;
    if (!stages->decode_stage(token)) control.stop();
    return token;
  }
};
struct ProcessStage {
  FrameStages* stages;
  Token* operator()(Token* token) const {
    const FrameStages::Visit visit(*stages);
    stages->process_stage(token);
    return token;
  }
};
struct EncodeStage {
  FrameStages* stages;
  void operator()(Token* token) const {
    const FrameStages::Visit visit(*stages);
    stages->encode_stage(token);
  }
};

}  // namespace saccade::pipeline
