// SPDX-License-Identifier: Apache-2.0
// The exceptions that users see, and `require`, which throws them with the caller's line. Any thread.
#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

#include "regrow/base/site.h"

namespace regrow {

// A mistake of the caller, or of the surroundings (a file, a limit). what() ends in " [file:line]" of the issuing call.
class Error : public std::runtime_error {
 public:
  explicit Error(std::string_view message, Site site = Site::here());
  Site site() const noexcept { return site_; }
  // what() without the site.
  const std::string& message() const noexcept { return message_; }

 private:
  Site site_;
  std::string message_;
};

// An operation failed after it was issued. The cause, with its own type, is nested: std::rethrow_if_nested reaches it.
// Construct it inside the handler of the cause.
class AsyncError : public Error, public std::nested_exception {
 public:
  using Error::Error;
};

// A request needs more memory than the budget allows, whatever is dropped or spilled.
class OutOfBudget : public AsyncError {
 public:
  OutOfBudget(std::string_view message, std::size_t required, std::size_t smallest, Site site = Site::here());
  std::size_t required_bytes() const noexcept { return required_; }   // what the request itself occupies
  std::size_t smallest_budget() const noexcept { return smallest_; }  // a budget known to suffice

 private:
  std::size_t required_;
  std::size_t smallest_;
};

// A format string (checked when compiled) and the place where it was written.
template <class... A>
struct Message {
  fmt::format_string<A...> text;
  Site site;

  template <class S>
    requires std::is_convertible_v<const S&, std::string_view>
  consteval Message(const S& s, Site at = Site::here()) : text(s), site(at) {}
};

[[noreturn]] void throw_error(Site site, fmt::string_view text, fmt::format_args args);

template <class... A>
[[noreturn]] void fail(Message<std::type_identity_t<A>...> m, A&&... args) {
  throw_error(m.site, m.text, fmt::make_format_args(args...));
}

template <class... A>
[[noreturn]] void fail_at(Site site, fmt::format_string<A...> text, A&&... args) {
  throw_error(site, text, fmt::make_format_args(args...));
}

template <class... A>
void require(bool ok, Message<std::type_identity_t<A>...> m, A&&... args) {
  if (!ok) [[unlikely]] throw_error(m.site, m.text, fmt::make_format_args(args...));
}

}  // namespace regrow
