// Sums of products by an equation of letters, "ij,jk->ik"; "..." stands for dimensions that broadcast. Plain
// loops over all letters.
#include <algorithm>
#include <map>

#include "ops/dispatch.h"
#include "ops/indexing.h"
#include "ops/product.h"
#include "ops/table.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"equation", AttributeKind::text, true}};

/// A dimension's label: a letter, or -1, -2, … for the dimensions behind "...", the last one being -1.
using Labels = std::vector<int>;

/// The labels of one term for an operand of `rank`; `ellipsis` is the number of dimensions that "..." stands
/// for.
Labels parse_term(const NodeView& context, const std::string& term, std::size_t ellipsis) {
  Labels labels;
  for (std::size_t i = 0; i < term.size(); ++i) {
    if (term.compare(i, 3, "...") == 0) {
      for (std::size_t k = ellipsis; k > 0; --k) labels.push_back(-static_cast<int>(k));
      i += 2;
    } else if ((term[i] >= 'a' && term[i] <= 'z') || (term[i] >= 'A' && term[i] <= 'Z')) {
      labels.push_back(term[i]);
    } else {
      context.fail("'" + term + "' is no term of an equation");
    }
  }
  return labels;
}

std::size_t letters(const std::string& term) {
  return static_cast<std::size_t>(std::count_if(term.begin(), term.end(), [](char c) { return c != '.'; }));
}

struct Equation {
  std::vector<Labels> inputs;
  Labels output;
  std::map<int, std::int64_t> sizes;
};

Equation parse(const NodeView& context) {
  std::string text = context.node().text("equation", "");
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const std::size_t arrow = text.find("->");
  std::string left = text.substr(0, arrow);
  std::vector<std::string> terms;
  for (std::size_t from = 0; from <= left.size();) {
    const std::size_t comma = std::min(left.find(',', from), left.size());
    terms.push_back(left.substr(from, comma - from));
    from = comma + 1;
  }
  if (terms.size() != context.input_count())
    context.fail("the equation '" + text + "' has " + std::to_string(terms.size()) + " terms for " +
                 std::to_string(context.input_count()) + " inputs");
  Equation equation;
  std::size_t widest = 0;
  std::map<int, int> uses;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const bool dots = terms[i].find("...") != std::string::npos;
    const std::size_t named = letters(terms[i]), rank = context.rank(i);
    if (dots ? named > rank : named != rank)
      context.mismatch("term '" + terms[i] + "' of the equation does not fit an input of shape " +
                       shape_string(context.shape(i)));
    const Labels labels = parse_term(context, terms[i], rank - named);
    if (labels.size() != rank) context.fail("'" + terms[i] + "' is no term of an equation");
    widest = std::max(widest, dots ? rank - named : 0);
    for (std::size_t d = 0; d < rank; ++d) {
      const std::int64_t size = context.shape(i)[d];
      const auto [known, fresh] = equation.sizes.emplace(labels[d], size);
      if (!fresh && known->second != size) {
        if (known->second != 1 && size != 1)
          context.mismatch("dimensions " + std::to_string(known->second) + " and " + std::to_string(size) +
                           " of the equation '" + text + "' differ");
        if (known->second == 1) known->second = size;  // 1 with 0 is 0
      }
      if (labels[d] > 0) ++uses[labels[d]];
    }
    equation.inputs.push_back(labels);
  }
  if (arrow != std::string::npos) {
    equation.output = parse_term(context, text.substr(arrow + 2), widest);
  } else {  // the broadcast dimensions, then the letters that occur once, by alphabet
    for (std::size_t k = widest; k > 0; --k) equation.output.push_back(-static_cast<int>(k));
    for (const auto& [label, count] : uses)
      if (count == 1) equation.output.push_back(label);
  }
  for (std::size_t i = 0; i < equation.output.size(); ++i) {
    if (!equation.sizes.contains(equation.output[i]))
      context.fail("the result of the equation '" + text + "' has a letter that no input has");
    if (std::count(equation.output.begin(), equation.output.end(), equation.output[i]) > 1)
      context.fail("the result of the equation '" + text + "' has a letter twice");
  }
  return equation;
}

Shape output_shape(const Equation& equation) {
  Shape shape;
  for (const int label : equation.output) shape.push_back(equation.sizes.at(label));
  return shape;
}

void infer(InferContext& context) {
  for (std::size_t i = 1; i < context.input_count(); ++i)
    if (context.dtype(i) != context.dtype(0)) context.fail("operands differ in type");
  context.output(0, context.dtype(0), output_shape(parse(context)));
}

/// Strides by which an operand of the labels `from` is read along the dimensions `to`; a repeated label is a
/// diagonal.
Strides strides_along(const Labels& from, const Shape& shape, const Labels& to) {
  const Strides dense = dense_strides(shape);
  Strides result(to.size(), 0);
  for (std::size_t i = 0; i < to.size(); ++i)
    for (std::size_t d = 0; d < from.size(); ++d)
      if (from[d] == to[i] && shape[d] != 1) result[i] += dense[d];
  return result;
}

template <class T>
void contract(EvalContext& context, const Equation& equation) {
  Labels summed;
  Shape summed_shape;
  for (const auto& [label, size] : equation.sizes)
    if (std::find(equation.output.begin(), equation.output.end(), label) == equation.output.end()) {
      summed.push_back(label);
      summed_shape.push_back(size);
    }
  const Shape shape = output_shape(equation);
  const std::size_t count = context.input_count();
  std::vector<Strides> outer, inner;
  for (std::size_t i = 0; i < count; ++i) {
    outer.push_back(strides_along(equation.inputs[i], context.shape(i), equation.output));
    inner.push_back(strides_along(equation.inputs[i], context.shape(i), summed));
  }
  const std::int64_t depth = product(summed_shape, 0, summed_shape.size());
  const Strides out_strides = dense_strides(shape), in_strides = dense_strides(summed_shape);
  T* y = context.out().data<T>();
  for (std::int64_t o = 0; o < context.out().count(); ++o) {
    Accumulator<T> sum = 0;
    for (std::int64_t s = 0; s < depth; ++s) {
      Accumulator<T> term = 1;
      for (std::size_t i = 0; i < count; ++i) {
        std::int64_t at = 0;
        for (std::size_t d = 0; d < shape.size(); ++d) at += o / out_strides[d] % shape[d] * outer[i][d];
        for (std::size_t d = 0; d < summed_shape.size(); ++d)
          at += s / in_strides[d] % summed_shape[d] * inner[i][d];
        term *= static_cast<Accumulator<T>>(context.input(i).data<T>()[at]);
      }
      sum += term;
    }
    y[o] = static_cast<T>(sum);
  }
}

void evaluate(EvalContext& context) {
  const Equation equation = parse(context);
  visit_number(context, context.dtype(0),
               [&](auto tag) { contract<typename decltype(tag)::Type>(context, equation); });
}

std::int64_t multiply_adds(const ir::Node& node, std::span<const TensorType* const> inputs,
                           std::span<const TensorType>) {
  std::int64_t total = 1;
  for (const auto& [label, size] : parse(NodeView(node, inputs, {})).sizes)
    total = saturating_product(total, size);
  return total;
}

}  // namespace

constinit const OpDef kEinsum{.name = "Einsum",
                              .attributes = kAttributes,
                              .min_inputs = 1,
                              .max_inputs = -1,
                              .traits = kMultiplyAdd,
                              .infer = infer,
                              .evaluate = evaluate,
                              .multiply_adds = multiply_adds};

}  // namespace saccade::ops
