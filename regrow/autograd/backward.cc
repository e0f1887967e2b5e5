// SPDX-License-Identifier: Apache-2.0
#include "regrow/autograd/backward.h"

#include <absl/container/inlined_vector.h>

#include <algorithm>
#include <mutex>

#include "regrow/autograd/grad_mode.h"
#include "regrow/autograd/node.h"
#include "regrow/autograd/recorder.h"
#include "regrow/autograd/rule.h"
#include "regrow/autograd/tape.h"
#include "regrow/engine/default_channel.h"
#include "regrow/runtime/channel.h"

namespace regrow::autograd {
namespace {

constexpr std::uint8_t most_nested = 250;

// One pass at a time: nodes carry the marks and the gradients of the pass that runs.
std::mutex& pass_mutex() {
  static std::mutex& mutex = *new std::mutex;
  return mutex;
}

bool earlier(const Shared<Recorded>& a, const Shared<Recorded>& b) noexcept {
  return static_cast<Node*>(a.get())->sequence() < static_cast<Node*>(b.get())->sequence();
}

class Pass;
constinit thread_local Pass* running = nullptr;  // the innermost on this thread

// A custom gradient may run a pass of its own. The two must not meet: a node carries the marks of one.
class Pass {
 public:
  Pass(const PassOptions& options, Site site);
  ~Pass();

  void seed(const Value& output, const Value& given);
  // Restricts the pass to what leads to these values.
  void restrict_to(std::span<const Value> targets);
  void run();
  std::vector<Value> take_captured(std::span<const Value> targets);

 private:
  void claim(Node& node) const;
  void push(const Edge& edge, Value grad);
  bool wanted(const Edge& edge) const noexcept;
  void step(Node& node);
  [[noreturn]] void fail_released(const Node& node) const;
  void finish_leaves();
  Value ones_like(const Desc& desc);

  const PassOptions& options_;
  Site site_;
  Pass* const outer_;
  const std::uint8_t depth_;
  std::unique_lock<std::mutex> lock_;
  GradMode mode_;
  EagerRecorder recorder_;
  Shared<Recorded> current_;
  std::vector<Shared<Recorded>> heap_;    // nodes with gradients, the latest recorded on top
  std::vector<Shared<Recorded>> leaves_;  // that have theirs: handed over when all went well
  std::vector<Shared<Recorded>> marked_;  // by restrict_to
  std::vector<std::pair<Edge, Value>> captured_;
  const Node* met_released_ = nullptr;  // by restrict_to, in marked_
  bool restricted_ = false;
};

Pass::Pass(const PassOptions& options, Site site)
    : options_(options),
      site_(site),
      outer_(running),
      depth_(outer_ ? static_cast<std::uint8_t>(outer_->depth_ + 1) : std::uint8_t{1}),
      mode_(options.create_graph) {
  if (depth_ == most_nested) fail_at(site, "backward: passes are nested {} deep", most_nested);
  if (!outer_) lock_ = std::unique_lock(pass_mutex());
  running = this;
}

Pass::~Pass() {
  running = outer_;
  if (current_) heap_.push_back(current_);
  for (auto* list : {&heap_, &leaves_})
    for (const Shared<Recorded>& entry : *list) {
      Node& node = static_cast<Node&>(*entry);
      node.grads.clear();
      node.queued = false;
      node.pass = 0;
    }
  for (const Shared<Recorded>& entry : marked_) {
    Node& node = static_cast<Node&>(*entry);
    node.visited = node.target = false;
    node.needed = true;
    node.pass = 0;
  }
}

Value Pass::ones_like(const Desc& desc) {
  if (desc.shape.empty()) return literal(1, desc.dtype, desc.device, site_);
  std::byte* element = nullptr;
  HostArray one = HostArray::uninitialized(desc.dtype, desc.shape, &element);
  write_scalar(1, desc.dtype, element);
  return Value(default_channel().put(std::move(one), {.device = desc.device}, site_));
}

void Pass::seed(const Value& output, const Value& given) {
  if (!output) fail_at(site_, "backward: the output is an empty tensor");
  if (!output.needs_grad()) fail_at(site_, "backward: the output does not depend on anything that requires a gradient");
  const Shared<SharedDesc> shared = output.known_desc(site_);
  const Desc& desc = shared->desc;
  if (!given) {
    if (desc.count() != 1)
      fail_at(site_, "backward: the output has shape {}, not one element: its gradient must be given", to_string(desc.shape));
    return push(output.edge(), ones_like(desc));
  }
  const Shared<SharedDesc> given_desc = given.known_desc(site_);
  if (given_desc->desc.shape != desc.shape || given_desc->desc.dtype != desc.dtype)
    fail_at(site_, "backward: the gradient of a {} cannot be a {}", to_string(desc), to_string(given_desc->desc));
  push(output.edge(), options_.create_graph ? given : given.detached());
}

void Pass::claim(Node& node) const {
  if (node.pass != 0 && node.pass != depth_)
    fail_at(site_, "backward: a pass inside a custom gradient reached {} [{}:{}], where the outer one is at work: detach that",
            node.op.name(), node.site.file, node.site.line);
  node.pass = depth_;
}

void Pass::push(const Edge& edge, Value grad) {
  Node& node = *edge.node();
  claim(node);
  if (node.grads.empty()) node.grads.resize(node.output_descs.size());
  Value& slot = node.grads[edge.output];
  if (slot) {
    static const Op add = op("add");
    grad = apply_one(add, {&slot, &grad}, node.site);
  }
  slot = std::move(grad);
  if (node.queued) return;
  node.queued = true;
  heap_.push_back(edge.recorded);
  std::push_heap(heap_.begin(), heap_.end(), earlier);
}

void Pass::restrict_to(std::span<const Value> targets) {
  restricted_ = true;
  std::uint64_t first = ~std::uint64_t{0};
  for (const Value& target : targets) first = std::min(first, target.edge().node()->sequence());
  // What was recorded before every target cannot lead to one.
  auto visit = [&](const Shared<Recorded>& entry) {
    Node& node = static_cast<Node&>(*entry);
    if (node.visited && node.pass == depth_) return;
    if (node.sequence() < first) return;
    claim(node);
    node.visited = true, node.needed = false;
    if (node.released) met_released_ = &node;
    marked_.push_back(entry);
  };
  for (const Value& target : targets) {
    visit(target.edge().recorded);
    target.edge().node()->target = target.edge().node()->needed = true;
  }
  for (const Shared<Recorded>& entry : heap_) visit(entry);
  for (std::size_t i = 0; i < marked_.size(); ++i)
    for (const Edge& edge : static_cast<Node&>(*marked_[i]).edges)
      if (edge) visit(edge.recorded);
  std::sort(marked_.begin(), marked_.end(), earlier);
  for (const Shared<Recorded>& entry : marked_) {
    Node& node = static_cast<Node&>(*entry);
    for (const Edge& edge : node.edges) node.needed = node.needed || (edge && edge.node()->visited && edge.node()->needed);
  }
}

void Pass::run() {
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), earlier);
    current_ = std::move(heap_.back());
    heap_.pop_back();
    Node& node = static_cast<Node&>(*current_);
    if (node.target)
      for (std::uint32_t i = 0; i < node.grads.size(); ++i)
        if (node.grads[i]) captured_.emplace_back(Edge{current_, i}, node.grads[i]);
    if (!node.leaf) step(node);
    node.queued = false;
    const bool kept = node.leaf && !restricted_;
    if (!kept && !node.visited) node.pass = 0;
    if (kept)
      leaves_.push_back(current_);
    else
      node.grads.clear();
  }
  current_.reset();
  finish_leaves();
}

bool Pass::wanted(const Edge& edge) const noexcept {
  return edge && (!restricted_ || (edge.node()->visited && edge.node()->needed));
}

void Pass::step(Node& node) {
  if (node.released && !restricted_) fail_released(node);
  if (std::none_of(node.edges.begin(), node.edges.end(), [this](const Edge& edge) { return wanted(edge); })) return;
  RuleResults results(node.edges.size());
  run_rule(node, recorder_, restricted_, options_.create_graph, results);
  node.grads.clear();
  absl::InlinedVector<Edge, 2> edges;
  if (options_.retain_graph) {
    edges = node.edges;
  } else {
    edges.swap(node.edges);
    node.release_saved();
  }
  for (std::size_t i = 0; i < edges.size(); ++i)
    if (results[i]) push(edges[i], std::move(results[i]));
}

void Pass::fail_released(const Node& node) const {
  fail_at(site_, "backward: the graph of {} [{}:{}] was released by an earlier backward: give that one .retain_graph = true",
          node.op.name(), node.site.file, node.site.line);
}

// All sums are issued before any leaf changes: if one fails, none has.
void Pass::finish_leaves() {
  static const Op add = op("add");
  for (const Shared<Recorded>& entry : leaves_) {
    Node& leaf = static_cast<Node&>(*entry);
    if (leaf.gradient) leaf.grads[0] = apply_one(add, {&leaf.gradient, &leaf.grads[0]}, site_);
  }
  for (const Shared<Recorded>& entry : leaves_) {
    Node& leaf = static_cast<Node&>(*entry);
    leaf.gradient = std::move(leaf.grads[0]);
  }
}

std::vector<Value> Pass::take_captured(std::span<const Value> targets) {
  std::vector<Value> found(targets.size());
  for (std::size_t i = 0; i < targets.size(); ++i) {
    for (const auto& [edge, grad] : captured_)
      if (edge.recorded == targets[i].edge().recorded && edge.output == targets[i].edge().output) found[i] = grad;
    if (found[i]) continue;
    // A released node leads nowhere any more: whether it led to this input cannot be told.
    if (met_released_) fail_released(*met_released_);
    if (!options_.allow_unused)
      fail_at(site_, "grad: input {} does not take part in the outputs (.allow_unused = true gives an empty tensor)", i);
  }
  return found;
}

// A channel that is closed, or was left behind by fork, says so before a lock is taken that nobody may ever release.
void require_usable(std::span<const Value> outputs, Site site) {
  for (const Value& output : outputs)
    if (output) static_cast<void>(default_channel().get_dtype(output.handle(), site));
}

void seed_all(Pass& pass, std::span<const Value> outputs, std::span<const Value> seeds, Site site) {
  if (!seeds.empty() && seeds.size() != outputs.size())
    fail_at(site, "backward: {} gradients were given for {} outputs", seeds.size(), outputs.size());
  for (std::size_t i = 0; i < outputs.size(); ++i) pass.seed(outputs[i], seeds.empty() ? Value() : seeds[i]);
}

}  // namespace

void backward(std::span<const Value> outputs, std::span<const Value> seeds, const PassOptions& options, Site site) {
  require_usable(outputs, site);
  Pass pass(options, site);
  seed_all(pass, outputs, seeds, site);
  pass.run();
}

std::vector<Value> gradients(std::span<const Value> outputs, std::span<const Value> inputs, std::span<const Value> seeds,
                             const PassOptions& options, Site site) {
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (!inputs[i].needs_grad()) fail_at(site, "grad: input {} does not require a gradient", i);
  require_usable(outputs, site);
  Pass pass(options, site);
  seed_all(pass, outputs, seeds, site);
  pass.restrict_to(inputs);
  pass.run();
  return pass.take_captured(inputs);
}

}  // namespace regrow::autograd
