// Reads a live input in a thread of its own, so that it is never kept waiting: pictures that the job has no
// time for are dropped, the oldest first; but not those that were held back until the job began.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "media/ffmpeg.h"
#include "media/source.h"

namespace saccade::pipeline {

/// What of a pipe had come before the job began, and while that was caught up with, as long as it gets less.
/// Belongs to the thread that reads.
class Backlog {
 public:
  explicit Backlog(const media::Source& source) : source_(source), end_(source.arrived()), size_(end_) {}
  bool holds(const AVFrame& frame);

 private:
  const media::Source& source_;
  std::int64_t end_;   ///< byte of the input; -1: there is none, or no longer
  std::int64_t size_;  ///< bytes of what is being caught up with
};

class LiveReader {
 public:
  /// Gives the next picture, and the packets of other streams that came before it; null at the end.
  using Next = std::function<media::FramePtr(std::vector<media::PacketPtr>&)>;
  /// Whether a picture was held back before there was a job that could take it: it is waited for.
  using HeldBack = std::function<bool(const AVFrame&)>;
  /// Calls `next` in its thread from now on, until it gives null. `stop` must make it do so soon.
  LiveReader(Next next, std::function<void()> stop, std::size_t most_waiting, HeldBack held_back = {});
  ~LiveReader();
  LiveReader(const LiveReader&) = delete;
  LiveReader& operator=(const LiveReader&) = delete;

  /// Waits for a picture. Adds all packets that came since the last one, those before dropped pictures too.
  /// Null at the end. Throws what `next` threw.
  media::FramePtr get(std::vector<media::PacketPtr>& copied);
  std::int64_t dropped() const;

 private:
  void read();

  Next next_;
  std::function<void()> stop_;
  std::size_t most_waiting_;
  HeldBack held_back_;
  mutable std::mutex mutex_;
  std::condition_variable arrived_, taken_;
  std::deque<media::FramePtr> waiting_;
  std::vector<media::PacketPtr> copied_;
  std::int64_t dropped_ = 0;
  bool ended_ = false, stopping_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace saccade::pipeline
