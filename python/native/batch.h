// Batch: what Python sees of one: samples as read-only arrays over the loader's memory.
#pragma once

#include <pybind11/numpy.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "pass.h"

namespace blksweep::python {

class Batch {
 public:
  explicit Batch(std::shared_ptr<Hold> hold) : hold_(std::move(hold)), number_(hold_->number()) {}

  std::size_t size() const { return held().samples().size(); }
  std::uint32_t number() const { return number_; }
  pybind11::array sample(std::ptrdiff_t index) const;  // no copy
  pybind11::array indices() const;                     // uint32
  pybind11::array labels() const;                      // int64, -1: none
  pybind11::array sizes() const;                       // int64, bytes
  // Samples of one size as rows: over the loader's memory where they lie side by side, else copied.
  pybind11::array stack() const;
  // All bytes one after the other, and where each sample begins and the last one ends.
  pybind11::tuple concat() const;
  void release() { hold_.reset(); }
  bool released() const { return !hold_; }

 private:
  const Hold& held() const;  // ValueError when it was released
  pybind11::array view(const std::byte* data, std::vector<pybind11::ssize_t> shape) const;

  std::shared_ptr<Hold> hold_;
  std::uint32_t number_;
};

}  // namespace blksweep::python
