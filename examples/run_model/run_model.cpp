// Runs a model on zeros and says what came out: run_model MODEL [THREADS]
#include <saccade/model.h>

#include <cstdlib>
#include <iostream>
#include <vector>

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: run_model MODEL [THREADS]\n";
    return 2;
  }
  try {
    const saccade::Model model = saccade::Model::load(argv[1]);  // ONNX or TFLite
    const saccade::Plan plan = model.compile();                  // for this CPU and the model's own shapes
    saccade::Context context = plan.make_context({.threads = argc > 2 ? std::atoi(argv[2]) : 1});

    std::vector<saccade::Tensor> inputs;
    for (const saccade::TensorInfo& info : plan.inputs()) {
      std::cout << "input  " << info.name << ' ' << saccade::dtype_name(info.dtype) << ' '
                << saccade::shape_string(info.shape) << '\n';
      inputs.push_back(saccade::Tensor::zeros(info.dtype, info.shape));
    }
    const std::vector<saccade::Tensor> outputs =
        context.run(inputs);  // again and again, a context at a time per thread
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      const saccade::TensorInfo& info = plan.outputs()[i];
      std::cout << "output " << info.name << ' ' << saccade::dtype_name(info.dtype) << ' '
                << saccade::shape_string(info.shape);
      if (info.dtype == saccade::DType::f32 && outputs[i].count() > 0)
        std::cout << " first " << outputs[i].values<float>()[0];
      std::cout << '\n';
    }
  } catch (const saccade::Error& e) {
    std::cerr << "run_model: " << e.what() << '\n';
    return 1;
  }
}
