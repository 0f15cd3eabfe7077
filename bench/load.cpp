// Time and peak memory of loading a model, or of reading its file and hashing it once, which loading is
// compared with (bench/load.py). Each in a process of its own: bench_load (model | file) PATH
#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "saccade/error.h"
#include "saccade/model.h"

namespace {

/// Reads the whole file into memory, then hashes it.
void read_and_hash(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  std::vector<char> content(static_cast<std::size_t>(file.tellg()));
  file.seekg(0);
  file.read(content.data(), static_cast<std::streamsize>(content.size()));
  saccade::Sha256::hex(std::as_bytes(std::span(content)));
}

/// Largest resident size so far, in bytes. (getrusage would count what the process was before exec.)
long peak_memory() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    long kilobytes = 0;
    if (word == "VmHWM:" && status >> kilobytes) return kilobytes * 1024;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: bench_load (model | file) PATH\n");
    return 2;
  }
  const long before = peak_memory();
  const auto start = std::chrono::steady_clock::now();
  try {
    if (std::string_view(argv[1]) == "model")
      saccade::Model::load(argv[2]);
    else
      read_and_hash(argv[2]);
  } catch (const saccade::Error& error) {
    fmt::print(stderr, "bench_load: {}\n", error.what());
    return 1;
  }
  const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
  fmt::print("{:.1f} {}\n", time.count(), peak_memory() - before);
  return 0;
}
