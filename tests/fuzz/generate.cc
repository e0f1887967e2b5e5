// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <random>

#include "tests/fuzz/program.h"
#include "tests/ops/draw.h"

namespace regrow::fuzz {
namespace {

constexpr std::int64_t most_elements = 1 << 15;
constexpr std::size_t granule = std::size_t{64} << 10;  // what memory is counted in

// By operator: its record's samples, with every element type that each accepts.
const std::vector<std::vector<direct::Case>>& samples() {
  static const auto& all = *[] {
    auto* found = new std::vector<std::vector<direct::Case>>;
    for (const OpRecord& record : all_ops())
      if (!record.samples.empty()) found->push_back(direct::cases(record));
    return found;
  }();
  return all;
}

// A live tensor as the generator knows it.
struct Live {
  Value value = 0;
  Desc desc;
  bool suspect = false;  // it may be poisoned
};

class Generator {
 public:
  Generator(std::uint64_t seed, int length) : rng_(seed), length_(length) {}

  Program run() {
    for (int i = 0; i < 3; ++i) put();
    while (static_cast<int>(program_.steps.size()) < length_) step();
    return std::move(program_);
  }

 private:
  int below(int n) { return static_cast<int>(rng_() % static_cast<std::uint64_t>(n)); }
  bool chance(int percent) { return below(100) < percent; }
  template <class T>
  const T& pick(const std::vector<T>& from) {
    return from[static_cast<std::size_t>(below(static_cast<int>(from.size())))];
  }

  void step() {
    if (live_.empty() || chance(8)) return put();
    switch (below(32)) {
      case 0: case 1: return unary();
      case 2: case 3: case 4: case 5: return binary();
      case 6: return reduce();
      case 7: case 8: return view();
      case 9: return set_slice();
      case 10: return matmul();
      case 11: return take();
      case 12: return data_dependent();
      case 13: return random();
      case 14: return shape_arithmetic();
      case 15: return callback();
      case 16: return move_between();
      case 17: return where();
      case 18: return memory_by_hand();
      case 19: case 20: case 21: return del();
      case 22: return budget();
      case 23: case 24: case 25: case 26: case 27: case 28: return sampled();
      default: return look();
    }
  }

  // A live tensor that satisfies the condition, or null.
  template <class Condition>
  const Live* find(Condition&& condition) {
    std::vector<const Live*> found;
    for (const Live& live : live_)
      if (condition(live)) found.push_back(&live);
    return found.empty() ? nullptr : pick(found);
  }
  const Live* any() { return find([](const Live&) { return true; }); }
  const Live* known() { return find([](const Live& l) { return l.desc.known; }); }
  static bool real(const Live& l) { return l.desc.dtype == DType::f32 || l.desc.dtype == DType::f64; }

  Value created(const Desc& desc, bool suspect = false) {
    live_.push_back({program_.values, desc, suspect});
    return program_.values++;
  }

  // Adds an application if inference on what is known accepts it (or cannot tell).
  bool apply(const std::string& name, std::vector<const Live*> inputs, std::vector<AttrArg> attrs = {}) {
    const OpRecord* record = find_op(name);
    if (!record) return false;
    Step step;
    step.kind = StepKind::apply, step.op = name, step.attrs = attrs;
    std::vector<const Desc*> descs;
    std::vector<Desc> copies;
    bool suspect = record->fails_by_value;
    for (const Live* live : inputs) {
      step.inputs.push_back(live->value), copies.push_back(live->desc);
      suspect = suspect || live->suspect || !live->desc.known;
    }
    // Whether shapes fit is found out earlier at the lower levels: then a mismatch would hide that an input is poisoned.
    bool open = false, poisonable = false;
    for (const Live* live : inputs) open = open || !live->desc.known, poisonable = poisonable || live->suspect;
    if (open && poisonable && inputs.size() > 1) return false;
    for (const Desc& desc : copies) descs.push_back(&desc);
    std::vector<OutDesc> out;
    try {
      infer(Op(*record, Attrs(name, record->attributes, attrs)), descs, out);
    } catch (const Error&) {
      return false;
    }
    for (const OutDesc& desc : out)
      if (desc.known && desc.count() > most_elements) return false;
    for (const OutDesc& desc : out) step.outputs.push_back(created(desc, suspect));
    if (record->replay == Replay::seeded && !inputs.empty()) step.explicit_random = true, step.random = {rng_(), rng_() % 1000};
    program_.steps.push_back(std::move(step));
    return true;
  }

  Shape small_shape() {
    Shape shape;
    for (int rank = below(4), i = 0; i < rank; ++i) shape.push_back(chance(6) ? 0 : chance(20) ? 1 : 1 + below(5));
    return shape;
  }

  HostArray random_array(const Shape& shape, DType dtype) {
    const auto count = static_cast<std::size_t>(element_count(shape));
    auto fill = [&]<class T>(T, auto&& draw) {
      std::vector<T> values(count);
      for (auto&& value : values) value = draw();
      return HostArray::from(values, shape);
    };
    switch (dtype) {
      case DType::f32: return fill(float{}, [&] { return static_cast<float>(below(17) - 8) / 4; });
      case DType::f64: return fill(double{}, [&] { return static_cast<double>(below(17) - 8) / 4; });
      case DType::i64: return fill(std::int64_t{}, [&] { return static_cast<std::int64_t>(below(7) - 2); });
      case DType::i32: return fill(std::int32_t{}, [&] { return static_cast<std::int32_t>(below(7) - 2); });
      default: return fill(bool{}, [&] { return chance(50); });
    }
  }

  void put() {
    const DType dtype = pick(std::vector<DType>{DType::f32, DType::f32, DType::f32, DType::f64, DType::i64, DType::i32, DType::boolean});
    const Shape shape = chance(10) ? Shape{70, 33} : chance(5) ? Shape{150, 130} : small_shape();
    put(random_array(shape, dtype), Device(chance(10) ? 1 : 0));
  }
  void put(const HostArray& value, Device device) {
    Step step;
    step.kind = StepKind::put;
    step.value = value;
    step.cached = chance(50);
    step.device = device;
    step.outputs = {created(Desc::dense(value.dtype(), value.shape(), device))};
    program_.steps.push_back(std::move(step));
  }

  // Any operator of the table, as a sample of its record says: on tensors that are there where type and shape agree, else on new ones.
  void sampled() {
    const direct::Case& drawn = pick(pick(samples()));
    std::vector<Live> inputs;
    for (const HostArray& input : drawn.inputs) {
      const Live* fits = chance(50) ? find([&](const Live& l) {
        return l.desc.known && l.desc.dtype == input.dtype() && l.desc.shape == input.shape() && l.desc.device == Device();
      }) : nullptr;
      if (!fits) put(input, Device());
      inputs.push_back(fits ? *fits : live_.back());
    }
    std::vector<const Live*> pointers;
    for (const Live& input : inputs) pointers.push_back(&input);
    apply(std::string(drawn.op.name()), pointers, drawn.sample->attrs);
  }

  // Of a few granules, as what stands here needs; 0: none again.
  void budget() {
    Step step;
    step.kind = StepKind::budget;
    step.device = Device(chance(20) ? 1 : 0);
    step.bytes = chance(25) ? 0 : granule * static_cast<std::size_t>(1 + below(chance(50) ? 6 : 20));
    program_.steps.push_back(std::move(step));
  }

  void unary() {
    static const std::vector<std::string> names = {"negative", "exp", "tanh", "relu", "square", "abs", "sigmoid", "copy"};
    if (const Live* x = find(real)) apply(pick(names), {x});
  }

  void binary() {
    static const std::vector<std::string> names = {"add", "subtract", "multiply", "divide", "maximum", "less", "equal", "power"};
    const Live* a = any();
    const std::string name = pick(names);
    // Mostly shapes that fit; one in ten anything.
    const Live* b = find([&](const Live& l) {
      if (l.desc.device != a->desc.device) return false;
      if (!l.desc.known || !a->desc.known) return true;
      return l.desc.shape == a->desc.shape || l.desc.count() == 1 || chance(10);
    });
    if (b) apply(name, {a, b});
  }

  void where() {
    const Live* mask = find([](const Live& l) { return l.desc.known && l.desc.dtype == DType::boolean; });
    const Live* x = mask ? find([&](const Live& l) { return l.desc.known && l.desc.device == mask->desc.device; }) : nullptr;
    if (x) apply("where", {mask, x, x});
  }

  void reduce() {
    static const std::vector<std::string> names = {"sum", "mean", "max", "argmax", "any", "all"};
    const Live* x = any();
    std::vector<AttrArg> attrs;
    if (x->desc.known && !x->desc.shape.empty() && chance(60))
      attrs.push_back({"axis", Axes(static_cast<std::int64_t>(below(x->desc.shape.rank())))});
    attrs.push_back({"keepdims", chance(50)});
    apply(pick(names), {x}, attrs);
  }

  void view() {
    const Live* x = known();
    if (!x) return;
    const Shape& shape = x->desc.shape;
    switch (below(4)) {
      case 0: {
        Dims axes;
        for (int i = 0; i < shape.rank(); ++i) axes.push_back(i);
        std::shuffle(axes.begin(), axes.end(), rng_);
        apply("permute_dims", {x}, {{"axes", axes}});
        return;
      }
      case 1: apply("reshape", {x}, {{"shape", Dims{x->desc.count() == 0 ? 0 : -1}}}); return;
      case 2: {
        Shape to = shape;
        if (to.rank() < 5) to.insert(0, 1 + below(3));
        apply("broadcast_to", {x}, {{"shape", to}});
        return;
      }
      default: slice_of("slice", {x});
    }
  }

  void slice_of(const std::string& name, std::vector<const Live*> inputs) {
    const Shape& shape = inputs[0]->desc.shape;
    Dims start, stop, step;
    for (std::int64_t size : shape) {
      const bool back = chance(30) && size > 0;
      const std::int64_t first = size == 0 ? 0 : below(static_cast<int>(size)), stride = 1 + below(2);
      start.push_back(first);
      stop.push_back(back ? -1 : size);
      step.push_back(back ? -stride : stride);
    }
    apply(name, inputs, {{"start", start}, {"stop", stop}, {"step", step}});
  }

  void set_slice() {
    const Live* x = find([](const Live& l) { return l.desc.known && !l.desc.shape.empty(); });
    if (!x) return;
    if (const Live* v = find([&](const Live& l) {
          return l.desc.known && l.desc.count() == 1 && l.desc.shape.empty() && l.desc.dtype == x->desc.dtype &&
                 l.desc.device == x->desc.device;
        }))
      slice_of("set_slice", {x, v});
  }

  void matmul() {
    const Live* a = find([](const Live& l) { return l.desc.known && l.desc.shape.size() == 2 && real(l); });
    if (!a) return;
    const Live* b = find([&](const Live& l) {
      return l.desc.known && l.desc.shape.size() == 2 && l.desc.shape[0] == a->desc.shape[1] && l.desc.dtype == a->desc.dtype &&
             l.desc.device == a->desc.device;
    });
    if (b) apply("matmul", {a, b});
  }

  void take() {
    const Live* x = find([](const Live& l) { return l.desc.known && !l.desc.shape.empty(); });
    if (!x) return;
    // Indices are -2 … 4: often out of range, which only the worker can see.
    if (const Live* i = find([&](const Live& l) {
          return l.desc.known && l.desc.shape.size() == 1 && l.desc.dtype == DType::i64 && l.desc.device == x->desc.device;
        }))
      apply("take", {x, i}, {{"axis", std::int64_t{0}}});
  }

  void data_dependent() {
    const Live* mask = find([](const Live& l) { return l.desc.known && l.desc.dtype == DType::boolean && !l.desc.shape.empty(); });
    if (!mask) return;
    if (chance(40)) {
      apply("nonzero", {mask});
    } else if (const Live* x = find([&](const Live& l) {
                 return l.desc.known && l.desc.shape == mask->desc.shape && l.desc.device == mask->desc.device;
               })) {
      apply("masked_select", {x, mask});
    }
  }

  void random() {
    if (chance(50)) {
      apply("normal", {}, {{"shape", small_shape()}});
    } else if (const Live* x = find(real)) {
      apply("dropout", {x}, {{"p", 0.5}});
    }
  }

  // The shape of one tensor steers another: arithmetic that the host may do.
  void shape_arithmetic() {
    // The shape of a poisoned tensor may be known all the same; a call that waited yields no tensor to ask.
    const Live* found = find([](const Live& l) { return l.desc.known && !l.suspect; });
    if (!found || found->desc.shape.empty()) return;
    const Live x = *found;
    if (!apply("shape_of", {&x})) return;
    const Live shape = live_.back();
    if (!apply("slice", {&shape}, {{"start", Dims{0}}, {"stop", Dims{x.desc.shape.rank()}}, {"step", Dims{1}}})) return;
    const Live part = live_.back();
    apply("reshape_to_value", {&x, &part});
  }

  void callback() {
    Step step;
    step.kind = StepKind::callback;
    step.callback = static_cast<CallbackKind>(below(4));
    if (step.callback == CallbackKind::source) {
      step.value = random_array({1 + below(4)}, DType::f32);
      step.outputs = {created(Desc::unknown_shape(DType::f32))};
    } else {
      const Live* x = find([](const Live& l) { return l.desc.dtype == DType::f32 && l.desc.device == Device(); });
      if (!x) return;
      step.inputs = {x->value};
      Desc desc = x->desc.known ? Desc::dense(DType::f32, x->desc.shape) : Desc::unknown_shape(DType::f32);
      step.outputs = {created(desc, true)};
    }
    program_.steps.push_back(std::move(step));
  }

  void move_between() {
    const Live* x = any();
    if (chance(60)) {
      apply("copy_to", {x}, {{"device", Device(1 - x->desc.device.index)}});
      return;
    }
    Step step;
    step.kind = StepKind::export_import;
    step.inputs = {x->value};
    const Live from = *x;
    step.outputs = {created(from.desc, from.suspect)};
    program_.steps.push_back(std::move(step));
  }

  void simple(StepKind kind, bool with_input) {
    Step step;
    step.kind = kind;
    if (with_input) step.inputs = {any()->value};
    program_.steps.push_back(std::move(step));
  }

  void memory_by_hand() {
    static const std::vector<StepKind> kinds = {StepKind::drop, StepKind::drop, StepKind::swap_out, StepKind::swap_in};
    simple(pick(kinds), true);
  }

  void del() {
    simple(StepKind::del, true);
    const Value value = program_.steps.back().inputs[0];
    std::erase_if(live_, [&](const Live& l) { return l.value == value; });
  }

  void look() {
    static const std::vector<StepKind> kinds = {StepKind::get_value, StepKind::get_value, StepKind::get_shape, StepKind::wait,
                                                StepKind::crowd};
    if (chance(5)) return simple(StepKind::sync, false);
    if (chance(5)) {
      simple(StepKind::seed, false);
      program_.steps.back().random.key = rng_();
      return;
    }
    simple(pick(kinds), true);
  }

  std::mt19937_64 rng_;
  int length_;
  Program program_;
  std::vector<Live> live_;
};

}  // namespace

Program generate(std::uint64_t seed, int length) { return Generator(seed, length).run(); }

}  // namespace regrow::fuzz
