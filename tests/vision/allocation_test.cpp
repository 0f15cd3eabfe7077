// The steady state allocates nothing: every form of operator new of this program is counted, and so are the
// blocks that Workspace takes from the C library.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <vector>

#include "vision/composite.h"
#include "vision/convert.h"
#include "vision/mask.h"
#include "vision/preprocess.h"
#include "vision/reference.h"

namespace {
std::atomic<long> g_allocations{0};
}  // namespace

// The C library's entries, seen from the whole program: operator new ends in one of them.
extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* memory, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

void* malloc(std::size_t size) noexcept {
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) noexcept {
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_calloc(count, size);
}
void* realloc(void* memory, std::size_t size) noexcept {
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_realloc(memory, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_memalign(alignment, size);
}
}

namespace saccade::vision {
namespace {

long allocations() { return g_allocations.load(std::memory_order_relaxed); }

template <class Stage>
void expect_no_allocation(const char* what, Stage stage) {
  stage();
  const long before = allocations();
  stage();
  stage();
  EXPECT_EQ(allocations() - before, 0) << what;
}

TEST(Allocation, is_seen_by_the_counter) {
  const long before = allocations();
  std::vector<int>* kept = new std::vector<int>(1000);
  EXPECT_GE(allocations() - before, 2);
  delete kept;
  Workspace workspace;
  const long now = allocations();
  workspace.reserve(1 << 20);
  EXPECT_GE(allocations() - now, 1);
}

TEST(Allocation, stages_need_none_once_they_run) {
  testing::Generator random(1);
  for (const PixelFormat f :
       {PixelFormat::yuv420p, PixelFormat::yuva420p10, PixelFormat::nv12, PixelFormat::rgba}) {
    const Picture source(f, 200, 120), target(f, 200, 120), small(f, 90, 70);
    testing::fill_random(source.view(), random);
    const int depth = format_info(f).depth;
    const Plane alpha(200, 120, depth), classes(200, 120);
    Workspace workspace;
    for (const Rotation rotation : {Rotation::none, Rotation::clockwise_90}) {
      const PictureSpec spec{f, 200, 120, {}, rotation, 1};
      for (const ResizeRule rule : {ResizeRule::bilinear, ResizeRule::area, ResizeRule::mediapipe}) {
        InputSpec input;
        input.resize = rule;
        input.layout = TensorLayout::nhwc;
        const Preprocessor stage(spec, input, 64, 48);
        std::vector<float> out(static_cast<std::size_t>(stage.output_count()));
        expect_no_allocation("preprocess", [&] { stage.run(source.view(), out.data(), workspace); });
      }
      const std::vector<float> logits(5 * 64 * 48, 0.3f);
      OutputSpec many;
      many.kind = OutputKind::class_logits;
      const Geometry geometry = make_geometry(spec, Fit::letterbox, 64, 48);
      for (const ClassRule rule : {ClassRule::probability, ClassRule::argmax}) {
        MaskOptions options;
        options.rule = rule;
        options.threshold = 0.4f;
        options.softness = 0.2f;
        options.grow = 3;
        options.feather = 2;
        const Masker stage(geometry, many, {DType::f32, 5, 64, 48}, options, depth);
        expect_no_allocation("mask", [&] { stage.run(logits.data(), alpha.view(), workspace); });
      }
      const ClassMapper mapper(geometry, many, {DType::f32, 5, 64, 48});
      expect_no_allocation("class map", [&] { mapper.run(logits.data(), classes.view(), workspace); });
    }
    const PictureSpec spec{f, 200, 120, {}, Rotation::none, 1};
    const ConstPlaneView class_view = classes.view();
    for (const Effect e : {Effect::remove, Effect::blur, Effect::replace, Effect::mask, Effect::overlay}) {
      EffectOptions options;
      options.effect = e;
      const Compositor stage(spec, f, options);
      const CompositeFrame frame{source.view(), alpha.view(), target.view(), nullptr,
                                 e == Effect::overlay ? &class_view : nullptr};
      expect_no_allocation("composite", [&] { stage.run(frame, workspace); });
    }
    const Converter converter(spec, {f, 90, 70, {Matrix::bt601, Range::full}, Rotation::half_turn, 1},
                              Placement::cover);
    PictureView view = small.view();
    expect_no_allocation("convert", [&] { converter.run(source.view(), view, workspace); });
  }
}

}  // namespace
}  // namespace saccade::vision
