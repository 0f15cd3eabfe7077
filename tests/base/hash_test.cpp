#include "base/hash.h"

#include <gtest/gtest.h>

#include <string>

#include "base/sha256_blocks.h"

namespace saccade {
namespace {

std::string sha(const std::string& text) {
  return Sha256::hex(std::as_bytes(std::span(text.data(), text.size())));
}

// FIPS 180-4 example values.
TEST(Sha256, KnownValues) {
  EXPECT_EQ(sha(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(Sha256, PiecesGiveTheSameAsTheWhole) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += static_cast<char>(i * 7);
  Sha256 pieces;
  const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  pieces.update(bytes.first(63));
  pieces.update(bytes.subspan(63, 2));
  pieces.update(bytes.subspan(65));
  Sha256 whole;
  whole.update(bytes);
  EXPECT_EQ(pieces.finish(), whole.finish());
}

TEST(Sha256, NativeBlocksGiveTheSameAsPortable) {
  const Sha256Blocks native = sha256_blocks_native();
  if (native == nullptr) GTEST_SKIP() << "this processor has no SHA instructions";
  std::vector<std::uint8_t> data(64 * 7);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::uint8_t>(i * i + 3 * i + i / 64);
  for (const std::size_t count : {0u, 1u, 2u, 7u}) {
    std::array<std::uint32_t, 8> a = {1, 0x80000000u, 3, 4, 0xffffffffu, 6, 7, 8}, b = a;
    sha256_blocks_portable(a.data(), data.data(), count);
    native(b.data(), data.data(), count);
    EXPECT_EQ(a, b) << count << " blocks";
  }
}

TEST(Sha256, EveryCutGivesTheSame) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += static_cast<char>(i * 11);
  const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    Sha256 pieces, whole;
    pieces.update(bytes.first(cut));
    pieces.update(bytes.subspan(cut));
    whole.update(bytes);
    EXPECT_EQ(pieces.finish(), whole.finish()) << cut;
  }
}

}  // namespace
}  // namespace saccade
