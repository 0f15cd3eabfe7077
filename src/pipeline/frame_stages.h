// The stages of a video as a token-limited, ordered pipeline: decoding and encoding run one picture at a time
// and in order, everything between them on as many threads as there are.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <vector>

#include "media/ffmpeg.h"
#include "pipeline/frame_output.h"
#include "pipeline/memory_plan.h"
#include "pipeline/stage_clocks.h"

namespace saccade::pipeline {

/// A picture on its way. Handed from stage to stage as a raw pointer; `turn` is stored with release by the
/// stage that leaves it and loaded with acquire by the next, since the scheduler's own hand-over is not
/// visible to the thread sanitizer.
struct Token {
  media::FramePtr decoded, background, result;
  FrameOutput::Prepared picture,
      mask;  ///< for outputs that are no stream of video; masks also for one made in parts
  std::vector<media::PacketPtr>
      copied;  ///< packets of other streams that lay before this picture in the file
  FrameLabel label;
  bool packets_only = false;                   ///< there was no picture among many packets
  std::chrono::steady_clock::time_point left;  ///< the last stage
  std::atomic<std::uint32_t> turn{0};

  void enter() const noexcept { (void)turn.load(std::memory_order_acquire); }
  void leave() noexcept {
    left = std::chrono::steady_clock::now();
    turn.fetch_add(1, std::memory_order_release);
  }
};

/// What a job does with a picture, one function a stage. What one of them throws ends the job: the pictures
/// that are under way are let go.
class FrameWork {
 public:
  virtual ~FrameWork() = default;
  /// The number of the next picture.
  virtual std::int64_t next_number() const = 0;
  /// False when there is no further picture.
  virtual bool decode(Token& token) = 0;
  /// From any thread, for several pictures at once.
  virtual void process(Token& token) = 0;
  virtual void encode(Token& token) = 0;
};

class FrameStages {
 public:
  FrameStages(FrameWork& work, StageClocks& clocks) noexcept : work_(work), clocks_(clocks) {}

  /// Until there is no further picture, or a stage failed. `waits`: decoding waits for its input.
  void run(const Concurrency& concurrency, int threads, bool waits);
  /// The first failure, if there was one.
  void rethrow_failure();

  /// A stage's stay: behind what was prepared before the start, before what follows the end.
  class Visit {
   public:
    explicit Visit(FrameStages& stages) noexcept : stages_(stages) {
      (void)stages.started_.load(std::memory_order_acquire);
    }
    ~Visit() { stages_.visits_.fetch_add(1, std::memory_order_release); }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

   private:
    FrameStages& stages_;
  };
  bool decode_stage(Token*& token);
  void process_stage(Token* token);
  void encode_stage(Token* token);

 private:
  template <class F>
  void guarded(F&& work) noexcept;

  FrameWork& work_;
  StageClocks& clocks_;
  std::deque<Token> tokens_;
  std::mutex tokens_mutex_;
  std::vector<Token*> free_tokens_;
  std::mutex decode_mutex_,
      encode_mutex_;  ///< never contended: they order a serial stage's visits from different threads
  std::atomic<bool> started_{false};
  std::atomic<std::uint64_t> visits_{0};
  std::atomic<bool> failed_{false};
  std::mutex failure_mutex_;
  std::exception_ptr failure_;
};

}  // namespace saccade::pipeline
