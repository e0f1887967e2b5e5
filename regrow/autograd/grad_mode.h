// SPDX-License-Identifier: Apache-2.0
// Whether operations are recorded for backward: on by default, a property of each thread.
#pragma once

namespace regrow {

bool grad_enabled() noexcept;

// Sets the mode for a scope.
class GradMode {
 public:
  explicit GradMode(bool enabled) noexcept;
  ~GradMode();
  GradMode(const GradMode&) = delete;
  GradMode& operator=(const GradMode&) = delete;

 private:
  bool before_;
};

// Nothing is recorded in this scope: { NoGrad guard; … }
class NoGrad : public GradMode {
 public:
  NoGrad() noexcept : GradMode(false) {}
};

}  // namespace regrow
