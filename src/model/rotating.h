// Rotating: one head over turning tracks, a track cache and a command queue (docs/models.md).
//
// A request is eligible when the electronics have looked at it (arrival + overhead). If a segment
// of the cache has all of it, the electronics answer. Else it waits for the head, which chooses,
// whenever it is free, among the oldest `queue` that were eligible before: the one with the least
// positioning time less `ageing` times its wait.
// Source: Worthington, Ganger, Patt, "Scheduling algorithms for modern disk drives", SIGMETRICS
//         1994; ageing: Jacobson and Wilkes, "Disk scheduling algorithms based on rotational
//         position", HPL-CSP-91-7, 1991.
#pragma once

#include <memory>

#include "model/disk_model.h"

namespace blksweep {

std::unique_ptr<DiskModel> make_rotating(const RotatingSpec& spec, Bytes size);

}  // namespace blksweep
