// Choice and preparation of the inverted residual kernels.
#include "cpu/kernels/inverted_residual/inverted_residual.h"

#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "cpu/conv_query.h"
#include "cpu/cost.h"
#include "cpu/image.h"
#include "cpu/kernels/families.h"
#include "cpu/kernels/tile/tile.h"
#include "cpu/rates.h"
#include "cpu/storage.h"
#include "ops/inverted_residual.h"

namespace saccade::cpu {

namespace {

using compiler::KernelDesc;
using compiler::KernelQuery;
using compiler::Layout;
using compiler::PreparedKernel;
using compiler::TensorDesc;

// The state, and what owns the states that it points to.
template <class Layer>
struct State {
  BlockState<Layer> state{};
  std::array<std::shared_ptr<const void>, 3> parts;
};

// A picture whose pixels and rows have these distances.
TensorDesc picture(DType dtype, std::int64_t batch, std::int64_t channels, std::int64_t height,
                   std::int64_t width, std::int64_t row, std::int64_t pixel) {
  return {
      true, dtype, Layout::channels_last, {batch, channels, height, width}, {row * height, 1, row, pixel}};
}

// The queries of the convolutions that a block is made of. What lies between them is described as it lies in
// a thread's scratch, except that an expanded row counts as adjacent to the next where it is written.
class Parts {
 public:
  /// nullptr if the block can be read, else why not.
  static const char* check(const KernelQuery& block) {
    if (block.inputs.empty() || block.outputs.empty()) return "no operands";
    if (const char* why = check_image(block.inputs[ops::kBlockSource])) return why;
    if (const char* why = check_image(block.outputs[0])) return why;
    for (std::size_t i = ops::kBlockExpandWeights; i < ops::kBlockResidual && i < block.inputs.size(); ++i)
      if (block.inputs[i].present && block.constants[i] == nullptr) return "weights are not constant";
    const Tensor* weights = block.constants[ops::kBlockDepthwiseWeights];
    if (weights == nullptr || weights->rank() != 4) return "depthwise weights are not of rank 4";
    return nullptr;
  }

  /// `pixel`: elements of a pixel between the convolutions; 0: as many as there are channels.
  explicit Parts(const KernelQuery& block, std::int64_t pixel = 0)
      : parts_(ops::block_parts(block.node)), store_(block.store) {
    const TensorDesc &x = block.inputs[ops::kBlockSource], &y = block.outputs[0];
    const std::int64_t channels = block.constants[ops::kBlockDepthwiseWeights]->dim(0);
    ring_row = x.dims[3] * pixel;
    if (pixel == 0) {
      // Whole vectors, and an odd number of cache lines a row: neighbouring rows do not compete for the same
      // sets.
      const std::int64_t line = 64 / static_cast<std::int64_t>(dtype_size(x.dtype));
      pixel = (channels + 15) / 16 * 16;
      ring_row = ((x.dims[3] * pixel + line - 1) / line | 1) * line;
    }
    between_row = y.dims[3] * pixel;
    expands = block.node.has_input(ops::kBlockExpandWeights);
    projects = block.node.has_input(ops::kBlockProjectWeights);
    const TensorDesc written =
        picture(x.dtype, x.dims[0], channels, x.dims[2], x.dims[3], x.dims[3] * pixel, pixel);
    const TensorDesc read = picture(x.dtype, x.dims[0], channels, x.dims[2], x.dims[3], ring_row, pixel);
    const TensorDesc between =
        picture(x.dtype, y.dims[0], channels, y.dims[2], y.dims[3], between_row, pixel);
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const bool first = i == 0, last = i + 1 == parts_.size(), middle = i == (expands ? 1u : 0u);
      inputs_[i] = {first ? x : middle ? read : between};
      constants_[i] = {nullptr};
      outputs_[i] = last ? y : middle ? between : written;
      for (const std::size_t slot : parts_[i].slots) {
        const bool there = slot < block.inputs.size() && block.inputs[slot].present;
        inputs_[i].push_back(there ? block.inputs[slot] : TensorDesc{});
        constants_[i].push_back(there ? block.constants[slot] : nullptr);
      }
    }
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  KernelQuery expand() const { return query(0); }
  KernelQuery depthwise() const { return query(expands ? 1 : 0); }
  KernelQuery project() const { return query(expands ? 2 : 1); }

  bool expands, projects;
  std::int64_t ring_row, between_row;  ///< elements

 private:
  KernelQuery query(std::size_t i) const {
    return {parts_[i].node, inputs_[i], constants_[i], {&outputs_[i], 1}, compiler::Precision::fp32, store_};
  }

  std::vector<ops::BlockPart> parts_;
  compiler::PackedStore* store_;  // the parts' weights are the block's
  std::array<std::vector<TensorDesc>, 3> inputs_;
  std::array<std::vector<const Tensor*>, 3> constants_;
  std::array<TensorDesc, 3> outputs_;
};

// How a block is cut into steps.
struct Steps {
  std::int64_t rows, slots, ring, between;  ///< the last two in elements

  Steps(const Parts& parts, const ConvQuery& middle) {
    // Enough pixels for each reading of the filters, in pairs of rows.
    constexpr std::int64_t kPixels = 64, kMostRows = 8;
    rows = std::clamp<std::int64_t>(kPixels / middle.out_w / 2 * 2, 2, kMostRows);
    slots = (rows - 1) * middle.stride_h + (middle.kernel_h - 1) * middle.dilation_h + 1;
    ring = parts.expands ? slots * parts.ring_row : 0;
    between = parts.projects ? rows * parts.between_row : 0;
  }
};

// How a block is cut into ranges of channels.
struct Chunks {
  std::int64_t count = 0, pixel = 0;  ///< elements of a pixel
  std::int64_t blocks = 0;            ///< register blocks of the expansion's filters

  Chunks() = default;
  Chunks(const ConvQuery& expand, int lanes) {
    const std::int64_t vectors = (expand.filters + lanes - 1) / lanes;
    cut(expand, lanes, vectors, filter_blocks(vectors, lanes));
    // Blocks of three vectors are multiplied as fast as those of four: rather those than one range too many
    // for one of two threads.
    constexpr std::int64_t kVectors = 3;
    if (lanes == 16 && count % 2 != 0 && vectors > 2 * kVectors) {
      const Chunks whole = *this;
      cut(expand, lanes, vectors, (vectors + kVectors - 1) / kVectors);
      if (count % 2 != 0) *this = whole;
    }
  }

 private:
  void cut(const ConvQuery& expand, int lanes, std::int64_t vectors, std::int64_t cut_into) {
    // As many channels as leave room for more in the second-level cache, a register block at least; and a few
    // ranges, as they are what threads share.
    constexpr std::int64_t kFloats = 64 * 1024, kShared = 4;
    blocks = cut_into;
    const std::int64_t most = (vectors + blocks - 1) / blocks * lanes;  // of a register block
    const std::int64_t fit = std::max<std::int64_t>(kFloats / (expand.in_h * expand.in_w) / most, 1);
    const auto work = static_cast<std::int64_t>(expand.multiply_adds()) / lanes;
    count = std::max((blocks + fit - 1) / fit, std::min({tasks_of_work(work), kShared, blocks}));
    pixel = ((blocks + count - 1) / count * most + 15) / 16 * 16;
    // Rows at a distance of whole pages would compete for the same sets of the first-level cache.
    if (expand.in_w * pixel % 1024 == 0) pixel += 16;
  }
};

// nullptr or why the block cannot be done by rows.
const char* check_rows(const ConvQuery& middle) {
  if (middle.kernel_h != middle.kernel_w || middle.stride_h != middle.stride_w) return "window is not square";
  if (middle.kernel_h != 3 && middle.kernel_h != 5) return "window is neither 3x3 nor 5x5";
  if (middle.stride_h > 2) return "stride above 2";
  if (middle.dilation_h != 1 || middle.dilation_w != 1) return "dilated";
  return nullptr;
}

// The same by channels.
const char* check_chunks(const Parts& parts) {
  if (!parts.expands || parts.projects) return "there is a projection";
  const ConvQuery q = read_conv(parts.expand());
  if (q.in_h > 1 && q.src_row != q.src_pixel * q.in_w) return "input rows are not adjacent";
  return nullptr;
}

const char* can_run(const KernelQuery& query) {
  if (const char* why = Parts::check(query)) return why;
  const Parts parts(query);
  if (parts.expands)
    if (const char* why = check_pointwise_rows(parts.expand())) return why;
  if (const char* why = check_depthwise(parts.depthwise())) return why;
  if (parts.projects)
    if (const char* why = check_pointwise_rows(parts.project())) return why;
  const ConvQuery middle = read_conv(parts.depthwise());
  if (middle.filters != 1) return "more than one output channel an input channel";
  return check_chunks(parts) == nullptr ? nullptr : check_rows(middle);
}

// Where all that is read, written and between is bfloat16.
const char* can_run_halves(const KernelQuery& query) {
  if (const char* why = Parts::check(AsFloats(query).query())) return why;
  if (const char* why = check_bf16(query, 1u << ops::kBlockSource | 1u << ops::kBlockResidual)) return why;
  for (const char* const stored : {"expand_to", "depthwise_to", "project_to"})
    if (query.node.text(stored, "bfloat16") != "bfloat16") return "what lies between is not bfloat16";
  const Parts parts(query);
  if (parts.expands)
    if (const char* why = check_bf16_pixels(parts.expand())) return why;
  if (const char* why = check_depthwise_paired(AsFloats(parts.depthwise()).query())) return why;
  if (parts.projects)
    if (const char* why = check_bf16_pixels(parts.project())) return why;
  return check_chunks(parts) == nullptr ? nullptr : check_rows(read_conv(parts.depthwise()));
}

// How much of the second-level cache a step or a range of channels may use.
constexpr std::int64_t kNearBytes = 384 * 1024;

// What differs between the two kinds of data.
template <Isa kIsa>
struct Floats {
  using Layer = PointwiseState;
  static constexpr Isa kSet = kIsa;
  static double pixels_ns(std::int64_t pixels, const ConvQuery& q) {
    return tile_row_ns(kIsa, pixels, q.filters, q.channels, 1);
  }
  static double depthwise_ns(const ConvQuery& q) {
    return q.multiply_adds() / (0.6 * multiply_adds_per_ns(kIsa));
  }
  static PreparedKernel layer(const KernelQuery& query, std::int64_t blocks) {
    return prepare_pointwise(query, lanes(kIsa), blocks);
  }
  static PreparedKernel depthwise(const KernelQuery& query) { return prepare_depthwise(query, lanes(kIsa)); }
};
struct Halves {
  using Layer = ConvBf16State;
  static constexpr Isa kSet = Isa::avx512_bf16;
  static double pixels_ns(std::int64_t pixels, const ConvQuery& q) {
    return tile_row_ns(kSet, pixels, q.filters, q.channels / 2, 1) * 2 / bf16_speedup();
  }
  static double depthwise_ns(const ConvQuery& q) { return depthwise_paired_ns(q); }
  static PreparedKernel layer(const KernelQuery& query, std::int64_t blocks) {
    return prepare_bf16_pixels(query, blocks);
  }
  static PreparedKernel depthwise(const KernelQuery& query) {
    return prepare_depthwise_paired(AsFloats(query).query());
  }
};

// Nanoseconds of one image, by rows.
template <class Kind>
double row_cost(const Parts& parts, std::int64_t element) {
  const ConvQuery middle = read_conv(parts.depthwise());
  const Steps steps(parts, middle);
  const auto count = static_cast<double>((middle.out_h + steps.rows - 1) / steps.rows);
  double ns = Kind::depthwise_ns(middle);
  // What the depthwise convolution reads and writes itself, as that of the family depthwise counts it.
  double moved = 0;
  if (!parts.expands) moved += static_cast<double>(middle.groups * middle.in_h * middle.in_w);
  if (!parts.projects) moved += static_cast<double>(middle.groups * middle.out_h * middle.out_w);
  std::int64_t weights = 0;
  if (parts.expands) {
    const ConvQuery q = read_conv(parts.expand());
    ns += static_cast<double>(q.in_h) * Kind::pixels_ns(q.in_w, q);
    weights += q.filters * q.channels;
  }
  if (parts.projects) {
    const ConvQuery q = read_conv(parts.project());
    ns += count * Kind::pixels_ns(steps.rows * q.out_w, q);
    weights += q.filters * q.channels;
  }
  const std::int64_t near = steps.ring + steps.between + weights;
  // What is too much pushes as much again out, to be fetched in the next step.
  const std::int64_t fetched = std::clamp<std::int64_t>(2 * (near - kNearBytes / element), 0, near);
  moved += count * static_cast<double>(fetched);
  return ns + moved * static_cast<double>(element) / bytes_per_ns(Kind::kSet);
}

// The same by channels: each range reads the input again.
template <class Kind>
double chunk_cost(const Parts& parts, std::int64_t element) {
  const ConvQuery middle = read_conv(parts.depthwise()), q = read_conv(parts.expand());
  const Chunks chunks(q, lanes(Kind::kSet));
  const std::int64_t pixels = q.in_h * q.in_w;
  // In order, and long before it is multiplied: most of that is hidden.
  constexpr double kShown = 0.25;
  double moved = kShown * static_cast<double>((chunks.count - 1) * q.channels * pixels) +
                 static_cast<double>(middle.groups * middle.out_h * middle.out_w);
  // A range that does not stay near costs more than it saves.
  if (pixels * chunks.pixel > kNearBytes / element) moved += 3 * static_cast<double>(q.filters * pixels);
  return Kind::depthwise_ns(middle) + Kind::pixels_ns(pixels, q) +
         moved * static_cast<double>(element) / bytes_per_ns(Kind::kSet);
}

template <class Kind>
bool by_channels(const Parts& parts, std::int64_t element) {
  if (check_chunks(parts) != nullptr) return false;
  return check_rows(read_conv(parts.depthwise())) != nullptr ||
         chunk_cost<Kind>(parts, element) < row_cost<Kind>(parts, element);
}

std::int64_t element_bytes(const KernelQuery& query) {
  return static_cast<std::int64_t>(dtype_size(query.inputs[ops::kBlockSource].dtype));
}

template <class Kind>
double cost(const KernelQuery& query) {
  const Parts parts(query);
  const auto batch = static_cast<double>(query.inputs[ops::kBlockSource].dims[0]);
  const std::int64_t element = element_bytes(query);
  return batch * (by_channels<Kind>(parts, element) ? chunk_cost<Kind>(parts, element)
                                                    : row_cost<Kind>(parts, element));
}

// What the tasks write, in their order.
template <class Layer>
std::vector<compiler::PicturePart> parts_of(const BlockState<Layer>& s, int lanes) {
  std::vector<compiler::PicturePart> parts;
  const DepthwiseParams& p = *s.depthwise;
  const std::int64_t channels = s.project != nullptr ? s.project->filters : p.channels;
  if (s.chunks == 0) {
    for (std::int64_t band = 0; band < s.bands; ++band)
      parts.push_back({band * s.band * p.dst_width, std::min((band + 1) * s.band, p.dst_height) * p.dst_width,
                       0, channels});
    return parts;
  }
  const Layer& e = *s.expand;
  const auto filter = [&](std::int64_t chunk) {
    return std::min(channels, e.vectors * (e.blocks * chunk / s.chunks) / e.blocks * lanes);
  };
  for (std::int64_t chunk = 0; chunk < s.chunks; ++chunk)
    parts.push_back({0, p.dst_height * p.dst_width, filter(chunk), filter(chunk + 1)});
  return parts;
}

template <class Kind>
PreparedKernel prepare(const KernelQuery& query) {
  using Layer = typename Kind::Layer;
  const int width = lanes(Kind::kSet);
  const std::int64_t element = element_bytes(query);
  const Parts whole(query);
  const bool chunked = by_channels<Kind>(whole, element);
  const Chunks chunks = chunked ? Chunks(read_conv(whole.expand()), width) : Chunks{};
  const Parts parts(query, chunks.pixel);
  const ConvQuery middle = read_conv(parts.depthwise());
  const Steps steps(parts, middle);
  auto packed = std::make_shared<State<Layer>>();
  BlockState<Layer>& s = packed->state;
  PreparedKernel prepared;
  const auto keep = [&](std::size_t i, const PreparedKernel& part) {
    packed->parts[i] = part.state;
    prepared.weight_bytes += part.weight_bytes;
  };
  if (parts.expands) {
    keep(0, Kind::layer(parts.expand(), chunks.blocks));
    s.expand = static_cast<const Layer*>(packed->parts[0].get());
  }
  keep(1, Kind::depthwise(parts.depthwise()));
  s.depthwise = static_cast<const DepthwiseParams*>(packed->parts[1].get());
  if (parts.projects) {
    keep(2, Kind::layer(parts.project(), 0));
    s.project = static_cast<const Layer*>(packed->parts[2].get());
    const ConvQuery q = read_conv(parts.project());
    s.has_residual = q.has_residual;
    s.residual_image = q.residual_image, s.residual_row = q.residual_pixel * q.out_w;
  }
  const Image x = read_image(query.inputs[ops::kBlockSource]), y = read_image(query.outputs[0]);
  s.src_image = x.image, s.src_row = x.row;
  s.dst_image = y.image, s.dst_row = y.row;
  s.chunks = chunks.count;
  s.rows = steps.rows, s.slots = steps.slots;
  s.ring_row = parts.ring_row, s.between_row = parts.between_row;
  const auto line = [](std::int64_t bytes) { return (bytes + 63) / 64 * 64; };
  s.ring = 0, s.between = line((chunked ? x.height * parts.ring_row : steps.ring) * element);
  s.table = s.between + line((chunked ? 0 : steps.between) * element);

  const std::int64_t units = (y.height + s.rows - 1) / s.rows;
  double work = middle.multiply_adds();
  if (parts.expands) work += read_conv(parts.expand()).multiply_adds();
  if (parts.projects) work += read_conv(parts.project()).multiply_adds();
  constexpr std::int64_t kTasks = 16;
  s.bands = even_tasks(std::min(tasks_of_work(static_cast<std::int64_t>(work / width)), kTasks), units);
  s.band = (units + s.bands - 1) / s.bands * s.rows;
  s.bands = (y.height + s.band - 1) / s.band;
  prepared.phase_tasks = {x.batch * (chunked ? s.chunks : s.bands)};
  prepared.parts = parts_of(s, width);
  s.state = line(s.table + s.depthwise->table_floats * static_cast<std::int64_t>(sizeof(float)));
  prepared.thread_scratch = static_cast<std::size_t>(s.state) + sizeof(BlockRing);
  prepared.constants_used.assign(query.inputs.size(), false);
  for (std::size_t i = ops::kBlockExpandWeights; i < query.inputs.size() && i < ops::kBlockResidual; ++i)
    prepared.constants_used[i] = true;
  prepared.packed_inputs =
      1u << ops::kBlockExpandWeights | 1u << ops::kBlockDepthwiseWeights | 1u << ops::kBlockProjectWeights;
  prepared.state = std::shared_ptr<const void>(packed, &packed->state);
  return prepared;
}

constexpr KernelDesc kTable[] = {
    {"inverted_residual.avx512_bf16.bf16", "InvertedResidual", Isa::avx512_bf16, false, can_run_halves,
     cost<Halves>, prepare<Halves>, avx512::inverted_residual_bf16},
    {"inverted_residual.avx512.fp32", "InvertedResidual", Isa::avx512, false, can_run,
     cost<Floats<Isa::avx512>>, prepare<Floats<Isa::avx512>>, avx512::inverted_residual},
    {"inverted_residual.avx2.fp32", "InvertedResidual", Isa::avx2, false, can_run, cost<Floats<Isa::avx2>>,
     prepare<Floats<Isa::avx2>>, avx2::inverted_residual},
    {"inverted_residual.portable.fp32", "InvertedResidual", Isa::portable, false, can_run,
     cost<Floats<Isa::portable>>, prepare<Floats<Isa::portable>>, portable::inverted_residual},
};

}  // namespace

std::span<const KernelDesc> inverted_residual_kernels() { return kTable; }

}  // namespace saccade::cpu
