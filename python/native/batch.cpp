#include "batch.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace blksweep::python {
namespace py = pybind11;
namespace {

using Bytes = py::array_t<std::uint8_t>;

template <class T, class Get>
py::array values_of(const Hold& hold, Get get) {
  py::array_t<T> out(static_cast<py::ssize_t>(hold.samples().size()));
  std::ranges::transform(hold.samples(), out.mutable_data(), get);
  return out;
}

bool side_by_side(const std::vector<LoadedSample>& samples) {
  return std::ranges::adjacent_find(samples, [](const LoadedSample& a, const LoadedSample& b) {
           return a.data + a.bytes != b.data;
         }) == samples.end();
}

std::size_t sum_of(const std::vector<LoadedSample>& samples) {
  std::size_t sum = 0;
  for (const LoadedSample& s : samples) {
    sum += s.bytes;
  }
  return sum;
}

void copy_all(const std::vector<LoadedSample>& samples, std::uint8_t* to) {
  const py::gil_scoped_release unlocked;
  for (const LoadedSample& s : samples) {
    if (s.bytes > 0) {
      std::memcpy(to, s.data, s.bytes);
      to += s.bytes;
    }
  }
}

}  // namespace

const Hold& Batch::held() const {
  if (!hold_) {
    throw py::value_error("batch " + std::to_string(number_) +
                          " was released: take what is needed of it before the next one");
  }
  return *hold_;
}

// The array's base keeps the batch.
py::array Batch::view(const std::byte* data, std::vector<py::ssize_t> shape) const {
  const py::capsule base(new std::shared_ptr<Hold>(hold_),
                         [](void* p) { delete static_cast<std::shared_ptr<Hold>*>(p); });
  py::array out(py::dtype::of<std::uint8_t>(), std::move(shape), data, base);
  py::detail::array_proxy(out.ptr())->flags &= ~py::detail::npy_api::NPY_ARRAY_WRITEABLE_;
  return out;
}

py::array Batch::sample(std::ptrdiff_t index) const {
  const auto& samples = held().samples();
  const auto n = static_cast<std::ptrdiff_t>(samples.size());
  if (index < -n || index >= n) {
    throw py::index_error("sample " + std::to_string(index) + " of a batch of " +
                          std::to_string(n));
  }
  const LoadedSample& s = samples[static_cast<std::size_t>(index < 0 ? index + n : index)];
  return view(s.data, {static_cast<py::ssize_t>(s.bytes)});
}

py::array Batch::indices() const {
  return values_of<std::uint32_t>(held(), [](const LoadedSample& s) { return s.index; });
}

py::array Batch::labels() const {
  return values_of<std::int64_t>(held(), [](const LoadedSample& s) {
    return s.label == kNoLabelOfSample ? std::int64_t{-1} : std::int64_t{s.label};
  });
}

py::array Batch::sizes() const {
  return values_of<std::int64_t>(
      held(), [](const LoadedSample& s) { return static_cast<std::int64_t>(s.bytes); });
}

py::array Batch::stack() const {
  const auto& samples = held().samples();
  const std::size_t bytes = samples.empty() ? 0 : samples.front().bytes;
  if (std::ranges::any_of(samples, [&](const LoadedSample& s) { return s.bytes != bytes; })) {
    throw py::value_error("samples of batch " + std::to_string(number_) +
                          " have different sizes: use concat(), or take them one by one");
  }
  const std::vector<py::ssize_t> shape{static_cast<py::ssize_t>(samples.size()),
                                       static_cast<py::ssize_t>(bytes)};
  if (!samples.empty() && side_by_side(samples)) {
    return view(samples.front().data, shape);
  }
  Bytes out(shape);
  copy_all(samples, out.mutable_data());
  return out;
}

py::tuple Batch::concat() const {
  const auto& samples = held().samples();
  py::array_t<std::int64_t> offsets(static_cast<py::ssize_t>(samples.size() + 1));
  std::int64_t end = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    offsets.mutable_data()[i] = end;
    end += static_cast<std::int64_t>(samples[i].bytes);
  }
  offsets.mutable_data()[samples.size()] = end;
  Bytes out(static_cast<py::ssize_t>(sum_of(samples)));
  copy_all(samples, out.mutable_data());
  return py::make_tuple(std::move(out), std::move(offsets));
}

}  // namespace blksweep::python
