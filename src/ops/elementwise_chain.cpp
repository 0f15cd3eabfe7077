// A fused run of elementwise operators on f32, made by the compiler only; its program is read by
// chain_program.h. Inputs may be bf16 or bytes, read as the numbers that they are; `to` makes the result bf16
// or bytes, as a Cast does.
#include <algorithm>

#include "ops/chain_program.h"
#include "ops/convert.h"
#include "ops/dispatch.h"
#include "ops/indexing.h"
#include "ops/mixed.h"
#include "ops/table.h"

namespace saccade::ops {

namespace {

constexpr AttributeDef kAttributes[] = {{"program", AttributeKind::texts, true}, {"to", AttributeKind::text}};

bool may_stand(DType dtype) { return is_storage(dtype) || dtype == DType::u8 || dtype == DType::i8; }

void infer(InferContext& context) {
  const auto inputs = static_cast<int>(context.input_count());
  parse_chain(context.node(), inputs);
  Shape shape;
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    if (!may_stand(context.dtype(i)))
      context.fail("input " + std::to_string(i) + " is " + dtype_name(context.dtype(i)) +
                   ", expected float32, bfloat16, uint8 or int8");
    shape = broadcast_shapes(context, shape, context.shape(i));
  }
  const DType to = parse_dtype(context, context.node().text("to", dtype_name(DType::f32)));
  if (!may_stand(to))
    context.fail(std::string("result is ") + dtype_name(to) + ", expected float32, bfloat16, uint8 or int8");
  context.output(0, to, shape);
}

void evaluate(EvalContext& context) {
  const auto inputs = static_cast<int>(context.input_count());
  const ChainProgram program = parse_chain(context.node(), inputs);
  Tensor y(DType::f32, context.output_type(0).shape);
  std::vector<Tensor> sources;
  for (std::size_t i = 0; i < context.input_count(); ++i)
    sources.push_back(convert(context.input(i), DType::f32));
  std::vector<double> registers(static_cast<std::size_t>(inputs) + program.instructions.size());
  std::vector<Strides> strides;
  for (std::size_t i = 0; i < context.input_count(); ++i)
    strides.push_back(broadcast_strides(context.shape(i), y.shape()));
  std::vector<std::int64_t> index(y.rank(), 0), offsets(context.input_count(), 0);
  for (std::int64_t o = 0; o < y.count(); ++o) {
    for (std::size_t i = 0; i < offsets.size(); ++i)
      registers[i] = static_cast<double>(sources[i].data<float>()[offsets[i]]);
    y.data<float>()[o] = run_chain(program, registers);
    for (std::size_t axis = y.rank(); axis-- > 0;) {
      for (std::size_t i = 0; i < offsets.size(); ++i) offsets[i] += strides[i][axis];
      if (++index[axis] < y.dim(axis)) break;
      for (std::size_t i = 0; i < offsets.size(); ++i) offsets[i] -= strides[i][axis] * y.dim(axis);
      index[axis] = 0;
    }
  }
  context.set(0, convert(y, context.output_type(0).dtype));
}

}  // namespace

constinit const OpDef kElementwiseChain{.name = "ElementwiseChain",
                                        .attributes = kAttributes,
                                        .min_inputs = 1,
                                        .max_inputs = -1,
                                        .infer = infer,
                                        .evaluate = evaluate};

}  // namespace saccade::ops
