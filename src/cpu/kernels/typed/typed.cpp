// Choice and preparation of casts, comparisons, logic, selection and remainders.
#include "cpu/kernels/typed/typed.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "cpu/cost.h"
#include "cpu/iteration_space.h"
#include "cpu/kernels/families.h"

namespace saccade::cpu {

namespace {

using compiler::KernelDesc;
using compiler::KernelQuery;
using compiler::PreparedKernel;
using compiler::TensorDesc;

struct Coded {
  std::string_view op;
  TypedCode code;
  std::size_t sources;
  bool swapped;  ///< the operands change places
};

constexpr Coded kCodes[] = {
    {"Cast", TypedCode::cast, 1, false},         {"Less", TypedCode::less, 2, false},
    {"Greater", TypedCode::less, 2, true},       {"LessOrEqual", TypedCode::less_equal, 2, false},
    {"And", TypedCode::both, 2, false},          {"GreaterOrEqual", TypedCode::less_equal, 2, true},
    {"Or", TypedCode::either, 2, false},         {"Equal", TypedCode::equal, 2, false},
    {"Xor", TypedCode::one, 2, false},           {"Not", TypedCode::negate, 1, false},
    {"Where", TypedCode::choose, 3, false},      {"IsNaN", TypedCode::is_nan, 1, false},
    {"IsInf", TypedCode::is_infinite, 1, false}, {"Mod", TypedCode::remainder, 2, false}};

const Coded* find_code(std::string_view op) {
  for (const Coded& coded : kCodes)
    if (coded.op == op) return &coded;
  return nullptr;
}

std::optional<TypedElement> element_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return TypedElement::real;
    case DType::f16:
      return TypedElement::half;
    case DType::boolean:
      return TypedElement::boolean;
    case DType::u8:
      return TypedElement::unsigned_byte;
    case DType::i8:
      return TypedElement::signed_byte;
    case DType::i32:
      return TypedElement::whole;
    case DType::i64:
      return TypedElement::long_whole;
    default:
      return std::nullopt;
  }
}

const char* check_types(TypedCode code, const KernelQuery& query) {
  const DType from = query.inputs[0].dtype, to = query.outputs[0].dtype;
  switch (code) {
    case TypedCode::cast:
      return element_of(from) && element_of(to) ? nullptr : "a type that is not cast here";
    case TypedCode::choose:
      return query.inputs[1].dtype == to && query.inputs[2].dtype == to ? nullptr
                                                                        : "the element types differ";
    case TypedCode::remainder:
      return from == DType::f32 && query.inputs[1].dtype == from && to == from ? nullptr : "not float32";
    case TypedCode::is_nan:
    case TypedCode::is_infinite:
      return from == DType::f32 ? nullptr : "not float32";
    case TypedCode::less:
    case TypedCode::less_equal:
    case TypedCode::equal:
      return element_of(from) && from != DType::f16 && query.inputs[1].dtype == from
                 ? nullptr
                 : "a type that is not compared here";
    default:
      return nullptr;
  }
}

const char* can_run(const KernelQuery& query) {
  const Coded* coded = find_code(query.node.op);
  if (coded == nullptr || query.inputs.size() != coded->sources || query.outputs.size() != 1)
    return "operands missing";
  const TensorDesc& y = query.outputs[0];
  if (y.rank() > kTypedDims) return "too many dimensions";
  if (y.count() == 0) return "empty";
  for (const TensorDesc& x : query.inputs) {
    if (!x.present) return "an input is absent";
    if (x.rank() > y.rank()) return "an input has more dimensions than the output";
  }
  return check_types(coded->code, query);
}

PreparedKernel prepare(const KernelQuery& query) {
  const Coded& coded = *find_code(query.node.op);
  auto state = std::make_shared<TypedState>();
  TypedState& s = *state;
  const std::vector<IterationDim> dims = iteration_space(query);
  s.code = coded.code;
  if (query.node.op == "Mod" && query.node.integer("fmod", 0) == 0) s.code = TypedCode::modulo;
  s.from = element_of(query.inputs[0].dtype).value_or(TypedElement::real);
  s.to = element_of(query.outputs[0].dtype).value_or(TypedElement::real);
  s.positive = query.node.integer("detect_positive", 1) != 0;
  s.negative = query.node.integer("detect_negative", 1) != 0;
  s.rank = static_cast<int>(dims.size());
  s.sources = static_cast<int>(coded.sources);
  s.sizes[0] = static_cast<std::int64_t>(dtype_size(query.outputs[0].dtype));
  for (int k = 0; k < s.sources; ++k) {
    s.numbers[k] = coded.swapped ? 1 - k : k;
    s.sizes[k + 1] =
        static_cast<std::int64_t>(dtype_size(query.inputs[static_cast<std::size_t>(s.numbers[k])].dtype));
  }
  std::int64_t outer = 1;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    s.dims[d] = dims[d].size;
    s.strides[0][d] = dims[d].strides[0];
    for (int k = 0; k < s.sources; ++k)
      s.strides[k + 1][d] = dims[d].strides[static_cast<std::size_t>(s.numbers[k]) + 1];
    if (d + 2 < dims.size()) outer *= dims[d].size;
  }
  const std::int64_t height = s.dims[s.rank - 2], width = s.dims[s.rank - 1];
  s.rows = std::clamp<std::int64_t>(kTypedBlock / width, 1, height);
  s.pieces = s.rows > 1 ? 1 : (width + kTypedBlock - 1) / kTypedBlock;
  s.blocks_inside = s.pieces > 1 ? height * s.pieces : (height + s.rows - 1) / s.rows;
  s.blocks = outer * s.blocks_inside;
  const std::int64_t block = s.pieces > 1 ? kTypedBlock : s.rows * width;
  // Tasks of 16384 to 65536 elements: long against starting one.
  s.blocks_per_task =
      std::max<std::int64_t>(1, std::clamp<std::int64_t>(s.blocks * block / 8, 16384, 65536) / block);
  PreparedKernel prepared;
  prepared.phase_tasks = {(s.blocks + s.blocks_per_task - 1) / s.blocks_per_task};
  prepared.constants_used.assign(query.inputs.size(), false);
  prepared.state = state;
  return prepared;
}

template <Isa kIsa>
double cost(const KernelQuery& query) {
  const auto count = static_cast<double>(query.outputs[0].count());
  double bytes = static_cast<double>(dtype_size(query.outputs[0].dtype)) * count;
  for (const TensorDesc& x : query.inputs)
    bytes += static_cast<double>(dtype_size(x.dtype)) * static_cast<double>(x.count());
  const IterationDim row = iteration_space(query).back();
  const bool gathered =
      std::any_of(row.strides.begin(), row.strides.end(), [](auto step) { return step > 1; });
  return count * (gathered ? 1.0 : 2.0 / lanes(kIsa)) + bytes / bytes_per_ns(kIsa);
}

template <Isa kIsa>
constexpr KernelDesc entry(std::string_view name, std::string_view op, compiler::KernelFn fn) {
  return {name, op, kIsa, false, can_run, cost<kIsa>, prepare, fn};
}

constexpr KernelDesc kTable[] = {
    entry<Isa::avx512>("typed.cast.avx512", "Cast", avx512::typed),
    entry<Isa::avx512>("typed.less.avx512", "Less", avx512::typed),
    entry<Isa::avx512>("typed.less_equal.avx512", "LessOrEqual", avx512::typed),
    entry<Isa::avx512>("typed.greater.avx512", "Greater", avx512::typed),
    entry<Isa::avx512>("typed.greater_equal.avx512", "GreaterOrEqual", avx512::typed),
    entry<Isa::avx512>("typed.equal.avx512", "Equal", avx512::typed),
    entry<Isa::avx512>("typed.and.avx512", "And", avx512::typed),
    entry<Isa::avx512>("typed.or.avx512", "Or", avx512::typed),
    entry<Isa::avx512>("typed.xor.avx512", "Xor", avx512::typed),
    entry<Isa::avx512>("typed.not.avx512", "Not", avx512::typed),
    entry<Isa::avx512>("typed.where.avx512", "Where", avx512::typed),
    entry<Isa::avx512>("typed.is_nan.avx512", "IsNaN", avx512::typed),
    entry<Isa::avx512>("typed.is_inf.avx512", "IsInf", avx512::typed),
    entry<Isa::avx512>("typed.mod.avx512", "Mod", avx512::typed),
    entry<Isa::avx2>("typed.cast.avx2", "Cast", avx2::typed),
    entry<Isa::avx2>("typed.less.avx2", "Less", avx2::typed),
    entry<Isa::avx2>("typed.less_equal.avx2", "LessOrEqual", avx2::typed),
    entry<Isa::avx2>("typed.greater.avx2", "Greater", avx2::typed),
    entry<Isa::avx2>("typed.greater_equal.avx2", "GreaterOrEqual", avx2::typed),
    entry<Isa::avx2>("typed.equal.avx2", "Equal", avx2::typed),
    entry<Isa::avx2>("typed.and.avx2", "And", avx2::typed),
    entry<Isa::avx2>("typed.or.avx2", "Or", avx2::typed),
    entry<Isa::avx2>("typed.xor.avx2", "Xor", avx2::typed),
    entry<Isa::avx2>("typed.not.avx2", "Not", avx2::typed),
    entry<Isa::avx2>("typed.where.avx2", "Where", avx2::typed),
    entry<Isa::avx2>("typed.is_nan.avx2", "IsNaN", avx2::typed),
    entry<Isa::avx2>("typed.is_inf.avx2", "IsInf", avx2::typed),
    entry<Isa::avx2>("typed.mod.avx2", "Mod", avx2::typed),
    entry<Isa::portable>("typed.cast.portable", "Cast", portable::typed),
    entry<Isa::portable>("typed.less.portable", "Less", portable::typed),
    entry<Isa::portable>("typed.less_equal.portable", "LessOrEqual", portable::typed),
    entry<Isa::portable>("typed.greater.portable", "Greater", portable::typed),
    entry<Isa::portable>("typed.greater_equal.portable", "GreaterOrEqual", portable::typed),
    entry<Isa::portable>("typed.equal.portable", "Equal", portable::typed),
    entry<Isa::portable>("typed.and.portable", "And", portable::typed),
    entry<Isa::portable>("typed.or.portable", "Or", portable::typed),
    entry<Isa::portable>("typed.xor.portable", "Xor", portable::typed),
    entry<Isa::portable>("typed.not.portable", "Not", portable::typed),
    entry<Isa::portable>("typed.where.portable", "Where", portable::typed),
    entry<Isa::portable>("typed.is_nan.portable", "IsNaN", portable::typed),
    entry<Isa::portable>("typed.is_inf.portable", "IsInf", portable::typed),
    entry<Isa::portable>("typed.mod.portable", "Mod", portable::typed),
};

}  // namespace

std::span<const KernelDesc> typed_kernels() { return kTable; }

}  // namespace saccade::cpu
