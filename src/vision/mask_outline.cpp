#include "vision/mask_outline.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace saccade::vision {

namespace {

/// The foreground as rows of bytes with a border of background, so that no neighbour needs a check.
class Bitmap {
 public:
  explicit Bitmap(const ConstPlaneView& alpha)
      : width_(alpha.width), height_(alpha.height), pitch_(static_cast<std::size_t>(alpha.width) + 2) {
    cells_.assign(pitch_ * (static_cast<std::size_t>(height_) + 2), 0);
    const int half = ((1 << alpha.depth) - 1) / 2;
    for (int y = 0; y < height_; ++y) {
      const std::uint8_t* row = alpha.data + alpha.stride * y;
      std::uint8_t* out = &cells_[index(0, y)];
      if (alpha.depth > 8) {
        const auto* words = reinterpret_cast<const std::uint16_t*>(row);
        for (int x = 0; x < width_; ++x) out[x] = words[x] > half ? 1 : 0;
      } else {
        for (int x = 0; x < width_; ++x) out[x] = row[x] > half ? 1 : 0;
      }
    }
  }
  std::size_t index(int x, int y) const noexcept {
    return static_cast<std::size_t>(y + 1) * pitch_ + static_cast<std::size_t>(x + 1);
  }
  bool at(int x, int y) const noexcept { return cells_[index(x, y)] != 0; }
  int width() const noexcept { return width_; }
  int height() const noexcept { return height_; }
  std::size_t cells() const noexcept { return cells_.size(); }

 private:
  int width_, height_;
  std::size_t pitch_;
  std::vector<std::uint8_t> cells_;
};

/// Which part each run of a row belongs to: runs that touch along an edge are one part.
class Parts {
 public:
  explicit Parts(const Bitmap& bits) {
    std::vector<std::size_t> first(static_cast<std::size_t>(bits.height()) + 1, 0);
    for (int y = 0; y < bits.height(); ++y) {
      first[static_cast<std::size_t>(y)] = runs_.size();
      for (int x = 0; x < bits.width();) {
        if (!bits.at(x, y)) {
          ++x;
          continue;
        }
        Run run{x, x, static_cast<int>(runs_.size())};
        while (bits.at(run.end, y)) ++run.end;
        x = run.end;
        runs_.push_back(run);
      }
      if (y > 0) join(first[static_cast<std::size_t>(y) - 1], first[static_cast<std::size_t>(y)]);
    }
    first.back() = runs_.size();
    rows_ = std::move(first);
  }

  int part(int x, int y) {
    const auto begin = runs_.begin() + static_cast<std::ptrdiff_t>(rows_[static_cast<std::size_t>(y)]);
    const auto end = runs_.begin() + static_cast<std::ptrdiff_t>(rows_[static_cast<std::size_t>(y) + 1]);
    const auto after = std::upper_bound(begin, end, x, [](int v, const Run& run) { return v < run.begin; });
    return root(static_cast<int>(after - runs_.begin()) - 1);
  }

 private:
  struct Run {
    int begin, end, parent;
  };
  void join(std::size_t above, std::size_t here) {
    const std::size_t above_end = here, here_end = runs_.size();
    while (above < above_end && here < here_end) {
      if (runs_[above].begin < runs_[here].end && runs_[here].begin < runs_[above].end) {
        const int a = root(static_cast<int>(above)), b = root(static_cast<int>(here));
        runs_[static_cast<std::size_t>(std::max(a, b))].parent = std::min(a, b);
      }
      if (runs_[above].end < runs_[here].end)
        ++above;
      else
        ++here;
    }
  }
  int root(int run) {
    while (runs_[static_cast<std::size_t>(run)].parent != run) {
      const int up = runs_[static_cast<std::size_t>(run)].parent;
      runs_[static_cast<std::size_t>(run)].parent = runs_[static_cast<std::size_t>(up)].parent;
      run = up;
    }
    return run;
  }

  std::vector<Run> runs_;
  std::vector<std::size_t> rows_;
};

}  // namespace

std::vector<Outline> mask_outlines(const ConstPlaneView& alpha) {
  const Bitmap bits(alpha);
  Parts parts(bits);
  // Every ring has a pixel's upper edge: walked to the right it has foreground below it, on the right-hand
  // side. Rings are found by those edges from the top, so a part's outer ring comes first.
  std::vector<bool> seen(bits.cells(), false);
  struct Found {
    int part;
    std::size_t outline;
  };
  std::vector<Outline> outlines;
  std::vector<Found> found;  // ascending by part: parts are numbered by their first run
  const auto outline_of = [&](int part) {
    return std::lower_bound(found.begin(), found.end(), part,
                            [](const Found& f, int p) { return f.part < p; });
  };
  for (int y = 0; y < bits.height(); ++y) {
    for (int x = 0; x < bits.width(); ++x) {
      if (!bits.at(x, y) || bits.at(x, y - 1) || seen[bits.index(x, y)]) continue;
      Ring ring;
      int cx = x, cy = y, dx = 1, dy = 0;
      do {
        // One step along (dx, dy); the pixel on the right-hand side is foreground, the one on the left is
        // not.
        if (dx == 1) seen[bits.index(cx, cy)] = true;
        cx += dx;
        cy += dy;
        // Pixels ahead of the corner, on the right and on the left of the way.
        const int rx = dx == 1 || dy == -1 ? cx : cx - 1, ry = dy == 1 || dx == 1 ? cy : cy - 1;
        const int lx = dx == 1 || dy == 1 ? cx : cx - 1, ly = dy == 1 || dx == -1 ? cy : cy - 1;
        int nx = dx, ny = dy;
        if (!bits.at(rx,
                     ry)) {  // around the pixel on the right: parts that touch at a corner only stay apart
          nx = -dy;
          ny = dx;
        } else if (bits.at(lx, ly)) {
          nx = dy;
          ny = -dx;
        }
        if (nx != dx || ny != dy) ring.push_back({cx, cy});
        dx = nx;
        dy = ny;
      } while (cx != x || cy != y || dx != 1);
      const int part = parts.part(x, y);
      const auto place = outline_of(part);
      if (place != found.end() && place->part == part) {
        outlines[place->outline].holes.push_back(std::move(ring));
      } else {
        found.insert(place, {part, outlines.size()});
        outlines.push_back({std::move(ring), {}});
      }
    }
  }
  return outlines;
}

}  // namespace saccade::vision
