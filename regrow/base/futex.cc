// SPDX-License-Identifier: Apache-2.0
#include "regrow/base/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>

namespace regrow {
namespace {

static_assert(sizeof(FutexWord) == sizeof(std::uint32_t) && FutexWord::is_always_lock_free);

long call(const FutexWord& word, int operation, std::uint32_t value) noexcept {
  return ::syscall(SYS_futex, &word, operation | FUTEX_PRIVATE_FLAG, value, nullptr, nullptr, 0);
}

}  // namespace

void futex_wait(const FutexWord& word, std::uint32_t expected) noexcept { call(word, FUTEX_WAIT, expected); }
void futex_wake_one(const FutexWord& word) noexcept { call(word, FUTEX_WAKE, 1); }
void futex_wake_all(const FutexWord& word) noexcept { call(word, FUTEX_WAKE, INT_MAX); }

}  // namespace regrow
