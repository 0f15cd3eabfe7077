#include "compiler/passes/einsum_as_matmul.h"

#include <algorithm>
#include <array>
#include <string>

#include "compiler/rewrite.h"

namespace saccade::compiler {

namespace {

using ir::Node;
using ir::ValueId;

// A letter a dimension; those of "..." are no letters of the alphabet.
struct Equation {
  std::vector<std::string> inputs;
  std::string output;
};

bool has(const std::string& letters, char letter) { return letters.find(letter) != std::string::npos; }

bool has_twice(const std::string& letters) {
  for (std::size_t i = 0; i < letters.size(); ++i)
    if (letters.find(letters[i], i + 1) != std::string::npos) return true;
  return false;
}

// `term` with letters for what "..." stands for, as many as make it `rank` long; nothing where they do not
// fit.
std::optional<std::string> spelled_out(std::string term, std::size_t rank) {
  const std::size_t dots = term.find("...");
  if (dots == std::string::npos) return term.size() == rank ? std::optional(term) : std::nullopt;
  if (term.size() - 3 > rank) return std::nullopt;
  // Those of several operands meet at their ends.
  std::string letters;
  for (std::size_t i = rank - (term.size() - 3); i-- > 0;) letters += static_cast<char>('0' + i);
  return term.replace(dots, 3, letters);
}

std::optional<Equation> parse(const ir::Graph& graph, const Node& node) {
  std::string text = node.text("equation", "");
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const std::size_t arrow = text.find("->");
  if (arrow == std::string::npos) return std::nullopt;
  Equation equation;
  std::string left = text.substr(0, arrow) + ",";
  for (const ValueId id : node.inputs) {
    const Shape* shape = known_shape(graph, id);
    const std::size_t comma = left.find(',');
    if (shape == nullptr || element_count(*shape) == 0 || comma == std::string::npos ||
        graph.value(id).dtype != DType::f32)
      return std::nullopt;
    const std::optional<std::string> term = spelled_out(left.substr(0, comma), shape->size());
    if (!term || has_twice(*term)) return std::nullopt;
    equation.inputs.push_back(*term);
    left.erase(0, comma + 1);
  }
  const Shape* result = known_shape(graph, node.outputs[0]);
  if (!left.empty() || result == nullptr) return std::nullopt;
  const std::optional<std::string> output = spelled_out(text.substr(arrow + 2), result->size());
  if (!output || has_twice(*output)) return std::nullopt;
  equation.output = *output;
  return equation;
}

// Dimensions by letters, of an operand and of what becomes of it.
struct Lettered {
  ValueId id;
  std::string letters;
};

ValueId turned(Edit& edit, std::size_t position, const std::string& name, const Lettered& x,
               const std::string& order) {
  std::vector<std::int64_t> perm;
  for (const char letter : order) perm.push_back(static_cast<std::int64_t>(x.letters.find(letter)));
  return insert_transpose(edit, position, name + ":turned", x.id, perm);
}

// What a letter is to a product of two.
struct Letters {
  std::string batch, rows, columns, summed;
};

class Product {
 public:
  Product(Edit& edit, std::size_t index, const Equation& equation)
      : edit_(edit),
        index_(index),
        node_(edit.graph().nodes[index]),
        a_{node_.inputs[0], equation.inputs[0]},
        b_{node_.inputs[1], equation.inputs[1]},
        output_(equation.output) {}

  bool rewrite() {
    for (const char letter : output_)
      (has(a_.letters, letter) && has(b_.letters, letter) ? l_.batch
       : has(a_.letters, letter)                          ? l_.rows
                                                          : l_.columns) += letter;
    for (const char letter : a_.letters)
      if (!has(output_, letter)) l_.summed += letter;
    for (const char letter : a_.letters + b_.letters) {
      const bool both = has(a_.letters, letter) && has(b_.letters, letter);
      if (!both && !has(output_, letter)) return false;  // a sum over one operand
      if (both && size(a_, letter) != size(b_, letter)) return false;
    }
    const bool vectors = element_count(sizes(l_.rows)) == 1 && element_count(sizes(l_.columns)) == 1;
    const ValueId product = l_.summed.empty() ? of_elements() : vectors ? of_vectors() : of_matrices();
    const std::string order = l_.batch + l_.rows + l_.columns;
    const ValueId apart = insert_reshape(edit_, index_, node_.name + ":apart", product, sizes(order));
    edit_.replace(index_, turned(edit_, index_, node_.name, {apart, order}, output_));
    return true;
  }

 private:
  std::int64_t size(const Lettered& x, char letter) const {
    return (*known_shape(edit_.graph(), x.id))[x.letters.find(letter)];
  }
  Shape sizes(const std::string& letters) const {
    Shape shape;
    for (const char letter : letters) shape.push_back(size(has(a_.letters, letter) ? a_ : b_, letter));
    return shape;
  }
  static Shape joined(Shape shape, const Shape& more) {
    shape.insert(shape.end(), more.begin(), more.end());
    return shape;
  }

  ValueId of_elements() {
    const ValueId a = turned(edit_, index_, node_.name + ":a", a_, l_.batch + l_.rows);
    const ValueId b = turned(edit_, index_, node_.name + ":b", b_, l_.batch + l_.columns);
    const Shape ones(l_.columns.size(), 1), more_ones(l_.rows.size(), 1);
    const Shape wide = joined(sizes(l_.batch + l_.rows), ones);
    const Shape tall = joined(joined(sizes(l_.batch), more_ones), sizes(l_.columns));
    const ValueId x = insert_reshape(edit_, index_, node_.name + ":a", a, wide);
    const ValueId y = insert_reshape(edit_, index_, node_.name + ":b", b, tall);
    return edit_.insert(index_, Node{node_.name, "Mul", {x, y}, {}, {}});
  }

  // Many products of two vectors: matrices of one row and one column would be packed for nothing.
  ValueId of_vectors() {
    const ValueId a = turned(edit_, index_, node_.name + ":a", a_, l_.batch + l_.rows + l_.summed);
    const ValueId b = turned(edit_, index_, node_.name + ":b", b_, l_.batch + l_.columns + l_.summed);
    const Shape lines = joined(sizes(l_.batch), {element_count(sizes(l_.summed))});
    const ValueId x = insert_reshape(edit_, index_, node_.name + ":a", a, lines);
    const ValueId y = insert_reshape(edit_, index_, node_.name + ":b", b, lines);
    const ValueId each = edit_.insert(index_, Node{node_.name + ":each", "Mul", {x, y}, {}, {}});
    const ValueId axis = add_integers(edit_.graph(), node_.name + ":axis", {-1});
    return edit_.insert(index_,
                        Node{node_.name, "ReduceSum", {each, axis}, {}, {{"keepdims", std::int64_t{0}}}});
  }

  ValueId of_matrices() {
    const ValueId a = turned(edit_, index_, node_.name + ":a", a_, l_.batch + l_.rows + l_.summed);
    const ValueId b = turned(edit_, index_, node_.name + ":b", b_, l_.batch + l_.summed + l_.columns);
    const std::int64_t depth = element_count(sizes(l_.summed)), rows = element_count(sizes(l_.rows)),
                       columns = element_count(sizes(l_.columns));
    // Without a batch rows keep their dimensions: one matrix for all of them.
    const Shape of_rows = l_.batch.empty() && !l_.rows.empty() ? sizes(l_.rows) : Shape{rows};
    const Shape left = joined(joined(sizes(l_.batch), of_rows), {depth});
    const ValueId x = insert_reshape(edit_, index_, node_.name + ":a", a, left);
    const ValueId y =
        insert_reshape(edit_, index_, node_.name + ":b", b, joined(sizes(l_.batch), {depth, columns}));
    return edit_.insert(index_, Node{node_.name, "MatMul", {x, y}, {}, {}});
  }

  Edit& edit_;
  std::size_t index_;
  const Node node_;
  Lettered a_, b_;
  std::string output_;
  Letters l_;
};

bool rewrite(Edit& edit, std::size_t index) {
  const Node& node = edit.graph().nodes[index];
  if (node.op != "Einsum" || node.inputs.empty() || node.inputs.size() > 2) return false;
  const std::optional<Equation> equation = parse(edit.graph(), node);
  if (!equation) return false;
  if (node.inputs.size() == 2) return Product(edit, index, *equation).rewrite();
  std::string from = equation->inputs[0], to = equation->output;
  const Lettered x{node.inputs[0], from};
  if (from == to || !std::is_permutation(from.begin(), from.end(), to.begin(), to.end())) return false;
  edit.replace(index, turned(edit, index, std::string(node.name), x, to));
  return true;
}

constexpr std::array<Rule, 1> kRules{rewrite};

}  // namespace

void einsum_as_matmul(ir::Graph& graph) { apply_rules(graph, kRules); }

}  // namespace saccade::compiler
