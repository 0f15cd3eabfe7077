#include "ops/recurrent.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/convert.h"
#include "ops/indexing.h"

namespace saccade::ops {

namespace {

struct Function {
  std::string_view name;
  double (*fn)(double x, double alpha, double beta);
  bool has_alpha, has_beta;
  double alpha, beta;  ///< where the node gives none
};

constexpr Function kFunctions[] = {
    {"relu", [](double x, double, double) { return std::fmax(x, 0.0); }, false, false, 0, 0},
    {"tanh", [](double x, double, double) { return std::tanh(x); }, false, false, 0, 0},
    {"sigmoid", [](double x, double, double) { return 1 / (1 + std::exp(-x)); }, false, false, 0, 0},
    {"affine", [](double x, double a, double b) { return a * x + b; }, true, true, 1, 0},
    {"leakyrelu", [](double x, double a, double) { return x < 0 ? a * x : x; }, true, false, 0.01, 0},
    {"thresholdedrelu", [](double x, double a, double) { return x > a ? x : 0; }, true, false, 1, 0},
    {"scaledtanh", [](double x, double a, double b) { return a * std::tanh(b * x); }, true, true, 1, 1},
    {"hardsigmoid", [](double x, double a, double b) { return std::clamp(a * x + b, 0.0, 1.0); }, true, true,
     0.2, 0.5},
    {"elu", [](double x, double a, double) { return x < 0 ? a * std::expm1(x) : x; }, true, false, 1, 0},
    {"softsign", [](double x, double, double) { return x / (1 + std::fabs(x)); }, false, false, 0, 0},
    {"softplus",
     [](double x, double, double) { return std::fmax(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }, false,
     false, 0, 0},
};

double take_first(std::vector<float>& list, double otherwise) {
  if (list.empty()) return otherwise;
  const double value = static_cast<double>(list.front());
  list.erase(list.begin());
  return value;
}

void expect(const NodeView& context, std::size_t input, const char* name, const Shape& shape) {
  if (context.has(input) && context.shape(input) != shape)
    context.mismatch(std::string(name) + " has shape " + shape_string(context.shape(input)) + ", expected " +
                     shape_string(shape));
}

RecurrentSizes sizes_of(const NodeView& context, std::int64_t gates, bool cell_state) {
  const ir::Node& node = context.node();
  const std::string direction = node.text("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    context.fail("direction is '" + direction + "', expected forward, reverse or bidirectional");
  const Shape& x = context.shape(0);
  if (x.size() != 3)
    context.mismatch("the sequence has shape " + shape_string(x) + ", expected 3 dimensions");
  const Shape& r = context.shape(2);
  if (r.size() != 3) context.mismatch("R has shape " + shape_string(r) + ", expected 3 dimensions");
  RecurrentSizes s{};
  s.batch_first = node.integer("layout", 0) != 0;
  s.length = x[s.batch_first ? 1 : 0];
  s.batch = x[s.batch_first ? 0 : 1];
  s.input = x[2];
  s.hidden = r[2];
  s.directions = direction == "bidirectional" ? 2 : 1;
  if (node.has("hidden_size") && node.integer("hidden_size", 0) != s.hidden)
    context.fail("hidden_size is " + std::to_string(node.integer("hidden_size", 0)) + ", R has " +
                 std::to_string(s.hidden));
  expect(context, 1, "W", {s.directions, gates * s.hidden, s.input});
  expect(context, 2, "R", {s.directions, gates * s.hidden, s.hidden});
  expect(context, 3, "B", {s.directions, 2 * gates * s.hidden});
  expect(context, 4, "sequence_lens", {s.batch});
  const Shape state =
      s.batch_first ? Shape{s.batch, s.directions, s.hidden} : Shape{s.directions, s.batch, s.hidden};
  expect(context, 5, "initial_h", state);
  if (cell_state) {
    expect(context, 6, "initial_c", state);
    expect(context, 7, "P", {s.directions, 3 * s.hidden});
  }
  return s;
}

Tensor as_double(const EvalContext& context, std::size_t input) {
  return context.has(input) ? convert(context.input(input), DType::f64) : Tensor();
}

std::vector<std::vector<RecurrentActivation>> activations_of(const EvalContext& context,
                                                             const std::vector<std::string>& defaults,
                                                             std::int64_t directions) {
  std::vector<std::string> names;
  if (const auto found = context.node().attributes.find("activations");
      found != context.node().attributes.end())
    names = std::get<std::vector<std::string>>(found->second);
  std::vector<float> alpha = context.node().reals("activation_alpha"),
                     beta = context.node().reals("activation_beta");
  const std::size_t wanted = defaults.size() * static_cast<std::size_t>(directions);
  if (names.empty())
    for (std::int64_t d = 0; d < directions; ++d) names.insert(names.end(), defaults.begin(), defaults.end());
  if (names.size() != wanted)
    context.fail("has " + std::to_string(names.size()) + " activations, expected " + std::to_string(wanted));
  std::vector<std::vector<RecurrentActivation>> result(static_cast<std::size_t>(directions));
  for (std::size_t i = 0; i < names.size(); ++i)
    result[i / defaults.size()].emplace_back(context, names[i], alpha, beta);
  return result;
}

}  // namespace

RecurrentActivation::RecurrentActivation(const NodeView& context, const std::string& name,
                                         std::vector<float>& alpha, std::vector<float>& beta) {
  std::string lower = name;
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  for (const Function& function : kFunctions) {
    if (function.name != lower) continue;
    fn_ = function.fn;
    if (function.has_alpha) alpha_ = take_first(alpha, function.alpha);
    if (function.has_beta) beta_ = take_first(beta, function.beta);
    return;
  }
  context.fail("activation '" + name + "' is not known");
}

double RecurrentStep::times(std::int64_t row, const double* state) const {
  double sum = 0;
  for (std::int64_t i = 0; i < hidden; ++i) sum += recurrent[row * hidden + i] * state[i];
  return sum;
}

double RecurrentStep::clipped(double x) const { return x < -clip ? -clip : x > clip ? clip : x; }

void infer_recurrent(InferContext& context, std::int64_t gates, bool cell_state) {
  const RecurrentSizes s = sizes_of(context, gates, cell_state);
  const DType dtype = context.dtype(0);
  const Shape state =
      s.batch_first ? Shape{s.batch, s.directions, s.hidden} : Shape{s.directions, s.batch, s.hidden};
  context.output(0, dtype,
                 s.batch_first ? Shape{s.batch, s.length, s.directions, s.hidden}
                               : Shape{s.length, s.directions, s.batch, s.hidden});
  context.output(1, dtype, state);
  if (cell_state) context.output(2, dtype, state);
}

std::int64_t recurrent_work(const NodeView& context) {
  if (context.rank(0) != 3) return 0;
  const Shape& x = context.shape(0);
  return saturating_product({x[0], x[1], element_count(context.shape(1)) + element_count(context.shape(2))});
}

void evaluate_recurrent(EvalContext& context, std::int64_t gates, bool cell_state,
                        const std::vector<std::string>& defaults,
                        const std::function<void(const RecurrentStep&)>& cell) {
  const RecurrentSizes s = sizes_of(context, gates, cell_state);
  const auto activations = activations_of(context, defaults, s.directions);
  const Tensor x = as_double(context, 0), w = as_double(context, 1), r = as_double(context, 2),
               b = as_double(context, 3), h0 = as_double(context, 5);
  const Tensor c0 = cell_state ? as_double(context, 6) : Tensor();
  const Tensor p = cell_state ? as_double(context, 7) : Tensor();
  const std::vector<std::int64_t> lengths =
      context.has(4) ? integer_list(context, 4)
                     : std::vector<std::int64_t>(static_cast<std::size_t>(s.batch), s.length);
  const std::string direction = context.node().text("direction", "forward");
  const double clip = context.node().has("clip") ? static_cast<double>(context.node().real("clip", 0))
                                                 : std::numeric_limits<double>::infinity();
  const std::int64_t rows = gates * s.hidden;
  Tensor y = Tensor::zeros(DType::f64, context.output_type(0).shape);
  const Shape state_shape =
      s.batch_first ? Shape{s.batch, s.directions, s.hidden} : Shape{s.directions, s.batch, s.hidden};
  Tensor h_last = Tensor::zeros(DType::f64, state_shape), c_last = Tensor::zeros(DType::f64, state_shape);
  std::vector<double> products(static_cast<std::size_t>(rows)), h(static_cast<std::size_t>(s.hidden)),
      c(h.size()), zeros(static_cast<std::size_t>(rows), 0.0);
  for (std::int64_t d = 0; d < s.directions; ++d)
    for (std::int64_t n = 0; n < s.batch; ++n) {
      const std::int64_t state = (s.batch_first ? n * s.directions + d : d * s.batch + n) * s.hidden;
      for (std::int64_t i = 0; i < s.hidden; ++i) {
        h[static_cast<std::size_t>(i)] = h0.empty() ? 0 : h0.data<double>()[state + i];
        c[static_cast<std::size_t>(i)] = c0.empty() ? 0 : c0.data<double>()[state + i];
      }
      const std::int64_t length = lengths[static_cast<std::size_t>(n)];
      if (length < 0 || length > s.length)
        context.fail("sequence_lens holds " + std::to_string(length) + ", the sequences have " +
                     std::to_string(s.length) + " steps");
      const bool backwards = direction == "reverse" || d == 1;
      const double* wb = b.empty() ? zeros.data() : b.data<double>() + d * 2 * rows;
      for (std::int64_t i = 0; i < length; ++i) {
        const std::int64_t t = backwards ? length - 1 - i : i;
        const double* input =
            x.data<double>() + (s.batch_first ? n * s.length + t : t * s.batch + n) * s.input;
        for (std::int64_t row = 0; row < rows; ++row) {
          const double* weights = w.data<double>() + (d * rows + row) * s.input;
          double sum = wb[row];
          for (std::int64_t k = 0; k < s.input; ++k) sum += weights[k] * input[k];
          products[static_cast<std::size_t>(row)] = sum;
        }
        cell({products.data(), r.data<double>() + d * rows * s.hidden, b.empty() ? zeros.data() : wb + rows,
              p.empty() ? nullptr : p.data<double>() + d * 3 * s.hidden, h.data(), c.data(), s.hidden,
              &activations[static_cast<std::size_t>(d)], clip});
        const std::int64_t to =
            s.batch_first ? (n * s.length + t) * s.directions + d : (t * s.directions + d) * s.batch + n;
        std::copy(h.begin(), h.end(), y.data<double>() + to * s.hidden);
      }
      std::copy(h.begin(), h.end(), h_last.data<double>() + state);
      std::copy(c.begin(), c.end(), c_last.data<double>() + state);
    }
  const Tensor* results[] = {&y, &h_last, &c_last};
  for (std::size_t i = 0; i < context.output_count(); ++i)
    context.set(i, convert(*results[i], context.output_type(i).dtype));
}

}  // namespace saccade::ops
