// 1x1 convolution, depthwise convolution, 1x1 convolution, row by row; included inside the namespace of each
// instruction set. The register tiles are those of the families pointwise and depthwise, with the same operations in
// the same order, so the results have the same bits as those of the three convolutions one after the other.

struct BlockStep {
  const float* src;
  const float* residual;
  float* dst;
  std::int64_t top, bottom;  ///< output rows
};

/// The depthwise convolution of a step, which reads input rows from `low` on.
inline void convolve_rows(const InvertedResidualState& s, const BlockStep& step, float* scratch, std::int64_t low) {
  const DepthwiseParams& p = *s.depthwise;
  DepthwiseTask<float> task;
  task.p = &p;
  task.residual = nullptr;
  task.top = step.top, task.bottom = step.bottom;
  task.table = scratch + s.table;
  const float* src = step.src;
  task.wrap = kNoWrap, task.ring = 0;
  if (s.expand != nullptr) {
    const std::int64_t turn = low / s.slots;
    src = scratch + s.ring - turn * s.slots * s.ring_row;
    task.wrap = (turn + 1) * s.slots;
    task.ring = s.slots * s.ring_row;
  }
  float* const dst = s.project != nullptr ? scratch + s.between - step.top * s.between_row : step.dst;
  for (std::int64_t c = 0; c < p.channels; c += p.group) {
    task.first = c;
    task.last = smaller(c + p.group, p.channels);
    task.src = src + c;
    task.dst = dst + c;
    depthwise_rows(task);
  }
}

/// Output rows [top, bottom) of one image.
inline void run_band(const InvertedResidualState& s, BlockStep step, float* scratch, std::int64_t& expanded) {
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
        pointwise_pixels(*s.expand, step.src + expanded * s.src_row, nullptr,
                         scratch + s.ring + expanded % s.slots * s.ring_row, p.src_width, 0, s.expand->blocks);
    }
    convolve_rows(s, step, scratch, low);
    if (s.project != nullptr)
      pointwise_pixels(*s.project, scratch + s.between,
                       step.residual != nullptr ? step.residual + step.top * s.residual_row : nullptr,
                       step.dst + step.top * s.dst_row, (step.bottom - step.top) * p.dst_width, 0, s.project->blocks);
  }
}

/// Asks for a small picture, half of which another core may have written: register tiles read a few pixels at a time and would
/// wait for each.
inline void ask_for_picture(const InvertedResidualState& s, const float* src) {
  constexpr std::int64_t kMost = 32 * 1024, kLine = 16;
  const std::int64_t floats = s.depthwise->src_height * s.depthwise->src_width * s.expand->src_pixel;
  if (floats > kMost) return;
#pragma GCC unroll 4
  for (std::int64_t i = 0; i < floats; i += kLine) prefetch(src + i);
}

/// One range of channels of one image.
inline void run_chunk(const InvertedResidualState& s, const float* src, float* dst, float* scratch, std::int64_t chunk) {
  const PointwiseState& e = *s.expand;
  const DepthwiseParams& p = *s.depthwise;
  const std::int64_t b0 = e.blocks * chunk / s.chunks, b1 = e.blocks * (chunk + 1) / s.chunks;
  const std::int64_t first = e.vectors * b0 / e.blocks * kLanes;
  const std::int64_t last = smaller(e.vectors * b1 / e.blocks * kLanes, p.channels);
  float* const expanded = scratch + s.ring - first;
  pointwise_pixels(e, src, nullptr, expanded, p.src_height * p.src_width, b0, b1);
  DepthwiseTask<float> task;
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

inline void run_inverted_residual(const compiler::KernelArgs& args) {
  const InvertedResidualState& s = *static_cast<const InvertedResidualState*>(args.state);
  if (s.chunks > 0) {
    for (std::int64_t task = args.begin; task < args.end; ++task) {
      const float* const src = static_cast<const float*>(args.src[0]) + task / s.chunks * s.src_image;
      if (task == args.begin && !args.resumes) ask_for_picture(s, src);
      run_chunk(s, src, static_cast<float*>(args.dst[0]) + task / s.chunks * s.dst_image,
                static_cast<float*>(args.thread_scratch), task % s.chunks);
    }
    return;
  }
  auto& kept = *reinterpret_cast<BlockRing*>(static_cast<float*>(args.thread_scratch) + s.state);
  BlockRing held = args.resumes ? kept : BlockRing{-1, 0};
  for (std::int64_t task = args.begin; task < args.end; ++task) {
    const std::int64_t image = task / s.bands;
    if (image != held.image) held = {image, 0};
    BlockStep step;
    step.src = static_cast<const float*>(args.src[0]) + image * s.src_image;
    step.residual =
        s.has_residual ? static_cast<const float*>(args.src[7]) + image * s.residual_image : nullptr;
    step.dst = static_cast<float*>(args.dst[0]) + image * s.dst_image;
    step.top = task % s.bands * s.band;
    step.bottom = smaller(step.top + s.band, s.depthwise->dst_height);
    run_band(s, step, static_cast<float*>(args.thread_scratch), held.expanded);
  }
  kept = held;
}
