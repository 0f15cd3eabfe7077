#include "cpu/cases.h"

namespace saccade::kernel_check {
namespace {

Case copy(const std::string& name, const std::string& op, std::vector<Input> inputs,
          ir::Attributes attributes = {}, std::vector<Place> outputs = {Place{}}) {
  Case test;
  test.name = name;
  test.op = op;
  test.attributes = std::move(attributes);
  test.inputs = std::move(inputs);
  test.outputs = std::move(outputs);
  test.expect = "copy.";
  return test;
}

using Integers = std::vector<std::int64_t>;
constexpr DType kTypes[] = {DType::f32, DType::u8, DType::f16, DType::i64};

void add_reorders(std::vector<Case>& cases) {
  for (DType dtype : kTypes)
    for (std::int64_t channels : {1, 2, 3, 4, 5, 7, 8, 9, 16, 21, 64})
      for (std::int64_t width : {1, 3, 8, 17}) {
        const Shape shape{2, channels, 5, width};
        const std::string name = std::string(dtype_name(dtype)) + " " + shape_string(shape);
        cases.push_back(
            copy("to channels last " + name, "Reorder", {of_type(dtype, tensor(shape))}, {}, {nhwc()}));
        cases.push_back(
            copy("from channels last " + name, "Reorder", {of_type(dtype, channels_last(shape))}));
      }
  const Shape shape{2, 11, 6, 7};
  for (DType dtype : kTypes) {
    const std::string name = std::string(" of ") + dtype_name(dtype);
    cases.push_back(copy("slice to slice" + name, "Reorder", {of_type(dtype, channels_last(shape, 3, 1))}, {},
                         {nhwc(2, 5)}));
    cases.push_back(
        copy("plain to slice" + name, "Reorder", {of_type(dtype, tensor(shape))}, {}, {nhwc(2, 5)}));
    cases.push_back(copy("slice to plain" + name, "Reorder", {of_type(dtype, channels_last(shape, 3, 1))}));
    cases.push_back(copy("dense" + name, "Reorder", {of_type(dtype, tensor(shape))}));
    cases.push_back(copy("scalar" + name, "Reorder", {of_type(dtype, tensor({}))}));
    cases.push_back(
        copy("plain slice" + name, "Reorder", {of_type(dtype, tensor(shape, {Layout::plain, 1, 2}))}));
  }
  cases.push_back(copy("picture", "Reorder", {tensor({1, 3, 120, 131})}, {}, {nhwc()}));
  cases.push_back(copy("picture back", "Reorder", {channels_last({1, 3, 120, 131})}));
  cases.push_back(copy("many channels", "Reorder", {tensor({1, 300, 20, 24})}, {}, {nhwc()}));
  cases.push_back(copy("many channels back", "Reorder", {channels_last({1, 300, 20, 24})}));
  cases.push_back(copy("large and dense", "Reorder", {tensor({3, 70001})}));
}

void add_transposes(std::vector<Case>& cases) {
  const std::vector<Integers> perms{{0, 2, 3, 1}, {0, 3, 1, 2}, {3, 2, 1, 0},
                                    {1, 0, 2, 3}, {0, 1, 3, 2}, {2, 3, 0, 1}};
  for (DType dtype : kTypes)
    for (std::size_t i = 0; i < perms.size(); ++i)
      cases.push_back(copy("permutation " + std::to_string(i) + " of " + dtype_name(dtype), "Transpose",
                           {of_type(dtype, tensor({3, 10, 17, 6}))}, {{"perm", perms[i]}}));
  cases.push_back(copy("reversed", "Transpose", {tensor({4, 5, 9})}));
  cases.push_back(copy("matrix", "Transpose", {tensor({133, 77})}));
  cases.push_back(copy("large matrix", "Transpose", {tensor({600, 1100})}));
  cases.push_back(copy("last of eight", "Transpose", {tensor({2, 3, 2, 1, 3, 2, 2, 5})},
                       {{"perm", Integers{7, 5, 3, 1, 6, 4, 2, 0}}}));
  cases.push_back(copy("channels last in and out", "Transpose", {channels_last({2, 9, 4, 6})},
                       {{"perm", Integers{0, 1, 3, 2}}}, {nhwc()}));
}

void add_joins(std::vector<Case>& cases) {
  for (DType dtype : kTypes)
    for (std::int64_t axis : {0, 1, 2, -1}) {
      const std::string name = std::string(dtype_name(dtype)) + " along " + std::to_string(axis);
      const auto part = [&](std::int64_t size) {
        Shape shape{2, 4, 5, 3};
        shape[static_cast<std::size_t>(axis < 0 ? axis + 4 : axis)] = size;
        return shape;
      };
      const ir::Attributes attributes{{"axis", axis}};
      for (Layout layout : {Layout::plain, Layout::channels_last}) {
        const Place place{layout};
        const std::string full = name + (layout == Layout::plain ? "" : " channels last");
        cases.push_back(copy("joined " + full, "Concat",
                             {of_type(dtype, tensor(part(2), place)), of_type(dtype, tensor(part(1), place)),
                              of_type(dtype, tensor(part(9), place))},
                             attributes, {place}));
        cases.push_back(copy("split " + full, "Split",
                             {of_type(dtype, tensor(part(12), place)), integers({2, 1, 9})}, attributes,
                             {place, place, place}));
      }
    }
  cases.push_back(
      copy("of a constant", "Concat", {constant({2, 3}), tensor({2, 5})}, {{"axis", std::int64_t{1}}}));
  cases.push_back(copy("of one", "Concat", {tensor({2, 3})}, {{"axis", std::int64_t{0}}}));
  cases.push_back(copy("mixed layouts", "Concat", {tensor({1, 8, 6, 5}), channels_last({1, 24, 6, 5})},
                       {{"axis", std::int64_t{1}}}, {nhwc(1, 1)}));
  cases.push_back(copy("equal parts", "Split", {tensor({7, 3})},
                       {{"axis", std::int64_t{0}}, {"num_outputs", std::int64_t{3}}},
                       {Place{}, Place{}, Place{}}));
}

void add_slices(std::vector<Case>& cases) {
  const struct {
    const char* name;
    Integers starts, ends, axes, steps;
  } slices[] = {
      {"middle", {1, 2}, {3, 8}, {1, 3}, {1, 1}},
      {"steps", {0, 1}, {10, 100}, {2, 3}, {2, 3}},
      {"reversed", {-1}, {-100}, {3}, {-1}},
      {"reversed channels", {5}, {-100}, {1}, {-2}},
      {"negative", {-4, -3}, {-1, 100}, {2, 1}, {1, 1}},
      {"one element", {2, 3}, {3, 4}, {1, 2}, {1, 1}},
      {"outer", {1}, {2}, {0}, {1}},
  };
  for (const auto& slice : slices)
    for (DType dtype : kTypes)
      for (Layout layout : {Layout::plain, Layout::channels_last}) {
        const std::string name = std::string(slice.name) + " of " + dtype_name(dtype) +
                                 (layout == Layout::plain ? "" : " channels last");
        cases.push_back(copy(name, "Slice",
                             {of_type(dtype, tensor({2, 6, 10, 19}, {layout})), integers(slice.starts),
                              integers(slice.ends), integers(slice.axes), integers(slice.steps)},
                             {}, {{layout}}));
      }
  cases.push_back(copy("default axes", "Slice", {tensor({5, 6, 7}), integers({1, 2}), integers({4, 6})}));
}

void add_pads(std::vector<Case>& cases) {
  const struct {
    const char* name;
    Integers pads;
  } pads[] = {{"all sides", {0, 0, 2, 3, 0, 0, 1, 2}},
              {"channels", {0, 2, 0, 0, 1, 1, 0, 0}},
              {"crop", {0, -1, 2, -2, 0, 0, -1, 3}},
              {"nothing", {0, 0, 0, 0, 0, 0, 0, 0}}};
  for (const char* mode : {"constant", "edge", "reflect", "wrap"})
    for (const auto& pad : pads)
      for (DType dtype : {DType::f32, DType::u8})
        for (Layout layout : {Layout::plain, Layout::channels_last}) {
          const std::string name = std::string(mode) + " " + pad.name + " of " + dtype_name(dtype) +
                                   (layout == Layout::plain ? "" : " channels last");
          cases.push_back(copy(name, "Pad",
                               {of_type(dtype, tensor({2, 5, 6, 9}, {layout})), integers(pad.pads)},
                               {{"mode", std::string(mode)}}, {{layout}}));
        }
  cases.push_back(copy("value", "Pad",
                       {tensor({3, 4}), integers({1, 2, 3, 0}), constant(Tensor::of<float>({}, {1.5f}))}));
  cases.push_back(copy("axes", "Pad", {tensor({3, 4, 5}), integers({1, 2}), absent(), integers({-1})}));
}

void add_repetitions(std::vector<Case>& cases) {
  for (DType dtype : kTypes) {
    const std::string name = std::string(" of ") + dtype_name(dtype);
    cases.push_back(copy("channels" + name, "Expand",
                         {of_type(dtype, channels_last({2, 9, 1, 1})), integers({2, 9, 5, 7})}, {},
                         {nhwc()}));
    cases.push_back(copy("pixels" + name, "Expand",
                         {of_type(dtype, channels_last({1, 1, 5, 7})), integers({2, 9, 5, 7})}, {},
                         {nhwc()}));
    cases.push_back(copy("inner" + name, "Expand", {of_type(dtype, tensor({3, 1})), integers({2, 3, 11})}));
    cases.push_back(copy("nothing" + name, "Expand", {of_type(dtype, tensor({3, 4})), integers({1, 4})}));
    cases.push_back(copy("tiles" + name, "Tile", {of_type(dtype, tensor({2, 3, 5})), integers({2, 1, 3})}));
    cases.push_back(copy("tiled rows" + name, "Tile", {of_type(dtype, tensor({1, 4})), integers({6, 1})}));
    cases.push_back(copy("tiled channels" + name, "Tile",
                         {of_type(dtype, channels_last({1, 4, 3, 5})), integers({1, 2, 2, 1})}, {},
                         {nhwc()}));
    cases.push_back(copy("rows" + name, "Gather",
                         {of_type(dtype, tensor({6, 5})), integers({3, 0, 1, 2, -1, 2})},
                         {{"axis", std::int64_t{0}}}));
    cases.push_back(copy("columns" + name, "Gather",
                         {of_type(dtype, tensor({2, 3, 8})), integers({1, 3, 5, 7})},
                         {{"axis", std::int64_t{-1}}}));
    cases.push_back(copy("one" + name, "Gather",
                         {of_type(dtype, tensor({2, 6, 4})), constant(Tensor::of<std::int64_t>({}, {-2}))},
                         {{"axis", std::int64_t{1}}}));
  }
  for (std::int64_t block : {1, 2, 3})
    for (Layout layout : {Layout::plain, Layout::channels_last}) {
      const std::string name =
          "block " + std::to_string(block) + (layout == Layout::plain ? "" : " channels last");
      const Place place{layout};
      for (const char* mode : {"dcr", "crd"})
        cases.push_back(copy(name + " " + mode, "DepthToSpace", {tensor({2, 5 * block * block, 4, 6}, place)},
                             {{"blocksize", block}, {"mode", std::string(mode)}}, {place}));
      cases.push_back(copy(name, "SpaceToDepth", {tensor({2, 5, 4 * block, 6 * block}, place)},
                           {{"blocksize", block}}, {place}));
    }
  cases.push_back(copy("to one channel", "DepthToSpace", {channels_last({1, 4, 9, 13})},
                       {{"blocksize", std::int64_t{2}}}, {nhwc()}));
}

}  // namespace

std::vector<Case> copy_cases() {
  std::vector<Case> cases;
  add_reorders(cases);
  add_transposes(cases);
  add_joins(cases);
  add_slices(cases);
  add_pads(cases);
  add_repetitions(cases);
  return cases;
}

}  // namespace saccade::kernel_check
