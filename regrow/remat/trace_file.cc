// SPDX-License-Identifier: Apache-2.0
#include "regrow/remat/trace_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>
#include <vector>

#include "regrow/base/error.h"
#include "regrow/base/hash.h"

namespace regrow::remat {
namespace {

constexpr std::string_view head = "regrow-trace 1";

// The fields of a text, line by line.
class Fields {
 public:
  Fields(std::string_view text, std::string_view origin) : text_(text), origin_(origin) {}

  bool next_line() {
    if (text_.empty()) return false;
    const std::size_t end = text_.find('\n');
    line_ = text_.substr(0, end);
    text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + 1);
    ++number_;
    return true;
  }
  bool at_end() {
    line_.remove_prefix(std::min(line_.find_first_not_of(" \r"), line_.size()));
    return line_.empty();
  }
  std::string_view word() {
    if (at_end()) wrong("a field is missing");
    const std::string_view word = line_.substr(0, line_.find_first_of(" \r"));
    line_.remove_prefix(word.size());
    return word;
  }
  template <class T, class... Format>
  T number(Format... format) {
    const std::string_view field = word();
    T value{};
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value, format...);
    if (error != std::errc() || end != field.data() + field.size()) wrong(fmt::format("'{}' is not a number that fits", field));
    return value;
  }
  // A number of things that follow in this line, a field each at least.
  std::uint32_t count() {
    const auto n = number<std::uint32_t>();
    if (n > line_.size()) wrong(fmt::format("{} fields are announced", n));
    return n;
  }
  [[noreturn]] void wrong(std::string_view what) const { fail("trace: {}:{}: {}", origin_, number_, what); }

 private:
  std::string_view text_, origin_, line_;
  int number_ = 0;
};

class Reader {
 public:
  Reader(std::string_view text, std::string_view origin) : fields_(text, origin) {}

  Trace own() {
    fields_.next_line();
    while (fields_.next_line()) {
      if (fields_.at_end()) continue;
      const std::string_view what = fields_.word();
      if (what == "put") {
        const auto bytes = fields_.number<std::uint64_t>();
        add_tensor(trace_.put(bytes, fields_.number<std::uint8_t>()));
      } else if (what == "op") {
        operation();
      } else if (what == "release") {
        const TensorId tensor = live_tensor();
        live_[tensor] = false;
        trace_.release(tensor);
      } else if (what == "want") {
        trace_.want(live_tensor());
      } else if (what == "pin") {
        trace_.pin(live_tensor());
      } else {
        fields_.wrong(fmt::format("'{}' is not a command", what));
      }
    }
    return std::move(trace_);
  }

 private:
  void add_tensor(TensorId id) { live_.resize(id + std::size_t{1}, true); }
  TensorId live_tensor() {
    const auto id = fields_.number<TensorId>();
    if (id >= live_.size() || !live_[id]) fields_.wrong(fmt::format("tensor {} is not there", id));
    return id;
  }

  void operation() {
    Trace::Operation op;
    op.name = fields_.word();
    op.key = fields_.number<std::uint64_t>(16);
    op.seconds = fields_.number<double>() * 1e-9;
    if (!(op.seconds >= 0) || !std::isfinite(op.seconds)) fields_.wrong("no operation takes that long");
    op.workspace = fields_.number<std::uint64_t>();
    op.device = fields_.number<std::uint8_t>();
    const std::string_view flags = fields_.word();
    op.replayable = flags.find('r') != flags.npos;
    op.fallible = flags.find('f') != flags.npos;
    op.state = flags.find('s') != flags.npos;
    std::vector<TensorId> inputs, deletes;
    std::vector<TraceOutput> outputs;
    for (std::uint32_t n = fields_.count(); n > 0; --n) inputs.push_back(live_tensor());
    for (std::uint32_t n = fields_.count(); n > 0; --n) {
      TraceOutput output;
      output.bytes = fields_.number<std::uint64_t>();
      output.view_of = fields_.number<std::int32_t>();
      output.reuse = fields_.number<std::uint32_t>();
      if (output.view_of < -1 || output.view_of >= static_cast<std::int64_t>(inputs.size())) fields_.wrong("a view of no input");
      outputs.push_back(output);
      add_tensor(trace_.tensors() + static_cast<TensorId>(outputs.size()) - 1);
    }
    for (std::uint32_t n = fields_.count(); n > 0; --n) deletes.push_back(live_tensor()), live_[deletes.back()] = false;
    op.inputs = inputs;
    op.outputs = outputs;
    op.deletes = deletes;
    trace_.apply(op);
  }

  Fields fields_;
  Trace trace_;
  std::vector<bool> live_;
};

// The published form names tensors by any numbers, and counts references of storages.
class PublishedReader {
 public:
  PublishedReader(std::string_view text, std::string_view origin) : fields_(text, origin) {}

  Trace read() {
    while (fields_.next_line()) {
      if (fields_.at_end()) continue;
      const std::string_view what = fields_.word();
      if (what == "C") {
        call();
      } else if (what == "K") {
        const auto name = fields_.number<std::uint32_t>();
        const auto bytes = fields_.number<std::uint64_t>();
        appear(name, trace_.put(bytes), bytes);
        storages_.push_back({.references = 1, .tensors = {tensor(name).id}});
        tensor(name).storage = static_cast<std::uint32_t>(storages_.size() - 1);
      } else if (what == "G") {
        ++storage_of(known()).references;
      } else if (what == "R") {
        release(known());
      } else if (what == "P") {
        trace_.pin(tensor(known()).id);
      } else {
        fields_.wrong(fmt::format("'{}' is not a command", what));
      }
    }
    return std::move(trace_);
  }

 private:
  struct Tensor {
    TensorId id = 0;
    std::uint32_t storage = 0;
    std::uint64_t bytes = 0;
    bool known = false;
  };
  struct Storage {
    std::uint32_t references = 0;
    std::vector<TensorId> tensors;
  };

  Tensor& tensor(std::uint32_t name) {
    if (name > (1u << 26)) fields_.wrong("such a large number of a tensor");
    if (name >= tensors_.size()) tensors_.resize(name + std::size_t{1});
    return tensors_[name];
  }
  Storage& storage_of(std::uint32_t name) { return storages_[tensor(name).storage]; }
  std::uint32_t known() {
    const auto name = fields_.number<std::uint32_t>();
    if (!tensor(name).known || storage_of(name).references == 0) fields_.wrong(fmt::format("tensor {} is not there", name));
    return name;
  }
  void appear(std::uint32_t name, TensorId id, std::uint64_t bytes) { tensor(name) = {.id = id, .bytes = bytes, .known = true}; }

  void release(std::uint32_t name) {
    Storage& storage = storage_of(name);
    if (--storage.references > 0) return;
    for (TensorId each : storage.tensors) trace_.release(each);
  }

  void call() {
    const double seconds = fields_.number<double>() * 1e-9;
    std::vector<std::uint32_t> in, out;
    std::vector<TensorId> inputs;
    std::vector<TraceOutput> outputs;
    std::uint64_t key = 0;
    for (std::uint32_t n = fields_.count(); n > 0; --n) {
      in.push_back(known());
      inputs.push_back(tensor(in.back()).id);
      key = hash_combine(key, tensor(in.back()).bytes);
    }
    for (std::uint32_t n = fields_.count(); n > 0; --n) {
      out.push_back(fields_.number<std::uint32_t>());
      TraceOutput output;
      output.bytes = fields_.number<std::uint64_t>();
      output.view_of = fields_.number<std::int32_t>();
      if (output.view_of < -1 || output.view_of >= static_cast<std::int64_t>(in.size())) fields_.wrong("a view of no input");
      if (output.view_of >= 0) output.bytes = 0;
      key = hash_combine(key, output.bytes * 2 + (output.view_of >= 0 ? 1 : 0));
      outputs.push_back(output);
    }
    const std::string_view name = fields_.word();
    key = hash_combine(key, hash_bytes(name.data(), name.size()));
    TensorId id = trace_.apply({.name = name, .key = key, .seconds = seconds, .inputs = inputs, .outputs = outputs});
    for (std::size_t k = 0; k < out.size(); ++k, ++id) {
      appear(out[k], id, outputs[k].bytes);
      if (outputs[k].view_of < 0) storages_.push_back({});
      tensor(out[k]).storage = outputs[k].view_of < 0 ? static_cast<std::uint32_t>(storages_.size() - 1)
                                                      : tensor(in[static_cast<std::size_t>(outputs[k].view_of)]).storage;
      Storage& storage = storage_of(out[k]);
      ++storage.references;
      storage.tensors.push_back(id);
    }
  }

  Fields fields_;
  Trace trace_;
  std::vector<Tensor> tensors_;  // by name
  std::vector<Storage> storages_;
};

void write_operation(const Trace& trace, const TraceCommand& command, std::ostream& out) {
  std::string flags;
  if (command.replayable) flags += 'r';
  if (command.fallible) flags += 'f';
  if (command.state) flags += 's';
  out << fmt::format("op {} {:x} {} {} {} {}", trace.name(command), command.key, std::llround(command.seconds * 1e9), command.bytes,
                     command.device, flags.empty() ? "-" : flags);
  out << ' ' << command.input_count;
  for (TensorId id : trace.inputs(command)) out << ' ' << id;
  out << ' ' << command.output_count;
  for (const TraceOutput& output : trace.outputs(command)) out << fmt::format(" {} {} {}", output.bytes, output.view_of, output.reuse);
  out << ' ' << command.delete_count;
  for (TensorId id : trace.deletes(command)) out << ' ' << id;
  out << '\n';
}

}  // namespace

Trace parse_trace(std::string_view text, std::string_view origin) {
  if (text.starts_with(head) && (text.size() == head.size() || text[head.size()] == '\n')) return Reader(text, origin).own();
  require(!text.starts_with("regrow-trace"), "trace: {}: a version that this program does not know; it reads '{}'", origin, head);
  return PublishedReader(text, origin).read();
}

Trace read_trace(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  require(file.good(), "trace: cannot open {}", path);
  require(!std::filesystem::is_directory(path), "trace: {}: a folder", path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  Trace trace = parse_trace(text, path);
  require(trace.operations() > 0, "trace: {}: holds no operation", path);
  return trace;
}

void write_trace(const Trace& trace, std::ostream& out) {
  using Kind = TraceCommand::Kind;
  out << head << '\n';
  for (const TraceCommand& command : trace.commands()) {
    switch (command.kind) {
      case Kind::put: out << fmt::format("put {} {}\n", command.bytes, command.device); break;
      case Kind::apply: write_operation(trace, command, out); break;
      case Kind::release: out << "release " << command.first << '\n'; break;
      case Kind::want: out << "want " << command.first << '\n'; break;
      case Kind::pin: out << "pin " << command.first << '\n'; break;
    }
  }
}

void write_trace(const Trace& trace, const std::string& path) {
  std::ofstream file(path, std::ios::binary);
  require(file.good(), "trace: cannot create {}", path);
  write_trace(trace, file);
  file.flush();
  require(file.good(), "trace: cannot write {}", path);
}

}  // namespace regrow::remat
