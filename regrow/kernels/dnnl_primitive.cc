// SPDX-License-Identifier: Apache-2.0
#include "regrow/kernels/dnnl_primitive.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <vector>

#include "regrow/base/error.h"
#include "regrow/base/hash.h"

// libgomp's, which libdnnl runs on. Declared here since clang brings another OpenMP with the same interface.
extern "C" {
void omp_set_num_threads(int count);
int omp_get_max_threads();
}

namespace regrow::kernels::dnnl {
namespace {

// Made once and never destroyed: threads may outlive static objects.
dnnl_engine_t cpu_engine() {
  static const dnnl_engine_t engine = [] {
    dnnl_engine_t made = nullptr;
    check(dnnl_engine_create(&made, dnnl_cpu, 0), "making the engine");
    return made;
  }();
  return engine;
}

struct HashOfKey {
  std::size_t operator()(const Key& key) const noexcept { return hash_bytes(key.values.data(), sizeof key.values); }
};

struct Entry {
  std::unique_ptr<Prepared> prepared;
  std::uint64_t last_used = 0;
};

class Cache {
 public:
  Cache() { check(dnnl_stream_create(&stream_, cpu_engine(), dnnl_stream_default_flags), "making a stream"); }
  ~Cache() {
    entries_.clear();
    dnnl_stream_destroy(stream_);
  }

  Prepared& find(const Key& key, std::unique_ptr<Prepared> (*make)(const Key& key)) {
    auto found = entries_.find(key);
    if (found == entries_.end()) {
      if (entries_.size() >= max_prepared) forget_oldest();
      found = entries_.emplace(key, Entry{make(key)}).first;
    }
    found->second.last_used = ++uses_;
    return *found->second.prepared;
  }
  std::size_t size() const noexcept { return entries_.size(); }
  dnnl_stream_t stream() const noexcept { return stream_; }

 private:
  // The quarter that was not used for longest, so that this is seldom.
  void forget_oldest() {
    std::vector<std::uint64_t> uses;
    for (const auto& [key, entry] : entries_) uses.push_back(entry.last_used);
    const auto quarter = uses.begin() + static_cast<std::ptrdiff_t>(uses.size() / 4);
    std::nth_element(uses.begin(), quarter, uses.end());
    absl::erase_if(entries_, [limit = *quarter](const auto& item) { return item.second.last_used < limit; });
  }

  dnnl_stream_t stream_ = nullptr;
  absl::flat_hash_map<Key, Entry, HashOfKey> entries_;
  std::uint64_t uses_ = 0;
};

Cache& thread_cache() {
  thread_local Cache cache;
  return cache;
}

thread_local bool inside_onednn = false;

const char* text_of(dnnl_status_t status) {
  switch (status) {
    case dnnl_out_of_memory:
      return "out of memory";
    case dnnl_invalid_arguments:
      return "invalid arguments";
    case dnnl_unimplemented:
      return "not implemented";
    case dnnl_runtime_error:
      return "runtime error";
    default:
      return "unknown error";
  }
}

dnnl_query_t query_of(int argument) {
  switch (argument) {
    case DNNL_ARG_SRC:
      return dnnl_query_src_md;
    case DNNL_ARG_DST:
      return dnnl_query_dst_md;
    case DNNL_ARG_WEIGHTS:
      return dnnl_query_weights_md;
    case DNNL_ARG_DIFF_SRC:
      return dnnl_query_diff_src_md;
    case DNNL_ARG_DIFF_DST:
      return dnnl_query_diff_dst_md;
    default:
      return dnnl_query_diff_weights_md;
  }
}

using OwnedAttr = std::unique_ptr<dnnl_primitive_attr, dnnl_status_t (*)(dnnl_primitive_attr_t)>;

OwnedAttr scratch_is_ours() {
  dnnl_primitive_attr_t attr = nullptr;
  check(dnnl_primitive_attr_create(&attr), "making attributes");
  OwnedAttr owned(attr, dnnl_primitive_attr_destroy);
  check(dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user), "asking for a scratchpad");
  return owned;
}

dnnl_primitive_desc_t reorder_desc(const dnnl_memory_desc_t& from, const dnnl_memory_desc_t& to) {
  dnnl_primitive_desc_t desc = nullptr;
  check(dnnl_reorder_primitive_desc_create(&desc, &from, cpu_engine(), &to, cpu_engine(), scratch_is_ours().get()),
        "describing a reorder");
  return desc;
}

// The first implementation that is allowed, in oneDNN's order of preference; null if there is none.
dnnl_primitive_desc_t choose(const_dnnl_op_desc_t what, std::span<const std::string_view> allowed,
                             const_dnnl_primitive_desc_t hint) {
  const OwnedAttr attr = scratch_is_ours();
  dnnl_primitive_desc_iterator_t iterator = nullptr;
  if (dnnl_primitive_desc_iterator_create(&iterator, what, attr.get(), cpu_engine(), hint) != dnnl_success) return nullptr;
  std::unique_ptr<dnnl_primitive_desc_iterator, dnnl_status_t (*)(dnnl_primitive_desc_iterator_t)> walked(
      iterator, dnnl_primitive_desc_iterator_destroy);
  do {
    const dnnl_primitive_desc_t desc = dnnl_primitive_desc_iterator_fetch(iterator);
    if (!desc) return nullptr;
    const char* name = "";
    dnnl_primitive_desc_query(desc, dnnl_query_impl_info_str, 0, static_cast<void*>(&name));
    if (std::ranges::any_of(allowed, [&](std::string_view prefix) { return std::string_view(name).starts_with(prefix); }))
      return desc;
    dnnl_primitive_desc_destroy(desc);
  } while (dnnl_primitive_desc_iterator_next(iterator) == dnnl_success);
  return nullptr;
}

std::size_t scratch_of(const_dnnl_primitive_desc_t desc) {
  return dnnl_memory_desc_get_size(dnnl_primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0));
}

}  // namespace

void check(dnnl_status_t status, const char* what) {
  require(status == dnnl_success, "oneDNN: {} failed: {}", what, text_of(status));
}

dnnl_data_type_t type_of(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return dnnl_f32;
    case DType::bf16:
      return dnnl_bf16;
    default:
      fail("oneDNN is not used for {}", name_of(dtype));
  }
}

dnnl_memory_desc_t strided(DType dtype, std::span<const std::int64_t> shape, std::span<const std::int64_t> strides) {
  dnnl_dims_t dims, steps;
  std::ranges::copy(shape, dims);
  std::ranges::copy(strides, steps);
  dnnl_memory_desc_t desc;
  check(dnnl_memory_desc_init_by_strides(&desc, static_cast<int>(shape.size()), dims, type_of(dtype), steps),
        "describing a tensor");
  return desc;
}

dnnl_memory_desc_t any_layout(DType dtype, std::span<const std::int64_t> shape) {
  dnnl_dims_t dims;
  std::ranges::copy(shape, dims);
  dnnl_memory_desc_t desc;
  check(dnnl_memory_desc_init_by_tag(&desc, static_cast<int>(shape.size()), dims, type_of(dtype), dnnl_format_tag_any),
        "describing a tensor");
  return desc;
}

SingleThread::SingleThread() noexcept : before_(omp_get_max_threads()) {
  if (before_ != 1) omp_set_num_threads(1);
}

SingleThread::~SingleThread() {
  if (before_ != 1) omp_set_num_threads(before_);
}

Primitive::Primitive(const_dnnl_op_desc_t what, std::span<const std::string_view> allowed, const_dnnl_primitive_desc_t hint)
    : desc_(choose(what, allowed, hint)) {
  if (desc_) scratch_bytes_ = scratch_of(desc_);
}

Primitive::Primitive(const dnnl_memory_desc_t& from, const dnnl_memory_desc_t& to)
    : desc_(reorder_desc(from, to)), scratch_bytes_(scratch_of(desc_)) {}

Primitive::~Primitive() {
  for (std::size_t i = 0; i < count_; ++i) dnnl_memory_destroy(memories_[i]);
  if (primitive_) dnnl_primitive_destroy(primitive_);
  if (desc_) dnnl_primitive_desc_destroy(desc_);
}

std::string_view Primitive::implementation() const noexcept {
  const char* name = "";
  if (desc_) dnnl_primitive_desc_query(desc_, dnnl_query_impl_info_str, 0, static_cast<void*>(&name));
  return name;
}

const dnnl_memory_desc_t& Primitive::layout(int argument) const {
  return *dnnl_primitive_desc_query_md(desc_, query_of(argument), 0);
}

void Primitive::run(std::span<const Argument> arguments, void* scratch) {
  if (!primitive_) {
    require(arguments.size() < max_arguments, "a primitive of oneDNN has at most {} arguments here", max_arguments - 1);
    check(dnnl_primitive_create(&primitive_, desc_), "making a primitive");
    for (const Argument& argument : arguments) {
      ids_[count_] = argument.id;
      check(dnnl_memory_create(&memories_[count_++], &layout(argument.id), cpu_engine(), DNNL_MEMORY_NONE),
            "making a memory object");
    }
    ids_[count_] = DNNL_ARG_SCRATCHPAD;
    check(dnnl_memory_create(&memories_[count_++], dnnl_primitive_desc_query_md(desc_, dnnl_query_scratchpad_md, 0), cpu_engine(),
                             DNNL_MEMORY_NONE),
          "making a memory object");
  }
  const dnnl_stream_t stream = thread_cache().stream();
  dnnl_exec_arg_t passed[max_arguments];
  for (std::size_t i = 0; i < count_; ++i) {
    void* data = i + 1 < count_ ? const_cast<void*>(arguments[i].data) : scratch;
    check(dnnl_memory_set_data_handle_v2(memories_[i], data, stream), "passing an argument");
    passed[i] = {ids_[i], memories_[i]};
  }
  inside_onednn = true;
  const dnnl_status_t status = dnnl_primitive_execute(primitive_, stream, static_cast<int>(count_), passed);
  inside_onednn = false;
  check(status, "running a primitive");
}

bool running() noexcept { return inside_onednn; }

Prepared& prepared(const Key& key, std::unique_ptr<Prepared> (*make)(const Key& key)) { return thread_cache().find(key, make); }
std::size_t prepared_count() noexcept { return thread_cache().size(); }

}  // namespace regrow::kernels::dnnl
