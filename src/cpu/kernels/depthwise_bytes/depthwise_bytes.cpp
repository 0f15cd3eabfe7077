// Choice and preparation of the depthwise convolution of bytes.
#include "cpu/kernels/depthwise_bytes/depthwise_bytes.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "cpu/byte_conv_query.h"
#include "cpu/cost.h"
#include "cpu/kernels/families.h"
#include "cpu/packed.h"

namespace saccade::cpu {

namespace {

using compiler::KernelDesc;
using compiler::KernelQuery;
using compiler::PreparedKernel;

// The state and what it points to.
struct Packed {
  DepthwiseBytesState state{};
  PackedFloats weights, ratio, start;  // words, floats, integers
  std::vector<std::int64_t> taps;
};

const char* can_run(const KernelQuery& query) {
  if (const char* why = check_byte_conv(query)) return why;
  const ByteConvQuery q = read_byte_conv(query, false);
  return q.groups == q.channels && q.groups == q.filters ? nullptr : "not depthwise";
}

template <Isa kIsa>
double cost(const KernelQuery& query) {
  const ByteConvQuery q = read_byte_conv(query, false);
  const double staged = static_cast<double>(q.channels * q.in_h * q.in_w);
  return static_cast<double>(q.batch) *
         (q.multiply_adds() / multiply_adds_per_ns(kIsa) + staged / bytes_per_ns(kIsa));
}

// Which channel of its group a lane of the sums holds: those of the first vector, then those of the second.
std::int64_t channel_of(std::int64_t lane, std::int64_t lanes) {
  const std::int64_t half = lane / lanes, at = lane % lanes;
  return at / 4 * 8 + half * 4 + at % 4;
}

template <Isa kIsa>
PreparedKernel prepare(const KernelQuery& query) {
  const ByteConvQuery q = read_byte_conv(query);
  const std::int64_t width = lanes(kIsa), in_group = 2 * width;
  constexpr std::int64_t kSize = sizeof(std::int16_t);
  auto packed = std::make_shared<Packed>();
  DepthwiseBytesState& s = packed->state;
  s.out_h = q.out_h, s.out_w = q.out_w;
  s.src_image = q.src_image, s.dst_image = q.dst_image, s.dst_pixel = q.dst_pixel;
  s.low = q.low, s.high = q.high, s.zero = q.y_zero;
  s.groups = (q.channels + in_group - 1) / in_group;
  const std::int64_t count = q.kernel_h * q.kernel_w;
  s.pairs = (count + 1) / 2;
  constexpr std::int64_t kRows = 8;
  const std::int64_t work = q.out_h * q.out_w * s.groups * s.pairs * 2;
  s.bands = even_tasks(
      std::max((q.out_h + kRows - 1) / kRows, std::min<std::int64_t>(16, tasks_of_work(work))), q.out_h);
  const StripPlan strips = plan_strips(q, s.groups * in_group, kSize, (q.out_h + s.bands - 1) / s.bands);
  s.stage = strips.stage;
  s.strip_rows = strips.rows, s.strip_columns = strips.columns;
  for (std::int64_t t = 0; t < 2 * s.pairs; ++t) {
    const std::int64_t tap = std::min(t, count - 1), ky = tap / q.kernel_w, kx = tap % q.kernel_w;
    packed->taps.push_back(ky * s.stage.slot_ky * s.stage.slot_bytes +
                           kx * q.dilation_w * s.stage.pitch * kSize);
  }
  s.taps = packed->taps.data();

  const auto padded = static_cast<std::size_t>(s.groups * in_group);
  packed->weights = PackedFloats(padded * static_cast<std::size_t>(s.pairs));
  packed->start = PackedFloats(padded), packed->ratio = PackedFloats(padded);
  auto* weights = reinterpret_cast<std::int16_t*>(packed->weights.data());
  auto* start = reinterpret_cast<int*>(packed->start.data());
  for (std::int64_t g = 0; g < s.groups; ++g)
    for (std::int64_t lane = 0; lane < in_group; ++lane) {
      const std::int64_t c = g * in_group + channel_of(lane, width);
      if (c >= q.channels) continue;
      start[g * in_group + lane] = q.bias[static_cast<std::size_t>(c)];
      packed->ratio[static_cast<std::size_t>(g * in_group + lane)] = q.ratio[static_cast<std::size_t>(c)];
      for (std::int64_t t = 0; t < count; ++t)
        weights[((g * s.pairs + t / 2) * in_group + lane) * 2 + t % 2] =
            q.weights[static_cast<std::size_t>(c * count + t)];
    }
  s.weights = reinterpret_cast<const char*>(weights);
  s.start = start, s.ratio = packed->ratio.data();

  PreparedKernel prepared;
  prepared.weight_bytes = packed->weights.bytes() + packed->start.bytes() + packed->ratio.bytes();
  prepared.phase_tasks = {q.batch * s.bands};
  prepared.thread_scratch = static_cast<std::size_t>(strips.bytes);
  prepared.constants_used.assign(query.inputs.size(), true);
  prepared.constants_used[0] = false;
  prepared.state = std::shared_ptr<const void>(packed, &packed->state);
  return prepared;
}

constexpr KernelDesc kTable[] = {
    {"depthwise.avx512.int8", "QLinearConv", Isa::avx512, false, can_run, cost<Isa::avx512>,
     prepare<Isa::avx512>, avx512::depthwise_bytes},
    {"depthwise.avx2.int8", "QLinearConv", Isa::avx2, false, can_run, cost<Isa::avx2>, prepare<Isa::avx2>,
     avx2::depthwise_bytes},
    {"depthwise.portable.int8", "QLinearConv", Isa::portable, false, can_run, cost<Isa::portable>,
     prepare<Isa::portable>, portable::depthwise_bytes},
};

}  // namespace

std::span<const KernelDesc> depthwise_bytes_kernels() { return kTable; }

}  // namespace saccade::cpu
