#include "platform/build.h"

#include <fmt/format.h>
#include <link.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace saccade::platform {

namespace {

struct Search {
  std::uintptr_t code;  // an address in the object that is looked for
  std::string id;
};

// Of a segment of notes, each a header, its owner's name and its data, padded to four bytes.
std::string id_in_notes(const std::byte* notes, std::size_t size) {
  const auto padded = [](std::size_t n) { return (n + 3) / 4 * 4; };
  while (size >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header;
    std::memcpy(&header, notes, sizeof(header));
    const std::size_t name = sizeof(header), data = name + padded(header.n_namesz);
    const std::size_t whole = data + padded(header.n_descsz);
    if (whole > size) break;
    const std::string_view owner(reinterpret_cast<const char*>(notes + name), header.n_namesz);
    if (header.n_type == NT_GNU_BUILD_ID && owner == std::string_view("GNU", 4))
      return fmt::format(
          "{:02x}",
          fmt::join(std::span(reinterpret_cast<const unsigned char*>(notes + data), header.n_descsz), ""));
    notes += whole;
    size -= whole;
  }
  return "";
}

int visit(dl_phdr_info* info, std::size_t /*size*/, void* data) {
  auto& search = *static_cast<Search*>(data);
  bool here = false;
  std::string id;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    const std::uintptr_t start = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && search.code >= start && search.code - start < segment.p_memsz)
      here = true;
    if (segment.p_type == PT_NOTE && id.empty())
      id = id_in_notes(reinterpret_cast<const std::byte*>(start), segment.p_memsz);
  }
  if (!here) return 0;
  search.id = std::move(id);
  return 1;
}

}  // namespace

std::string build_id() {
  Search search{reinterpret_cast<std::uintptr_t>(&build_id), ""};
  dl_iterate_phdr(visit, &search);
  return search.id;
}

}  // namespace saccade::platform
