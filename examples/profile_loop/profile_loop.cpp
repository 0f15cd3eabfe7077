// Profiles a loop of its own around a model: profile_loop MODEL FOLDER
#include <saccade/model.h>
#include <saccade/profiler.h>

#include <cstdint>
#include <iostream>
#include <vector>

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: profile_loop MODEL FOLDER\n";
    return 2;
  }
  try {
    // The first five turns are left out, the next twenty recorded.
    saccade::Profiler profiler({.wait = 2, .warmup = 3, .active = 20, .repeat = 1});
    const saccade::Model model = saccade::Model::load(argv[1]);
    const saccade::Plan plan = model.compile();
    // With a profiler a context leaves a span for each layer.
    saccade::Context context = plan.make_context({.threads = 1, .profiler = &profiler});

    std::vector<saccade::Tensor> inputs, outputs;
    for (const saccade::TensorInfo& info : plan.inputs())
      inputs.push_back(saccade::Tensor::zeros(info.dtype, info.shape));
    for (const saccade::TensorInfo& info : plan.outputs())
      outputs.push_back(saccade::Tensor::zeros(info.dtype, info.shape));

    const auto bytes = static_cast<std::int64_t>(inputs[0].bytes());
    const saccade::Profiler::Timer fill = profiler.timer("fill", bytes), run = profiler.timer("run");
    for (; !profiler.done(); profiler.step()) {
      {
        const auto span = profiler.span(fill);
        auto* values = static_cast<unsigned char*>(inputs[0].raw());
        for (std::int64_t i = 0; i < bytes; ++i) values[i] = 0;
      }
      const auto span = profiler.span(run);
      context.run(inputs, outputs);
    }
    std::cout << profiler.table();
    profiler.write(argv[2]);  // trace.json for Chrome's and Perfetto's viewers, profile.json for programs
  } catch (const saccade::Error& e) {
    std::cerr << "profile_loop: " << e.what() << '\n';
    return 1;
  }
}
