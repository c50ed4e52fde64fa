// src/precompiled.h and what every verb reads beside it.
#pragma once

#include "../base/json.h"
#include "../precompiled.h"
