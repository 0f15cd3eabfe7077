#include "pipeline/worker_pool.h"

#include <new>
#include <utility>

#include "saccade/error.h"

namespace saccade::pipeline {

WorkerPool::WorkerPool(const Processor& processor, int most, int threads_each)
    : processor_(processor), threads_each_(threads_each), at_once_(most) {}

void WorkerPool::run(const std::function<void(Worker&)>& work) {
  while (true) {
    std::unique_ptr<Worker> worker;
    try {
      worker = take();
      work(*worker);
      put_back(std::move(worker));
      return;
    } catch (const std::bad_alloc&) {
      if (worker) {
        worker.reset();
        put_back(nullptr);
      }
      run_short();
    } catch (...) {
      if (worker) put_back(std::move(worker));
      throw;
    }
  }
}

bool WorkerPool::ran_out() const {
  const std::lock_guard lock(mutex_);
  return ran_out_;
}

std::unique_ptr<Worker> WorkerPool::take() {
  std::unique_lock lock(mutex_);
  freed_.wait(lock, [this] { return busy_ < at_once_.size(); });
  const bool alone = busy_++ == 0;
  if (!idle_.empty()) {
    std::unique_ptr<Worker> worker = std::move(idle_.back());
    idle_.pop_back();
    return worker;
  }
  lock.unlock();
  try {
    return processor_.make_worker(threads_each_);
  } catch (const Error& e) {
    put_back(nullptr);
    if (e.code() == ErrorCode::limit && !alone) throw std::bad_alloc();
    throw;
  } catch (...) {
    put_back(nullptr);
    throw;
  }
}

void WorkerPool::put_back(std::unique_ptr<Worker> worker) {
  {
    const std::lock_guard lock(mutex_);
    --busy_;
    if (worker) {
      at_once_.succeeded();
      idle_.push_back(std::move(worker));
    }
  }
  freed_.notify_all();
}

/// What idle workers hold is given back, and there may be fewer from now on.
void WorkerPool::run_short() {
  std::vector<std::unique_ptr<Worker>> freed;
  const std::lock_guard lock(mutex_);
  freed.swap(idle_);
  ran_out_ = true;
  // Another one may have lowered the number already, and be at work with what there is.
  if (!at_once_.failed() && busy_ == 0 && freed.empty())
    throw Error(ErrorCode::limit, "out of memory with one picture at a time");
}

}  // namespace saccade::pipeline
