// blksweep._native: the loader library as Python sees it; the package around it is what people use.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>
#include <string>

#include "batch.h"
#include "options.h"
#include "pass.h"

namespace blksweep::python {
namespace py = pybind11;
namespace {

// pybind11 holds no pointers to const.
struct Data {
  std::shared_ptr<const LoaderData> of;
};

Data open_data(const std::string& folder, const std::string& catalog) {
  std::string error;
  std::shared_ptr<const LoaderData> data;
  {
    const py::gil_scoped_release unlocked;
    data = LoaderData::open(folder, catalog, error);
  }
  if (!data) {
    throw std::runtime_error(error);
  }
  return {std::move(data)};
}

std::uint32_t checked(const Data& data, std::int64_t sample) {
  if (sample < 0 || sample >= data.of->samples()) {
    throw py::index_error("sample " + std::to_string(sample) + " of " +
                          std::to_string(data.of->samples()));
  }
  return static_cast<std::uint32_t>(sample);
}

std::int64_t label_of(const Data& data, std::int64_t sample) {
  const std::uint32_t label = data.of->label_of(checked(data, sample));
  return label == kNoLabelOfSample ? -1 : std::int64_t{label};
}

py::dict stats_of(const Pass& pass) {
  const LoaderStats s = pass.stats();
  py::dict out;
  out["batches"] = s.batches;
  out["samples"] = s.samples;
  out["bytes"] = s.bytes;
  out["reads"] = s.reads;
  out["read_bytes"] = s.read_bytes;
  out["window_peak_bytes"] = s.window_bytes;
  out["memory_bytes"] = s.memory_bytes;
  out["depth"] = s.depth;
  out["prefetch"] = s.prefetch;
  out["plan_ns"] = s.plan_ns;
  out["first_batch_ns"] = s.first_batch_ns;
  out["epoch_ns"] = s.epoch_ns;
  out["check_ns"] = s.check_ns;
  out["waited_ns"] = s.waited_ns;
  return out;
}

py::object next_of(Pass& pass) {
  std::shared_ptr<Hold> hold = pass.next();
  return hold ? py::cast(Batch(std::move(hold))) : py::object(py::none());
}

void define_data(py::module_& m) {
  py::class_<Data>(m, "Data")
      .def(py::init(&open_data), py::arg("folder"), py::arg("catalog"))
      .def_property_readonly("samples", [](const Data& d) { return d.of->samples(); })
      .def_property_readonly("bytes", [](const Data& d) { return d.of->bytes(); })
      .def_property_readonly("root", [](const Data& d) { return d.of->root(); })
      .def_property_readonly("identity", [](const Data& d) { return d.of->identity(); })
      .def_property_readonly("warnings", [](const Data& d) { return d.of->warnings(); })
      .def("granule",
           [](const Data& d, const py::dict& given) { return d.of->granule(options_of(given)); })
      .def("places",
           [](const Data& d, const py::dict& given) {
             const LoaderOptions options = options_of(given);
             const py::gil_scoped_release unlocked;  // it sorts all samples
             return d.of->places(options);
           })
      .def_property_readonly("labels", [](const Data& d) { return d.of->labels(); })
      .def("label", [](const Data& d, std::uint32_t label) { return d.of->label(label); })
      .def("label_of", &label_of)
      .def("path", [](const Data& d, std::int64_t i) { return d.of->path(checked(d, i)); })
      .def("sample_bytes",
           [](const Data& d, std::int64_t i) { return d.of->sample_bytes(checked(d, i)); });
}

void define_pass(py::module_& m) {
  py::class_<Pass, std::shared_ptr<Pass>>(m, "Pass")
      .def(py::init([](const Data& data, const py::dict& options) {
             return Pass::open(data.of, options_of(options));
           }),
           py::arg("data"), py::arg("options"))
      .def("next", &next_of)
      .def("close", &Pass::close)
      .def("stats", &stats_of)
      .def_property_readonly("held", &Pass::held)
      .def_property_readonly("ready", &Pass::ready)
      .def_property_readonly("most_held", &Pass::most_held)
      .def_property_readonly("batches", &Pass::batches)
      .def_property_readonly("delivers", &Pass::delivers);
}

void define_batch(py::module_& m) {
  py::class_<Batch>(m, "Batch",
                    "Samples of one batch, as read-only arrays of uint8 over the loader's memory.\n"
                    "\n"
                    "Arrays stay valid for as long as they live: the batch goes back to the loader "
                    "when the\nlast of them is gone.")
      .def("__len__", &Batch::size)
      .def("__getitem__", &Batch::sample, py::arg("index"))
      .def_property_readonly("number", &Batch::number, "Of this pass, from 0.")
      .def_property_readonly("indices", &Batch::indices, "Number of each sample in the catalog.")
      .def_property_readonly("labels", &Batch::labels, "Label of each sample; -1: none.")
      .def_property_readonly("sizes", &Batch::sizes, "Bytes of each sample.")
      .def("stack", &Batch::stack,
           "Samples of one size as rows of one array; without a copy where they lie side by side.")
      .def("concat", &Batch::concat,
           "(bytes, offsets): a copy of all samples, one after the other.")
      .def("release", &Batch::release, "The batch is not used any more, but for arrays of it.")
      .def_property_readonly("released", &Batch::released);
}

}  // namespace
}  // namespace blksweep::python

PYBIND11_MODULE(_native, m) {
  namespace py = pybind11;
  using namespace blksweep::python;
  // Now, under the import's lock: at the first array, a second thread would wait for the first
  // one's static, and that one, which imports NumPy, for the interpreter's lock.
  py::detail::npy_api::get();
  py::register_exception<ForkedError>(m, "ForkedError", PyExc_RuntimeError);
  py::register_exception<HeldError>(m, "HeldError", PyExc_BufferError);
  define_data(m);
  define_batch(m);
  define_pass(m);
}
