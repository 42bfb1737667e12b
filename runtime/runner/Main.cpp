// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The program that a compiled model becomes: it parses options, runs one command, and turns errors into messages.

#include "runtime/core/Evaluate.h"
#include "runtime/core/Info.h"
#include "runtime/core/PerClass.h"
#include "runtime/core/Progress.h"
#include "runtime/core/Trace.h"
#include "runtime/core/data/Npz.h"
#include "runtime/core/state/Checkpoint.h"
#include "runtime/host/FaultReport.h"
#include "runtime/runner/Options.h"
#include "runtime/support/Error.h"
#include "runtime/support/Outputs.h"
#include "runtime/support/OwnFile.h"
#include "runtime/support/Standard.h"
#include "runtime/support/Terminal.h"

#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <unistd.h>

using namespace mpc::rt;

static volatile std::sig_atomic_t interrupted = 0;

/// Prints an error, a warning or a note.
static void say(const std::string &text) { std::fputs(withPaintedLabels(text, 2).c_str(), stderr); }

static int64_t millisecondsNow() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now); // may be called in a signal handler
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

/// The first signal asks the training to stop after its step; one that comes two seconds later ends the process as
/// usual. (Shells and container managers may send the same one twice, to a process and to its group.)
static void onSignal(int signal) {
  static volatile int64_t first = 0;
  if (!interrupted) {
    first = millisecondsNow();
    interrupted = signal;
  } else if (millisecondsNow() - first >= 2000) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

/// Returns the exit status: 128 + the signal that ended the training, which is the status that a shell reports for a
/// process that a signal ended.
static int runTrain(Session &session, Options &options) {
  std::signal(SIGINT, onSignal);
  std::signal(SIGTERM, onSignal);
  struct sigaction hangUp;
  if (sigaction(SIGHUP, nullptr, &hangUp) == 0 && hangUp.sa_handler != SIG_IGN) // nohup ignores it, and so do we
    std::signal(SIGHUP, onSignal);
  options.train.interrupted = &interrupted;
  Progress progress("train", 1);
  TrainResult result = train(session, options.train);
  if (result.interrupted)
    return 128 + interrupted;
  int64_t skipped = 0;
  std::string each; // holds e.g. " (body 0, head 3)"
  for (size_t i = 0; i < result.skipped.size(); ++i) {
    skipped += result.skipped[i];
    if (result.skipped.size() > 1)
      each += concat(i == 0 ? " (" : ", ", session.manifest().steps[i].name, " ", result.skipped[i],
                     i + 1 == result.skipped.size() ? ")" : "");
  }
  progress.line(concat("done: ", result.iterations, " steps, ", skipped, " skipped", each, ", ",
                       result.loss ? concat("loss ", *result.loss, ", ") : "", clockText(progress.seconds())));
  if (skipped > 0 && result.updates == 0)
    say("warning: every step was skipped: nothing was learned\n");
  else if (result.loss && !std::isfinite(*result.loss))
    say("warning: the last loss is not finite: the parameters may be lost\n");
  return 0;
}

/// Opens the data of a command that reads a checkpoint, and says what is used of the checkpoint's preprocessing.
static Dataset openData(const Session &session, const Options &options, const std::vector<const Entry *> &entries) {
  DataOptions files = options.train.data;
  files.installation = session.program().section("installation");
  if (!options.boxes.folder.empty())
    files.pictureOption = "--boxes";
  if (!options.checkpoint.empty()) {
    files.stored = preprocessingOf(options.checkpoint);
    files.classes = classesOf(options.checkpoint);
  }
  checkBadSamples(session.manifest(), files);
  Dataset data(files, inputsOf(entries), session.manifest().batch);
  if (!data.preprocessingNote().empty())
    options.session.note(data.preprocessingNote());
  for (const std::string &note : data.notesOnFiles())
    options.session.note(note);
  if (options.checkpoint.empty() && options.command != Options::Trace && !session.manifest().steps.empty())
    options.session.note("without --checkpoint, the parameters are the initial ones");
  if (!options.checkpoint.empty() && files.classes.empty() && !data.classes().empty())
    options.session.note(concat(options.checkpoint, " does not name the classes of its training; the data has the ",
                                classesText(data.classes())));
  return data;
}

/// Tells the user which samples were left out.
static void noteBadSamples(const Dataset &data) {
  if (std::string text = data.badSamples().text(); !text.empty())
    say(concat("note: ", text, "\n"));
}

/// Returns the names of the classes, fewer than the program has where the pictures of its training had no others.
static std::vector<std::string> classesOf(const Dataset &data, const Options &options) {
  return data.classes().empty() && !options.checkpoint.empty() ? classesOf(options.checkpoint) : data.classes();
}

static void runEval(Session &session, const Options &options) {
  Dataset data = openData(session, options, {&session.entryOfKind("eval")});
  std::vector<std::string> names =
      options.classNames.empty() ? classesOf(data, options) : readClassNames(options.classNames);
  Evaluation evaluation;
  {
    Progress progress("eval", data.samples());
    evaluation = evaluate(session, data, [&](int64_t done) { progress.update(done, ""); });
  }
  if (evaluation.loss && evaluation.lossSamples < evaluation.samples)
    say(concat("note: this loss cannot be divided among the samples of a batch; it leaves out the last ",
               evaluation.samples - evaluation.lossSamples, ", which fill none\n"));
  noteBadSamples(data);
  auto print = [](const std::string &text) { std::fputs(text.c_str(), stdout); };
  if (!options.json)
    print(evaluation.asText()); // is there even if the names of the classes do not fit
  std::string classes;
  if (options.perClass)
    classes = (options.json ? perClassJson : perClassText)(evaluation, names, options.classNames);
  print(options.json ? evaluation.asJson(classes) : classes);
}

static void runPredict(Session &session, const Options &options) {
  Dataset data = openData(session, options, {&session.entryOfKind("predict")});
  PredictOptions what{options.out, options.pictures, options.boxes,
                      std::string(session.program().section("installation"))};
  what.boxes.classes = classesOf(data, options);
  std::vector<std::string> notes;
  {
    Progress progress("predict", data.samples() * (what.boxes.folder.empty() ? 1 : 2));
    notes = predict(session, data, what, [&](int64_t done) { progress.update(done, ""); });
  }
  for (const std::string &note : notes)
    if (!note.empty())
      options.session.note(note);
}

static void runTrace(Session &session, const Options &options) {
  std::vector<const Entry *> entries;
  for (const Step &step : session.manifest().steps)
    entries.push_back(&session.entry(step.entry));
  if (entries.empty())
    entries.push_back(&session.entryOfKind("train")); // throws, because there is none
  Dataset data = openData(session, options, entries);
  NpzWriter writer(options.out);
  for (const auto &[name, tensor] : trace(session, data, options.traceSteps, options.train.hyper))
    writer.add(name, tensor);
  writer.finish();
}

/// Throws Error when --out or --log is a file that the command reads, the program itself included.
static void checkOutputs(const Options &options) {
  const TrainOptions &train = options.train;
  std::vector<std::string> inputs = namedFiles(train.data.files);
  for (std::string &name : namedFiles(train.validation))
    inputs.push_back(std::move(name));
  for (const std::string &name : {options.checkpoint, train.init, ownFile()})
    inputs.push_back(name);
  for (const std::string &out : {options.out, options.pictures.file})
    checkOutput(out, inputs);
  if (!options.out.empty() && options.out == options.pictures.file)
    fail(options.out, "--out and --images name one file", "give each a name of its own");
  checkOutput(train.log, inputs);
}

/// Loads the weights that eval and predict use, and says where they are averages.
static void loadWeights(Session &session, const Options &options) {
  if (loadParameters(session, options.checkpoint, nullptr, options.weights != "raw") > 0)
    options.session.note("the weights are moving averages (--ema); --weights=raw takes those of the last update");
  else if (options.weights == "averaged")
    fail(options.checkpoint, "has no averages of its weights",
         "leave --weights out, or train a program that was compiled with --ema=0.999");
}

/// Returns the exit status.
static int runCommand(const std::shared_ptr<const Program> &program, Options &options) {
  if (options.command == Options::Info) {
    std::fputs(describeProgram(*program, options.json).c_str(), stdout);
    return 0;
  }
  checkOutputs(options);
  options.session.note = [](const std::string &text) { say(concat("note: ", text, "\n")); };
  int64_t resident = residentBytes();
  Session session(program, options.session);
  if (!options.checkpoint.empty())
    options.command == Options::Trace ? (void)loadState(session, options.checkpoint) : loadWeights(session, options);
  switch (options.command) {
  case Options::Train:
    return runTrain(session, options);
  case Options::Eval:
    runEval(session, options);
    return 0;
  case Options::Predict:
    runPredict(session, options);
    return 0;
  case Options::Bench:
    std::fputs(describeBench(session, bench(session, options.bench), resident, options.json).c_str(), stdout);
    return 0;
  default:
    runTrace(session, options);
    return 0;
  }
}

/// Prints an exception that nobody catches like every other error. It may come from the options' parser, from a thread,
/// or from a destructor that allocates (JSON values have one, and memory may run out anywhere).
[[noreturn]] static void endUncaught() {
  if (!std::current_exception())
    std::abort();
  say(attempt([] { throw; })->text());
  _exit(1);
}

int main(int argc, char **argv) {
  std::set_terminate(endUncaught);
  openStandardDescriptors();
  std::signal(SIGPIPE, SIG_IGN);
  reportShortenedFiles();
  std::shared_ptr<const Program> program;
  std::optional<Error> error = attempt([&] { program = Program::openSelf(); });
  Options options;
  int status = 0;
  if (std::optional<int> parsed = parseOptions(argc, argv, program.get(), options)) {
    status = *parsed; // help or the mistake has been printed
    error.reset();
  } else if (options.command == Options::Plot) { // needs no model
    error = attempt([&] { plot(options.plot); });
  } else if (!error) {
    error = attempt([&] { status = runCommand(program, options); });
  }
  if (!error && status == 0 && !standardOutputIsWritten())
    error = Error("standard output", "cannot be written: a part of what was printed is lost",
                  "let it go to a file, or leave '>&-' out");
  if (error) {
    std::fflush(stdout);
    say(error->text());
    return 1;
  }
  return status;
}
