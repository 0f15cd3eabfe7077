// Coefficients of the Winograd transforms for the points 0, infinity and pairs +-p. Included inside an unnamed namespace, by
// the kernels and by the code that packs filters for them: no symbol of it is shared.

/// F(M x M, 3 x 3) with M = 4, 6 or 8: P = M / 2 pairs of points, A = M + 2 positions a side.
template <int M>
struct WinogradPoints {
  static constexpr int kPairs = M / 2;
  static constexpr int kSide = M + 2;

  static constexpr double point(int pair) { return M == 4 ? kPoints4[pair % 2] : M == 6 ? kPoints6[pair % 3] : kPoints8[pair % 4]; }
  static constexpr double power(double x, int exponent) {
    double r = 1;
    for (int i = 0; i < exponent; ++i) r *= x;
    return r;
  }

  /// Everything that the transforms multiply with, made when compiling: loops that are unrolled find constants.
  struct Table {
    /// product[skip + 1][k]: coefficient k of the product over all pairs but `skip` of (t - point^2), a polynomial in t.
    double product[kPairs + 1][kPairs + 1] = {};
    double power[kPairs][M] = {};  ///< of the points
    constexpr Table() {
      for (int skip = -1; skip < kPairs; ++skip) {
        double* c = product[skip + 1];
        c[0] = 1;
        int degree = 0;
        for (int pair = 0; pair < kPairs; ++pair) {
          if (pair == skip) continue;
          ++degree;
          for (int i = degree; i >= 0; --i)
            c[i] = (i > 0 ? c[i - 1] : 0) - (i < degree ? c[i] * point(pair) * point(pair) : 0);
        }
      }
      for (int pair = 0; pair < kPairs; ++pair)
        for (int i = 0; i < M; ++i) power[pair][i] = WinogradPoints::power(point(pair), i);
    }
  };
  static constexpr Table kTable{};

  /// Row of the filter transform, 3 columns. Row 0 is the point 0, rows 2p + 1 and 2p + 2 are +-point(p), the
  /// last is infinity.
  static constexpr double filter(int row, int column) {
    if (row == kSide - 1) return column == 2 ? 1 : 0;
    const int own = (row - 1) / 2;
    const double x = row == 0 ? 0 : row % 2 == 1 ? point(own) : -point(own);
    double norm = 1;
    for (int pair = 0; pair < kPairs; ++pair) {
      if (row == 0)
        norm *= -point(pair) * point(pair);
      else if (pair == own)
        norm *= 2 * point(pair) * point(pair);
      else
        norm *= x * x - point(pair) * point(pair);
    }
    return power(x, column) / norm;
  }
};
