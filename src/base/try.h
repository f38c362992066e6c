// The two error-propagation macros. Plain statements, one per line (temporaries are named by __LINE__).
#pragma once

#include "sluice/error.h"

#define SLUICE_CONCAT_INNER(a, b) a##b
#define SLUICE_CONCAT(a, b) SLUICE_CONCAT_INNER(a, b)

/// `SLUICE_TRY(auto x, f());` — assigns the value, or returns the error from a plain function.
#define SLUICE_TRY(lhs, expr)                                                                                \
  auto SLUICE_CONCAT(sluice_try_, __LINE__) = (expr);                                                        \
  if (!SLUICE_CONCAT(sluice_try_, __LINE__)) return std::move(SLUICE_CONCAT(sluice_try_, __LINE__)).error(); \
  lhs = std::move(*SLUICE_CONCAT(sluice_try_, __LINE__))

/// The same in a coroutine. `expr` may contain one co_await; its arguments are named variables (style 8.5).
#define SLUICE_CO_TRY(lhs, expr)                                       \
  auto SLUICE_CONCAT(sluice_try_, __LINE__) = (expr);                  \
  if (!SLUICE_CONCAT(sluice_try_, __LINE__))                           \
    co_return std::move(SLUICE_CONCAT(sluice_try_, __LINE__)).error(); \
  lhs = std::move(*SLUICE_CONCAT(sluice_try_, __LINE__))

/// For Result<void>.
#define SLUICE_CHECK(expr) \
  if (auto sluice_check_result = (expr); !sluice_check_result) return std::move(sluice_check_result).error()
#define SLUICE_CO_CHECK(expr)                                  \
  if (auto sluice_check_result = (expr); !sluice_check_result) \
  co_return std::move(sluice_check_result).error()
