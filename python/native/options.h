// Python's keyword arguments as LoaderOptions; an unknown one is a TypeError that names it.
#pragma once

#include <blksweep/loader.h>
#include <pybind11/pybind11.h>

namespace blksweep::python {

LoaderOptions options_of(const pybind11::dict& given);

}  // namespace blksweep::python
