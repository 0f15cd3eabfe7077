#include "base/archive.h"

#include <gtest/gtest.h>

#include "base/hash.h"
#include "saccade/error.h"
#include "saccade/tensor.h"

namespace saccade {
namespace {

TEST(Archive, ReturnsWhatWasWritten) {
  ArchiveWriter out;
  out.number(std::int64_t{-7});
  out.text("héllo");
  out.numbers(std::vector<float>{1.5f, -0.0f});
  out.number(DType::i64);
  out.text("");
  ArchiveReader in(out.bytes());
  EXPECT_EQ(in.number<std::int64_t>(), -7);
  EXPECT_EQ(in.text(), "héllo");
  EXPECT_EQ(in.numbers<float>(), (std::vector<float>{1.5f, -0.0f}));
  EXPECT_EQ(in.choice(DType::boolean), DType::i64);
  EXPECT_EQ(in.text(), "");
  EXPECT_EQ(in.left(), 0u);
}

TEST(Archive, RefusesWhatDoesNotFit) {
  ArchiveWriter out;
  out.number(~std::uint64_t{0});
  out.number(std::uint8_t{200});
  EXPECT_THROW(ArchiveReader(out.bytes()).text(), Error);
  EXPECT_THROW(ArchiveReader(out.bytes()).numbers<double>(), Error);
  EXPECT_THROW(ArchiveReader(out.bytes()).take(10), Error);
  ArchiveReader in(out.bytes());
  in.take(8);
  EXPECT_THROW(in.choice(DType::boolean), Error);
  EXPECT_THROW(in.number<std::uint8_t>(), Error);
}

TEST(Checksum, NoticesEveryFlip) {
  for (const std::size_t size : {1u, 7u, 8u, 63u, 64u, 65u, 200u}) {
    std::vector<std::byte> data(size);
    for (std::size_t i = 0; i < size; ++i) data[i] = static_cast<std::byte>(i * 37);
    const std::uint64_t whole = checksum(data);
    for (std::size_t bit = 0; bit < 8 * size; ++bit) {
      data[bit / 8] ^= std::byte{1} << (bit % 8);
      EXPECT_NE(checksum(data), whole) << size << " bytes, bit " << bit;
      data[bit / 8] ^= std::byte{1} << (bit % 8);
    }
    EXPECT_NE(checksum(std::span(data).first(size - 1)), whole);
    data.push_back(std::byte{0});
    EXPECT_NE(checksum(data), whole);
  }
}

TEST(Checksum, NoticesExchangedWords) {
  std::vector<std::uint64_t> words(32);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = i * 0x123456789u;
  const std::uint64_t whole = checksum(std::as_bytes(std::span(words)));
  for (std::size_t a = 0; a < words.size(); ++a)
    for (std::size_t b = 0; b < a; ++b) {
      std::swap(words[a], words[b]);
      EXPECT_NE(checksum(std::as_bytes(std::span(words))), whole) << a << " " << b;
      std::swap(words[a], words[b]);
    }
}

}  // namespace
}  // namespace saccade
