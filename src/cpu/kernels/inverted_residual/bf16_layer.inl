// 1x1 convolutions of bfloat16 in a block; included inside the namespace of each instruction set that multiplies them, before
// inverted_residual.inl.

inline void layer_pixels(const ConvBf16State& s, const Bf16* src, const Bf16* residual, Bf16* dst, std::int64_t pixels,
                         std::int64_t b0, std::int64_t b1) {
  conv_bf16_pixels(s, src, residual, dst, pixels, b0, b1);
}
