#include "verify/run_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>

#include "import/onnx/test_data.h"
#include "saccade/error.h"
#include "verify/find_cases.h"

namespace saccade::verify {

namespace {

namespace fs = std::filesystem;

/// A difference from what the case wants, as opposed to an Error of the library.
struct Mismatch {
  std::string reason;
};

/// onnx 1.12 and older wrote tensors of bfloat16 as uint16, some of them flat.
Tensor repaired(const Tensor& tensor, DType dtype, const Shape& shape) {
  if (dtype != DType::bf16) return tensor;
  Tensor result = tensor;
  if (tensor.dtype() == DType::u16)
    result = Tensor::view(DType::bf16, tensor.shape(), const_cast<void*>(tensor.raw()),
                          std::make_shared<const Tensor>(tensor));
  const bool concrete = std::all_of(shape.begin(), shape.end(), [](std::int64_t dim) { return dim >= 0; });
  if (result.dtype() == DType::bf16 && result.rank() == 1 && concrete &&
      element_count(shape) == result.count())
    result = result.reshaped(shape);
  return result;
}

/// The same versions wrote only the first element of a tensor whose type alone counts (CastLike).
Tensor repeated(const Tensor& tensor, const Shape& shape) {
  const bool concrete = std::all_of(shape.begin(), shape.end(), [](std::int64_t dim) { return dim >= 0; });
  if (tensor.shape() != Shape{1} || !concrete || element_count(shape) <= 1) return tensor;
  Tensor result(tensor.dtype(), shape);
  const std::size_t size = dtype_size(tensor.dtype());
  for (std::int64_t i = 0; i < result.count(); ++i)
    std::memcpy(static_cast<std::byte*>(result.raw()) + static_cast<std::size_t>(i) * size, tensor.raw(),
                size);
  return result;
}

/// The inputs in the model's order. A file says which input it is for by the tensor's name, else by its
/// number.
std::vector<Tensor> read_inputs(const Model& model, const fs::path& folder) {
  const std::vector<TensorInfo>& wanted = model.inputs();
  std::vector<NamedTensor> given;
  for (const fs::path& file : numbered_files(folder, "input"))
    given.push_back(import::read_onnx_tensor(file));
  if (given.size() > wanted.size())
    throw Mismatch{fmt::format("{} holds {} inputs, the model has {}", folder.filename().string(),
                               given.size(), wanted.size())};
  std::vector<Tensor> inputs;
  bool old = false;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    auto found = std::find_if(given.begin(), given.end(),
                              [&](const NamedTensor& t) { return t.name == wanted[i].name; });
    if (found == given.end() && i < given.size()) found = given.begin() + static_cast<std::ptrdiff_t>(i);
    if (found == given.end())
      throw Mismatch{
          fmt::format("{} has no tensor for input '{}'", folder.filename().string(), wanted[i].name)};
    old = old || (wanted[i].dtype == DType::bf16 && found->tensor.dtype() == DType::u16);
    inputs.push_back(repaired(found->tensor, wanted[i].dtype, wanted[i].shape));
  }
  if (old)
    for (std::size_t i = 0; i < wanted.size(); ++i) inputs[i] = repeated(inputs[i], wanted[i].shape);
  return inputs;
}

std::vector<Tensor> execute(const Model& model, const std::vector<Tensor>& inputs,
                            const CaseOptions& options) {
  if (options.target == nullptr) return model.interpret(inputs);
  CompileOptions wanted;
  wanted.max_isa = options.isa;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    wanted.input_shapes.emplace_back(model.inputs()[i].name, inputs[i].shape());
  return model.compile(*options.target, wanted).make_context().run(inputs);
}

/// The generators, whose numbers every runtime draws from a stream of its own.
bool draws_numbers(const std::vector<std::string>& operators) {
  return std::any_of(operators.begin(), operators.end(), [](const std::string& op) {
    return op == "Bernoulli" || op == "Multinomial" || op.starts_with("RandomUniform") ||
           op.starts_with("RandomNormal");
  });
}

bool same_bits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Tensor& x, const Tensor& y) {
    return x.dtype() == y.dtype() && x.shape() == y.shape() &&
           (x.bytes() == 0 || std::memcmp(x.raw(), y.raw(), x.bytes()) == 0);
  });
}

struct DataSet {
  std::string name;
  std::vector<Tensor> inputs, outputs;
};

/// Whatever ran in between, equal inputs give equal bits.
void check_repetition(const std::vector<DataSet>& earlier, const DataSet& now) {
  for (const DataSet& set : earlier)
    if (same_bits(set.inputs, now.inputs) && !same_bits(set.outputs, now.outputs))
      throw Mismatch{fmt::format("{}: other bits than {}, whose inputs are the same", now.name, set.name)};
}

/// `random`: only types and shapes can be compared.
DataSet check_data_set(const Model& model, const fs::path& folder, const CaseOptions& options, bool random) {
  DataSet result{folder.filename().string(), read_inputs(model, folder), {}};
  result.outputs = execute(model, result.inputs, options);
  const std::vector<Tensor>& outputs = result.outputs;
  const std::vector<fs::path> files = numbered_files(folder, "output");
  if (files.empty()) throw Mismatch{fmt::format("{} holds no output_0.pb", folder.filename().string())};
  if (files.size() != outputs.size())
    throw Mismatch{fmt::format("{} holds {} outputs, the model has {}", folder.filename().string(),
                               files.size(), outputs.size())};
  for (std::size_t i = 0; i < files.size(); ++i) {
    const Tensor want =
        repaired(import::read_onnx_tensor(files[i]).tensor, outputs[i].dtype(), outputs[i].shape());
    if (const auto different =
            random ? difference_of_type(outputs[i], want) : difference(outputs[i], want, options.tolerance))
      throw Mismatch{
          fmt::format("{}output {} ('{}'): {}",
                      folder.filename() == "test_data_set_0" ? "" : folder.filename().string() + ": ", i,
                      model.outputs()[i].name, *different)};
  }
  return result;
}

/// Where no data is given, whatever the declared shapes allow is run.
void run_without_data(const Model& model, const CaseOptions& options) {
  if (options.target != nullptr) {
    model.compile(*options.target, {});
    return;
  }
  std::vector<Tensor> zeros;
  for (const TensorInfo& info : model.inputs()) {
    Shape shape = info.shape;
    for (std::int64_t& dim : shape) dim = std::max<std::int64_t>(dim, 1);
    zeros.push_back(Tensor::zeros(info.dtype, shape));
  }
  model.interpret(zeros);
}

void run(const fs::path& file, const std::vector<fs::path>& sets, const CaseOptions& options, bool random) {
  const Model model = Model::load(file, options.limits);
  if (sets.empty()) run_without_data(model, options);
  std::vector<DataSet> done;
  for (const fs::path& set : sets) {
    DataSet now = check_data_set(model, set, options, random);
    check_repetition(done, now);
    if (sets.size() > 1) done.push_back(std::move(now));
  }
}

}  // namespace

CaseResult run_case(const fs::path& folder, const CaseOptions& options) {
  CaseResult result;
  std::error_code ignored;
  const bool must_fail = fs::exists(folder / "must_fail.txt", ignored);
  std::string out_of_scope;
  try {
    const fs::path file = case_model(folder);
    if (file.empty()) throw Mismatch{"holds no model.onnx"};
    const std::vector<fs::path> sets = data_sets(folder);
    if (!must_fail && sets.empty()) throw Mismatch{"holds no test_data_set_* folder"};
    try {
      import::OnnxSurvey survey = import::survey_onnx(file);
      result.opset = survey.opset;
      result.operators = std::move(survey.operators);
      out_of_scope = std::move(survey.out_of_scope);
    } catch (const Error&) {
      // Loading it will say the same.
    }
    run(file, sets, options, draws_numbers(result.operators));
    result.outcome = must_fail ? Outcome::failed : Outcome::passed;
    if (must_fail) result.reason = "ran, but must_fail.txt says that it must not";
  } catch (const Mismatch& mismatch) {
    result.reason = mismatch.reason;
  } catch (const Error& error) {
    result.unsupported = error.code() == ErrorCode::unsupported;
    if (must_fail)
      result.outcome = Outcome::passed;
    else
      result.reason = error.what();
  } catch (const std::exception& error) {
    result.reason = fmt::format("not an Error but {}", error.what());
  }
  if (result.unsupported && !must_fail && !out_of_scope.empty()) {
    result.outcome = Outcome::skipped;
    result.reason = out_of_scope;
  }
  return result;
}

const char* outcome_name(Outcome outcome) noexcept {
  switch (outcome) {
    case Outcome::passed:
      return "passed";
    case Outcome::failed:
      return "failed";
    case Outcome::skipped:
      return "skipped";
  }
  return "";
}

}  // namespace saccade::verify
