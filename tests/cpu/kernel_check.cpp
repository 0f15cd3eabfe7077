#include "cpu/kernel_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <set>

#include "base/half.h"
#include "cpu/emulated_target.h"
#include "cpu/operand.h"
#include "cpu/stored_kernel.h"
#include "cpu/target.h"
#include "ops/convert.h"
#include "ops/infer.h"
#include "platform/thread_pool.h"

namespace saccade::kernel_check {
namespace {

using compiler::KernelArgs;
using compiler::KernelDesc;
using compiler::KernelQuery;
using compiler::PreparedKernel;
using compiler::TensorDesc;

std::uint64_t seed_of(std::string_view text, std::size_t slot) {
  std::uint64_t h = 1469598103934665603u + slot;
  for (char c : text) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return h;
}

Tensor random_tensor(const Input& input, std::uint64_t seed) {
  Tensor t(input.dtype, input.shape);
  std::mt19937_64 generator(seed);
  std::uniform_real_distribution<double> range(input.low, input.high);
  const std::int64_t n = t.count();
  switch (input.dtype) {
    case DType::f32:
      for (std::int64_t i = 0; i < n; ++i) t.data<float>()[i] = static_cast<float>(range(generator));
      break;
    case DType::f64:
      for (std::int64_t i = 0; i < n; ++i) t.data<double>()[i] = range(generator);
      break;
    case DType::bf16:
      for (std::int64_t i = 0; i < n; ++i)
        t.data<BFloat16>()[i] = to_bfloat16(static_cast<float>(range(generator)));
      break;
    case DType::boolean:
      for (std::int64_t i = 0; i < n; ++i) static_cast<std::uint8_t*>(t.raw())[i] = generator() & 1;
      break;
    case DType::i64:
      for (std::int64_t i = 0; i < n; ++i) t.data<std::int64_t>()[i] = std::llround(range(generator));
      break;
    case DType::i32:
      for (std::int64_t i = 0; i < n; ++i)
        t.data<std::int32_t>()[i] = static_cast<std::int32_t>(std::lround(range(generator)));
      break;
    default: {
      // Only moved about, never computed with: any bits will do.
      auto* bytes = static_cast<unsigned char*>(t.raw());
      for (std::size_t i = 0; i < t.bytes(); ++i) bytes[i] = static_cast<unsigned char>(generator());
    }
  }
  return t;
}

/// A case made concrete: data, the reference's outputs, descriptors.
struct Setup {
  ir::Graph graph;
  ir::Node node;
  std::vector<Tensor> inputs;  // empty where absent
  std::vector<const Tensor*> constants;
  std::vector<TensorDesc> input_descs, output_descs;
  std::vector<std::vector<std::int64_t>> input_parents, output_parents;
  std::vector<Tensor> expected;

  KernelQuery query() const {
    return {node, input_descs, constants, output_descs, compiler::Precision::fp32};
  }
};

Setup set_up(const Case& test, const std::vector<Tensor>* given = nullptr) {
  Setup s;
  s.node.name = test.name;
  s.node.op = test.op;
  s.node.attributes = test.attributes;
  std::vector<const Tensor*> pointers;
  for (std::size_t i = 0; i < test.inputs.size(); ++i) {
    const Input& in = test.inputs[i];
    if (!in.present) {
      s.inputs.emplace_back();
    } else if (given != nullptr) {
      s.inputs.push_back((*given)[i]);
    } else {
      s.inputs.push_back(in.value ? *in.value : random_tensor(in, seed_of(test.name, i)));
    }
  }
  for (std::size_t i = 0; i < test.inputs.size(); ++i) {
    const Input& in = test.inputs[i];
    const Tensor& t = s.inputs[i];
    pointers.push_back(in.present ? &t : nullptr);
    s.constants.push_back(in.present && in.constant ? &t : nullptr);
    s.input_descs.push_back(in.present ? describe_operand(t.dtype(), t.shape(), in.place) : TensorDesc{});
    if (!in.present) {
      s.node.inputs.push_back(ir::kNoValue);
      continue;
    }
    ir::Value value;
    value.name = "in" + std::to_string(i);
    value.dtype = t.dtype();
    value.shape = t.shape();
    if (in.constant) value.constant = t;
    s.node.inputs.push_back(s.graph.add_value(std::move(value)));
  }
  const ir::ValueId first = s.graph.add_node(s.node, test.outputs.size());
  for (std::size_t i = 0; i < test.outputs.size(); ++i)
    s.node.outputs.push_back(first + static_cast<ir::ValueId>(i));
  s.expected = ops::evaluate_node(s.node, s.graph, pointers);
  for (std::size_t i = 0; i < test.outputs.size(); ++i)
    s.output_descs.push_back(
        describe_operand(s.expected.at(i).dtype(), s.expected[i].shape(), test.outputs[i]));
  return s;
}

/// How tasks are handed out.
enum class Split { whole, single_reversed, uneven, resumed, threads };

const char* split_name(Split split) {
  switch (split) {
    case Split::whole:
      return "all tasks at once";
    case Split::single_reversed:
      return "one task at a time, last first";
    case Split::uneven:
      return "uneven groups of tasks";
    case Split::resumed:
      return "uneven groups of tasks, each resuming the one before";
    case Split::threads:
      return "three threads";
  }
  return "";
}

struct Team {
  const KernelDesc* kernel;
  KernelArgs args;
  std::int64_t tasks;
  std::vector<Scratch>* scratch;
  std::atomic<std::int64_t> next{0};

  static void work(void* argument, int index) noexcept {
    Team& team = *static_cast<Team*>(argument);
    KernelArgs args = team.args;
    args.thread_scratch = (*team.scratch)[static_cast<std::size_t>(index)].data();
    args.end = -1;
    for (std::int64_t t = team.next++; t < team.tasks; t = team.next++) {
      args.resumes = args.end == t;
      args.begin = t;
      args.end = t + 1;
      team.kernel->fn(args);
    }
  }
};

constexpr int kThreads = 3;

void call(const KernelDesc& kernel, const PreparedKernel& prepared, const std::vector<const void*>& src,
          const std::vector<void*>& dst, Split split) {
  std::vector<Scratch> scratch;
  for (int i = 0; i < kThreads; ++i) scratch.emplace_back(prepared.thread_scratch);
  Scratch shared(prepared.shared_scratch);
  KernelArgs args{prepared.state.get(), src.data(), dst.data(), scratch[0].data(), shared.data(), 0, 0, 0};
  for (std::size_t phase = 0; phase < prepared.phase_tasks.size(); ++phase) {
    const std::int64_t tasks = prepared.phase_tasks[phase];
    args.phase = static_cast<int>(phase);
    if (split == Split::threads) {
      static platform::ThreadTeam threads(kThreads);
      Team team{&kernel, args, tasks, &scratch};
      threads.run(&Team::work, &team);
      continue;
    }
    std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
    if (split == Split::whole) {
      ranges.emplace_back(0, tasks);
    } else if (split == Split::single_reversed) {
      for (std::int64_t t = tasks; t-- > 0;) ranges.emplace_back(t, t + 1);
    } else {
      for (std::int64_t t = 0, size = 1; t < tasks; t += size, size = size * 2 + 1)
        ranges.emplace_back(t, std::min(tasks, t + size));
    }
    for (auto [begin, end] : ranges) {
      args.resumes = split == Split::resumed && begin > 0;
      if (!args.resumes)
        for (Scratch& s : scratch) s.spoil();
      args.begin = begin;
      args.end = end;
      kernel.fn(args);
    }
  }
  for (const Scratch& s : scratch) EXPECT_TRUE(s.guards_intact()) << "wrote outside of its thread scratch";
  EXPECT_TRUE(shared.guards_intact()) << "wrote outside of the shared scratch";
}

/// The operands of a run, where asked with output 0 in the buffer of an input.
struct Buffers {
  std::vector<Operand> inputs, outputs;
  std::vector<const void*> src;
  std::vector<void*> dst;

  Buffers(const Case& test, const Setup& setup, const PreparedKernel& prepared,
          std::optional<std::size_t> in_place) {
    for (std::size_t i = 0; i < setup.inputs.size(); ++i) {
      const bool held = i < prepared.constants_used.size() && prepared.constants_used[i];
      if (!test.inputs[i].present || held) {
        inputs.emplace_back();
        src.push_back(nullptr);
        continue;
      }
      inputs.emplace_back(setup.input_descs[i]);
      inputs.back().store(setup.inputs[i]);
      src.push_back(inputs.back().data());
    }
    for (std::size_t i = 0; i < setup.output_descs.size(); ++i) {
      if (i == 0 && in_place) {
        dst.push_back(inputs[*in_place].data());
        outputs.emplace_back();
        continue;
      }
      outputs.emplace_back(setup.output_descs[i]);
      dst.push_back(outputs.back().data());
    }
  }
};

/// Runs once. Returns the outputs as row-major tensors; reports writes outside of the operands.
std::vector<Tensor> run_once(const Case& test, const Setup& setup, const KernelDesc& kernel,
                             const PreparedKernel& prepared, Split split,
                             std::optional<std::size_t> in_place) {
  const Buffers buffers(test, setup, prepared, in_place);
  const auto& [inputs, outputs, src, dst] = buffers;
  call(kernel, prepared, src, dst, split);
  std::vector<Tensor> results;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Operand& from = i == 0 && in_place ? inputs[*in_place] : outputs[i];
    results.push_back(from.load());
    EXPECT_EQ(from.damage(), "") << "output " << i;
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (src[i] == nullptr || i == in_place) continue;
    EXPECT_EQ(inputs[i].damage(), "") << "input " << i;
    EXPECT_TRUE(same_bits(inputs[i].load(), setup.inputs[i])) << "changed its input " << i;
  }
  return results;
}

double as_double(const Tensor& t, std::int64_t i) {
  switch (t.dtype()) {
    case DType::f32:
      return static_cast<double>(t.data<float>()[i]);
    case DType::f64:
      return t.data<double>()[i];
    case DType::f16:
      return static_cast<double>(to_float(t.data<Half>()[i]));
    case DType::bf16:
      return static_cast<double>(to_float(t.data<BFloat16>()[i]));
    default:
      return std::numeric_limits<double>::quiet_NaN();
  }
}

bool is_real(DType dtype) {
  return dtype == DType::f32 || dtype == DType::f64 || dtype == DType::f16 || dtype == DType::bf16;
}

void compare(const Tensor& got, const Tensor& want, double tolerance) {
  ASSERT_EQ(got.dtype(), want.dtype());
  ASSERT_EQ(got.shape(), want.shape());
  if (tolerance == 0 || !is_real(want.dtype())) {
    const std::size_t size = dtype_size(want.dtype());
    for (std::int64_t i = 0; i < want.count(); ++i) {
      const auto offset = static_cast<std::size_t>(i) * size;
      ASSERT_EQ(0, std::memcmp(static_cast<const char*>(got.raw()) + offset,
                               static_cast<const char*>(want.raw()) + offset, size))
          << "element " << position(want.shape(), i) << ": " << as_double(got, i) << " instead of "
          << as_double(want, i);
    }
    return;
  }
  double largest = 0;
  for (std::int64_t i = 0; i < want.count(); ++i)
    if (std::isfinite(as_double(want, i))) largest = std::max(largest, std::fabs(as_double(want, i)));
  const double exact = tolerance * (largest > 0 ? largest : 1);
  std::int64_t otherwise = 0;  // rounded the other way
  for (std::int64_t i = 0; i < want.count(); ++i) {
    const double g = as_double(got, i), w = as_double(want, i);
    if (std::isnan(w) ? std::isnan(g) : g == w) continue;
    double allowed = exact;
    if (want.dtype() == DType::bf16) {
      if (std::fabs(g - w) > exact) ++otherwise;
      allowed += std::ldexp(1.0, std::ilogb(w == 0 ? exact : w) - 7);
    }
    ASSERT_LE(std::fabs(g - w), allowed) << "element " << position(want.shape(), i) << ": " << g
                                         << " instead of " << w << " (largest magnitude " << largest << ")";
  }
  EXPECT_LE(otherwise, 2 + want.count() / 50) << "rounded the other way, of " << want.count();
}

/// Items [n, n + 1) of the batch.
Tensor batch_item(const Tensor& t, std::int64_t n) {
  Shape shape = t.shape();
  const std::int64_t batch = shape[0];
  shape[0] = 1;
  Tensor item(t.dtype(), shape);
  std::memcpy(item.raw(), static_cast<const char*>(t.raw()) + item.bytes() * static_cast<std::size_t>(n),
              item.bytes());
  EXPECT_LT(n, batch);
  return item;
}

/// Each item of the batch alone must give the same bits as in the batch.
void check_batch(const Case& test, const Setup& setup, const KernelDesc& kernel,
                 const std::vector<Tensor>& results) {
  const std::int64_t batch = setup.inputs[test.batched[0]].dim(0);
  for (std::int64_t n = 0; n < batch; ++n) {
    SCOPED_TRACE("item " + std::to_string(n) + " of the batch alone");
    std::vector<Tensor> inputs = setup.inputs;
    for (std::size_t slot : test.batched) inputs[slot] = batch_item(inputs[slot], n);
    const Setup one = set_up(test, &inputs);
    ASSERT_EQ(kernel.can_run(one.query()), nullptr) << "the choice of kernel depends on the batch";
    const PreparedKernel prepared = kernel.prepare(one.query());
    const std::vector<Tensor> got = run_once(test, one, kernel, prepared, Split::whole, std::nullopt);
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_TRUE(same_bits(got[i], batch_item(results[i], n))) << "output " << i << " depends on the batch";
  }
}

/// A task of the last phase must write the part that the kernel told, of one image, and nothing else; the
/// parts are all of it.
void check_parts(const Case& test, const Setup& setup, const KernelDesc& kernel,
                 const PreparedKernel& prepared) {
  const Shape& shape = setup.output_descs[0].dims;
  ASSERT_EQ(shape.size(), 4u);
  const std::int64_t channels = shape[1], pixels = shape[2] * shape[3];
  const auto parts = static_cast<std::int64_t>(prepared.parts.size());
  ASSERT_EQ(prepared.phase_tasks.back(), shape[0] * parts);
  std::vector<int> covered(static_cast<std::size_t>(channels * pixels));
  for (const compiler::PicturePart& part : prepared.parts)
    for (std::int64_t c = part.first_channel; c < part.end_channel; ++c)
      for (std::int64_t i = part.first_pixel; i < part.end_pixel; ++i)
        ++covered.at(static_cast<std::size_t>(c * pixels + i));
  EXPECT_TRUE(std::all_of(covered.begin(), covered.end(), [](int times) { return times == 1; }));

  constexpr std::int64_t kMost = 1 << 18;  // elements looked at
  if (prepared.phase_tasks.back() * element_count(shape) > kMost) return;
  const Buffers buffers(test, setup, prepared, std::nullopt);
  Scratch scratch(prepared.thread_scratch), shared(prepared.shared_scratch);
  KernelArgs args{
      prepared.state.get(), buffers.src.data(), buffers.dst.data(), scratch.data(), shared.data(), 0, 0, 0};
  const auto last = static_cast<int>(prepared.phase_tasks.size()) - 1;
  for (; args.phase < last; ++args.phase) {
    args.end = prepared.phase_tasks[static_cast<std::size_t>(args.phase)];
    kernel.fn(args);
  }
  Tensor before = buffers.outputs[0].load();
  const std::size_t size = dtype_size(before.dtype());
  for (args.begin = prepared.phase_tasks.back(); args.begin-- > 0;) {
    args.end = args.begin + 1;
    kernel.fn(args);
    Tensor after = buffers.outputs[0].load();
    const compiler::PicturePart& part = prepared.parts[static_cast<std::size_t>(args.begin % parts)];
    for (std::int64_t i = 0; i < after.count(); ++i) {
      const auto offset = static_cast<std::size_t>(i) * size;
      if (std::memcmp(static_cast<const char*>(before.raw()) + offset,
                      static_cast<const char*>(after.raw()) + offset, size) == 0)
        continue;
      const std::int64_t image = i / (channels * pixels), c = i / pixels % channels, pixel = i % pixels;
      ASSERT_TRUE(image == args.begin / parts && c >= part.first_channel && c < part.end_channel &&
                  pixel >= part.first_pixel && pixel < part.end_pixel)
          << "task " << args.begin << " wrote " << position(shape, i);
    }
    before = std::move(after);
  }
}

/// Not in place, and in the place of every input where the kernel says it can.
std::vector<std::optional<std::size_t>> places_of_output(const Setup& setup, const KernelDesc& kernel,
                                                         const PreparedKernel& prepared) {
  std::vector<std::optional<std::size_t>> places = {std::nullopt};
  const TensorDesc& out = setup.output_descs[0];
  for (std::size_t i = 0; i < setup.input_descs.size() && i < 32; ++i) {
    const TensorDesc& in = setup.input_descs[i];
    const bool held = i < prepared.constants_used.size() && prepared.constants_used[i];
    if ((kernel.in_place >> i & 1u) != 0 && in.present && !held && in.dtype == out.dtype &&
        in.dims == out.dims && in.strides == out.strides)
      places.emplace_back(i);
  }
  return places;
}

void check_kernel(const Case& test, const Setup& setup, const KernelDesc& kernel) {
  const KernelQuery query = setup.query();
  const double cost = kernel.cost(query);
  EXPECT_TRUE(std::isfinite(cost) && cost >= 0) << "cost " << cost;
  const PreparedKernel prepared = kernel.prepare(query), stored = cpu::prepare_from_store(kernel, query);
  ASSERT_FALSE(prepared.phase_tasks.empty());
  ASSERT_NE(kernel.fn, nullptr);
  const std::vector<std::optional<std::size_t>> places = places_of_output(setup, kernel, prepared);
  std::vector<Tensor> first;
  for (Split split : {Split::whole, Split::single_reversed, Split::uneven, Split::resumed, Split::threads}) {
    for (const std::optional<std::size_t> in_place : places) {
      SCOPED_TRACE(std::string(split_name(split)) +
                   (in_place ? ", in place of input " + std::to_string(*in_place) : ""));
      std::vector<Tensor> results =
          run_once(test, setup, kernel, split == Split::threads ? stored : prepared, split, in_place);
      if (::testing::Test::HasFatalFailure()) return;
      if (!first.empty()) {
        for (std::size_t i = 0; i < results.size(); ++i)
          EXPECT_TRUE(same_bits(results[i], first[i])) << "output " << i << " depends on the split";
        continue;
      }
      first = std::move(results);
      for (std::size_t i = 0; i < first.size(); ++i) {
        SCOPED_TRACE("output " + std::to_string(i));
        compare(first[i], setup.expected[i], test.tolerance);
      }
    }
  }
  if (!prepared.parts.empty()) check_parts(test, setup, kernel, prepared);
  if (!test.batched.empty()) check_batch(test, setup, kernel, first);
}

std::vector<const KernelDesc*> accepting(const Case& test, const Setup& setup, std::string* refusals) {
  std::vector<const KernelDesc*> found;
  const KernelQuery query = setup.query();
  for (const KernelDesc* kernel : kernels()) {
    if (kernel->op != test.op) continue;
    const char* reason = kernel->can_run(query);
    if (reason == nullptr) {
      found.push_back(kernel);
    } else if (refusals != nullptr) {
      *refusals += std::string(kernel->name) + ": " + reason + "\n";
    }
  }
  return found;
}

/// The code a kernel stands for: its instruction set, emulations apart.
std::string code_of(const KernelDesc& kernel) {
  return kernel.name.ends_with(".emulated") ? "emulated" : isa_name(kernel.isa);
}

/// Fails where an instruction set that has kernels of the expected family for this operator has none for the
/// case.
void expect_coverage(const Case& test, const std::vector<const KernelDesc*>& found,
                     const std::string& refusals) {
  std::set<std::string> wanted, have;
  for (const KernelDesc* kernel : kernels())
    // Beyond avx512_vnni there are a few kernels for narrow types: only for cases that name the instruction
    // set.
    if (kernel->op == test.op && kernel->name.starts_with(test.expect) &&
        (kernel->isa <= Isa::avx512_vnni || test.expect.ends_with(isa_name(kernel->isa))))
      wanted.insert(code_of(*kernel));
  for (const KernelDesc* kernel : found)
    if (kernel->name.starts_with(test.expect)) have.insert(code_of(*kernel));
  EXPECT_FALSE(wanted.empty()) << "no kernel in the tables for " << test.op << " called '" << test.expect
                               << "…'";
  for (const std::string& code : wanted)
    EXPECT_TRUE(have.contains(code)) << "no " << code << " kernel '" << test.expect
                                     << "…' accepts the case:\n"
                                     << refusals;
}

}  // namespace

const std::vector<const KernelDesc*>& kernels() {
  static const std::vector<const KernelDesc*> list = [] {
    std::vector<const KernelDesc*> all;
    for (const KernelDesc* kernel : cpu::target().kernels(detected_isa())) all.push_back(kernel);
    for (const KernelDesc* kernel : cpu::emulated_target().kernels(detected_isa())) all.push_back(kernel);
    return all;
  }();
  return list;
}

Input tensor(Shape shape, Place place) {
  Input input;
  input.shape = std::move(shape);
  input.place = place;
  return input;
}

Place nhwc(std::int64_t before, std::int64_t after) { return {Layout::channels_last, before, after, 1}; }

Input channels_last(Shape shape, std::int64_t before, std::int64_t after) {
  return tensor(std::move(shape), nhwc(before, after));
}

Input constant(Shape shape, double low, double high) {
  Input input = tensor(std::move(shape));
  input.constant = true;
  input.low = low;
  input.high = high;
  return input;
}

Input constant(Tensor value) {
  Input input = constant(value.shape());
  input.dtype = value.dtype();
  input.value = std::move(value);
  return input;
}

Input integers(std::vector<std::int64_t> values) {
  const auto n = static_cast<std::int64_t>(values.size());
  return constant(Tensor::of<std::int64_t>({n}, values));
}

Input of_type(DType dtype, Input input) {
  input.dtype = dtype;
  return input;
}

Input in_range(double low, double high, Input input) {
  input.low = low;
  input.high = high;
  return input;
}

Input absent() {
  Input input;
  input.present = false;
  return input;
}

Input constant_of_bf16(Shape shape) {
  Tensor value(DType::f32, std::move(shape));
  std::mt19937 random(static_cast<unsigned>(value.count()));
  std::uniform_real_distribution<float> range(-1.0f, 1.0f);
  for (std::int64_t i = 0; i < value.count(); ++i)
    value.data<float>()[i] = to_float(to_bfloat16(range(random)));
  return constant(std::move(value));
}

Case stored_narrow(Case test, const std::vector<std::size_t>& slots, std::optional<DType> to) {
  test.name += " stored as bf16";
  for (const std::size_t slot : slots) {
    if (slot >= test.inputs.size() || !test.inputs[slot].present) continue;
    Input& input = test.inputs[slot];
    input.dtype = DType::bf16;
    if (input.value) input.value = ops::convert(*input.value, DType::bf16);
    test.name += " " + std::to_string(slot);
  }
  if (to) {
    test.attributes["to"] = std::string(dtype_name(*to));
    test.name += std::string(" to ") + dtype_name(*to);
  }
  return test;
}

std::vector<const KernelDesc*> candidates(const Case& test, std::string* refusals) {
  return accepting(test, set_up(test), refusals);
}

void check(const Case& test) {
  SCOPED_TRACE(test.op + " '" + test.name + "'");
  const Setup setup = set_up(test);
  std::string refusals;
  const std::vector<const KernelDesc*> found = accepting(test, setup, &refusals);
  expect_coverage(test, found, refusals);
  for (const KernelDesc* kernel : found) {
    SCOPED_TRACE(std::string(kernel->name));
    check_kernel(test, setup, *kernel);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace saccade::kernel_check
