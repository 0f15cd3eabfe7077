#include "pipeline/stage_clocks.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace saccade::pipeline {

void StageClocks::attach(trace::Recorder& to) {
  recorder = &to;
  decode.attach(to, "decode");
  convert.attach(to, "convert");
  preprocess.attach(to, "preprocess");
  infer.attach(to, "infer");
  mask.attach(to, "mask");
  composite.attach(to, "composite");
  encode.attach(to, "encode");
  write.attach(to, "write");
  read.attach(to, "read", trace::Category::step);
  prepare.attach(to, "make picture", trace::Category::step);
  queued_for_process.attach(to, "queue before processing", trace::Category::queue);
  queued_for_encode.attach(to, "queue before encoding", trace::Category::queue);
  const auto copy = [&](const char* text) {
    return to.name({.text = text, .category = trace::Category::copy});
  };
  copy_picture = copy("copy of a picture");
  copy_mask = copy("copy of a mask");
  copy_packet = copy("copy of a packet");
}

std::string_view StageClocks::busiest(int workers) const noexcept {
  const double share = 1.0 / workers;
  const std::pair<std::string_view, double> stages[] = {{"decode", decode.seconds()},
                                                        {"preprocess", preprocess.seconds() * share},
                                                        {"infer", infer.seconds() * share},
                                                        {"mask", mask.seconds() * share},
                                                        {"composite", composite.seconds() * share},
                                                        {"encode", encode.seconds()}};
  return std::max_element(std::begin(stages), std::end(stages),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

double StageClocks::cpu_in_stages() const noexcept {
  double sum = 0;
  for (const trace::StageClock* clock :
       {&decode, &convert, &preprocess, &infer, &mask, &composite, &encode, &write})
    sum += clock->cpu_seconds();
  return sum;
}

void StageClocks::watch_delays() noexcept {
  for (trace::StageClock* clock :
       {&decode, &convert, &preprocess, &infer, &mask, &composite, &encode, &write, &read, &prepare})
    clock->watch_delays();
}

}  // namespace saccade::pipeline
