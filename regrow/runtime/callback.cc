// SPDX-License-Identifier: Apache-2.0
#include "regrow/runtime/callback.h"

#include "regrow/ops/var.h"

namespace regrow {

Op callback_op(std::string name, Callback callback, CallbackOptions options) {
  require(static_cast<bool>(callback), "callback_op: '{}' has no function", name);
  const OpRecord& record = record_of<"callback">();
  auto object = std::make_shared<const CallbackObject>(std::move(name), std::move(callback), std::move(options.outputs.declared));
  return Op(record, Attrs(record.name, record.attributes, {}, std::move(object)));
}

}  // namespace regrow
