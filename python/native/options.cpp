#include "options.h"

#include <pybind11/stl.h>

#include <functional>
#include <map>
#include <string>

namespace blksweep::python {
namespace py = pybind11;
namespace {

using Set = std::function<void(LoaderOptions&, const py::handle&)>;

template <class T>
Set into(T LoaderOptions::*field) {
  return [field](LoaderOptions& o, const py::handle& value) { o.*field = py::cast<T>(value); };
}

const std::map<std::string, Set>& fields() {
  static const std::map<std::string, Set> all{
      {"order", into(&LoaderOptions::order)},
      {"merge", into(&LoaderOptions::merge)},
      {"shuffle", into(&LoaderOptions::shuffle)},
      {"engine", into(&LoaderOptions::engine)},
      {"chunk_bytes", into(&LoaderOptions::chunk_bytes)},
      {"lookahead_bytes", into(&LoaderOptions::lookahead_bytes)},
      {"lookahead_percent", into(&LoaderOptions::lookahead_percent)},
      {"hold", into(&LoaderOptions::hold)},
      {"merge_gap_bytes", into(&LoaderOptions::merge_gap_bytes)},
      {"merge_most_bytes", into(&LoaderOptions::merge_most_bytes)},
      {"window_bytes", into(&LoaderOptions::window_bytes)},
      {"window_percent", into(&LoaderOptions::window_percent)},
      {"window_scope", into(&LoaderOptions::window_scope)},
      {"direct", into(&LoaderOptions::direct)},
      {"depth", into(&LoaderOptions::depth)},
      {"openers", into(&LoaderOptions::openers)},
      {"batch", into(&LoaderOptions::batch)},
      {"workers", into(&LoaderOptions::workers)},
      {"prefetch", into(&LoaderOptions::prefetch)},
      {"decode_threads", into(&LoaderOptions::decode_threads)},
      {"epochs", into(&LoaderOptions::epochs)},
      {"seed", into(&LoaderOptions::seed)},
      {"first_epoch", into(&LoaderOptions::first_epoch)},
      {"first_sample", into(&LoaderOptions::first_sample)},
      {"check", into(&LoaderOptions::check)},
      {"rank", into(&LoaderOptions::rank)},
      {"ranks", into(&LoaderOptions::ranks)}};
  return all;
}

}  // namespace

LoaderOptions options_of(const py::dict& given) {
  LoaderOptions options;
  for (const auto& [key, value] : given) {
    const auto name = py::cast<std::string>(key);
    const auto field = fields().find(name);
    if (field == fields().end()) {
      throw py::type_error("unknown option '" + name + "'");
    }
    try {
      field->second(options, value);
    } catch (const py::cast_error&) {
      throw py::type_error(name + " = " + py::cast<std::string>(py::repr(value)) +
                           ": not a value of its type, or out of range");
    }
  }
  return options;
}

}  // namespace blksweep::python
