#include "ops/op_check.h"

#include <cmath>
#include <random>

#include "ops/convert.h"
#include "ops/infer.h"

namespace saccade::ops {

Tensor floats(Shape shape, std::vector<float> values) { return Tensor::of<float>(std::move(shape), values); }
Tensor ints(Shape shape, std::vector<std::int64_t> values) {
  return Tensor::of<std::int64_t>(std::move(shape), values);
}
Tensor ints(std::vector<std::int64_t> values) {
  return ints({static_cast<std::int64_t>(values.size())}, values);
}

Tensor bools(Shape shape, std::vector<bool> values) {
  Tensor t(DType::boolean, std::move(shape));
  std::copy(values.begin(), values.end(), t.data<bool>());
  return t;
}

Tensor counting(Shape shape, float first) {
  Tensor t(DType::f32, std::move(shape));
  for (std::int64_t i = 0; i < t.count(); ++i) t.data<float>()[i] = first + static_cast<float>(i);
  return t;
}

Tensor noise(Shape shape, std::uint32_t seed) {
  std::mt19937 generator(seed);
  Tensor t(DType::f32, std::move(shape));
  for (std::int64_t i = 0; i < t.count(); ++i)
    t.data<float>()[i] = static_cast<float>(static_cast<std::int32_t>(generator())) * 0x1p-31f;
  return t;
}

std::vector<Tensor> run_all(const std::string& op, const std::vector<Tensor>& inputs,
                            const ir::Attributes& attributes, std::size_t outputs) {
  ir::Graph graph;
  ir::Node node{"under_test", op, {}, {}, attributes};
  std::vector<const Tensor*> data;
  for (const Tensor& input : inputs) {
    node.inputs.push_back(
        input.empty() ? ir::kNoValue : graph.add_constant("c" + std::to_string(graph.values.size()), input));
    data.push_back(input.empty() ? nullptr : &input);
  }
  const ir::ValueId first = graph.add_node(node, outputs);
  for (std::size_t i = 0; i < outputs; ++i) graph.outputs.push_back(first + static_cast<ir::ValueId>(i));
  verify(graph);
  infer_graph(graph);
  std::vector<Tensor> results = evaluate_node(graph.nodes[0], graph, data);
  EXPECT_EQ(results.size(), outputs);
  for (std::size_t i = 0; i < outputs; ++i) {
    const ir::Value& value = graph.value(first + static_cast<ir::ValueId>(i));
    EXPECT_TRUE(value.shape.has_value() || find(op)->is(kDataDependentShape)) << op;
    if (value.shape) {
      EXPECT_EQ(*value.shape, results[i].shape()) << op;
    }
    EXPECT_EQ(value.dtype, results[i].dtype()) << op;
  }
  return results;
}

Tensor run(const std::string& op, const std::vector<Tensor>& inputs, const ir::Attributes& attributes) {
  return run_all(op, inputs, attributes, 1)[0];
}

void expect_floats(const Tensor& y, const Shape& shape, const std::vector<double>& values, double tolerance) {
  ASSERT_EQ(y.shape(), shape) << shape_string(y.shape());
  ASSERT_EQ(static_cast<std::size_t>(y.count()), values.size());
  const Tensor wide = convert(y, DType::f64);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double have = wide.data<double>()[i];
    if (std::isnan(values[i]))
      EXPECT_TRUE(std::isnan(have)) << "element " << i << " is " << have;
    else if (std::isinf(values[i]))
      EXPECT_EQ(have, values[i]) << "element " << i;
    else
      EXPECT_NEAR(have, values[i], tolerance) << "element " << i;
  }
}

void expect_ints(const Tensor& y, const Shape& shape, const std::vector<std::int64_t>& values) {
  ASSERT_EQ(y.shape(), shape) << shape_string(y.shape());
  const Tensor wide = convert(y, DType::i64);
  EXPECT_EQ(std::vector<std::int64_t>(wide.values<std::int64_t>().begin(), wide.values<std::int64_t>().end()),
            values);
}

void expect_refused(ErrorCode code, const std::string& part, const std::string& op,
                    const std::vector<Tensor>& inputs, const ir::Attributes& attributes,
                    std::size_t outputs) {
  try {
    run_all(op, inputs, attributes, outputs);
    ADD_FAILURE() << op << " accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    EXPECT_NE(std::string(e.what()).find("under_test"), std::string::npos) << e.what();
    EXPECT_NE(std::string(e.what()).find(part), std::string::npos) << e.what();
  }
}

}  // namespace saccade::ops
