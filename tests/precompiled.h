// src/precompiled.h and what every test reads beside it.
#pragma once

#include <gtest/gtest.h>

#include "../src/precompiled.h"
