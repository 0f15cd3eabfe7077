#include "pipeline/live_reader.h"

#include <iterator>
#include <utility>

namespace saccade::pipeline {

bool Backlog::holds(const AVFrame& frame) {
  if (frame.pkt_pos < 0 || end_ < 0) return false;
  if (frame.pkt_pos < end_) return true;
  const std::int64_t more = source_.arrived() - end_;
  const bool less = frame.pkt_pos < end_ + more && more <= size_ / 2;
  size_ = more;
  end_ = less ? end_ + more : -1;
  return less;
}

LiveReader::LiveReader(Next next, std::function<void()> stop, std::size_t most_waiting, HeldBack held_back)
    : next_(std::move(next)),
      stop_(std::move(stop)),
      most_waiting_(most_waiting),
      held_back_(std::move(held_back)),
      thread_([this] { read(); }) {}

LiveReader::~LiveReader() {
  stop_();
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  taken_.notify_one();
  thread_.join();
}

void LiveReader::read() {
  std::exception_ptr failure;
  try {
    while (true) {
      std::vector<media::PacketPtr> copied;
      media::FramePtr frame = next_(copied);
      const bool last = !frame;
      const bool held_back = frame && held_back_ && held_back_(*frame);
      {
        std::unique_lock lock(mutex_);
        if (held_back) taken_.wait(lock, [this] { return stopping_ || waiting_.size() < most_waiting_; });
        std::move(copied.begin(), copied.end(), std::back_inserter(copied_));
        if (last) {
          ended_ = true;
        } else {
          waiting_.push_back(std::move(frame));
          if (waiting_.size() > most_waiting_) {
            waiting_.pop_front();
            ++dropped_;
          }
        }
      }
      arrived_.notify_one();
      if (last) return;
    }
  } catch (...) {
    failure = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  failure_ = failure;
  ended_ = true;
  arrived_.notify_one();
}

media::FramePtr LiveReader::get(std::vector<media::PacketPtr>& copied) {
  std::unique_lock lock(mutex_);
  arrived_.wait(lock, [this] { return !waiting_.empty() || ended_; });
  std::move(copied_.begin(), copied_.end(), std::back_inserter(copied));
  copied_.clear();
  if (waiting_.empty()) {
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    return nullptr;
  }
  media::FramePtr frame = std::move(waiting_.front());
  waiting_.pop_front();
  taken_.notify_one();
  return frame;
}

std::int64_t LiveReader::dropped() const {
  const std::lock_guard lock(mutex_);
  return dropped_;
}

}  // namespace saccade::pipeline
