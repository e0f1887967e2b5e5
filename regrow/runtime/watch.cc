// SPDX-License-Identifier: Apache-2.0
#include "regrow/runtime/watch.h"

#include "regrow/base/clock.h"
#include "regrow/base/log.h"
#include "regrow/runtime/process.h"

namespace regrow::runtime {

void deliver(Observer& observer, Event event) noexcept {
  if (event.time_ns == 0) event.time_ns = now_ns();
  const CallbackScope scope;
  try {
    observer.on_event(event);
  } catch (const std::exception& error) {
    log().error("an observer threw: {}", error.what());
  } catch (...) {
    log().error("an observer threw");
  }
}

}  // namespace regrow::runtime
