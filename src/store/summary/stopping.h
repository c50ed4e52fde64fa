// What `--repeats auto` came to, in words: the foot of a table.
#pragma once

#include <map>
#include <string>

#include "store/records.h"

namespace blksweep {

// "after 37 rounds (--repeats auto): every interval is within 2 %, the widest 1.9 % (lba / a)", for
// each disk. A table may have another baseline, and rounds that were added later.
std::string stopping_text(const std::map<std::string, StoppingRecord>& by_disk);

// Two digits that matter: "0.37 %", "4.2 %", "120 %".
std::string percent_text(double share);

}  // namespace blksweep
