#include <cmath>
#include <limits>

#include "cpu/cases.h"

namespace saccade::kernel_check {

namespace {

struct Windows {
  std::int64_t kernel = 2, stride = 2, pad = 0, dilation = 1;
};

Case max_index(Input x, const Windows& w, bool column_major = false, Place y = {}) {
  Case c;
  c.name = "MaxPool " + shape_string(x.shape) +
           (x.place.layout == Layout::channels_last ? " channels last" : "") + " kernel " +
           std::to_string(w.kernel) + " stride " + std::to_string(w.stride) + " pad " +
           std::to_string(w.pad) + " dilation " + std::to_string(w.dilation) +
           (column_major ? " column major" : "");
  c.op = "MaxPool";
  c.expect = "pool_index.max.";
  c.attributes["kernel_shape"] = std::vector<std::int64_t>(2, w.kernel);
  c.attributes["strides"] = std::vector<std::int64_t>(2, w.stride);
  c.attributes["pads"] = std::vector<std::int64_t>(4, w.pad);
  c.attributes["dilations"] = std::vector<std::int64_t>(2, w.dilation);
  if (column_major) c.attributes["storage_order"] = std::int64_t{1};
  c.inputs = {std::move(x)};
  c.outputs = {y, Place{}};
  return c;
}

/// Every value goes to a cell of its own window; `strange`: some go to other planes, by negative indices too.
Case unpool(Input x, const Windows& w, std::int64_t further = 0, bool strange = false, Place y = {}) {
  Case c;
  const Shape shape = x.shape;
  c.name = "MaxUnpool " + shape_string(shape) +
           (x.place.layout == Layout::channels_last ? " channels last" : "") + " kernel " +
           std::to_string(w.kernel) + " stride " + std::to_string(w.stride) + " larger by " +
           std::to_string(further) + (strange ? " strange" : "");
  c.op = "MaxUnpool";
  c.expect = "pool_index.unpool.";
  c.attributes["kernel_shape"] = std::vector<std::int64_t>(2, w.kernel);
  c.attributes["strides"] = std::vector<std::int64_t>(2, w.stride);
  const auto inner = [&](std::int64_t in) { return (in - 1) * w.stride + w.kernel; };
  const std::int64_t height = inner(shape[2]), width = inner(shape[3]);
  Tensor indices(DType::i64, shape);
  std::int64_t i = 0;
  for (std::int64_t p = 0; p < shape[0] * shape[1]; ++p)
    for (std::int64_t row = 0; row < shape[2]; ++row)
      for (std::int64_t column = 0; column < shape[3]; ++column, ++i) {
        const std::int64_t down = i * 7 / 3 % w.kernel, across = i * 5 / 2 % w.kernel;
        indices.data<std::int64_t>()[i] =
            (p * height + row * w.stride + down) * width + column * w.stride + across;
      }
  if (strange) {
    const std::int64_t all = shape[0] * shape[1] * height * width;
    for (i = 0; i < indices.count(); ++i) {
      const std::int64_t other = indices.count() - 1 - i;
      if (i % 3 == 0 && i < other)
        std::swap(indices.data<std::int64_t>()[i], indices.data<std::int64_t>()[other]);
    }
    for (i = 0; i < indices.count(); i += 4) indices.data<std::int64_t>()[i] -= all;
  }
  Input index = tensor(shape);
  index.dtype = DType::i64;
  index.value = indices;
  c.inputs = {std::move(x), index};
  if (further > 0) c.inputs.push_back(integers({shape[0], shape[1], height + further, width + 2 * further}));
  c.outputs = {y};
  return c;
}

}  // namespace

std::vector<Case> pool_index_cases() {
  std::vector<Case> cases;
  const Windows windows[] = {{}, {3, 1, 1, 1}, {3, 2, 1, 1}, {2, 3, 0, 1}, {2, 1, 1, 3}};
  for (const Windows& w : windows)
    for (const std::int64_t channels : {1, 3, 16, 65})
      for (const bool column_major : {false, true}) {
        cases.push_back(max_index(channels_last({2, channels, 9, 11}), w, column_major, nhwc()));
        cases.push_back(max_index(tensor({2, channels, 10, 8}), w, column_major));
      }
  cases.push_back(max_index(tensor({1, 2, 20, 300}), {}));
  cases.push_back(max_index(tensor({1, 2, 37, 150}), {3, 1, 1, 1}));
  cases.push_back(max_index(channels_last({2, 130, 9, 8}, 3, 5), {}, false, nhwc(1, 2)));
  cases.push_back(max_index(channels_last({1, 5, 9, 8}), {}));
  // Equal values, and numbers that are none, at all places of a window.
  for (const bool last : {false, true}) {
    Input x = last ? channels_last({1, 3, 12, 13}) : tensor({1, 3, 12, 13});
    Tensor values(DType::f32, x.shape);
    for (std::int64_t i = 0; i < values.count(); ++i)
      values.data<float>()[i] = i % 5 == 0   ? std::nanf("")
                                : i % 7 == 0 ? -std::numeric_limits<float>::infinity()
                                             : static_cast<float>(i / 4 % 3);
    x.value = values;
    cases.push_back(max_index(x, {3, 2, 1, 1}));
    cases.back().name += " with NaN";
  }
  for (const std::int64_t channels : {1, 3, 16, 37})
    for (const std::int64_t further : {0, 3}) {
      cases.push_back(unpool(channels_last({2, channels, 5, 7}), {}, further, false, nhwc()));
      cases.push_back(unpool(tensor({2, channels, 6, 5}), {3, 3, 0, 1}, further));
      cases.push_back(unpool(tensor({2, channels, 6, 5}), {3, 1, 0, 1}, further));
    }
  cases.push_back(unpool(tensor({2, 20, 4, 5}), {}, 0, true));
  cases.push_back(unpool(channels_last({2, 20, 4, 5}), {}, 2, true, nhwc()));
  cases.push_back(unpool(channels_last({2, 20, 4, 5}, 3, 1), {}, 0, false, nhwc(2, 4)));
  cases.push_back(unpool(tensor({1, 20, 4, 5}), {}, 0, false, nhwc()));
  return cases;
}

}  // namespace saccade::kernel_check
