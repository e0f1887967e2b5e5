// SPDX-License-Identifier: Apache-2.0
#include "regrow/runtime/channel.h"

#include "regrow/base/log.h"
#include "regrow/runtime/core.h"

namespace regrow {

using Kind = runtime::Command::Kind;

Channel::Channel(Options options) : core_(std::make_shared<Core>(options)) { core_->start(); }

Channel::~Channel() {
  if (core_->from_before_fork()) {
    // Its worker and whoever held its mutex are not in this process: nothing of it may be touched.
    new std::shared_ptr<Core>(std::move(core_));
    return;
  }
  core_->end();
}

Handle Channel::put(HostArray value, PutOptions options, Site site) { return core_->put(std::move(value), options, site); }
Handle Channel::put(DeviceTensor tensor, Site site) { return core_->put(std::move(tensor), site); }
void Channel::del(Handle handle) noexcept { core_->del(handle); }

std::vector<Handle> Channel::apply_op(const Op& op, std::span<const Handle> inputs, Site site) { return core_->apply(op, inputs, site); }
void Channel::apply(const Op& op, std::span<const Handle> inputs, std::span<Handle> outputs, Site site, const RandomState* random) {
  core_->apply(op, inputs, outputs, site, random);
}

HostArray Channel::get_value(Handle handle, Site site) { return core_->value(handle, site); }
Shape Channel::get_shape(Handle handle, Site site) { return core_->desc(handle, site, true).shape; }
DType Channel::get_dtype(Handle handle, Site site) { return core_->desc(handle, site, false).dtype; }
Device Channel::get_device(Handle handle, Site site) { return core_->desc(handle, site, false).device; }
Desc Channel::get_desc(Handle handle, Site site) { return core_->desc(handle, site, false); }
DeviceTensor Channel::get_dev_tensor(Handle handle, Site site) { return core_->dev_tensor(handle, site); }
bool Channel::host_value(Handle handle, HostArray& value) const { return core_->host_value(handle, value); }
void Channel::wait(Handle handle, Site site) { core_->wait(handle, site); }

void Channel::drop(Handle handle, bool force, Site site) { core_->move(Kind::drop, handle, force, site); }
void Channel::swap_out(Handle handle, Site site) { core_->move(Kind::swap_out, handle, false, site); }
void Channel::swap_in(Handle handle, Site site) { core_->move(Kind::swap_in, handle, false, site); }

void Channel::seed(std::uint64_t key) { core_->set_random_state({key, 0}); }
RandomState Channel::random_state() const { return core_->random_state(); }
void Channel::set_random_state(RandomState state) { core_->set_random_state(state); }
RandomState Channel::next_random() { return core_->next_random(); }

MemoryReport Channel::memory(Device device, Site site) { return core_->memory(device, site); }
void Channel::reset_peak_memory(Device device) { core_->reset_peak(device); }
void Channel::set_memory_budget(std::size_t bytes, Device device, Site site) {
  if (bytes == 0) fail_at(site, "set_memory_budget: 0 bytes; clear_memory_budget takes a budget away");
  core_->set_budget(bytes, device, site);
}
void Channel::clear_memory_budget(Device device) { core_->set_budget(0, device, {}); }
void Channel::set_spill_directory(const std::filesystem::path& directory, SpillOptions options, Site site) {
  std::unique_ptr<memory::SpillStore> store;
  try {
    store = std::make_unique<memory::SpillStore>(directory, std::move(options));
  } catch (const Error& error) {
    throw Error(error.message(), site);
  }
  core_->set_spill(std::move(store), site);
}
void Channel::clear_spill_directory(Site site) { core_->set_spill(nullptr, site); }

void Channel::end_step() { core_->end_step(); }
void Channel::record_step(StepWanted wanted, StepTaker taker, Site site) { core_->record_step(wanted, std::move(taker), site); }
void Channel::tune(const PolicyTuning& tuning, Site site) { core_->tune(tuning, site); }
void Channel::set_option(std::string_view name, std::size_t value, Site site) { core_->set_option(name, value, site); }
void Channel::set_option(std::string_view name, std::string_view value, Site site) { core_->set_option(name, value, site); }
std::size_t Channel::get_option(std::string_view name, Site site) const { return core_->get_option(name, site); }

void Channel::observe(Observer* observer) { core_->observe(observer); }
void Channel::start_profile() { core_->start_profile(); }
void Channel::stop_profile() { core_->stop_profile(); }
void Channel::push_scope(std::string_view name) { core_->push_scope(name); }
void Channel::pop_scope(std::string_view name, Site site) { core_->pop_scope(name, site); }
void Channel::mark(std::string_view text) { core_->mark(text); }

void Channel::sync(Site site) { core_->sync(site); }
void Channel::close(Site site) { core_->close(site); }
bool Channel::closed() const noexcept { return core_->closed(); }
std::uint64_t Channel::failed_puts() const noexcept { return core_->failed_puts(); }

}  // namespace regrow
