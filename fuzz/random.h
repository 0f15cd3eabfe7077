// Choices that a seed decides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <random>

namespace saccade::fuzz {

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}

  std::size_t below(std::size_t bound) { return bound == 0 ? 0 : engine_() % bound; }
  bool one_in(std::size_t n) { return below(n) == 0; }
  template <class List>
  auto& pick(List& list) {
    return list[below(std::size(list))];
  }

  /// What programs get wrong: the ends of types, and numbers near `now`.
  std::int64_t number(std::int64_t now) {
    constexpr std::int64_t kSpecial[] = {0,
                                         1,
                                         -1,
                                         2,
                                         3,
                                         4,
                                         7,
                                         16,
                                         255,
                                         256,
                                         65535,
                                         65536,
                                         INT32_MAX,
                                         INT32_MIN,
                                         INT64_C(1) << 32,
                                         INT64_C(1) << 40,
                                         INT64_MAX,
                                         INT64_MIN};
    const auto wrapped = static_cast<std::uint64_t>(now);  // may overflow
    switch (below(8)) {
      case 0:
      case 1:
        return kSpecial[below(std::size(kSpecial))];
      case 2:
        return static_cast<std::int64_t>(wrapped + 1);
      case 3:
        return static_cast<std::int64_t>(wrapped - 1);
      case 4:
        return static_cast<std::int64_t>(wrapped * 2);
      case 5:
        return static_cast<std::int64_t>(0 - wrapped);
      default:
        return static_cast<std::int64_t>(below(12)) - 3;
    }
  }

 private:
  std::mt19937 engine_;
};

}  // namespace saccade::fuzz
