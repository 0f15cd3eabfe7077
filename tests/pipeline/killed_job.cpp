// A job in a process of its own, which ends it when so many frames are written: what a crash is to the next
// run.
//
//   killed_job INPUT OUTPUT [resume] [whole] [interrupt] [encoder=NAME] [masks=OUTPUT]
//   [kill=FRAME,MICROSECONDS]
//              [crash=rename,N | crash=remove,N]     right behind the naming of the Nth result, or the Nth
//              removal
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

#include "fake_network.h"

namespace {
std::atomic<bool> interrupted{false};
extern "C" void on_interrupt(int /*signal*/) { interrupted.store(true); }

int renames_to_crash = 0, removals_to_crash = 0;
}  // namespace

// In place of those of the C library, also where the C++ library calls them.
extern "C" int rename(const char* from, const char* to) noexcept {
  const int code = ::renameat(AT_FDCWD, from, AT_FDCWD, to);
  if (code == 0 && renames_to_crash > 0 && !std::string_view(to).ends_with(".json") &&
      --renames_to_crash == 0)
    ::kill(::getpid(), SIGKILL);
  return code;
}
extern "C" int remove(const char* name) noexcept {
  const int code = ::unlink(name);
  if (code == 0 && removals_to_crash > 0 && --removals_to_crash == 0) ::kill(::getpid(), SIGKILL);
  return code;
}

int main(int argc, char** argv) {
  using namespace saccade;
  JobOptions options = test::job(argv[1], argv[2], Effect::blur);
  options.resumable = true;
  options.segment_seconds = 1;
  std::int64_t last = -1;
  int delay = 0, signal = SIGKILL;
  for (int i = 3; i < argc; ++i) {
    const std::string text = argv[i];
    if (text == "resume") options.resume = true;
    if (text == "whole") options.resumable = false;
    if (text == "interrupt") signal = SIGINT;
    if (text.starts_with("encoder=")) options.encoder = text.substr(8);
    if (text.starts_with("masks=")) options.mask_output = text.substr(6);
    if (text.starts_with("crash=rename,")) renames_to_crash = std::atoi(text.c_str() + text.find(',') + 1);
    if (text.starts_with("crash=remove,")) removals_to_crash = std::atoi(text.c_str() + text.find(',') + 1);
    if (text.starts_with("kill=")) {
      last = std::atoll(text.c_str() + 5);
      delay = std::atoi(text.c_str() + text.find(',') + 1);
    }
  }
  std::signal(SIGINT, on_interrupt);
  JobCallbacks callbacks;
  callbacks.cancel = &interrupted;
  std::thread killer;
  callbacks.progress = [&](const JobProgress& progress) {
    if (progress.frames != last) return;
    killer = std::thread([=] {
      std::this_thread::sleep_for(std::chrono::microseconds(delay));
      ::kill(::getpid(), signal);
    });
  };
  int code = 0;
  try {
    const JobReport report = pipeline::run(options, callbacks, test::bright());
    std::printf("%lld %lld %s\n", static_cast<long long>(report.frames_before),
                static_cast<long long>(report.frames), report.output.c_str());
    code = report.interrupted ? 130 : 0;
  } catch (const Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    code = e.code() == ErrorCode::interrupted ? 130 : 1;
  }
  if (killer.joinable()) killer.join();
  return code;
}
