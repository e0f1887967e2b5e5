// SPDX-License-Identifier: Apache-2.0
#include "regrow/base/error.h"

#include <fmt/format.h>

namespace regrow {
namespace {

std::string with_site(std::string_view message, Site site) {
  return site.line == 0 ? std::string(message) : fmt::format("{} [{}:{}]", message, site.file, site.line);
}

}  // namespace

Error::Error(std::string_view message, Site site)
    : std::runtime_error(with_site(message, site)), site_(site), message_(message) {}

OutOfBudget::OutOfBudget(std::string_view message, std::size_t required, std::size_t smallest, Site site)
    : AsyncError(message, site), required_(required), smallest_(smallest) {}

void throw_error(Site site, fmt::string_view text, fmt::format_args args) { throw Error(fmt::vformat(text, args), site); }

}  // namespace regrow
