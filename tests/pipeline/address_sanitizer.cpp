// What the address sanitizer is told before the first allocation. It asks for these functions by their names.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() {  // NOLINT(bugprone-reserved-identifier)
  // Freed blocks are kept for a while, so that a use after the free is seen. By default that is up to 256 MB,
  // more than a whole job needs: tests of memory would measure the sanitizer.
  return "quarantine_size_mb=8";
}
// x265 3.5 never frees copies of its parameters.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {  // NOLINT(bugprone-reserved-identifier)
  return "leak:libx265.so\n";
}
