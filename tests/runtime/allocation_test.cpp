// Steady state allocates nothing: every way to get memory is replaced by one that counts.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include "compiler/fake_target.h"
#include "compiler/random_network.h"
#include "cpu/target.h"
#include "runtime/context.h"
#include "runtime/model_impl.h"

namespace {

std::atomic<bool> watching{false};
std::atomic<std::int64_t> calls{0};

void note() noexcept {
  if (watching.load(std::memory_order_relaxed)) calls.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

extern "C" {
// glibc's own entries.
void* __libc_malloc(std::size_t);
void __libc_free(void*);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t size) {
  note();
  return __libc_malloc(size);
}
void free(void* p) {
  if (p != nullptr) note();
  __libc_free(p);
}
void* calloc(std::size_t n, std::size_t size) {
  note();
  return __libc_calloc(n, size);
}
void* realloc(void* p, std::size_t size) {
  note();
  return __libc_realloc(p, size);
}
void* memalign(std::size_t align, std::size_t size) {
  note();
  return __libc_memalign(align, size);
}
void* aligned_alloc(std::size_t align, std::size_t size) {
  note();
  return __libc_memalign(align, size);
}
int posix_memalign(void** p, std::size_t align, std::size_t size) {
  note();
  *p = __libc_memalign(align, size);
  return *p == nullptr ? 12 : 0;
}
void* mmap(void* address, std::size_t size, int protection, int flags, int file, off_t offset) {
  note();
  using Function = void* (*)(void*, std::size_t, int, int, int, off_t);
  static const auto real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "mmap"));
  return real(address, size, protection, flags, file, offset);
}
}

void* operator new(std::size_t size) {
  note();
  if (void* p = __libc_malloc(size)) return p;
  throw std::bad_alloc();
}
void* operator new[](std::size_t size) { return operator new(size); }
void* operator new(std::size_t size, std::align_val_t align) {
  note();
  if (void* p = __libc_memalign(static_cast<std::size_t>(align), size)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { free(p); }
void operator delete[](void* p) noexcept { free(p); }
void operator delete(void* p, std::size_t) noexcept { free(p); }
void operator delete[](void* p, std::size_t) noexcept { free(p); }
void operator delete(void* p, std::align_val_t) noexcept { free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { free(p); }

namespace saccade {
namespace {

// A fixed network of what segmentation networks are made of, so that every step has a kernel.
Model network() {
  testing::GraphMaker m;
  const auto x = m.input("x", {1, 3, 32, 32});
  const auto a = m.node("HardSwish", {m.conv(x, 3, 16, 3, 2)});
  auto b = m.node("Relu", {m.conv(a, 16, 16, 3, 1, 16)});
  b = m.node("Add", {m.conv(b, 16, 16, 1), a});
  auto gate = m.node("ReduceMean", {b, m.integers({2, 3})}, {{"keepdims", std::int64_t{1}}});
  gate = m.node("Sigmoid", {m.conv(gate, 16, 16, 1)});
  b = m.node("Mul", {b, gate});
  const auto c =
      m.node("Resize", {m.conv(b, 16, 8, 1), ir::kNoValue, m.floats({4}, {1, 1, 2, 2})},
             {{"mode", std::string("linear")}, {"coordinate_transformation", std::string("half_pixel")}});
  const auto d = m.node("Concat", {c, m.conv(x, 3, 8)}, {{"axis", std::int64_t{1}}});
  return runtime::make_model(m.finish({m.node("Sigmoid", {m.conv(d, 16, 1, 1)})}));
}

TEST(Allocation, TheCountersWork) {
  watching = true;
  calls = 0;
  void* volatile p = std::malloc(10);
  std::free(p);
  auto* volatile q = new int(3);
  delete q;
  void* volatile r = std::aligned_alloc(64, 64);
  std::free(r);
  void* volatile s = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  watching = false;
  munmap(s, 4096);
  EXPECT_EQ(calls.load(), 7);
}

TEST(Allocation, SteadyStateAllocatesNothing) {
  const Model model = network();
  for (const Isa isa :
       {Isa::portable, Isa::avx2, Isa::avx512, Isa::avx512_vnni, Isa::avx512_bf16, Isa::amx}) {
    if (isa > active_isa()) continue;
    CompileOptions options;
    options.max_isa = isa;
    const Plan plan = model.compile(cpu::target(), options);
    for (const compiler::Step& step : plan.impl().compiled.steps)
      ASSERT_FALSE(step.kernel->reference) << step.op;
    for (const int threads : {1, 2}) {
      Context context = plan.make_context({threads});
      std::vector<Tensor> inputs, outputs;
      for (const TensorInfo& info : plan.inputs()) inputs.push_back(Tensor::zeros(info.dtype, info.shape));
      for (const TensorInfo& info : plan.outputs()) outputs.emplace_back(info.dtype, info.shape);
      context.run(inputs, outputs);
      calls = 0;
      watching = true;
      for (int run = 0; run < 10; ++run) context.run(inputs, outputs);
      watching = false;
      EXPECT_EQ(calls.load(), 0) << isa_name(isa) << ", " << threads << " threads";
    }
  }
}

}  // namespace
}  // namespace saccade
