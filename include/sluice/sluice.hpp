// Everything of the C++ API.
#pragma once

#include "sluice/client.h"
#include "sluice/error.h"
#include "sluice/memory.h"
#include "sluice/options.h"
#include "sluice/transfer.h"
#include "sluice/version.h"
