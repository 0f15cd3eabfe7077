#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "cpu/cases.h"

namespace saccade::kernel_check {
namespace {

Case chain(const std::string& name, std::vector<std::string> program, std::vector<Input> inputs,
           Place output = {}) {
  Case test;
  test.name = name;
  test.op = "ElementwiseChain";
  test.attributes = {{"program", std::move(program)}};
  test.inputs = std::move(inputs);
  test.outputs = {output};
  test.tolerance = 1e-6;
  test.expect = "elementwise.";
  return test;
}

/// One instruction on values of a range.
Case unary(const std::string& instruction, double low, double high, std::int64_t count = 1001) {
  return chain(instruction, {instruction}, {in_range(low, high, tensor({count}))});
}

void add_functions(std::vector<Case>& cases) {
  for (const char* function : {"Relu %0",
                               "Clip %0 -0.5 2",

                               "LeakyRelu %0 0.1",
                               "Sigmoid %0",
                               "HardSigmoid %0 0.1666667 0.5",
                               "HardSigmoid %0",
                               "HardSwish %0",
                               "Silu %0",
                               "Tanh %0",
                               "Elu %0 0.7",
                               "Selu %0",
                               "Celu %0 1.3",
                               "Exp %0",
                               "Square %0",
                               "Abs %0",
                               "Neg %0",
                               "Reciprocal %0",
                               "Floor %0",
                               "Ceil %0",
                               "Round %0",
                               "Sign %0",
                               "Softplus %0",
                               "Softsign %0",
                               "Mish %0",
                               "Gelu %0",
                               "Gelu %0 1",
                               "Erf %0",
                               "Sin %0",
                               "Cos %0",
                               "Atan %0",
                               "Pow %0 1",
                               "Pow %0 -1",
                               "Pow %0 4",
                               "Pow %0 0.375",
                               "Pow %0 -2.5",
                               "Pow 1.75 %0",
                               "Pow %0 %0",
                               "Pow %0 2",
                               "Pow %0 3",
                               "Pow 2 %0",
                               "Shrink %0 0.1 0.4",
                               "ThresholdedRelu %0 0.3",
                               "Add %0 0.25",
                               "Sub 1 %0",
                               "Sub %0 1",
                               "Div 2 %0",
                               "Mul %0 -3",
                               "Min %0 0.5",
                               "Max 0.5 %0",
                               "PRelu %0 0.2",
                               "Add %0 %0"}) {
    cases.push_back(unary(function, -4, 4));
    cases.push_back(unary(function, -0.001, 0.001, 37));
  }
  for (const char* function : {"Sigmoid %0", "Silu %0", "Tanh %0", "Elu %0 0.7", "Exp %0", "HardSwish %0",
                               "Softplus %0", "Mish %0", "Gelu %0", "Erf %0", "Celu %0 1.3", "Softsign %0",
                               "Sin %0", "Cos %0", "Atan %0", "Pow 0.875 %0", "Pow 2 %0"})
    cases.push_back(unary(function, -88, 88, 333));
  for (const char* function : {"Sin %0", "Cos %0", "Atan %0"}) {
    cases.push_back(unary(function, -8192, 8192, 3001));
    cases.push_back(unary(function, -30000, 30000, 333));  // some by the plain function
  }
  cases.push_back(chain("powers of many", {"Pow %0 %1"},
                        {in_range(0, 3, tensor({5, 700})), in_range(-9, 9, tensor({700}))}));
  for (const char* function : {"Sqrt %0", "Rsqrt %0", "Log %0", "Pow %0 0.3", "Pow %0 1.25"}) {
    cases.push_back(unary(function, 0.01, 4));
    cases.push_back(unary(function, 1e-30, 1e30, 99));
  }
  const float nan = std::nanf(""), infinity = INFINITY;
  for (const char* function : {"Relu %0",
                               "Clip %0 -1 1",
                               "Sigmoid %0",
                               "Tanh %0",
                               "HardSwish %0",
                               "Exp %0",
                               "Abs %0",
                               "Min %0 1",
                               "Max 1 %0",
                               "Sign %0",
                               "Floor %0",
                               "Round %0",
                               "Add %0 1",
                               "Gelu %0",
                               "Erf %0",
                               "Softsign %0",
                               "ThresholdedRelu %0 0.3",
                               "Celu %0 1.3",
                               "Shrink %0 0.1 0.4",
                               "Sin %0",
                               "Cos %0",
                               "Atan %0",
                               "Pow %0 0.5",
                               "Pow %0 2.5",
                               "Pow %0 0",
                               "Pow 0.5 %0"}) {
    Case test = unary(function, 0, 1);
    test.name += " of special values";
    test.inputs[0].value = Tensor::of<float>(
        {11}, {nan, infinity, -infinity, 0.0f, -0.0f, 1e38f, -1e38f, 0.5f, 1.5f, -2.5f, nan});
    cases.push_back(test);
  }
  // Every remainder of a vector and of the unrolled loop.
  for (std::int64_t count = 1; count <= 70; count += count < 20 ? 1 : 7)
    for (const char* function : {"Relu %0", "Sigmoid %0"}) {
      Case test = unary(function, -3, 3, count);
      test.name += " of " + std::to_string(count);
      cases.push_back(test);
    }
}

void add_broadcasts(std::vector<Case>& cases) {
  const Shape full{2, 19, 7, 9};
  const std::vector<Shape> others{full,         {1, 19, 1, 1}, {2, 19, 1, 1}, {2, 1, 7, 9}, {1, 1, 7, 9},
                                  {1, 1, 1, 9}, {2, 19, 7, 1}, {1},           {},           {19, 1, 1},
                                  {9},          {2, 1, 1, 1},  {1, 19, 7, 9}};
  for (const Shape& other : others)
    for (Layout layout : {Layout::plain, Layout::channels_last})
      for (const char* program : {"Add %0 %1", "Sub %1 %0", "Mul %1 %0"}) {
        Case test = chain(program + (" " + shape_string(other)), {program},
                          {tensor(full, {layout}), tensor(other, {layout})}, {layout});
        if (layout == Layout::channels_last) test.name += " channels last";
        cases.push_back(test);
      }
  for (std::int64_t channels : {1, 3, 8, 16, 24, 33, 600}) {
    const std::string name = std::to_string(channels) + " channels";
    const Shape shape{2, channels, 5, 6}, gate{2, channels, 1, 1};
    cases.push_back(
        chain("gate " + name, {"Mul %0 %1"}, {channels_last(shape), channels_last(gate)}, nhwc()));
    cases.push_back(chain("slices " + name, {"Mul %0 %1", "Add %3 %2", "Relu %4"},
                          {channels_last(shape, 3, 2), channels_last(gate), channels_last(shape)},
                          nhwc(1, 4)));
    cases.push_back(chain("slice in place " + name, {"Add %0 %1"},
                          {channels_last(shape, 3, 2), channels_last(shape)}, nhwc(3, 2)));
  }
  cases.push_back(chain("both broadcast", {"Add %0 %1"}, {tensor({4, 1, 6, 1}), tensor({5, 1, 7})}));
  cases.push_back(
      chain("mixed layouts", {"Add %0 %1"}, {tensor({2, 5, 4, 6}), channels_last({2, 5, 4, 6})}, nhwc()));
  cases.push_back(chain("mixed layouts, plain result", {"Mul %0 %1"},
                        {tensor({2, 5, 4, 6}), channels_last({2, 5, 4, 6})}));
  cases.push_back(chain("eight dimensions", {"Add %0 %1"},
                        {tensor({2, 1, 2, 3, 1, 2, 3, 2}), tensor({2, 2, 1, 3, 2, 2, 1, 2})}));
  cases.push_back(chain("scalar", {"Add %0 %1"}, {tensor({}), tensor({})}));
  cases.push_back(chain("long rows", {"Add %0 %1", "Relu %2"}, {tensor({3, 1700}), tensor({3, 1})}));
  cases.push_back(chain("long rows, bias", {"Add %0 %1"}, {tensor({5, 1300}), tensor({1300})}));
  cases.push_back(chain("three dimensions channels last", {"Add %0 %1"},
                        {channels_last({2, 20, 31}), channels_last({1, 20, 1})}, nhwc()));
}

void add_programs(std::vector<Case>& cases) {
  const Shape shape{2, 24, 9, 8}, gate{2, 24, 1, 1};
  for (Layout layout : {Layout::plain, Layout::channels_last}) {
    const Place place{layout};
    const std::string suffix = layout == Layout::plain ? "" : " channels last";
    const auto of = [&](Shape dims) { return tensor(std::move(dims), place); };
    cases.push_back(chain("add relu" + suffix, {"Add %0 %1", "Relu %2"}, {of(shape), of(shape)}, place));
    cases.push_back(
        chain("mul clip" + suffix, {"Mul %0 %1", "Clip %2 -0.3 0.4"}, {of(shape), of(gate)}, place));
    cases.push_back(chain("gated" + suffix, {"Sigmoid %1", "Mul %0 %2"}, {of(shape), of(gate)}, place));
    cases.push_back(chain("squeeze and excite" + suffix,
                          {"HardSigmoid %1 0.2 0.5", "Mul %0 %3", "Add %4 %2", "HardSwish %5"},
                          {of(shape), of(gate), of(shape)}, place));
    cases.push_back(chain("scale and shift" + suffix, {"Mul %0 %1", "Add %3 %2", "LeakyRelu %4 0.1"},
                          {of(shape), of({1, 24, 1, 1}), of({1, 24, 1, 1})}, place));
    cases.push_back(chain("gate of two" + suffix, {"Add %1 %2", "Sigmoid %3", "Mul %0 %4"},
                          {of(shape), of(gate), of({1, 24, 1, 1})}, place));
    cases.push_back(chain("relu used twice" + suffix, {"Add %0 %1", "Relu %2", "Mul %2 %3"},
                          {of(shape), of(shape)}, place));
    cases.push_back(
        chain("spatial gate" + suffix, {"Sigmoid %1", "Mul %0 %2"}, {of(shape), of({2, 1, 9, 8})}, place));
  }
  std::vector<std::string> longer{"Add %0 1"};
  for (int i = 1; i < 12; ++i)
    longer.push_back((i % 2 == 0 ? "Mul %" : "Add %") + std::to_string(i) + " 0.9");
  cases.push_back(chain("twelve instructions", longer, {tensor({3, 5, 700})}));
  Case batch = chain("batch", {"Mul %0 %1", "Sigmoid %2"},
                     {channels_last({3, 20, 6, 7}), channels_last({3, 20, 1, 1})}, nhwc());
  batch.batched = {0, 1};
  cases.push_back(batch);
  cases.push_back(chain("many tasks", {"Add %0 %1", "Relu %2"}, {tensor({40, 3000}), tensor({3000})}));
  cases.push_back(chain("constant operand", {"Add %0 %1"}, {tensor({3, 40}), constant({40})}));
}

/// All that there is so far with operands stored as bf16: all of them, the first only, all but the first.
void add_narrow(std::vector<Case>& cases) {
  for (const Case& test : std::vector<Case>(cases)) {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < test.inputs.size(); ++i) all.push_back(i);
    const bool gelu = test.name.find("Gelu") != std::string::npos;  // by gelu_short
    if (gelu && test.inputs[0].value) continue;                     // which has its limit at -infinity, 0
    cases.push_back(stored_narrow(test, all, DType::bf16));
    if (gelu) cases.back().tolerance = 1e-4;
    cases.push_back(stored_narrow(test, {0}));
    if (all.size() > 1) cases.push_back(stored_narrow(test, {all.begin() + 1, all.end()}, DType::bf16));
  }
  // A conversion alone, of everything that there is.
  for (const DType from : {DType::f32, DType::bf16}) {
    const DType to = from == DType::f32 ? DType::bf16 : DType::f32;
    const float nan = std::nanf("");
    for (const std::int64_t count : {1, 7, 8, 17, 700}) {
      std::vector<float> values;
      const float some[] = {nan,         INFINITY, -INFINITY, 0.0f,        -0.0f,       3.4e38f,
                            -3.4e38f,    1e-30f,   1.0039f,   1.00390625f, 1.01171875f, -1.00390625f,
                            1.00390637f, 0.1f,     2e-38f,    65504.0f};
      for (std::int64_t i = 0; i < count; ++i) values.push_back(some[i % 16]);
      Case test = chain(std::string("convert ") + dtype_name(from) + " " + std::to_string(count),
                        {"Clip %0 -inf inf"}, {tensor({count})});
      test.inputs[0].value = Tensor::of<float>({count}, std::span<const float>(values));
      test.tolerance = 0;
      if (from == DType::bf16) test = stored_narrow(std::move(test), {0});
      if (to == DType::bf16) test = stored_narrow(std::move(test), {}, to);
      cases.push_back(std::move(test));
    }
  }
}

/// Denormal numbers, which an instruction may take for zeros.
void add_denormal(std::vector<Case>& cases) {
  Case test = chain("convert denormal numbers", {"Clip %0 -inf inf"}, {tensor({4})});
  test.inputs[0].value = Tensor::of<float>({4}, {1e-40f, -1e-39f, 9e-39f, 1.0f});
  test.tolerance = 2e-38;
  cases.push_back(stored_narrow(std::move(test), {}, DType::bf16));
}

/// Dequantise, compute, quantise; every operand may be bytes.
void add_bytes(std::vector<Case>& cases) {
  const std::vector<std::string> sum{"Sub %0 3",  "Mul %2 0.03125",   "Mul %1 0.0517578125",
                                     "Add %3 %4", "Relu %5",          "Div %6 0.0712890625",
                                     "Round %7",  "Clip %8 -128 127", "Add %9 128"};
  const auto bytes = [](DType dtype, Input input) { return of_type(dtype, std::move(input)); };
  for (const DType a : {DType::u8, DType::i8, DType::f32})
    for (const DType b : {DType::u8, DType::i8})
      for (const std::int64_t channels : {1, 3, 8, 16, 33, 600}) {
        const Shape shape{2, channels, 5, 6};
        const std::string name = std::string(dtype_name(a)) + " and " + dtype_name(b) + ", " +
                                 std::to_string(channels) + " channels";
        for (const bool slices : {false, true}) {
          Case test = chain("sum of " + name + (slices ? " in slices" : ""), sum,
                            {bytes(a, channels_last(shape, slices ? 3 : 0, slices ? 2 : 0)),
                             bytes(b, channels_last(shape))},
                            nhwc(slices ? 1 : 0, slices ? 4 : 0));
          test.attributes["to"] = std::string(dtype_name(b));
          if (b == DType::i8)
            std::get<std::vector<std::string>>(test.attributes["program"]).back() = "Add %9 0";
          cases.push_back(test);
        }
        cases.push_back(chain("gate of " + name, {"Mul %0 0.015625", "Mul %1 0.00390625", "Mul %2 %3"},
                              {bytes(a, channels_last(shape)), bytes(b, channels_last({2, channels, 1, 1}))},
                              nhwc()));
      }
  for (const DType dtype : {DType::u8, DType::i8}) {
    const std::string name = std::string(" ") + dtype_name(dtype);
    cases.push_back(chain("read" + name, {"Add %0 0"}, {bytes(dtype, tensor({3, 1700}))}));
    cases.push_back(
        chain("read other order of" + name, {"Mul %0 0.5"}, {bytes(dtype, tensor({2, 5, 6, 7}))}, nhwc()));
    cases.push_back(
        chain("broadcast" + name, {"Mul %0 %1", "Add %2 %3"},
              {tensor({2, 9, 4, 6}), bytes(dtype, tensor({1, 9, 1, 1})), bytes(dtype, tensor({6}))}));
    // What a Cast does with what the type cannot hold.
    const float nan = std::nanf("");
    for (const std::int64_t count : {1, 7, 8, 17, 700}) {
      std::vector<float> values;
      const float some[] = {nan,    1e30f,   -1e30f, 255.9f, 256.0f, -0.9f,    -1.0f,     127.5f,
                            128.0f, -128.9f, -129.f, 2.5f,   3.5f,   INFINITY, -INFINITY, -0.0f};
      for (std::int64_t i = 0; i < count; ++i) values.push_back(some[i % 16]);
      Input x = tensor({count});
      x.value = Tensor::of<float>({count}, std::span<const float>(values));
      Case store = chain("store" + name + " " + std::to_string(count), {"Add %0 0"}, {x});
      store.attributes["to"] = std::string(dtype_name(dtype));
      cases.push_back(store);
    }
    Case turned = chain("store other order of" + name, {"Mul %0 100"}, {tensor({2, 5, 6, 7})}, nhwc());
    turned.attributes["to"] = std::string(dtype_name(dtype));
    cases.push_back(turned);
  }
}

/// The program with its numbers as floats hold them, as in programs that the compiler makes.
std::vector<std::string> of_floats(const std::vector<std::string>& program) {
  std::vector<std::string> rounded;
  for (const std::string& line : program) {
    std::istringstream words(line);
    std::string text, word;
    while (words >> word) {
      const bool real = word.find('.') != std::string::npos;
      text +=
          (text.empty() ? "" : " ") + (real ? fmt::format("{}", static_cast<double>(std::stof(word))) : word);
    }
    rounded.push_back(text);
  }
  return rounded;
}

/// A case that the kernels of bytes must take.
void add_byte_case(std::vector<Case>& cases, const std::string& name, const std::vector<std::string>& program,
                   std::vector<Input> inputs, Place place, DType to) {
  Case test = chain(name, of_floats(program), std::move(inputs), place);
  if (to != DType::f32) test.attributes["to"] = std::string(dtype_name(to));
  test.tolerance = to == DType::f32 ? 1e-6 : 0;
  test.expect = "elementwise.bytes.";
  cases.push_back(std::move(test));
}

/// Rows of many lengths, slices, and broadcasts along a row and across rows.
void add_byte_rows(std::vector<Case>& cases) {
  const auto bytes = [](DType dtype, Input input) { return of_type(dtype, std::move(input)); };
  const std::vector<std::string> requantise{"Sub %0 7", "Mul %1 0.0221",    "Div %2 0.0365",
                                            "Round %3", "Clip %4 -101 154", "Add %5 101"};
  const std::vector<std::string> sum{
      "Sub %0 133", "Mul %2 0.03279004991054535",  "Sub %1 116", "Mul %4 0.013481984846293926",
      "Add %5 %3",  "Div %6 0.017307819798588753", "Round %7",   "Clip %8 -20 235",
      "Add %9 20"};
  const std::vector<std::string> gate{"Sub %0 9",      "Mul %2 0.0109", "Mul %3 %1",
                                      "Div %4 0.0058", "Round %5",      "Clip %6 0 255"};
  const std::vector<std::string> real{"Sub %0 118", "Mul %1 0.0312"};
  for (const DType dtype : {DType::u8, DType::i8})
    for (const std::int64_t channels : {16, 17, 31, 63, 64, 65, 130, 600, 5000})
      for (const bool slices : {false, true}) {
        const Shape shape{2, channels, 3, 2}, one{2, channels, 1, 1};
        const std::string name = std::string(dtype_name(dtype)) + ", " + std::to_string(channels) +
                                 " channels" + (slices ? " in slices" : "");
        const Place place = nhwc(slices ? 1 : 0, slices ? 4 : 0);
        const auto sliced = [&] { return channels_last(shape, slices ? 3 : 0, slices ? 2 : 0); };
        add_byte_case(cases, "requantise " + name, requantise, {bytes(dtype, sliced())}, place, DType::u8);
        add_byte_case(cases, "sum " + name, sum,
                      {bytes(dtype, sliced()), bytes(DType::u8, channels_last(shape))}, place, DType::u8);
        add_byte_case(cases, "gate " + name, gate, {bytes(dtype, sliced()), channels_last(one)}, place,
                      DType::u8);
        add_byte_case(cases, "real " + name, real, {bytes(dtype, sliced())}, place, DType::f32);
        add_byte_case(cases, "planes with a gate " + name, gate,
                      {bytes(dtype, tensor({2, 3, channels, 2})), tensor({2, 3, 1, 1})}, Place{}, DType::u8);
      }
  Case batch =
      chain("batch of bytes", of_floats(sum),
            {bytes(DType::u8, channels_last({3, 40, 6, 7})), bytes(DType::u8, channels_last({3, 40, 6, 7}))},
            nhwc());
  batch.batched = {0, 1};
  batch.attributes["to"] = std::string("uint8");
  cases.push_back(batch);
}

/// Every byte, and every pair of bytes, through programs of many scales.
void add_every_byte(std::vector<Case>& cases) {
  std::vector<std::uint8_t> all, first, second;
  for (int i = 0; i < 65536; ++i) {
    if (i < 256) all.push_back(static_cast<std::uint8_t>(i));
    first.push_back(static_cast<std::uint8_t>(i / 256));
    second.push_back(static_cast<std::uint8_t>(i % 256));
  }
  const auto constant_of = [](const std::vector<std::uint8_t>& values, DType dtype) {
    const auto count = static_cast<std::int64_t>(values.size());
    Input x = of_type(dtype, tensor({count}));
    x.value = Tensor(dtype, {count});
    std::copy(values.begin(), values.end(), static_cast<std::uint8_t*>(x.value->raw()));
    return x;
  };
  for (const DType dtype : {DType::u8, DType::i8}) {
    const std::string name = std::string(" of every ") + dtype_name(dtype);
    for (const DType to : {DType::u8, DType::i8}) {
      const std::string zero = to == DType::u8 ? "128" : "0";
      add_byte_case(cases, "table" + name + " to " + dtype_name(to),
                    {"Sub %0 120", "Mul %1 0.0317", "HardSigmoid %2 0.1666666716337204 0.5", "Div %3 0.00392",
                     "Round %4", "Clip %5 0 255", "Mul %6 0.00392", "Sub %0 120", "Mul %8 0.0317",
                     "Mul %9 %7", "Div %10 0.0183", "Round %11", "Clip %12 -128 127", "Add %13 " + zero},
                    {constant_of(all, dtype)}, Place{}, to);
      for (const char* scale : {"0.02140723168849945", "0.5", "0.0173", "0.11", "0.0071"})
        for (const char* other : {"0.019696129485964775", "0.25", "0.0031"}) {
          add_byte_case(
              cases, "sum" + name + " to " + dtype_name(to) + " by " + scale + " and " + other,
              {"Mul %0 0.0625", "Sub %1 118", std::string("Mul %3 ") + other, "Add %4 %2", "Relu %5",
               std::string("Div %6 ") + scale, "Round %7", "Clip %8 -128 127", "Add %9 " + zero},
              {constant_of(first, dtype), constant_of(second, DType::u8)}, Place{}, to);
        }
    }
  }
}

void add_real_bytes(std::vector<Case>& cases) {
  const float nan = std::nanf("");
  std::vector<float> values;
  const float some[] = {nan,    1e30f,  -1e30f,  2.5f,  3.5f,     -0.9f,     -1.0f,
                        127.5f, 128.0f, -128.9f, -0.5f, INFINITY, -INFINITY, -0.0f};
  for (int i = 0; i < 1000; ++i)
    values.push_back(i % 3 == 0 ? some[i / 3 % 14] : static_cast<float>(i - 500) * 0.37f);
  for (const std::int64_t count : {16, 17, 37, 1000}) {
    Input x = tensor({count});
    x.value =
        Tensor::of<float>({count}, std::span<const float>(values.data(), static_cast<std::size_t>(count)));
    const std::string name = " of " + std::to_string(count) + " reals";
    add_byte_case(cases, "quantise" + name, {"Div %0 0.5", "Round %1", "Clip %2 -139 116", "Add %3 139"}, {x},
                  Place{}, DType::u8);
    add_byte_case(cases, "round" + name, {"Div %0 0.5", "Round %1", "Clip %2 -139 116", "Mul %3 0.5"}, {x},
                  Place{}, DType::f32);
  }
  add_byte_case(
      cases, "sum to reals",
      {"Sub %0 107", "Mul %2 0.0625", "Sub %1 150", "Mul %4 0.03125", "Add %3 %5", "Div %6 0.0703125",
       "Round %7", "Clip %8 -115 140", "Mul %9 0.0703125"},
      {of_type(DType::u8, channels_last({1, 21, 6, 5})), of_type(DType::i8, channels_last({1, 21, 6, 5}))},
      nhwc(), DType::f32);
}

}  // namespace

std::vector<Case> elementwise_cases() {
  std::vector<Case> cases;
  add_functions(cases);
  add_broadcasts(cases);
  add_programs(cases);
  add_narrow(cases);
  add_denormal(cases);
  add_bytes(cases);
  add_byte_rows(cases);
  add_every_byte(cases);
  add_real_bytes(cases);
  return cases;
}

}  // namespace saccade::kernel_check
