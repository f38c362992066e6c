// What happens to a child after fork.
//
// A forked child has the parent's lanes in memory but not its progress thread, and its writes would go to
// copies of the parent's pages. So in a child every mint and open fails with `unsupported` and says to exec,
// or to fork before the first use; tokens inherited from the parent are forgotten without a call into the
// fabric library (the parent still owns the windows). The HTTP data path of a *new* Client works in the
// child.
#pragma once

#include "sluice/error.h"

namespace sluice::fabric {

/// True in a process that was forked after a fabric was opened. Safe from any thread, async-signal-safe.
[[nodiscard]] bool forked_after_open() noexcept;
/// Called by providers when they open; installs the pthread_atfork handler once.
void note_fabric_opened();
Error forked_error();

}  // namespace sluice::fabric
