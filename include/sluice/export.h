// Marks what libsluice exports; everything else is hidden.
#pragma once
#if defined(__GNUC__)
#define SLUICE_EXPORT __attribute__((visibility("default")))
#else
#define SLUICE_EXPORT
#endif
