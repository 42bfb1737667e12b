// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The C functions of mpc/program.h.

#include "mpc/program.h"
#include "runtime/core/FreshNumbers.h"
#include "runtime/core/Info.h"
#include "runtime/core/StepLoop.h"
#include "runtime/core/state/Checkpoint.h"
#include "runtime/support/Error.h"

#include <atomic>
#include <cstddef>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <unistd.h>

using namespace mpc::rt;

namespace {
struct Bound {
  mpc_dtype dtype;
  const void *data;
  size_t elements;
};

thread_local std::string lastError;
/// Sessions of a process share threads and library providers, so only one step runs at a time.
std::mutex running;

/// The open sessions; a pointer that is none of them is not followed. The set is never destroyed, because an
/// application may close a session in the destructor of a static object, which can run after this library's own.
std::mutex opened;
using Sessions = std::set<const mpc_session *>;
alignas(Sessions) std::byte sessionsPlace[sizeof(Sessions)];
Sessions &sessions = *new (sessionsPlace) Sessions;
/// The process that opened the first session. Its threads do not live on in a child that it forks.
std::atomic<pid_t> owner = 0;

bool forked() { return owner != 0 && owner != getpid(); }

/// Must run before anything is locked: in a forked child a lock may be held for ever.
void checkProcess() {
  if (forked())
    fail("", "this process was forked from one that had called mpc_open, whose threads it does not have",
         "fork before mpc_open, or let the child exec a program of its own");
}
} // namespace

struct mpc_session {
  mpc_session(std::shared_ptr<const Program> program, const SessionOptions &options)
      : session(std::move(program), options) {
    if (!session.manifest().steps.empty())
      loop.emplace(session, std::map<std::string, double>(), Schedule());
    cursor.seed = options.seed;
  }

  /// Writes the bound inputs of an entry. Throws Error for inputs that are not bound, and where Session::setInput does.
  void load(const Entry &entry);
  const Entry &entryOf(mpc_mode mode);

  Session session;
  std::optional<StepLoop> loop;
  std::map<std::string, Bound, std::less<>> bound;
  const Entry *last = nullptr; // the entry whose outputs are in the arena
  Cursor cursor;
  uint64_t runs = 0; // number of forward passes so far
  std::string info;
};

/// Runs `work`; on failure it stores the thread's message and returns -1.
template <typename Work>
static int guarded(Work &&work) {
  try {
    std::optional<Error> error = attempt(work);
    if (!error)
      return 0;
    lastError = error->what(); // includes the place
    if (!error->hint().empty())
      lastError += "; " + error->hint();
  } catch (const std::bad_alloc &) {
    lastError = "out of memory"; // so short a text is stored without an allocation
  }
  return -1;
}

/// Returns the session behind a caller's pointer. Throws Error for null, for a pointer that mpc_open did not return,
/// and for a closed session.
static mpc_session *checked(mpc_session *s) {
  checkProcess();
  if (!s)
    fail("", "null is no session", "mpc_open returns one, or null with an error");
  std::lock_guard<std::mutex> lock(opened);
  if (!sessions.count(s))
    fail("", "this is no session, or it is closed", "take what mpc_open returned, and call mpc_close last, and once");
  return s;
}

/// Throws Error for null; `what` names the pointer's target: "the name".
static void checkPointer(const void *pointer, const char *what) {
  if (!pointer)
    fail("", concat(what, " is null"), "give an address");
}

static void checkData(const char *name, const void *data, size_t elements) {
  if (!data && elements > 0)
    fail(name, "null is no data", "give the address of the elements");
}

static void checkDType(mpc_dtype dtype) {
  if (dtype < MPC_F16 || dtype > MPC_BOOL)
    fail("", concat("unknown element type ", int(dtype)), "use a value of mpc_dtype");
}

static void checkElements(const char *name, size_t given, int64_t needed, const Shape &shape) {
  if (given != size_t(needed))
    fail(name, concat("has ", needed, " elements (shape ", toString(shape), "), not ", given),
         "give as many elements as the shape has");
}

const Entry &mpc_session::entryOf(mpc_mode mode) {
  switch (mode) {
  case MPC_TRAIN:
    if (!loop)
      return session.entryOfKind("train"); // throws, because there is none
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

static void describePort(const std::vector<Port> &ports, size_t index, mpc_tensor *out) {
  checkPointer(out, "the tensor");
  if (index >= ports.size())
    fail("", concat("there are ", ports.size(), " of them, index ", index, " is past the last one"), "count from 0");
  const Port &port = ports[index];
  describe(port.name, port.role, port.dtype, port.shape, out);
}

/// Returns the variable that has this name for the user; throws Error for one that this program does not store.
static const Variable &variableOf(mpc_session *s, const char *name) {
  checkPointer(name, "the variable's name");
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
    checkProcess();
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
    owner = getpid();
    auto made = std::make_unique<mpc_session>(path ? Program::open(path) : Program::openSelf(), own);
    std::lock_guard<std::mutex> known(opened);
    sessions.insert(made.get());
    session = made.release();
  });
  return session;
}

void mpc_close(mpc_session *session) {
  if (!session)
    return;
  guarded([&] {
    checked(session);
    std::lock_guard<std::mutex> lock(running);
    {
      std::lock_guard<std::mutex> known(opened);
      if (sessions.erase(session) == 0)
        return; // another thread has closed it in the meantime
    }
    delete session;
  });
}

const char *mpc_info(mpc_session *s) {
  int failed = guarded([&] {
    if (checked(s)->info.empty())
      s->info = describeProgram(s->session.program(), /*json=*/true);
  });
  return failed ? nullptr : s->info.c_str();
}

int mpc_input(mpc_session *s, mpc_mode mode, size_t index, mpc_tensor *tensor) {
  return guarded([&] { describePort(checked(s)->entryOf(mode).inputs, index, tensor); });
}

int mpc_output(mpc_session *s, mpc_mode mode, size_t index, mpc_tensor *tensor) {
  return guarded([&] { describePort(checked(s)->entryOf(mode).outputs, index, tensor); });
}

int mpc_variable(mpc_session *s, size_t index, mpc_tensor *tensor) {
  return guarded([&] {
    const std::vector<Storage> &storage = checked(s)->session.plan().storage;
    checkPointer(tensor, "the tensor");
    if (index >= storage.size())
      fail("", concat("there are ", storage.size(), " variables, index ", index, " is past the last one"),
           "count from 0");
    const Variable &v = *s->session.manifest().variable(storage[index].variable);
    describe(v.userName(), v.role, v.dtype, v.shape, tensor);
  });
}

int mpc_bind(mpc_session *s, const char *input, mpc_dtype dtype, const void *data, size_t elements) {
  return guarded([&] {
    checked(s);
    checkPointer(input, "the input's name");
    checkDType(dtype);
    const Port *port = nullptr;
    for (const Entry &entry : s->session.plan().entries)
      if (const Port *found = entry.input(input))
        port = found;
    if (!port)
      fail(input, "the program has no such input", "mpc_input lists them");
    checkElements(input, elements, elementsOf(port->shape), port->shape);
    checkData(input, data, elements);
    s->bound[input] = {dtype, data, elements};
  });
}

int mpc_get_variable(mpc_session *s, const char *name, mpc_dtype dtype, void *data, size_t elements) {
  return guarded([&] {
    const Variable &v = variableOf(checked(s), name);
    checkDType(dtype);
    checkElements(name, elements, elementsOf(v.shape), v.shape);
    checkData(name, data, elements);
    Tensor value = s->session.variable(v.name);
    convertExactly(value.dtype, value.bytes.data(), dtype, data, elements, name);
  });
}

int mpc_set_variable(mpc_session *s, const char *name, mpc_dtype dtype, const void *data, size_t elements) {
  return guarded([&] {
    const Variable &v = variableOf(checked(s), name);
    checkDType(dtype);
    checkElements(name, elements, elementsOf(v.shape), v.shape);
    checkData(name, data, elements);
    s->session.setVariable(v.name, {dtype, v.shape, data});
  });
}

size_t mpc_optimizer_count(mpc_session *s) {
  size_t count = 0;
  guarded([&] { count = checked(s)->session.manifest().steps.size(); });
  return count;
}

int mpc_step(mpc_session *s, mpc_step_report *reports) {
  return guarded([&] {
    checked(s)->entryOf(MPC_TRAIN); // throws if there is nothing to train
    std::lock_guard<std::mutex> lock(running);
    const auto &done = s->loop->run(
        s->cursor.iteration, [&](const Entry &entry) { s->load(entry); },
        [&](const Entry &entry) { s->last = &entry; });
    ++s->cursor.iteration;
    s->cursor.evaluationDue = false; // it was due behind an earlier step
    for (size_t i = 0; reports && i < done.size(); ++i)
      reports[i] = {done[i].loss, done[i].rate, done[i].scale, done[i].skipped};
  });
}

int64_t mpc_iteration(mpc_session *s) {
  int64_t iteration = -1;
  guarded([&] { iteration = checked(s)->cursor.iteration; });
  return iteration;
}

int mpc_set_hyper(mpc_session *s, const char *name, double value) {
  return guarded([&] {
    checked(s)->entryOf(MPC_TRAIN);
    checkPointer(name, "the hyperparameter's name");
    s->loop->setHyper(name, value);
  });
}

int mpc_run(mpc_session *s, mpc_mode mode) {
  return guarded([&] {
    checked(s);
    if (mode == MPC_TRAIN)
      fail("", "mpc_run does not train", "call mpc_step");
    const Entry &entry = s->entryOf(mode);
    std::lock_guard<std::mutex> lock(running);
    s->load(entry);
    FreshNumbers numbers(s->session, s->runs++);
    numbers.next();
    s->session.run(entry);
    s->last = &entry;
  });
}

int mpc_get_output(mpc_session *s, const char *name, mpc_dtype dtype, void *data, size_t elements) {
  return guarded([&] {
    checked(s);
    checkPointer(name, "the output's name");
    checkDType(dtype);
    if (!s->last)
      fail(name, "nothing has run yet", "call mpc_step or mpc_run");
    const Port *port = s->last->output(name);
    if (!port)
      fail(name, concat("entry '", s->last->name, "', which ran last, has no such output"), "mpc_output lists them");
    checkElements(name, elements, elementsOf(port->shape), port->shape);
    checkData(name, data, elements);
    Tensor value = s->session.read(*port);
    convertExactly(value.dtype, value.bytes.data(), dtype, data, elements, name);
  });
}

int mpc_save(mpc_session *s, const char *path) {
  return guarded([&] {
    checked(s);
    checkPointer(path, "the path");
    saveCheckpoint(s->session, s->cursor, path);
  });
}

int mpc_load(mpc_session *s, const char *path) {
  return guarded([&] {
    checked(s);
    checkPointer(path, "the path");
    if (std::optional<Cursor> cursor = loadState(s->session, path))
      s->cursor = *cursor;
    s->last = nullptr;
  });
}
}
