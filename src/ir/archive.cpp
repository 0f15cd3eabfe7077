#include "ir/archive.h"

#include <cstring>
#include <utility>

#include "saccade/error.h"

namespace saccade::ir {

namespace {

constexpr DType kLastType = DType::boolean;
constexpr int kMostNesting = 64;
/// Bytes that an element of a list takes at least.
constexpr std::size_t kLeastValue = 2 * sizeof(std::uint64_t) + 3, kLeastNode = 5 * sizeof(std::uint64_t),
                      kLeastText = sizeof(std::uint64_t);

enum class Content : std::uint8_t { variable, constant, constant_without_data };

void write_tensor(ArchiveWriter& out, const Tensor& tensor, bool with_data) {
  out.number(tensor.dtype());
  out.numbers(tensor.shape());
  if (with_data && tensor.bytes() > 0) out.raw({static_cast<const std::byte*>(tensor.raw()), tensor.bytes()});
}

std::pair<DType, Shape> read_type(ArchiveReader& in) {
  const DType dtype = in.choice(kLastType);
  Shape shape = in.numbers<std::int64_t>();
  std::int64_t bytes = 0;  // a count that fits, of bytes that fit
  if (__builtin_mul_overflow(element_count(shape), static_cast<std::int64_t>(dtype_size(dtype)), &bytes))
    ArchiveReader::fail();
  return {dtype, std::move(shape)};
}

Tensor read_tensor(ArchiveReader& in) {
  auto [dtype, shape] = read_type(in);
  const auto size = static_cast<std::size_t>(element_count(shape)) * dtype_size(dtype);
  const std::span<const std::byte> data = in.take(size);
  Tensor tensor(dtype, std::move(shape));
  if (size > 0) std::memcpy(tensor.raw(), data.data(), size);
  return tensor;
}

class Writer {
 public:
  explicit Writer(ArchiveWriter& out) : out_(out) {}

  void graph(const Graph& g, const std::function<bool(ValueId)>& with_data) {
    out_.text(g.name);
    out_.number(static_cast<std::uint64_t>(g.values.size()));
    for (std::size_t i = 0; i < g.values.size(); ++i)
      value(g.values[i], with_data == nullptr || with_data(static_cast<ValueId>(i)));
    out_.number(static_cast<std::uint64_t>(g.nodes.size()));
    for (const Node& n : g.nodes) node(n);
    out_.numbers(g.inputs);
    out_.numbers(g.outputs);
  }

 private:
  void value(const Value& v, bool with_data) {
    out_.text(v.name);
    out_.number(v.dtype);
    out_.number(static_cast<std::uint8_t>(v.shape.has_value()));
    if (v.shape) out_.numbers(*v.shape);
    texts(v.dim_names);
    out_.number(!v.constant ? Content::variable
                : with_data ? Content::constant
                            : Content::constant_without_data);
    if (v.constant) write_tensor(out_, *v.constant, with_data);
  }

  void node(const Node& n) {
    out_.text(n.name);
    out_.text(n.op);
    out_.numbers(n.inputs);
    out_.numbers(n.outputs);
    out_.number(static_cast<std::uint64_t>(n.attributes.size()));
    for (const auto& [key, held] : n.attributes) {
      out_.text(key);
      out_.number(static_cast<std::uint8_t>(held.index()));
      std::visit([&](const auto& content) { attribute(content); }, held);
    }
  }

  void attribute(std::int64_t number) { out_.number(number); }
  void attribute(float number) { out_.number(number); }
  void attribute(const std::string& text) { out_.text(text); }
  void attribute(const std::vector<std::int64_t>& list) { out_.numbers(list); }
  void attribute(const std::vector<float>& list) { out_.numbers(list); }
  void attribute(const std::vector<std::string>& list) { texts(list); }
  void attribute(const Tensor& tensor) { write_tensor(out_, tensor, true); }
  void attribute(const std::shared_ptr<const Graph>& inner) { graph(*inner, nullptr); }

  void texts(const std::vector<std::string>& list) {
    out_.number(static_cast<std::uint64_t>(list.size()));
    for (const std::string& text : list) out_.text(text);
  }

  ArchiveWriter& out_;
};

class Reader {
 public:
  Reader(ArchiveReader& in, const std::function<Tensor(ValueId, DType, const Shape&)>& left_out)
      : in_(in), left_out_(left_out) {}

  Graph graph(int nesting) {
    if (nesting > kMostNesting) ArchiveReader::fail();
    Graph g;
    g.name = in_.text();
    const std::size_t values = in_.count(kLeastValue);
    for (std::size_t i = 0; i < values; ++i) g.values.push_back(value(static_cast<ValueId>(i), nesting));
    const std::size_t nodes = in_.count(kLeastNode);
    for (std::size_t i = 0; i < nodes; ++i) g.nodes.push_back(node(nesting));
    g.inputs = in_.numbers<ValueId>();
    g.outputs = in_.numbers<ValueId>();
    return g;
  }

 private:
  Value value(ValueId id, int nesting) {
    Value v;
    v.name = in_.text();
    v.dtype = in_.choice(kLastType);
    if (in_.flag()) v.shape = in_.numbers<std::int64_t>();
    v.dim_names = texts();
    switch (in_.choice(Content::constant_without_data)) {
      case Content::variable:
        break;
      case Content::constant:
        v.constant = read_tensor(in_);
        break;
      case Content::constant_without_data: {
        if (nesting > 0) ArchiveReader::fail();
        const auto [dtype, shape] = read_type(in_);
        v.constant = left_out_(id, dtype, shape);
        break;
      }
    }
    return v;
  }

  Node node(int nesting) {
    Node n;
    n.name = in_.text();
    n.op = in_.text();
    n.inputs = in_.numbers<ValueId>();
    n.outputs = in_.numbers<ValueId>();
    const std::size_t attributes = in_.count(kLeastText + 1);
    for (std::size_t i = 0; i < attributes; ++i) {
      std::string key = in_.text();
      n.attributes.insert_or_assign(std::move(key), attribute(nesting));
    }
    return n;
  }

  Attribute attribute(int nesting) {
    switch (in_.number<std::uint8_t>()) {  // the order of ir::Attribute
      case 0:
        return in_.number<std::int64_t>();
      case 1:
        return in_.number<float>();
      case 2:
        return in_.text();
      case 3:
        return in_.numbers<std::int64_t>();
      case 4:
        return in_.numbers<float>();
      case 5:
        return texts();
      case 6:
        return read_tensor(in_);
      case 7:
        return std::make_shared<const Graph>(graph(nesting + 1));
      default:
        ArchiveReader::fail();
    }
  }

  std::vector<std::string> texts() {
    std::vector<std::string> list(in_.count(kLeastText));
    for (std::string& text : list) text = in_.text();
    return list;
  }

  ArchiveReader& in_;
  const std::function<Tensor(ValueId, DType, const Shape&)>& left_out_;
};

}  // namespace

void write_graph(ArchiveWriter& out, const Graph& graph, const std::function<bool(ValueId)>& with_data) {
  Writer(out).graph(graph, with_data);
}

Graph read_graph(ArchiveReader& in, const std::function<Tensor(ValueId, DType, const Shape&)>& left_out) {
  return Reader(in, left_out).graph(0);
}

}  // namespace saccade::ir
