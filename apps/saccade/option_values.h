// What values of options may be, where they are no settings.
#pragma once

#include <string>

namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace saccade::cli {

/// Lets every flag of a command, and of those in it, take a value that is a word for true or false, as in
/// files ("--strict=no"), and refuse any other.
void check_flags(CLI::App& command);

/// A number from `low` to `high`; not "nan".
CLI::Validator number_between(double low, double high);

}  // namespace saccade::cli
