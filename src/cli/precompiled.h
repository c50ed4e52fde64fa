// src/precompiled.h and what every verb reads beside it.
#pragma once

#include <precompiled.h>  // the one of src/, not this one

#include "base/json.h"
