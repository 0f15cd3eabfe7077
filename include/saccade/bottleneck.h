// What limits a job, in plain words.
#pragma once

#include <string>
#include <vector>

namespace saccade {

/// A change of settings that would help, and how much.
struct Suggestion {
  std::string setting;  ///< as on the command line: "--preset veryfast"
  std::string why;
  double speedup = 1;  ///< frames a second afterwards over those now
};

/// How fast a job would be if one stage took no time at all.
struct StageGain {
  std::string stage;
  double cpu_ms = 0, wait_ms = 0;  ///< a frame: computing, and waiting
  double speedup_if_free = 1;
};

struct BottleneckReport {
  std::string stage;  ///< "read", "decode", "infer", "encode", …; "schedule" where it is how they overlap
  std::string cause;  ///< one of: see docs/profiling.md
  std::string text;   ///< two or three sentences
  double speedup_if_free = 1;           ///< if that stage took no time
  std::vector<Suggestion> suggestions;  ///< best first, three at most
  std::vector<StageGain> stages;        ///< in the order in which frames pass them
  double frames_per_second = 0;         ///< as it was
  double model_frames_per_second = 0;   ///< what the model of the pipeline makes of the stages' times
};

}  // namespace saccade
