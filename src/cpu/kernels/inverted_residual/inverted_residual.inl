// 1x1 convolution, depthwise convolution, 1x1 convolution, row by row; included inside the namespace of each
// instruction set. The register tiles are those of the families pointwise and depthwise, with the same operations in
// the same order, so the results have the same bits as those of the three convolutions one after the other.
// Layer is the kind of 1x1 convolution; float_layer.inl and bf16_layer.inl, included before, say how one does pixels.

/// What the data of a block are stored as.
template <class Layer>
struct BlockElement {
  using Type = float;
};
template <>
struct BlockElement<ConvBf16State> {
  using Type = PairedBf16;
};
template <class Layer>
using ElementOf = typename BlockElement<Layer>::Type;

template <class T>
struct BlockStep {
  const T* src;
  const T* residual;
  T* dst;
  std::int64_t top, bottom;  ///< output rows
};

template <class T>
[[gnu::always_inline]] inline T* scratch_at(char* scratch, std::int64_t bytes) {
  return reinterpret_cast<T*>(scratch + bytes);
}

/// The depthwise convolution of a step, which reads input rows from `low` on.
template <class Layer, class T>
inline void convolve_rows(const BlockState<Layer>& s, const BlockStep<T>& step, char* scratch, std::int64_t low) {
  const DepthwiseParams& p = *s.depthwise;
  DepthwiseTask<T> task;
  task.p = &p;
  task.residual = nullptr;
  task.top = step.top, task.bottom = step.bottom;
  task.table = scratch + s.table;
  const T* src = step.src;
  task.wrap = kNoWrap, task.ring = 0;
  if (s.expand != nullptr) {
    const std::int64_t turn = low / s.slots;
    src = scratch_at<T>(scratch, s.ring) - turn * s.slots * s.ring_row;
    task.wrap = (turn + 1) * s.slots;
    task.ring = s.slots * s.ring_row;
  }
  T* const dst = s.project != nullptr ? scratch_at<T>(scratch, s.between) - step.top * s.between_row : step.dst;
  for (std::int64_t c = 0; c < p.channels; c += p.group) {
    task.first = c;
    task.last = smaller(c + p.group, p.channels);
    task.src = src + c;
    task.dst = dst + c;
    depthwise_rows(task);
  }
}

/// Output rows [top, bottom) of one image.
template <class Layer, class T>
inline void run_band(const BlockState<Layer>& s, BlockStep<T> step, char* scratch, std::int64_t& expanded) {
  const DepthwiseParams& p = *s.depthwise;
  const std::int64_t end = step.bottom;
  for (; step.top < end; step.top += s.rows) {
    step.bottom = smaller(step.top + s.rows, end);
    std::int64_t low = step.top * p.stride_y - p.pad_top;
    if (low < 0) low = 0;
    if (s.expand != nullptr) {
      const std::int64_t high =
          smaller(p.src_height, (step.bottom - 1) * p.stride_y - p.pad_top + (p.kernel_y - 1) * p.dilation_y + 1);
      if (expanded < low) expanded = low;
      for (; expanded < high; ++expanded)
        layer_pixels(*s.expand, step.src + expanded * s.src_row, nullptr,
                     scratch_at<T>(scratch, s.ring) + expanded % s.slots * s.ring_row, p.src_width, 0, s.expand->blocks);
    }
    convolve_rows(s, step, scratch, low);
    if (s.project != nullptr)
      layer_pixels(*s.project, scratch_at<T>(scratch, s.between),
                   step.residual != nullptr ? step.residual + step.top * s.residual_row : nullptr,
                   step.dst + step.top * s.dst_row, (step.bottom - step.top) * p.dst_width, 0, s.project->blocks);
  }
}

/// Asks for a small picture, half of which another core may have written: register tiles read a few pixels at a time and would
/// wait for each.
template <class Layer, class T>
inline void ask_for_picture(const BlockState<Layer>& s, const T* src) {
  constexpr std::int64_t kMost = 128 * 1024, kLine = 64;
  const std::int64_t bytes = s.depthwise->src_height * s.src_row * static_cast<std::int64_t>(sizeof(T));
  if (bytes > kMost) return;
#pragma GCC unroll 4
  for (std::int64_t i = 0; i < bytes; i += kLine) prefetch(reinterpret_cast<const char*>(src) + i);
}

/// One range of channels of one image.
template <class Layer, class T>
inline void run_chunk(const BlockState<Layer>& s, const T* src, T* dst, char* scratch, std::int64_t chunk) {
  const Layer& e = *s.expand;
  const DepthwiseParams& p = *s.depthwise;
  const std::int64_t b0 = e.blocks * chunk / s.chunks, b1 = e.blocks * (chunk + 1) / s.chunks;
  const std::int64_t first = e.vectors * b0 / e.blocks * kLanes;
  const std::int64_t last = smaller(e.vectors * b1 / e.blocks * kLanes, p.channels);
  T* const expanded = scratch_at<T>(scratch, s.ring) - first;
  layer_pixels(e, src, nullptr, expanded, p.src_height * p.src_width, b0, b1);
  DepthwiseTask<T> task;
  task.p = &p;
  task.residual = nullptr;
  task.top = 0, task.bottom = p.dst_height;
  task.table = scratch + s.table;
  task.wrap = kNoWrap, task.ring = 0;
  for (std::int64_t c = first; c < last; c += p.group) {
    task.first = c;
    task.last = smaller(c + p.group, last);
    task.src = expanded + c;
    task.dst = dst + c;
    depthwise_rows(task);
  }
}

template <class Layer>
inline void run_inverted_residual(const compiler::KernelArgs& args) {
  using T = ElementOf<Layer>;
  const auto& s = *static_cast<const BlockState<Layer>*>(args.state);
  auto* const scratch = static_cast<char*>(args.thread_scratch);
  if (s.chunks > 0) {
    for (std::int64_t task = args.begin; task < args.end; ++task) {
      const T* const src = static_cast<const T*>(args.src[0]) + task / s.chunks * s.src_image;
      if (task == args.begin && !args.resumes) ask_for_picture(s, src);
      run_chunk(s, src, static_cast<T*>(args.dst[0]) + task / s.chunks * s.dst_image, scratch, task % s.chunks);
    }
    return;
  }
  auto& kept = *scratch_at<BlockRing>(scratch, s.state);
  BlockRing held = args.resumes ? kept : BlockRing{-1, 0};
  for (std::int64_t task = args.begin; task < args.end; ++task) {
    const std::int64_t image = task / s.bands;
    if (image != held.image) held = {image, 0};
    BlockStep<T> step;
    step.src = static_cast<const T*>(args.src[0]) + image * s.src_image;
    step.residual =
        s.has_residual ? static_cast<const T*>(args.src[7]) + image * s.residual_image : nullptr;
    step.dst = static_cast<T*>(args.dst[0]) + image * s.dst_image;
    step.top = task % s.bands * s.band;
    step.bottom = smaller(step.top + s.band, s.depthwise->dst_height);
    run_band(s, step, scratch, held.expanded);
  }
  kept = held;
}
