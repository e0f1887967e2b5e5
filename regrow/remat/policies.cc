// SPDX-License-Identifier: Apache-2.0
#include "regrow/remat/policies.h"

#include <fmt/format.h>

#include "regrow/base/error.h"
#include "regrow/remat/coop.h"
#include "regrow/remat/dtr.h"
#include "regrow/remat/next_use.h"

namespace regrow::remat {
namespace {

// What was used longest ago.
class LruPolicy final : public ScoredPolicy {
 public:
  explicit LruPolicy(bool exact) : ScoredPolicy(1, exact) {}

 private:
  Standing judge(StorageId id) override { return {.density = 1, .at = last_use(id)}; }
};

// The largest.
class SizePolicy final : public ScoredPolicy {
 public:
  explicit SizePolicy(bool exact) : ScoredPolicy(0, exact) {}

 private:
  Standing judge(StorageId id) override { return {.density = 1 / static_cast<double>(storage(id).bytes), .at = last_use(id)}; }
};

// h_DTR without a neighbourhood.
class LocalPolicy final : public ScoredPolicy {
 public:
  explicit LocalPolicy(bool exact) : ScoredPolicy(1, exact) {}

 private:
  Standing judge(StorageId id) override {
    return {.density = cost(id) / static_cast<double>(storage(id).bytes), .at = last_use(id)};
  }
};

}  // namespace

std::unique_ptr<machine::Policy> make_policy(std::string_view name, bool exact) {
  if (name == "lru") return std::make_unique<LruPolicy>(exact);
  if (name == "size") return std::make_unique<SizePolicy>(exact);
  if (name == "local") return std::make_unique<LocalPolicy>(exact);
  if (name == "dtr") return std::make_unique<DtrPolicy>(exact);
  if (name == "dtr-eq") return std::make_unique<DtrEqPolicy>(exact);
  if (name == "coop") return std::make_unique<CoopPolicy>();
  if (name == "next-use") return std::make_unique<NextUsePolicy>(NextUseSettings{}, exact);
  fail("policy: no policy is named '{}'; there are {}", name, fmt::join(policies, ", "));
}

}  // namespace regrow::remat
