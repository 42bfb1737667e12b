// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/Session.h"

#include "runtime/host/Threads.h"
#include "runtime/support/Error.h"
#include "runtime/support/Random.h"

#include <malloc.h>

namespace mpc::rt {

/// A normal number takes some 100 ns, so this many are worth a thread of their own.
static constexpr int64_t kLeastDrawn = 1 << 16;

Session::Session(std::shared_ptr<const Program> program, SessionOptions options)
    : program_(std::move(program)), options_(std::move(options)) {
  ChosenDevice chosen = chooseDevice(*program_, options_);
  plan_ = chosen.plan;
  device_ = std::move(chosen.device);
  for (const Constant &constant : plan_->constants)
    device_->write(constant.offset, program_->data().data() + constant.dataOffset, size_t(constant.bytes));
  // A deque keeps the addresses of its elements valid.
  for (const Storage &storage : plan_->storage) {
    const Variable *variable = manifest().variable(storage.variable);
    stored_.push_back({variable, storage.offset, Transpose(variable->shape, storage.permutation), {}});
    byName_[variable->name] = &stored_.back();
  }
  for (Stored &copy : stored_)
    if (copy.variable->init.kind == Init::Copy)
      for (Stored &master : stored_)
        if (master.variable->name == copy.variable->of)
          master.copies.push_back(&copy);
  initialize(options_.seed);
  program_->releaseData();
  device_->prepare();
  malloc_trim(0); // returns the memory that parsing and initialising needed
}

void Session::fetch(int64_t offset, const Transpose &order, mpc_dtype type, const Shape &shape, void *logical) const {
  size_t size = sizeOf(type), bytes = size_t(elementsOf(shape)) * size;
  if (const std::byte *stored = device_->mapped(offset))
    return order.toLogical(stored, logical, size);
  if (order.identity())
    return device_->read(offset, logical, bytes);
  staging_.resize(bytes);
  device_->read(offset, staging_.data(), bytes);
  order.toLogical(staging_.data(), logical, size);
}

void Session::put(int64_t offset, const Transpose &order, mpc_dtype type, const Shape &shape, const void *logical,
                  bool input) {
  size_t size = sizeOf(type), bytes = size_t(elementsOf(shape)) * size;
  if (std::byte *stored = device_->mapped(offset))
    return order.toStored(logical, stored, size);
  const void *stored = logical;
  if (!order.identity()) {
    staging_.resize(bytes);
    order.toStored(logical, staging_.data(), size);
    stored = staging_.data();
  }
  input ? device_->stage(offset, stored, bytes) : device_->write(offset, stored, bytes);
}

double Session::read(Scalar scalar) const {
  std::byte bytes[8];
  device_->read(scalar.offset, bytes, sizeOf(scalar.type));
  return loadDouble(scalar.type, bytes, 0);
}

void Session::write(Scalar scalar, double value) {
  std::byte bytes[8];
  storeDouble(scalar.type, bytes, 0, value);
  device_->write(scalar.offset, bytes, sizeOf(scalar.type));
}

const Entry &Session::entry(std::string_view name) const {
  if (const Entry *entry = plan_->entry(name))
    return *entry;
  fail(program_->where(), concat("has no entry '", name, "'"), "compile the model again");
}

const Entry &Session::entryOfKind(std::string_view kind) const {
  if (const Entry *entry = plan_->entryOfKind(kind))
    return *entry;
  fail(program_->where(), concat("cannot ", kind, ": it was compiled without that"),
       kind == "predict" ? "compile the model again" : "compile the model with --loss");
}

const Port &Session::inputFor(const Entry &entry, std::string_view name, std::span<const int64_t> have) const {
  const Port *port = entry.input(name);
  if (!port)
    fail("", concat("entry '", entry.name, "' has no input '", name, "'"), "the program's info lists its inputs");
  std::span<const int64_t> want(port->shape);
  bool perSample = port->batched && !have.empty() && have[0] == want[0] && sameLayout(have.subspan(1), want.subspan(1));
  if (!perSample && !sameLayout(have, want))
    fail("", concat("input '", name, "' has shape ", toString(port->shape), ", not ", toString(have)),
         "give an array of the input's shape, its dimensions in the same order, or compile the model with "
         "another --batch or --dim");
  return *port;
}

void Session::setInput(const Entry &entry, std::string_view name, const TensorView &value) {
  const Port *port = &inputFor(entry, name, value.shape);
  Transpose order(port->shape, port->permutation);
  const void *logical = value.data;
  Tensor converted;
  // Data of a file, or of the caller, may be unaligned; the conversion also corrects that.
  if (value.dtype != port->dtype || reinterpret_cast<uintptr_t>(value.data) % sizeOf(port->dtype) != 0) {
    converted = Tensor(port->dtype, port->shape);
    convertExactly(value.dtype, value.data, port->dtype, converted.bytes.data(), size_t(converted.elements()),
                   concat("input '", name, "'"));
    logical = converted.bytes.data();
  }
  if (!port->ranges.empty())
    for (size_t i = 0, count = size_t(elementsOf(port->shape)); i < count; ++i)
      if (std::string refused = port->refusal(loadInteger(port->dtype, logical, i), int64_t(i)); !refused.empty())
        fail("", concat("input '", name, "': element ", i, " is ", refused), "give values of the range");
  put(port->offset, order, port->dtype, port->shape, logical, /*input=*/true);
}

void Session::setStored(const Port &port, const void *bytes) {
  device_->stage(port.offset, bytes, size_t(elementsOf(port.shape)) * sizeOf(port.dtype));
}

void Session::setFirst(const Port &port, double value) { write(scalarOf(port), value); }

void Session::run(const Entry &entry) {
  ++changes_;
  device_->run(entry, profiling_ ? &launchSeconds_[&entry] : nullptr);
}

void Session::runObserved(const Entry &entry, LaunchObserver &observer) {
  ++changes_;
  device_->runObserved(entry, observer);
}

void Session::startProfile(bool on) {
  profiling_ = on;
  launchSeconds_.clear();
}

const std::vector<double> &Session::profile(const Entry &entry) const {
  static const std::vector<double> none;
  auto it = launchSeconds_.find(&entry);
  return it == launchSeconds_.end() ? none : it->second;
}

Tensor Session::output(const Entry &entry, std::string_view name) const {
  if (const Port *port = entry.output(name))
    return read(*port);
  fail("", concat("entry '", entry.name, "' has no output '", name, "'"), "the program's info lists its outputs");
}

Tensor Session::read(const Port &port) const {
  Tensor tensor(port.dtype, port.shape);
  read(port, tensor.bytes.data());
  return tensor;
}

void Session::read(const Port &port, void *logical) const {
  fetch(port.offset, Transpose(port.shape, port.permutation), port.dtype, port.shape, logical);
}

double Session::readScalar(const Port &port) const { return read(scalarOf(port)); }

std::unique_ptr<Snapshots> Session::snapshots(const std::vector<Scalar> &scalars, size_t slots) {
  std::vector<ArenaRange> ranges;
  for (Scalar scalar : scalars)
    ranges.push_back({scalar.offset, sizeOf(scalar.type)});
  return device_->snapshots(std::move(ranges), slots);
}

Scalar Session::scalarOf(std::string_view variable) const {
  const Stored &s = stored(variable);
  return {s.offset, s.variable->dtype};
}

const Session::Stored &Session::stored(std::string_view name) const {
  auto it = byName_.find(name);
  if (it == byName_.end())
    fail(program_->where(), concat("stores no variable '", name, "'"), "the program's info lists its variables");
  return *it->second;
}

bool Session::stores(std::string_view name) const { return byName_.count(name) != 0; }

Tensor Session::variable(std::string_view name) const {
  const Stored &s = stored(name);
  Tensor tensor(s.variable->dtype, s.variable->shape);
  fetch(s.offset, s.order, tensor.dtype, tensor.shape, tensor.bytes.data());
  return tensor;
}

void Session::checkVariable(std::string_view name, const TensorView &value) const {
  const Stored &s = stored(name);
  if (value.shape != s.variable->shape)
    fail("",
         concat("variable '", s.variable->userName(), "' has shape ", toString(s.variable->shape), ", not ",
                toString(value.shape)),
         "give values of the variable's shape");
  checkExact(value.dtype, value.data, s.variable->dtype, size_t(elementsOf(value.shape)),
             concat("variable '", s.variable->userName(), "'"));
}

void Session::setVariable(std::string_view name, const TensorView &value) {
  checkVariable(name, value);
  writeStored(stored(name), value);
}

void Session::writeStored(const Stored &s, const TensorView &value) {
  ++changes_;
  mpc_dtype type = s.variable->dtype;
  std::vector<std::byte> converted;
  const void *logical = value.data;
  // Data mapped from a file may be unaligned; the conversion also corrects that.
  bool aligned = reinterpret_cast<uintptr_t>(value.data) % sizeOf(type) == 0;
  if (value.dtype != type || !aligned) {
    size_t count = size_t(elementsOf(value.shape));
    converted.resize(count * sizeOf(type));
    convert(value.dtype, value.data, type, converted.data(), count);
    logical = converted.data();
  }
  put(s.offset, s.order, type, s.variable->shape, logical);
  for (const Stored *copy : s.copies)
    writeStored(*copy, {type, s.variable->shape, logical});
}

double Session::variableScalar(std::string_view name) const { return read(scalarOf(name)); }

void Session::setVariableScalar(std::string_view name, double value) {
  ++changes_;
  write(scalarOf(name), value);
}

void Session::initialize(uint64_t seed) {
  options_.seed = seed;
  for (const Stored &s : stored_)
    initializeVariable(s, seed);
}

void Session::beginSequence() {
  for (const Stored &s : stored_)
    if (s.variable->role == "state")
      initializeVariable(s, options_.seed);
}

namespace {
struct Drawing {
  const Variable &variable;
  RandomStream random;
  std::byte *values;
};
} // namespace

/// Draws values [begin, end), each of which depends on its number alone.
static void draw(void *context, int64_t begin, int64_t end) {
  const auto &[v, random, values] = *static_cast<const Drawing *>(context);
  for (size_t i = size_t(begin); i < size_t(end); ++i) {
    double x = v.init.first;
    if (v.init.kind == Init::Normal)
      x += v.init.second * random.normal(i);
    else if (v.init.kind == Init::Uniform)
      x += (v.init.second - v.init.first) * random.uniform(i);
    storeDouble(v.dtype, values, i, x);
  }
}

void Session::initializeVariable(const Stored &s, uint64_t seed) {
  const Variable &v = *s.variable;
  if (v.init.kind == Init::Copy)
    return; // it is written together with its master
  if (v.init.kind == Init::Data)
    return writeStored(s, {v.dtype, v.shape, program_->data().data() + v.init.offset});
  Tensor value(v.dtype, v.shape);
  int64_t count = int64_t(value.elements());
  Drawing drawing{v, RandomStream(seed, v.name), value.bytes.data()};
  if (v.init.kind == Init::Seed && count > 0)
    convert(MPC_U64, &seed, v.dtype, value.bytes.data(), 1);
  else if (count <= kLeastDrawn)
    draw(&drawing, 0, count);
  else
    Threads(options_.threads, Threads::Backend::OwnPool).parallelFor(draw, &drawing, count, kLeastDrawn);
  writeStored(s, value);
}

} // namespace mpc::rt
