#include "pass.h"

#include <pybind11/pybind11.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <string>

namespace blksweep::python {
namespace py = pybind11;
namespace {

constexpr std::chrono::milliseconds kSignals{10};  // Ctrl-C is looked for that often

}  // namespace

Hold::~Hold() { pass_->freed(number_); }

Pass::Pass(std::unique_ptr<Loader> loader)
    : loader_(std::move(loader)), process_(getpid()), stats_(loader_->stats()) {}

std::shared_ptr<Pass> Pass::open(std::shared_ptr<const LoaderData> data,
                                 const LoaderOptions& options) {
  std::string error;
  std::unique_ptr<Loader> loader;
  {
    const py::gil_scoped_release unlocked;
    loader = Loader::open(std::move(data), options, error);
  }
  if (!loader) {
    throw std::runtime_error(error);
  }
  return std::shared_ptr<Pass>(new Pass(std::move(loader)));
}

Pass::~Pass() {
  if (getpid() != process_) {
    static_cast<void>(loader_.release());
    return;
  }
  const py::gil_scoped_release unlocked;
  loader_.reset();
}

void Pass::check_process() const {
  if (getpid() != process_) {
    throw ForkedError(
        "this loader was started before a fork, and its threads are in the parent: open it in the "
        "process that reads");
  }
}

std::uint32_t Pass::held() const {
  return static_cast<std::uint32_t>(std::ranges::count(free_, false));
}

void Pass::freed(std::uint32_t number) {
  free_[number - oldest_] = true;
  if (!busy_ && getpid() == process_) {
    give_back();
  }
}

void Pass::give_back() {
  while (!free_.empty() && free_.front()) {
    free_.pop_front();
    ++oldest_;
    loader_->release();
  }
}

void Pass::wait() {
  for (bool ready = loader_->ready(); !ready;) {
    {
      const py::gil_scoped_release unlocked;
      ready = loader_->wait(kSignals);
    }
    if (PyErr_CheckSignals() != 0) {
      throw py::error_already_set();
    }
  }
}

bool Pass::ready() const {
  check_process();
  return closed_ || loader_->ready();
}

std::shared_ptr<Hold> Pass::next() {
  check_process();
  if (closed_) {
    return nullptr;
  }
  if (busy_) {
    throw std::runtime_error("another thread waits for a batch of this loader");
  }
  if (free_.size() == loader_->most_held()) {
    throw HeldError(std::to_string(held()) + " of " + std::to_string(free_.size()) +
                    " batches that fit into the window are still in use by arrays of theirs: copy "
                    "what is kept, or use a larger prefetch (with decode_threads two are all)");
  }
  struct Busy {
    Pass& pass;
    explicit Busy(Pass& p) : pass(p) { pass.busy_ = true; }
    ~Busy() {
      pass.busy_ = false;
      pass.give_back();
    }
  };
  const Busy busy(*this);
  wait();
  const std::optional<LoadedBatch> batch = loader_->next();
  stats_ = loader_->stats();
  if (!batch) {
    closed_ = true;
    if (!loader_->error().empty()) {
      throw std::runtime_error(loader_->error());
    }
    return nullptr;
  }
  free_.push_back(false);
  return std::make_shared<Hold>(shared_from_this(), batch->number,
                                std::vector(batch->samples.begin(), batch->samples.end()));
}

void Pass::close() {
  if (closed_ || getpid() != process_) {
    return;
  }
  closed_ = true;
  loader_->interrupt();
  const py::gil_scoped_release unlocked;
  while (loader_->next()) {
  }
}

}  // namespace blksweep::python
