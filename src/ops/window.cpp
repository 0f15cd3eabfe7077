#include "ops/window.h"

#include <algorithm>

namespace saccade::ops {

namespace {

constexpr std::int64_t kMost = std::int64_t{1} << 31;  // keeps every sum and product below far from overflow

std::vector<std::int64_t> per_axis(const NodeView& context, const char* name, std::size_t count,
                                   std::int64_t otherwise, std::int64_t least) {
  std::vector<std::int64_t> values = context.node().integers(name);
  if (values.empty()) values.assign(count, otherwise);
  if (values.size() != count)
    context.fail(std::string(name) + " has " + std::to_string(values.size()) + " entries, expected " +
                 std::to_string(count));
  for (const std::int64_t v : values)
    if (v < least || v >= kMost) context.fail(std::string(name) + " contains " + std::to_string(v));
  return values;
}

enum class Padding { explicit_pads, same_upper, same_lower, valid };

Padding padding_of(const NodeView& context) {
  const std::string text = context.node().text("auto_pad", "explicit");
  if (text == "explicit") return Padding::explicit_pads;
  if (text == "same_upper") return Padding::same_upper;
  if (text == "same_lower") return Padding::same_lower;
  if (text == "valid") return Padding::valid;
  context.fail("auto_pad is '" + text + "', expected explicit, same_upper, same_lower or valid");
}

/// The axes without padding and output size.
Window base_window(const NodeView& context, const Shape& spatial, const Shape& kernel) {
  const std::size_t count = spatial.size();
  if (kernel.size() != count)
    context.mismatch("a kernel of " + std::to_string(kernel.size()) + " dimensions for " +
                     std::to_string(count) + " spatial dimensions");
  const auto strides = per_axis(context, "strides", count, 1, 1);
  const auto dilations = per_axis(context, "dilations", count, 1, 1);
  Window window(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (kernel[i] < 1 || kernel[i] >= kMost) context.fail("kernel " + shape_string(kernel));
    if (spatial[i] >= kMost) context.fail("spatial size " + std::to_string(spatial[i]) + " is too large");
    window[i].in = spatial[i];
    window[i].kernel = kernel[i];
    window[i].stride = strides[i];
    window[i].dilation = dilations[i];
    if (__builtin_mul_overflow(kernel[i], dilations[i], &window[i].out) || window[i].out >= kMost * 4)
      context.fail("kernel " + shape_string(kernel) + " with dilation " + std::to_string(dilations[i]) +
                   " is too large");
  }
  return window;
}

}  // namespace

Window forward_window(const NodeView& context, const Shape& spatial, const Shape& kernel) {
  Window window = base_window(context, spatial, kernel);
  const std::size_t count = window.size();
  const Padding padding = padding_of(context);
  std::vector<std::int64_t> pads(2 * count, 0);
  if (padding == Padding::explicit_pads) pads = per_axis(context, "pads", 2 * count, 0, -kMost);
  const bool ceil_mode = context.node().integer("ceil_mode", 0) != 0;
  for (std::size_t i = 0; i < count; ++i) {
    WindowAxis& axis = window[i];
    axis.pad_begin = pads[i];
    axis.pad_end = pads[i + count];
    if (padding == Padding::same_upper || padding == Padding::same_lower) {
      axis.out = (axis.in + axis.stride - 1) / axis.stride;
      const std::int64_t total =
          std::max<std::int64_t>(0, (axis.out - 1) * axis.stride + axis.extent() - axis.in);
      axis.pad_begin = padding == Padding::same_upper ? total / 2 : total - total / 2;
      axis.pad_end = total - axis.pad_begin;
      continue;
    }
    const std::int64_t room = axis.in + axis.pad_begin + axis.pad_end - axis.extent();
    if (room < 0)
      context.mismatch("a window of " + std::to_string(axis.extent()) + " does not fit into axis " +
                       std::to_string(i) + " of size " + std::to_string(axis.in) + " with pads " +
                       std::to_string(axis.pad_begin) + " and " + std::to_string(axis.pad_end));
    axis.out = room / axis.stride + 1;
    // One more window for a remainder, but none that would start beyond the input and its begin padding.
    if (ceil_mode && room % axis.stride != 0 && axis.out * axis.stride < axis.in + axis.pad_begin) ++axis.out;
  }
  return window;
}

Window transposed_window(const NodeView& context, const Shape& spatial, const Shape& kernel) {
  Window window = base_window(context, spatial, kernel);
  const std::size_t count = window.size();
  const Padding padding = padding_of(context);
  const auto extra = per_axis(context, "output_padding", count, 0, 0);
  std::vector<std::int64_t> sizes = context.node().integers("output_shape");
  // Some exporters give N and C too.
  if (sizes.size() == count + 2) sizes.erase(sizes.begin(), sizes.begin() + 2);
  if (!sizes.empty() && sizes.size() != count)
    context.fail("output_shape has " + std::to_string(sizes.size()) + " entries, expected " +
                 std::to_string(count));
  std::vector<std::int64_t> pads(2 * count, 0);
  if (padding == Padding::explicit_pads) pads = per_axis(context, "pads", 2 * count, 0, -kMost);
  for (std::size_t i = 0; i < count; ++i) {
    WindowAxis& axis = window[i];
    axis.out = axis.in;  // the operator's input plays the part of a convolution's output
    axis.pad_begin = pads[i];
    axis.pad_end = pads[i + count];
    const std::int64_t full = axis.stride * (axis.out - 1) + extra[i] + axis.extent();
    const bool same = padding == Padding::same_upper || padding == Padding::same_lower;
    if (!sizes.empty() || same) {
      axis.in = sizes.empty() ? axis.out * axis.stride : sizes[i];
      if (axis.in < 1 || axis.in >= kMost) context.fail("output_shape contains " + std::to_string(axis.in));
      const std::int64_t total = std::max<std::int64_t>(0, full - axis.in);
      axis.pad_begin = padding == Padding::same_upper ? total / 2 : total - total / 2;
      axis.pad_end = total - axis.pad_begin;
    } else {
      axis.in = full - axis.pad_begin - axis.pad_end;
    }
    if (axis.in < 1)
      context.mismatch("axis " + std::to_string(i) + " of the output would have size " +
                       std::to_string(axis.in));
  }
  return window;
}

std::vector<RowPair> row_pairs(const Window& window, std::int64_t outer) {
  std::vector<RowPair> pairs{{0, 0}};
  std::vector<std::int64_t> index(window.size() - 1);
  for (std::size_t i = index.size(); i-- > 0;) {
    index[i] = outer % window[i].out;
    outer /= window[i].out;
  }
  for (std::size_t i = 0; i < index.size(); ++i) {
    std::vector<RowPair> next;
    const WindowAxis& axis = window[i];
    for (const RowPair& pair : pairs) {
      for (std::int64_t k = 0; k < axis.kernel; ++k) {
        const std::int64_t at = index[i] * axis.stride - axis.pad_begin + k * axis.dilation;
        if (at >= 0 && at < axis.in) next.push_back({pair.tap * axis.kernel + k, pair.row * axis.in + at});
      }
    }
    pairs = std::move(next);
  }
  return pairs;
}

Span inside(const WindowAxis& axis, std::int64_t k) {
  const std::int64_t shift =
      axis.pad_begin - k * axis.dilation;  // input position of output o is o * stride - shift
  const auto ceil_div = [](std::int64_t a, std::int64_t b) { return a > 0 ? (a + b - 1) / b : 0; };
  const std::int64_t first = std::min(ceil_div(shift, axis.stride), axis.out);
  const std::int64_t last = std::clamp(ceil_div(axis.in + shift, axis.stride), first, axis.out);
  return {first, last};
}

}  // namespace saccade::ops
