// Version numbers. SLUICE_ABI changes when an exported symbol or struct changes shape.
#pragma once
#define SLUICE_VERSION_MAJOR 0
#define SLUICE_VERSION_MINOR 1
#define SLUICE_VERSION_PATCH 0
#define SLUICE_VERSION_STRING "0.1.0"
#define SLUICE_ABI 0
