// 1x1 convolutions of floats in a block; included inside the namespace of each instruction set, before inverted_residual.inl.

inline void layer_pixels(const PointwiseState& s, const float* src, const float* residual, float* dst, std::int64_t pixels,
                         std::int64_t b0, std::int64_t b1) {
  pointwise_pixels(s, src, residual, dst, pixels, b0, b1);
}
