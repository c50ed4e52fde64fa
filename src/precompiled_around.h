// src/precompiled.h and what is read beside it by the rooms around the measured paths (Makefile: around).
#pragma once

#include "base/json.h"
#include "precompiled.h"
