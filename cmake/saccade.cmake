# Functions for the project's targets. Each folder of src/ is one library target, saccade_<folder>; its DEPENDS are
# the only other folders whose headers it may include, so the link edges are the architecture's layers.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)

add_library(saccade_options INTERFACE)
target_compile_options(saccade_options INTERFACE -Wall -Wextra -Wconversion -Wshadow $<$<BOOL:${SACCADE_WERROR}>:-Werror>)
# GCC 12 reports overlapping copies inside std::string operator+ that cannot happen (its bug 105651).
target_compile_options(saccade_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
if(SACCADE_SANITIZE)
  add_compile_options(-fsanitize=${SACCADE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${SACCADE_SANITIZE})
  # GCC 12's own <regex> and <functional> look uninitialised to it once they are instrumented (its bug 105562).
  target_compile_options(saccade_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
endif()
if(SACCADE_COVERAGE)
  add_compile_options(--coverage -fprofile-abs-path -fprofile-update=atomic)
  add_link_options(--coverage)
endif()
if(SACCADE_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# SACCADE_COLD_BUILD is for builds from nothing, which spend most of their time reading the same headers: it halves their time and
# makes builds after a change longer.
# saccade_unity(TARGET): compiles the target's files together. Only where no two files define the same name.
function(saccade_unity TARGET)
  if(SACCADE_COLD_BUILD)
    set_target_properties(${TARGET} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 20)
  endif()
endfunction()
# saccade_precompile(TARGET header...): reads those headers once. For targets of many files.
function(saccade_precompile TARGET)
  if(SACCADE_COLD_BUILD)
    target_precompile_headers(${TARGET} PRIVATE <algorithm> <array> <cmath> <functional> <limits> <memory> <optional> <string> <vector>
                                                ${ARGN})
    # With headers read ahead GCC 12 reports the same impossible copies under these names too; other builds look for true ones.
    target_compile_options(${TARGET} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds>)
  endif()
endfunction()

# saccade_library(NAME [UNITY] SOURCES... DEPENDS folder... PUBLIC lib... PRIVATE lib...)
function(saccade_library NAME)
  cmake_parse_arguments(ARG "UNITY" "" "SOURCES;DEPENDS;PUBLIC;PRIVATE" ${ARGN})
  set(TARGET saccade_${NAME})
  add_library(${TARGET} STATIC ${ARG_SOURCES})
  target_include_directories(${TARGET} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
                                              $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
  list(TRANSFORM ARG_DEPENDS PREPEND saccade_)
  target_link_libraries(${TARGET} PUBLIC ${ARG_DEPENDS} ${ARG_PUBLIC} PRIVATE ${ARG_PRIVATE} saccade_options)
  if(ARG_UNITY)
    saccade_unity(${TARGET})
  endif()
endfunction()

# saccade_test(NAME SOURCES... DEPENDS folder... LIBS lib... LABELS label): one GoogleTest program, its cases as ctest tests.
function(saccade_test NAME)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPENDS;LIBS;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  set(TARGET test_${NAME})
  add_executable(${TARGET} ${ARG_SOURCES})
  target_include_directories(${TARGET} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  list(TRANSFORM ARG_DEPENDS PREPEND saccade_)
  target_link_libraries(${TARGET} PRIVATE ${ARG_DEPENDS} ${ARG_LIBS} saccade_options GTest::gtest GTest::gtest_main GTest::gmock)
  list(LENGTH ARG_SOURCES COUNT)
  if(COUNT GREATER 3)
    saccade_precompile(${TARGET} <filesystem> <fstream> <random> <fmt/format.h> <gmock/gmock.h> <gtest/gtest.h>)
  endif()
  # One label: CMake's test discovery takes lists apart. Names start with the program's, so ctest -R selects by it.
  set(PROPERTIES "")
  list(LENGTH ARG_LABELS COUNT)
  if(COUNT GREATER 1)
    message(FATAL_ERROR "saccade_test(${NAME}): more than one label: ${ARG_LABELS}")
  elseif(COUNT EQUAL 1)
    set(PROPERTIES LABELS ${ARG_LABELS})
  endif()
  gtest_discover_tests(${TARGET} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 120 TEST_PREFIX ${NAME}/
                       PROPERTIES ${PROPERTIES} TIMEOUT ${ARG_TIMEOUT})
  # What the thread sanitizer looks at is built alone by the target of this name.
  if("threads" IN_LIST ARG_LABELS)
    if(NOT TARGET tests_threads)
      add_custom_target(tests_threads)
    endif()
    add_dependencies(tests_threads ${TARGET})
  endif()
endfunction()
