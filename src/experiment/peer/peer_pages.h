// What a foreign loader's process has mapped: its program, and perhaps the data.
//
// Source: proc_pid_maps(5).
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace blksweep {

// Whether a path lies with the data, or with the form of it that the peer has made (empty: none).
bool is_peer_data(const std::string& path, std::string_view root, const std::string& form);

// Dropping the caches takes the program's pages, too, but for those in use at that moment. Its
// loading is no part of an epoch; what lies with the data has just been made cold.
void warm_program(pid_t pid, std::string_view root, const std::string& form);

}  // namespace blksweep
