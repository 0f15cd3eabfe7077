// Walking over a LinesView; included inside the namespace of each instruction set.

#include "cpu/kernels/vectors.inl"

/// Offsets of outer combination `index` in src and dst.
struct LinesAt {
  std::int64_t src, dst;
};
inline LinesAt outer_at(const LinesView& view, std::int64_t index) {
  LinesAt at = {0, 0};
  for (int d = LinesView::kDims - 1; d >= 0; --d) {
    const std::int64_t size = view.outer[d].size;
    const std::int64_t rest = index < size ? 0 : index / size;  // divisions take long
    const std::int64_t i = index - rest * size;
    index = rest;
    at.src += i * view.outer[d].src_step;
    at.dst += i * view.outer[d].dst_step;
  }
  return at;
}
/// Offsets of element `index` of a line.
inline LinesAt line_at(const LinesView& view, std::int64_t index) {
  LinesAt at = {0, 0};
  for (int d = LinesView::kDims - 1; d >= 0; --d) {
    const std::int64_t size = view.line[d].size;
    const std::int64_t rest = index < size ? 0 : index / size;  // divisions take long
    const std::int64_t i = index - rest * size;
    index = rest;
    at.src += i * view.line[d].src_step;
    at.dst += i * view.line[d].dst_step;
  }
  return at;
}

/// Elements [begin, end) of a line as runs along its last dimension: body(offset of the run's first element, its length).
template <class Body>
[[gnu::always_inline]] inline void for_each_run(const LinesView& view, std::int64_t begin, std::int64_t end, Body body) {
  const std::int64_t size = view.line[LinesView::kDims - 1].size;
  while (begin < end) {
    const std::int64_t left = size - (begin < size ? begin : begin % size), n = left < end - begin ? left : end - begin;
    body(line_at(view, begin), n);
    begin += n;
  }
}
