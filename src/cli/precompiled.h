// src/precompiled.h and what every verb reads beside it.
#pragma once

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "precompiled.h"
