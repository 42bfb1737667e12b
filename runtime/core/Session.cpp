#include "runtime/core/Session.h"

#include "runtime/support/Error.h"
#include "runtime/support/Random.h"

#include <cassert>
#include <chrono>
#include <cstring>
#include <malloc.h>

namespace mpc::rt {

static const Plan *choosePlan(const Program &program, const std::string &target) {
  if (const Plan *plan = program.manifest().plan(target))
    return plan;
  std::string known;
  for (const Plan &plan : program.manifest().plans)
    known += (known.empty() ? "" : ", ") + plan.target;
  fail(program.where(), concat("has no plan for target '", target, "' (it has: ", known, ")"),
       concat("compile the model with --target=", target));
}

Session::Session(std::shared_ptr<const Program> program, SessionOptions options)
    : program_(std::move(program)), options_(std::move(options)),
      plan_(choosePlan(*program_, options_.target)), threads_(options_.threads) {
  arena_ = std::make_unique<Arena>(plan_->arenaBytes);
  for (const Constant &constant : plan_->constants)
    std::memcpy(arena_->at(constant.offset), program_->data().data() + constant.dataOffset,
                size_t(constant.bytes));
  // deque: the addresses of its elements stay valid.
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
  for (const Entry &entry : plan_->entries)
    for (const Launch &launch : entry.launches)
      prepared_[&entry].push_back(prepare(launch));
  malloc_trim(0); // what parsing and initialising needed
}

Session::~Session() {
  for (auto &[entry, launches] : prepared_)
    for (Prepared &launch : launches)
      if (launch.library.primitive)
        launch.library.library->destroy(launch.library.primitive);
  if (provider_)
    LibraryProvider::useThreads(nullptr);
}

Session::Prepared Session::prepare(const Launch &launch) {
  Prepared prepared;
  for (int64_t offset : launch.args)
    prepared.buffers.push_back(arena_->at(offset));
  if (!launch.library) {
    prepared.kernel = program_->kernels().find(launch.kernel);
    prepared.grid = launch.grid;
    prepared.grain = launch.grain;
    return prepared;
  }
  if (!provider_)
    provider_ = std::make_unique<LibraryProvider>(options_.library, threads_.count(), options_.note);
  std::string where = concat(launch.loc.empty() ? "" : launch.loc + ": ", launch.name);
  prepared.library = provider_->create(*launch.library, where);
  size_t needed = prepared.library.library->scratch_bytes(prepared.library.primitive);
  if (needed <= size_t(launch.scratchBytes)) {
    prepared.scratch = arena_->at(launch.scratch);
  } else {
    extraScratch_.push_back(std::make_unique<Arena>(int64_t(needed)));
    prepared.scratch = extraScratch_.back()->at(0);
    if (options_.note)
      options_.note(concat(where, ": ", prepared.library.library->name, " needs ", needed,
                           " bytes of scratch, the plan has ", launch.scratchBytes,
                           "; allocated outside the plan"));
  }
  return prepared;
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

void Session::setInput(const Entry &entry, std::string_view name, const TensorView &value) {
  const Port *port = entry.input(name);
  if (!port)
    fail("", concat("entry '", entry.name, "' has no input '", name, "'"), "the program's info lists its inputs");
  if (elementsOf(value.shape) != elementsOf(port->shape))
    fail("", concat("input '", name, "' has shape ", toString(port->shape), ", not ", toString(value.shape)),
         "give an array of the input's shape, or compile the model with another --batch or --dim");
  Transpose order(port->shape, port->permutation);
  const void *logical = value.data;
  Tensor converted;
  if (value.dtype != port->dtype) {
    converted = Tensor(port->dtype, port->shape);
    size_t count = size_t(converted.elements());
    convert(value.dtype, value.data, port->dtype, converted.bytes.data(), count);
    logical = converted.bytes.data();
    if (size_t i = firstOverflow(value.dtype, value.data, port->dtype, logical, count); i < count)
      fail("",
           concat("input '", name, "': element ", i, " holds ", loadDouble(value.dtype, value.data, i),
                  ", which ", nameOf(port->dtype), " cannot represent"),
           "scale the values down");
  }
  order.toStored(logical, address(*port), sizeOf(port->dtype));
}

void Session::run(const Entry &entry) {
  if (provider_)
    LibraryProvider::useThreads(&threads_); // another session may have run in between
  auto launches = prepared_.find(&entry);
  assert((launches != prepared_.end() || entry.launches.empty()) && "an entry of another session");
  if (launches == prepared_.end())
    return;
  if (!profiling_) {
    for (const Prepared &launch : launches->second)
      execute(launch);
    return;
  }
  std::vector<double> &seconds = launchSeconds_[&entry];
  seconds.resize(launches->second.size());
  auto last = std::chrono::steady_clock::now();
  for (size_t i = 0; i < seconds.size(); ++i) {
    execute(launches->second[i]);
    auto now = std::chrono::steady_clock::now();
    seconds[i] += std::chrono::duration<double>(now - last).count();
    last = now;
  }
}

void Session::execute(const Prepared &launch) {
  if (launch.kernel)
    threads_.parallelFor(launch.kernel, launch.buffers.data(), launch.grid, launch.grain);
  else
    launch.library.library->execute(launch.library.primitive, launch.buffers.data(), launch.scratch);
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
  Transpose(port.shape, port.permutation).toLogical(address(port), tensor.bytes.data(), sizeOf(port.dtype));
  return tensor;
}

double Session::readScalar(const Port &port) const { return loadDouble(port.dtype, address(port), 0); }

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
  s.order.toLogical(arena_->at(s.offset), tensor.bytes.data(), sizeOf(tensor.dtype));
  return tensor;
}

void Session::setVariable(std::string_view name, const TensorView &value) {
  const Stored &s = stored(name);
  if (value.shape != s.variable->shape)
    fail("", concat("variable '", name, "' has shape ", toString(s.variable->shape), ", not ",
                    toString(value.shape)), "give values of the variable's shape");
  writeStored(s, value);
}

void Session::writeStored(const Stored &s, const TensorView &value) {
  mpc_dtype type = s.variable->dtype;
  std::vector<std::byte> converted;
  const void *logical = value.data;
  // Data mapped from a file may be unaligned; the conversion also cures that.
  bool aligned = reinterpret_cast<uintptr_t>(value.data) % sizeOf(type) == 0;
  if (value.dtype != type || !aligned) {
    size_t count = size_t(elementsOf(value.shape));
    converted.resize(count * sizeOf(type));
    convert(value.dtype, value.data, type, converted.data(), count);
    logical = converted.data();
  }
  s.order.toStored(logical, arena_->at(s.offset), sizeOf(type));
  for (const Stored *copy : s.copies)
    writeStored(*copy, {type, s.variable->shape, logical});
}

double Session::variableScalar(std::string_view name) const {
  const Stored &s = stored(name);
  return loadDouble(s.variable->dtype, arena_->at(s.offset), 0);
}

void Session::setVariableScalar(std::string_view name, double value) {
  const Stored &s = stored(name);
  storeDouble(s.variable->dtype, arena_->at(s.offset), 0, value);
}

void Session::initialize(uint64_t seed) {
  options_.seed = seed;
  for (const Stored &s : stored_)
    initializeVariable(s, seed);
}

void Session::initializeVariable(const Stored &s, uint64_t seed) {
  const Variable &v = *s.variable;
  if (v.init.kind == Init::Copy)
    return; // written together with its master
  if (v.init.kind == Init::Data)
    return writeStored(s, {v.dtype, v.shape, program_->data().data() + v.init.offset});
  Tensor value(v.dtype, v.shape);
  size_t count = size_t(value.elements());
  RandomStream random(seed, v.name);
  for (size_t i = 0; i < count; ++i) {
    double x = v.init.first;
    if (v.init.kind == Init::Normal)
      x += v.init.second * random.normal(i);
    else if (v.init.kind == Init::Uniform)
      x += (v.init.second - v.init.first) * random.uniform(i);
    else if (v.init.kind == Init::Seed)
      break;
    storeDouble(v.dtype, value.bytes.data(), i, x);
  }
  if (v.init.kind == Init::Seed && count > 0)
    convert(MPC_U64, &seed, v.dtype, value.bytes.data(), 1);
  writeStored(s, value);
}

} // namespace mpc::rt
