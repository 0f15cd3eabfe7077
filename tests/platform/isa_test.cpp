#include "saccade/isa.h"

#include <gtest/gtest.h>

namespace saccade {
namespace {

TEST(Isa, NamesRoundTrip) {
  for (const Isa isa : {Isa::portable, Isa::avx2, Isa::avx512, Isa::avx512_vnni, Isa::avx512_bf16, Isa::amx})
    EXPECT_EQ(parse_isa(isa_name(isa)), isa);
  EXPECT_EQ(parse_isa("avx9000"), std::nullopt);
}

TEST(Isa, ActiveNeverExceedsDetected) { EXPECT_LE(active_isa(), detected_isa()); }

}  // namespace
}  // namespace saccade
