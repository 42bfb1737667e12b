// The C functions of mpc/program.h.

#include "mpc/program.h"
#include "runtime/core/Info.h"
#include "runtime/core/StepLoop.h"
#include "runtime/core/state/Checkpoint.h"
#include "runtime/support/Error.h"

#include <map>
#include <mutex>

using namespace mpc::rt;

namespace {
struct Bound {
  mpc_dtype dtype;
  const void *data;
  size_t elements;
};

thread_local std::string lastError;
/// Threads and library providers are shared by the process: one step at a time.
std::mutex running;
} // namespace

struct mpc_session {
  mpc_session(std::shared_ptr<const Program> program, const SessionOptions &options)
      : session(std::move(program), options) {
    if (!session.manifest().steps.empty())
      loop.emplace(session, std::map<std::string, double>(), Schedule());
    cursor.seed = options.seed;
  }

  /// Writes the bound inputs of an entry. Throws Error for what is not bound, and as Session::setInput does.
  void load(const Entry &entry);
  const Entry &entryOf(mpc_mode mode);

  Session session;
  std::optional<StepLoop> loop;
  std::map<std::string, Bound, std::less<>> bound;
  const Entry *last = nullptr; // whose outputs are in the arena
  Cursor cursor;
  std::string info;
};

/// Runs `work`; a failure becomes the thread's message and -1.
template <typename Work>
static int guarded(Work &&work) {
  std::optional<Error> error = attempt(work);
  if (!error)
    return 0;
  lastError = concat(error->where(), error->where().empty() ? "" : ": ", error->what());
  if (!error->hint().empty())
    lastError += "; " + error->hint();
  return -1;
}

static void checkDType(mpc_dtype dtype) {
  if (dtype < MPC_F16 || dtype > MPC_BOOL)
    fail("", concat("unknown element type ", int(dtype)), "use a value of mpc_dtype");
}

static void checkElements(const char *name, size_t given, int64_t needed, const Shape &shape) {
  if (given != size_t(needed))
    fail(name, concat("has ", needed, " elements (shape ", toString(shape), "), not ", given), "give as many elements as the shape has");
}

const Entry &mpc_session::entryOf(mpc_mode mode) {
  switch (mode) {
  case MPC_TRAIN:
    if (!loop)
      return session.entryOfKind("train"); // throws: there is none
    return *loop->entries().front();
  case MPC_EVAL:
    return session.entryOfKind("eval");
  case MPC_PREDICT:
    return session.entryOfKind("predict");
  }
  fail("", concat("unknown mode ", int(mode)), "use MPC_TRAIN, MPC_EVAL or MPC_PREDICT");
}

void mpc_session::load(const Entry &entry) {
  for (const Port &port : entry.inputs) {
    auto it = bound.find(port.name);
    if (it == bound.end())
      fail(port.name, "this input is not bound", "call mpc_bind before the step");
    const Bound &input = it->second;
    checkElements(port.name.c_str(), input.elements, elementsOf(port.shape), port.shape);
    session.setInput(entry, port.name, {input.dtype, port.shape, input.data});
  }
}

static void describe(const std::string &name, const std::string &role, mpc_dtype dtype, const Shape &shape,
                     mpc_tensor *out) {
  *out = {name.c_str(), role.c_str(), int32_t(dtype), int32_t(shape.size()), shape.data(), size_t(elementsOf(shape))};
}

static int describePort(const std::vector<Port> &ports, size_t index, mpc_tensor *out) {
  if (index >= ports.size())
    fail("", concat("there are ", ports.size(), " of them, index ", index, " is past the last one"), "count from 0");
  const Port &port = ports[index];
  describe(port.name, port.role, port.dtype, port.shape, out);
  return 0;
}

/// The variable that the user calls so; throws Error for one that this program does not store.
static const Variable &variableOf(mpc_session *s, const char *name) {
  for (const Variable &variable : s->session.manifest().variables)
    if (variable.userName() == name && s->session.stores(variable.name))
      return variable;
  fail(name, "the program has no such variable", "mpc_variable lists them");
}

extern "C" {

uint32_t mpc_abi_version(void) { return MPC_PROGRAM_ABI; }

const char *mpc_error(void) { return lastError.c_str(); }

mpc_session *mpc_open(const char *path, const mpc_open_options *options) {
  mpc_session *session = nullptr;
  guarded([&] {
    SessionOptions own;
    if (options) {
      if (options->threads < 0 || options->threads > 4096)
        fail("threads", concat(options->threads, " is no number of threads"), "0 takes all CPUs");
      own.threads = options->threads;
      own.seed = options->seed;
      if (options->library)
        own.library = options->library;
      if (options->target)
        own.device = options->target;
      if (options->note)
        own.note = [note = options->note, context = options->note_context](const std::string &text) {
          note(context, text.c_str());
        };
    }
    std::lock_guard<std::mutex> lock(running);
    session = new mpc_session(path ? Program::open(path) : Program::openSelf(), own);
  });
  return session;
}

void mpc_close(mpc_session *session) {
  std::lock_guard<std::mutex> lock(running);
  delete session;
}

const char *mpc_info(mpc_session *s) {
  guarded([&] {
    if (s->info.empty())
      s->info = describeProgram(s->session.program(), /*json=*/true);
  });
  return s->info.c_str();
}

int mpc_input(mpc_session *s, mpc_mode mode, size_t index, mpc_tensor *tensor) {
  return guarded([&] { describePort(s->entryOf(mode).inputs, index, tensor); });
}

int mpc_output(mpc_session *s, mpc_mode mode, size_t index, mpc_tensor *tensor) {
  return guarded([&] { describePort(s->entryOf(mode).outputs, index, tensor); });
}

int mpc_variable(mpc_session *s, size_t index, mpc_tensor *tensor) {
  return guarded([&] {
    const std::vector<Storage> &storage = s->session.plan().storage;
    if (index >= storage.size())
      fail("", concat("there are ", storage.size(), " variables, index ", index, " is past the last one"), "count from 0");
    const Variable &v = *s->session.manifest().variable(storage[index].variable);
    describe(v.userName(), v.role, v.dtype, v.shape, tensor);
  });
}

int mpc_bind(mpc_session *s, const char *input, mpc_dtype dtype, const void *data, size_t elements) {
  return guarded([&] {
    checkDType(dtype);
    const Port *port = nullptr;
    for (const Entry &entry : s->session.plan().entries)
      if (const Port *found = entry.input(input))
        port = found;
    if (!port)
      fail(input, "the program has no such input", "mpc_input lists them");
    checkElements(input, elements, elementsOf(port->shape), port->shape);
    if (!data)
      fail(input, "null is no data", "give the address of the elements");
    s->bound[input] = {dtype, data, elements};
  });
}

int mpc_get_variable(mpc_session *s, const char *name, mpc_dtype dtype, void *data, size_t elements) {
  return guarded([&] {
    checkDType(dtype);
    const Variable &v = variableOf(s, name);
    checkElements(name, elements, elementsOf(v.shape), v.shape);
    Tensor value = s->session.variable(v.name);
    convertExactly(value.dtype, value.bytes.data(), dtype, data, elements, name);
  });
}

int mpc_set_variable(mpc_session *s, const char *name, mpc_dtype dtype, const void *data, size_t elements) {
  return guarded([&] {
    checkDType(dtype);
    const Variable &v = variableOf(s, name);
    checkElements(name, elements, elementsOf(v.shape), v.shape);
    s->session.setVariable(v.name, {dtype, v.shape, data});
  });
}

size_t mpc_optimizer_count(mpc_session *s) { return s->session.manifest().steps.size(); }

int mpc_step(mpc_session *s, mpc_step_report *reports) {
  return guarded([&] {
    s->entryOf(MPC_TRAIN); // throws where there is nothing to train
    std::lock_guard<std::mutex> lock(running);
    const auto &done = s->loop->run(
        s->cursor.iteration, [&](const Entry &entry) { s->load(entry); }, [&](const Entry &entry) { s->last = &entry; });
    ++s->cursor.iteration;
    for (size_t i = 0; reports && i < done.size(); ++i)
      reports[i] = {done[i].loss, done[i].rate, done[i].scale, done[i].skipped};
  });
}

int64_t mpc_iteration(mpc_session *s) { return s->cursor.iteration; }

int mpc_set_hyper(mpc_session *s, const char *name, double value) {
  return guarded([&] {
    s->entryOf(MPC_TRAIN);
    s->loop->setHyper(name, value);
  });
}

int mpc_run(mpc_session *s, mpc_mode mode) {
  return guarded([&] {
    if (mode == MPC_TRAIN)
      fail("", "mpc_run does not train", "call mpc_step");
    const Entry &entry = s->entryOf(mode);
    std::lock_guard<std::mutex> lock(running);
    s->load(entry);
    s->session.run(entry);
    s->last = &entry;
  });
}

int mpc_get_output(mpc_session *s, const char *name, mpc_dtype dtype, void *data, size_t elements) {
  return guarded([&] {
    checkDType(dtype);
    if (!s->last)
      fail(name, "nothing has run yet", "call mpc_step or mpc_run");
    const Port *port = s->last->output(name);
    if (!port)
      fail(name, concat("entry '", s->last->name, "', which ran last, has no such output"), "mpc_output lists them");
    checkElements(name, elements, elementsOf(port->shape), port->shape);
    Tensor value = s->session.read(*port);
    convertExactly(value.dtype, value.bytes.data(), dtype, data, elements, name);
  });
}

int mpc_save(mpc_session *s, const char *path) {
  return guarded([&] { saveCheckpoint(s->session, s->cursor, path); });
}

int mpc_load(mpc_session *s, const char *path) {
  return guarded([&] {
    if (std::optional<Cursor> cursor = loadState(s->session, path))
      s->cursor = *cursor;
    s->last = nullptr;
  });
}
}
