// Values of a spec as text, and where they stand, for those who read its tables.
//
// Threads: pure.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/toml.h"

namespace blksweep {

// "sweep.toml:3:9".
std::string spec_place(const std::string& file, const toml::source_region& at);
// A string, a number, true or false as text; what else is there, and `at`, is in the error.
Result<std::string> scalar_text(const toml::node& node, const std::string& at);
// A scalar, or a list of them; text lists commas as the command line does.
Result<std::vector<std::string>> values_of(const toml::node& node, const std::string& at);
// "...: 'siz' is no key of [[disk]]; did you mean size?"
Result<> refuse_unknown_keys(const toml::table& table, const std::string& file,
                             const std::string& what, const std::vector<std::string>& known);

}  // namespace blksweep
