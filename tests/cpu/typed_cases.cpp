#include <cmath>
#include <cstring>

#include "cpu/cases.h"

namespace saccade::kernel_check {
namespace {

constexpr DType kTypes[] = {DType::f32, DType::f16, DType::boolean, DType::u8,
                            DType::i8,  DType::i32, DType::i64};

Case typed(const std::string& name, const std::string& op, std::vector<Input> inputs, Place output = {}) {
  Case test;
  test.name = op + " " + name;
  test.op = op;
  test.inputs = std::move(inputs);
  test.outputs = {output};
  test.expect = "typed.";
  return test;
}

Case cast(const std::string& name, Input x, DType to, Place output = {}) {
  const DType from = x.dtype;
  Case test = typed(std::string(dtype_name(from)) + " to " + dtype_name(to) + " " + name, "Cast",
                    {std::move(x)}, output);
  test.attributes["to"] = std::string(dtype_name(to));
  return test;
}

/// What conversions are likely to get wrong, over and over.
Input special(std::int64_t count) {
  const float some[] = {std::nanf(""),
                        -std::nanf("7"),
                        INFINITY,
                        -INFINITY,
                        0.0f,
                        -0.0f,
                        0.5f,
                        -0.9f,
                        1.0f,
                        -1.0f,
                        127.5f,
                        128.0f,
                        -128.9f,
                        -129.0f,
                        255.9f,
                        256.0f,
                        2147483520.f,
                        2147483648.f,
                        -2147483648.f,
                        -2147483904.f,
                        9223371487098961920.f,
                        9223372036854775808.f,
                        -9223372036854775808.f,
                        1e30f,
                        -1e30f,
                        1e-40f,
                        65504.0f,
                        65519.9f,
                        65520.0f,
                        65536.0f,
                        6.1035e-5f,
                        6.0976e-5f,
                        5.96e-8f,
                        2.98e-8f,
                        2.9802322e-8f,
                        1.00048828125f,
                        1.00146484375f,
                        2049.0f};
  std::vector<float> values;
  for (std::int64_t i = 0; i < count; ++i)
    values.push_back(some[static_cast<std::size_t>(i) % std::size(some)]);
  Input x = tensor({count});
  x.value = Tensor::of<float>({count}, std::span<const float>(values));
  return x;
}

/// Every number of 16 bits.
Input every_half() {
  Input x = of_type(DType::f16, tensor({65536}));
  x.value = Tensor(DType::f16, {65536});
  for (int i = 0; i < 65536; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    std::memcpy(static_cast<unsigned char*>(x.value->raw()) + 2 * i, &bits, 2);
  }
  return x;
}

void add_casts(std::vector<Case>& cases) {
  for (const DType from : kTypes)
    for (const DType to : kTypes) {
      if (from == to) continue;
      const auto values = [&](Input x) { return of_type(from, in_range(-70000, 70000, std::move(x))); };
      for (const std::int64_t count : {1, 7, 33, 5000})
        cases.push_back(cast(std::to_string(count), values(tensor({count})), to));
      cases.push_back(cast("slices", values(channels_last({2, 19, 5, 6}, 3, 2)), to, nhwc(1, 4)));
      cases.push_back(cast("other order", values(tensor({2, 19, 5, 6})), to, nhwc()));
      Case batch = cast("batch", values(channels_last({3, 20, 6, 7})), to, nhwc());
      batch.batched = {0};
      cases.push_back(batch);
      if (from == DType::f32) cases.push_back(cast("special", special(333), to));
      if (from == DType::f16) cases.push_back(cast("all", every_half(), to));
      if (from == DType::i64 || from == DType::i32)
        cases.push_back(cast("large", of_type(from, in_range(-2e9, 2e9, tensor({1000}))), to));
      if (from == DType::i64)
        cases.push_back(cast("huge", of_type(from, in_range(-9e18, 9e18, tensor({1000}))), to));
    }
  cases.push_back(cast("scalar", tensor({}), DType::boolean));
  cases.push_back(cast("many tasks", tensor({41, 7001}), DType::u8));
}

void add_pairs(std::vector<Case>& cases, const std::string& op, DType dtype) {
  const Shape full{2, 19, 7, 9};
  // Few different numbers, so that many are equal.
  const auto of = [&](Input x) {
    Input input = of_type(dtype, in_range(-3, 3, std::move(x)));
    if (dtype == DType::f32 || dtype == DType::u8 || dtype == DType::i8) {
      input.value = Tensor(dtype, input.shape);
      for (std::int64_t i = 0; i < input.value->count(); ++i) {
        const auto number = static_cast<int>((i * 7 + input.value->count()) % 11) - 5;
        if (dtype == DType::f32)
          input.value->data<float>()[i] = number == -5 ? std::nanf("") : static_cast<float>(number) * 0.5f;
        else
          static_cast<unsigned char*>(input.value->raw())[i] = static_cast<unsigned char>(number);
      }
    }
    return input;
  };
  const std::string name = dtype_name(dtype);
  for (const Shape& other : {full, Shape{1, 19, 1, 1}, Shape{2, 1, 7, 9}, Shape{9}, Shape{}})
    for (const Layout layout : {Layout::plain, Layout::channels_last}) {
      const std::string suffix =
          shape_string(other) + (layout == Layout::channels_last ? " channels last" : "");
      const Place place{other.size() == 4 ? layout : Layout::plain};
      cases.push_back(
          typed(name + " " + suffix, op, {of(tensor(full, {layout})), of(tensor(other, place))}, {layout}));
      cases.push_back(typed(name + " first " + suffix, op,
                            {of(tensor(other, place)), of(tensor(full, {layout}))}, {layout}));
    }
  cases.push_back(typed(name + " both broadcast", op, {of(tensor({4, 1, 6, 1})), of(tensor({5, 1, 7}))}));
  cases.push_back(typed(name + " long rows", op, {of(tensor({3, 9001})), of(tensor({3, 1}))}));
  cases.push_back(
      typed(name + " slices", op, {of(channels_last(full, 3, 2)), of(channels_last(full))}, nhwc(1, 4)));
  Case batch = typed(name + " batch", op,
                     {of(channels_last({3, 20, 6, 7})), of(channels_last({3, 20, 6, 7}))}, nhwc());
  batch.batched = {0, 1};
  cases.push_back(batch);
}

void add_choices(std::vector<Case>& cases) {
  for (const DType dtype : {DType::f32, DType::f16, DType::u8, DType::i64, DType::boolean}) {
    const std::string name = dtype_name(dtype);
    const Shape full{2, 19, 7, 9};
    const auto of = [&](const Shape& shape, Layout layout) {
      return of_type(dtype, in_range(-100, 100, tensor(shape, {shape.size() == 4 ? layout : Layout::plain})));
    };
    const auto condition = [&](const Shape& shape, Layout layout) {
      return of_type(DType::boolean, tensor(shape, {shape.size() == 4 ? layout : Layout::plain}));
    };
    const Shape forms[] = {full, {2, 1, 7, 9}, {1, 19, 1, 1}, {}};
    for (const Layout layout : {Layout::plain, Layout::channels_last})
      for (const Shape& c : forms)
        for (const Shape& a : forms)
          for (const Shape& b : forms) {
            if (c != full && a != full && b != full) continue;
            cases.push_back(typed(name + " " + shape_string(c) + shape_string(a) + shape_string(b) +
                                      (layout == Layout::channels_last ? " channels last" : ""),
                                  "Where", {condition(c, layout), of(a, layout), of(b, layout)}, {layout}));
          }
    cases.push_back(
        typed(name + " long", "Where",
              {condition({20011}, Layout::plain), of({20011}, Layout::plain), of({1}, Layout::plain)}));
  }
}

void add_remainders(std::vector<Case>& cases) {
  for (const bool sign_of_dividend : {false, true}) {
    const auto push = [&](const std::string& name, Input a, Input b, Place y = {}) {
      Case test = typed(name + (sign_of_dividend ? " fmod" : ""), "Mod", {std::move(a), std::move(b)}, {y});
      test.attributes["fmod"] = std::int64_t{sign_of_dividend};
      cases.push_back(test);
    };
    for (const double range : {1.0, 1000.0, 1e9, 1e-38})
      push(std::to_string(range), in_range(-range, range, tensor({3, 4001})),
           in_range(-3, 3, tensor({4001})));
    // Whole multiples and what lies just beside them.
    Input a = tensor({6000}), b = tensor({6000});
    a.value = Tensor(DType::f32, a.shape);
    b.value = Tensor(DType::f32, b.shape);
    for (int i = 0; i < 6000; ++i) {
      const float divisor = (i % 2 == 0 ? 0.1f : -0.7f) * static_cast<float>(1 + i % 13);
      const float product = divisor * static_cast<float>(i - 3000);
      b.value->data<float>()[i] = divisor;
      a.value->data<float>()[i] = i % 3 == 0 ? product : std::nextafter(product, i % 3 == 1 ? 1e9f : -1e9f);
    }
    push("multiples", a, b);
    push("special", special(500), in_range(-2, 2, tensor({500})));
    push("by zero", tensor({100}), in_range(0, 0, tensor({1})));
    Input infinite = tensor({1});
    infinite.value = Tensor::of<float>({1}, {INFINITY});
    push("by infinity", tensor({100}), infinite);
    push("slices", channels_last({2, 19, 7, 9}, 3, 2), channels_last({2, 19, 7, 9}), nhwc(1, 4));
  }
}

}  // namespace

std::vector<Case> typed_cases() {
  std::vector<Case> cases;
  add_casts(cases);
  for (const char* op : {"Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"})
    for (const DType dtype : {DType::f32, DType::u8, DType::i8, DType::i32, DType::i64, DType::boolean})
      if (dtype != DType::boolean || std::string(op) == "Equal") add_pairs(cases, op, dtype);
  for (const char* op : {"And", "Or", "Xor"}) add_pairs(cases, op, DType::boolean);
  add_choices(cases);
  add_remainders(cases);
  for (const std::int64_t count : {1, 17, 5000}) {
    cases.push_back(typed(std::to_string(count), "Not", {of_type(DType::boolean, tensor({count}))}));
    cases.push_back(typed(std::to_string(count), "IsNaN", {special(count)}));
    for (const bool positive : {false, true})
      for (const bool negative : {false, true}) {
        Case test = typed(std::to_string(count) + (positive ? " +" : "") + (negative ? " -" : ""), "IsInf",
                          {special(count)});
        test.attributes["detect_positive"] = std::int64_t{positive};
        test.attributes["detect_negative"] = std::int64_t{negative};
        cases.push_back(test);
      }
  }
  return cases;
}

}  // namespace saccade::kernel_check
