// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/core/Train.h"

#include "runtime/core/Epoch.h"
#include "runtime/core/Evaluate.h"
#include "runtime/core/Log.h"
#include "runtime/core/NonFinite.h"
#include "runtime/core/Progress.h"
#include "runtime/core/SkipWatch.h"
#include "runtime/core/state/Checkpoint.h"
#include "runtime/support/Error.h"
#include "runtime/support/Terminal.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

namespace mpc::rt {

namespace {
/// This many lost steps in a row end a training.
constexpr int64_t kLostAllowed = 10;

class Trainer {
public:
  Trainer(Session &session, const TrainOptions &options)
      : session_(session), options_(options), loop_(session, options.hyper, options.schedule),
        watches_(watchesOf(options), session, !options.validation.empty(), !options.checkpointFolder.empty()),
        watch_(session.manifest()), files_(filesOf(session, options)),
        data_(files_, inputsOf(loop_.entries()), session.manifest().batch) {}

  TrainResult run();

private:
  static WatchOptions watchesOf(const TrainOptions &options);
  static DataOptions filesOf(const Session &session, const TrainOptions &options);
  void openValidation();
  void resume();
  void checkPreprocessing(const Cursor &found) const;
  void notePreprocessingOf(const std::string &init);
  void checkInjection() const;
  void injectInfinity(const Entry &entry);
  bool logged(int64_t step) const { return options_.logEvery > 0 && step % options_.logEvery == 0; }
  void load(const Batches &batches, const Batches::Batch &batch, const Entry &entry, int64_t iteration);
  void takeReports(bool all, bool last);
  void noteBounds(const IterationReport &done);
  void noteBadSamples(const BadSamples &bad, size_t &noted, const char *option);
  void watchSteps(const IterationReport &done);
  std::string replay(size_t optimizer, int64_t iteration);
  std::string lastGood() const;
  void checkParameters(int64_t step) const;
  void report(const IterationReport &done, bool last);
  void endEpoch();
  bool evaluates(bool epochEnds) const;
  void followPlateau();
  void validate(const volatile std::sig_atomic_t *interrupted);
  void validateIfDue();
  bool endsEarly();
  void notePartialWindow();
  void noteInterruption();
  void checkpoint();
  std::string status(const std::vector<StepReport> &reports, double samplesPerSecond) const;

  Session &session_;
  const TrainOptions &options_;
  StepLoop loop_;
  Schedule schedule_;
  Watches watches_;
  SkipWatch watch_;
  DataOptions files_; // with what the checkpoint to resume from says
  Dataset data_;
  std::optional<Dataset> validation_;
  std::optional<CheckpointFolder> folder_;
  std::optional<RunLog> log_;
  std::optional<Progress> progress_;
  Cursor cursor_; // position after the iteration that was started last
  int64_t perEpoch_ = 0, total_ = 0, savedAt_ = -1;
  std::set<std::pair<size_t, bool>> boundsNoted_; // (optimizer, whether it is the lower bound)
  double markSeconds_ = 0;                        // time since which samples per second are counted
  int64_t markIteration_ = 0;
  size_t badNoted_ = 0, badOfValidationNoted_ = 0; // samples that could not be read
  Epoch epoch_;
  std::set<std::string> infinite_; // parameters that are not finite from the start, such as masks
  TrainResult result_;
};

WatchOptions Trainer::watchesOf(const TrainOptions &options) {
  WatchOptions watches = options.watch;
  watches.plateau = options.schedule.kind == Schedule::Plateau;
  return watches;
}

void Trainer::openValidation() {
  if (options_.validation.empty())
    return;
  DataOptions files = files_;
  files.files = options_.validation;
  files.option = "--val";
  files.augment.clear();
  const std::vector<std::string> names = namedFiles(files.files);
  if (std::none_of(names.begin(), names.end(), PictureFiles::mayBe))
    files.transform.clear(); // arrays have the input's size
  if (!data_.classes().empty())
    files.classes = data_.classes();
  const Entry &entry = session_.entryOfKind("eval");
  validation_.emplace(files, inputsOf({&entry}), session_.manifest().batch);
}

/// A checkpoint is looked into before it is loaded, because the samples are checked as the network will take them.
DataOptions Trainer::filesOf(const Session &session, const TrainOptions &options) {
  DataOptions files = options.data;
  files.installation = session.program().section("installation");
  const std::string newest = options.resume ? newestSound(options.checkpointFolder) : "";
  if (!newest.empty()) {
    files.stored = preprocessingOf(newest);
    files.classes = classesOf(newest);
  }
  return files;
}

/// Throws unless the training goes on with the inputs that it had: other ones are another task for the network.
void Trainer::checkPreprocessing(const Cursor &found) const {
  if (found.preprocessing && !(found.preprocessing->effective() == data_.preprocessing()))
    fail(options_.checkpointFolder,
         concat("the checkpoint comes from training with the preprocessing ", found.preprocessing->effective().text(),
                ", not ", data_.preprocessing().text()),
         "leave --transform, --scale and --normalize out to go on as before, or start anew with --init and another "
         "--checkpoint-dir");
}

/// Tells where a training starts from parameters that were trained on other inputs.
void Trainer::notePreprocessingOf(const std::string &init) {
  std::optional<Preprocessing> stored = preprocessingOf(init);
  if (stored && !(stored->effective() == data_.preprocessing()))
    progress_->line(concat("note: ", init, " was trained with the preprocessing ", stored->effective().text(),
                           "; this training has ", data_.preprocessing().text(), " (--scale, --normalize)"));
}

/// Returns what differs between the options of this training and the checkpoint's: "--lr=0.1 in place of --lr=0.5", or
/// "" where nothing does, and where either is not known. The note on --augment says more.
static std::string otherOptions(const std::string &now, const std::string &stored) {
  if (now.empty() || stored.empty())
    return "";
  const std::vector<std::string> options[] = {optionsIn(now), optionsIn(stored)};
  std::string own[2];
  for (int side : {0, 1})
    for (const std::string &option : options[side])
      if (std::ranges::count(options[1 - side], option) == 0 && !option.starts_with(kAugment))
        own[side] += concat(own[side].empty() ? "" : " ", option);
  if (own[1].empty())
    return own[0];
  return concat(own[0].empty() ? "no option" : own[0], " in place of ", own[1]);
}

static std::string orNone(const std::string &text) { return text.empty() ? "none" : text; }

void Trainer::resume() {
  cursor_.preprocessing = data_.preprocessing();
  cursor_.classes = data_.classes();
  cursor_.augmentation = data_.augmentation();
  cursor_.options = options_.typed;
  cursor_.samples = data_.samples();
  cursor_.seed = options_.seed;
  const Variable *state = session_.manifest().carriedState();
  checkBadSamples(session_.manifest(), files_);
  cursor_.shuffle = options_.shuffle && !state;
  if (state && options_.shuffle)
    progress_->line(concat("note: the samples stay in the order of the data: '", state->userName(),
                           "' is carried from batch to batch"));
  if (options_.resume && !folder_)
    fail("--resume", "there is no folder to resume from", "give --checkpoint-dir");
  // Steps of existing checkpoints would be counted with this run's, so that --keep and a later --resume would take the
  // wrong checkpoints.
  const bool hasBest = !options_.watch.saveBest.empty() && folder_ && folder_->hasBest();
  if (!options_.resume && folder_ && (hasBest || !folder_->empty()))
    fail(options_.checkpointFolder, "holds the checkpoints of another run",
         "continue that one with --resume, or give another folder");
  auto note = [&](const std::string &text) { progress_->line("note: " + text); };
  if (options_.resume) {
    if (std::optional<Cursor> found = folder_->resume(session_, note)) {
      if (found->samples != cursor_.samples)
        fail("--data",
             concat("holds ", cursor_.samples, " samples; the checkpoint comes from training on ", found->samples),
             "resume with the same data, or start anew with --init");
      checkPreprocessing(*found);
      found->preprocessing = cursor_.preprocessing; // older checkpoints do not have it
      if (found->augmentation != cursor_.augmentation)
        note(concat("from here on --augment is ", orNone(cursor_.augmentation),
                    "; the checkpoint comes from training with ", orNone(found->augmentation)));
      found->augmentation = cursor_.augmentation;
      if (!cursor_.options.empty() && found->options != options_.stored)
        fail(options_.checkpointFolder, "its newest checkpoint could not be read at first", "run the command again");
      if (!options_.taken.empty())
        note(concat("taken from the checkpoint: ", options_.taken));
      if (found->options.empty() && !cursor_.options.empty())
        note(
            "the checkpoint does not say which options its training had: those that are not given have their defaults");
      if (const std::string text = otherOptions(cursor_.options, found->options); !text.empty())
        note(concat("from here on the training has ", text));
      found->options = cursor_.options;
      found->classes = cursor_.classes;
      found->shuffle &= !state; // an embedder's checkpoints do not know an order
      if (found->seed != cursor_.seed || found->shuffle != cursor_.shuffle)
        note(concat("continuing with the checkpoint's seed ", found->seed, found->shuffle ? "" : ", not shuffled"));
      cursor_ = *found;
      watches_.restore(cursor_.watches, note);
      if (hasBest) // it may be newer than the checkpoint, and only a better one may take its place
        watches_.restoreBest(folder_->watchesOfBest());
      savedAt_ = cursor_.iteration;
      note(concat("resumed after step ", cursor_.iteration, ", epoch ", cursor_.epoch + 1, ", batch ", cursor_.batch,
                  options_.init.empty() ? "" : "; the parameters are the checkpoint's, not those of --init"));
      if (!data_.preprocessingNote().empty()) // which would say that options change it
        note("preprocessing of the checkpoint: " + data_.preprocessing().text());
      return;
    }
    note("no checkpoint found: starting from the beginning, with the options that are given here");
    if (hasBest) // a training that was killed before its first checkpoint has left it
      watches_.restoreBest(folder_->watchesOfBest());
  }
  if (options_.init.empty())
    return;
  PartialInit partial{options_.initMissing, note};
  loadParameters(session_, options_.init, &partial);
  notePreprocessingOf(options_.init);
  if (std::vector<std::string> trained = classesOf(options_.init);
      !trained.empty() && !data_.classes().empty() && trained != data_.classes())
    note(concat(options_.init, " was trained with other ", classesText(trained)));
}

void Trainer::checkInjection() const {
  if (options_.injectInf.empty())
    return;
  for (const Entry *entry : loop_.entries())
    for (const Port &port : entry->inputs)
      if (isFloat(port.dtype))
        return;
  fail("--inject-inf", "the program has no float input to put an infinity into", "leave --inject-inf out");
}

/// Makes all inputs infinite, because behind a saturating function (a generator's tanh) a single one
/// may have no effect.
void Trainer::injectInfinity(const Entry &entry) {
  for (const Port &port : entry.inputs)
    if (isFloat(port.dtype))
      session_.setFirst(port, std::numeric_limits<double>::infinity());
}

void Trainer::load(const Batches &batches, const Batches::Batch &batch, const Entry &entry, int64_t iteration) {
  batches.load(batch, session_, entry);
  if (options_.injectInf.count(iteration + 1) != 0)
    injectInfinity(entry);
}

/// Notes once for each bound that it acts, because from then on the run differs from torch's.
void Trainer::noteBounds(const IterationReport &done) {
  const std::vector<StepReport> &reports = done.steps;
  for (size_t i = 0; i < reports.size(); ++i) {
    if (!reports[i].unbounded || !boundsNoted_.insert({i, reports[i].overflowed}).second)
      continue;
    std::string text = concat(reports.size() > 1 ? concat(loop_.name(i), ": ") : "", "the loss scale stays at ",
                              reports[i].scaleAfter, " (", reports[i].overflowed ? "--min-scale" : "--max-scale",
                              "), where torch's GradScaler would go on to ", *reports[i].unbounded);
    progress_->line(concat("note: step ", done.iteration + 1, ": ", text));
    log_->note(done.iteration + 1, text);
  }
}

/// Computes a step of an earlier iteration again; only lost steps may have come after it, because these left the
/// state as it was, except what is carried from batch to batch, which went on. Returns where the first number that is
/// not finite comes from, or "". The session's state is not usable afterwards.
std::string Trainer::replay(size_t optimizer, int64_t iteration) {
  const Entry &entry = *loop_.entries()[optimizer];
  // Dropout draws from this counter, and the entry of the first optimizer advances it.
  if (constexpr char counter[] = "rng.step"; session_.stores(counter))
    session_.setVariableScalar(counter, session_.variableScalar(counter) -
                                            double(cursor_.iteration - iteration - (optimizer > 0)));
  Batches batches(data_, loop_.entries(),
                  {true, cursor_.shuffle, cursor_.seed, iteration / perEpoch_, iteration % perEpoch_});
  load(batches, *batches.next(), entry, iteration);
  return firstNonFinite(session_, entry);
}

std::string Trainer::lastGood() const {
  std::string saved = folder_ ? folder_->newestFinite(session_.manifest(), infinite_) : "";
  return saved.empty() ? "; there is no checkpoint of finite parameters" : "; the last good checkpoint is " + saved;
}

/// Ends a training whose parameters are no longer finite, before their checkpoint takes the place of a good one. This
/// happens only when gradients are not finite although the loss is, and no loss scaler checks them.
void Trainer::checkParameters(int64_t step) const {
  if (options_.onNan == OnNan::Ignore)
    return;
  for (const std::string &name : nonFiniteParameters(session_))
    if (infinite_.count(name) == 0)
      fail(concat("step ", step),
           concat("the parameter '", name, "' is not finite: a gradient behind a finite loss was not", lastGood()),
           "compile with --loss-scale=dynamic, which leaves out such steps, or lower --lr and start from a good "
           "checkpoint with --init");
}

/// Ends a training that cannot use its steps, or notes that it cannot.
void Trainer::watchSteps(const IterationReport &done) {
  watch_.take(done);
  if (options_.onNan == OnNan::Ignore)
    return;
  for (size_t i = 0; i < done.steps.size(); ++i) {
    const SkipWatch::Count &count = watch_.counts()[i];
    if (!done.steps[i].ran)
      continue;
    if (count.lost == 1 && !std::isfinite(done.steps[i].loss))
      checkParameters(done.iteration + 1);
    int64_t mark = kLostAllowed; // next of 10, 100, 1000, ...
    while (mark < count.lost)
      mark *= 10;
    if (!count.grew || count.lost != mark)
      continue;
    const StepReport &report = done.steps[i];
    std::string text = concat("the last ", count.lost, " steps",
                              done.steps.size() > 1 ? concat(" of '", loop_.name(i), "'") : "", " are lost: ");
    text += std::isfinite(report.loss)
                ? concat("gradients are not finite, and the loss scale cannot shrink further (", report.scaleAfter, ")")
                : concat("the loss is ", report.loss);
    if (options_.onNan == OnNan::Skip) {
      progress_->line(concat("note: step ", done.iteration + 1, ": ", text));
      log_->note(done.iteration + 1, text);
      continue;
    }
    std::string first;
    attempt([&] { first = replay(i, done.iteration); });
    fail(concat("step ", done.iteration + 1), concat(text, first.empty() ? "" : "; " + first, lastGood()),
         concat("lower --lr, check the data, ",
                session_.manifest().precisionType == "fp16" ? "compile with --precision=bf16 or --deny for that node, "
                                                            : "",
                "or leave such steps out with --nan=skip"));
  }
}

std::string Trainer::status(const std::vector<StepReport> &reports, double samplesPerSecond) const {
  const StepReport &first = reports[0];
  auto skipped = [](const StepReport &report) { return report.skipped ? " (skipped)" : ""; };
  std::string text = concat("loss ", first.loss, "  lr ", first.rate);
  if (loop_.hasScaler())
    text += concat("  scale ", first.scale);
  text += skipped(first);
  for (size_t i = 1; i < reports.size(); ++i) {
    const StepReport &report = reports[i];
    if (!report.known)
      continue; // it runs on each K-th batch, and has not yet
    text += concat("  loss/", loop_.name(i), " ", report.loss);
    if (report.rate != first.rate)
      text += concat("  lr/", loop_.name(i), " ", report.rate);
    if (loop_.hasScaler())
      text += concat("  scale/", loop_.name(i), " ", report.scale);
    text += skipped(report);
  }
  return text + concat("  ", int64_t(samplesPerSecond), " samples/s");
}

void Trainer::report(const IterationReport &done, bool last) {
  const std::vector<StepReport> &reports = done.steps;
  int64_t step = done.iteration + 1;
  bool due = logged(step) || last, newest = loop_.waiting() == 0;
  if (!due && !(newest && progress_->due()))
    return;
  double seconds = progress_->seconds() - markSeconds_;
  double rate = seconds > 0 ? double((step - markIteration_) * data_.batch()) / seconds : 0;
  int64_t epoch = (step - 1) / perEpoch_ + 1;
  if (due) {
    log_->step(step, epoch, loop_, reports, rate);
    if (!progress_->terminal())
      progress_->line(concat("epoch ", epoch, "  step ", step, "/", total_, "  ", status(reports, rate)));
    markSeconds_ = progress_->seconds();
    markIteration_ = step;
  }
  if (newest)
    progress_->update(step, concat("epoch ", epoch, "  ", status(reports, rate)));
}

/// Notes samples that could not be read since the last note.
void Trainer::noteBadSamples(const BadSamples &bad, size_t &noted, const char *option) {
  if (bad.count() == noted)
    return;
  noted = bad.count();
  const std::string text = concat(option, ": ", bad.text());
  progress_->line("note: " + text);
  log_->note(cursor_.iteration, text);
}

/// Prints the line of an epoch, which stays on the screen. A pass of a single step (a program without inputs) has one
/// only where the step is logged.
void Trainer::endEpoch() {
  noteBadSamples(data_.badSamples(), badNoted_, "--data");
  if (perEpoch_ == 1 && !logged(cursor_.iteration) && cursor_.iteration < total_)
    return;
  std::string head =
      concat("epoch ", (cursor_.iteration - 1) / perEpoch_ + 1, "/", (total_ + perEpoch_ - 1) / perEpoch_);
  // On a terminal the line does not wrap; the bar says the speed, too.
  size_t columns = progress_->terminal() ? size_t(columnsOf(1)) - std::min(head.size(), size_t(columnsOf(1)) - 1) : 0;
  std::string text = epoch_.text(loop_, perEpoch_, data_.batch(), progress_->seconds(),
                                 progress_->secondsLeft(cursor_.iteration), columns);
  progress_->line(painted(head, Colour::Cyan, 1) + text);
}

/// Takes the reports that are waiting: all, or only as many as keep the device from going on. `last`: the newest one
/// ends the training.
void Trainer::takeReports(bool all, bool last) {
  while (loop_.waiting() == loop_.ahead() || (all && loop_.waiting() > 0)) {
    const IterationReport &done = loop_.next();
    result_.loss = done.steps[0].loss;
    epoch_.add(done);
    report(done, last && loop_.waiting() == 0);
    noteBounds(done);
    watchSteps(done);
  }
}

/// Returns whether the step that was started last is followed by an evaluation. The last step always is.
bool Trainer::evaluates(bool epochEnds) const {
  const Span &every = options_.valEvery;
  if (!validation_ || every.count == 0)
    return false;
  if (cursor_.iteration >= total_)
    return true;
  return every.epochs ? epochEnds && cursor_.epoch % every.count == 0 : cursor_.iteration % every.count == 0;
}

/// Sets the learning rate of a schedule that depends on evaluations.
void Trainer::followPlateau() {
  schedule_.plateauFactor = watches_.rateFactor();
  loop_.setSchedule(schedule_);
}

/// Evaluates the network, unless the user ends that by `interrupted`: the checkpoint then says that the evaluation is
/// due.
void Trainer::validate(const volatile std::sig_atomic_t *interrupted) {
  int64_t epoch = (cursor_.iteration - 1) / perEpoch_ + 1;
  double before = progress_->seconds();
  Evaluation evaluation;
  {
    Progress bar("evaluation", validation_->samples());
    evaluation = evaluate(session_, *validation_, [&](int64_t done) { bar.update(done, ""); }, interrupted);
  }
  result_.interrupted = cursor_.evaluationDue = evaluation.interrupted;
  if (evaluation.interrupted)
    return;
  noteBadSamples(validation_->badSamples(), badOfValidationNoted_, "--val");
  log_->evaluation(cursor_.iteration, epoch, evaluation);
  std::string text = concat("epoch ", epoch, "  step ", cursor_.iteration);
  if (evaluation.loss)
    text += "  " + evaluation.lossText("val_loss", " ");
  for (const MetricResult &metric : evaluation.metrics)
    if (metric.table.empty()) // eval prints tables, and the log has them
      text += "  " + metric.text(" ");
  bool best = watches_.take(evaluation, cursor_.iteration);
  cursor_.watches = watches_.state();
  followPlateau();
  progress_->line(text + (best ? "  best" : ""));
  if (best) {
    checkParameters(cursor_.iteration);
    folder_->saveBest(session_, cursor_);
  }
  before -= progress_->seconds(); // evaluation does not count as training time
  markSeconds_ -= before;
  epoch_.leaveOut(-before);
}

/// Evaluates where the training was interrupted before it had. The checkpoint is written again, for it says so. (A run
/// that is interrupted before it begins does this in full, as it does one step: it gets on.)
void Trainer::validateIfDue() {
  const bool due = cursor_.evaluationDue && validation_;
  cursor_.evaluationDue = false;
  if (!due)
    return;
  validate(options_.interrupted && *options_.interrupted ? nullptr : options_.interrupted);
  if (!result_.interrupted) {
    savedAt_ = -1;
    checkpoint();
  }
  markSeconds_ = 0;
}

/// Says so if nothing has improved for too long.
bool Trainer::endsEarly() {
  std::string why = watches_.stopText();
  if (why.empty())
    return false;
  progress_->line(concat("note: the training ends after step ", cursor_.iteration, ": ", why));
  return result_.stoppedEarly = true;
}

/// Windows of accumulated batches go on across epochs. The end of the training may lie in one, whose gradients stay in
/// their sums then.
void Trainer::notePartialWindow() {
  int64_t rest = 0;
  std::string owner;
  for (const Step &step : session_.manifest().steps)
    if (int64_t own = cursor_.iteration / step.every % step.accumulate; own > rest) {
      rest = own;
      owner = step.every > 1 ? concat(" on which '", step.name, "' ran") : "";
    }
  if (rest > 0)
    progress_->line(concat("note: the gradients of the last ", rest, rest > 1 ? " batches" : " batch", owner,
                           " are not applied: they do not fill a window of --accumulate",
                           folder_ ? "; the checkpoint has their sums, and --resume with more steps goes on" : ""));
}

void Trainer::noteInterruption() {
  progress_->line(concat(
      "interrupted after step ", cursor_.iteration, cursor_.evaluationDue ? ", before its evaluation" : "",
      folder_ ? "; the checkpoint is written, continue with --resume" : "; nothing was saved (no --checkpoint-dir)"));
}

void Trainer::checkpoint() {
  if (!folder_ || savedAt_ == cursor_.iteration)
    return;
  checkParameters(cursor_.iteration);
  folder_->save(session_, cursor_);
  savedAt_ = cursor_.iteration;
}

TrainResult Trainer::run() {
  perEpoch_ = data_.samples() / data_.batch();
  if (perEpoch_ == 0)
    fail("--data", concat("holds ", data_.samples(), " samples, less than one batch of ", data_.batch()),
         "give more samples or compile the model with a smaller --batch");
  total_ = options_.steps > 0 ? options_.steps : options_.epochs * perEpoch_;
  schedule_ = options_.schedule;
  schedule_.settle(perEpoch_, total_);
  loop_.setGuard(options_.onNan != OnNan::Ignore);
  checkInjection();
  openValidation();
  progress_.emplace("train", total_);
  if (!options_.checkpointFolder.empty())
    folder_.emplace(options_.checkpointFolder, options_.keep,
                    [&](const std::string &text) { progress_->line("note: " + text); });
  for (const std::string &text : data_.notesOnFiles())
    progress_->line("note: " + text);
  if (validation_)
    for (const std::string &text : validation_->notesOnFiles())
      progress_->line("note: " + text);
  for (const std::string &text : data_.notesOnBytes(inputsOf(loop_.entries())))
    progress_->line("note: " + text);
  if (!data_.classes().empty())
    progress_->line(concat(data_.samples(), " samples; ", classesText(data_.classes())));
  else if (validation_ && !validation_->classes().empty())
    progress_->line(concat("note: the training's data does not name its classes; --val has the ",
                           classesText(validation_->classes())));
  for (const Variable &v : session_.manifest().variables)
    if (validation_ && v.role == "average") {
      progress_->line("note: --val evaluates the moving averages of the weights (--ema)");
      break;
    }
  if (!data_.augmentation().empty())
    progress_->line("augmentation: " + data_.augmentation());
  resume();
  cursor_.watches = watches_.state();
  followPlateau();
  log_.emplace(options_.log, options_.resume ? cursor_.iteration : -1,
               RunLog::columnsOf(loop_, session_.manifest().metrics), options_.tensorBoard);
  result_.iterations = cursor_.iteration;
  infinite_ = nonFiniteParameters(session_);
  validateIfDue();
  if (result_.interrupted) {
    noteInterruption();
    return result_;
  }
  if (cursor_.iteration >= total_) {
    progress_->line(concat("nothing to do: ", cursor_.iteration, " of ", total_, " steps are done"));
    return result_;
  }
  if (endsEarly())
    return result_;
  markIteration_ = cursor_.iteration;
  BatchOptions order{true, cursor_.shuffle, cursor_.seed, cursor_.epoch, cursor_.batch};
  Batches batches(data_, loop_.entries(), order);
  progress_.emplace("train", total_, cursor_.iteration);
  epoch_.begin(loop_.entries().size(), progress_->seconds());
  while (cursor_.iteration < total_) {
    const Batches::Batch *batch = batches.next();
    if (batch->index == 0 && session_.manifest().carriedState())
      session_.beginSequence();
    loop_.start(
        cursor_.iteration, [&](const Entry &entry) { load(batches, *batch, entry, cursor_.iteration); },
        [](const Entry &) {});
    bool epochEnds = batch->index + 1 == perEpoch_;
    ++cursor_.iteration;
    cursor_.epoch = batch->epoch + epochEnds;
    cursor_.batch = epochEnds ? 0 : batch->index + 1;
    result_.interrupted = options_.interrupted && *options_.interrupted;
    bool last = cursor_.iteration == total_ || result_.interrupted;
    bool saves = last || (options_.checkpointEvery > 0 ? cursor_.iteration % options_.checkpointEvery == 0 : epochEnds);
    bool evaluating = evaluates(epochEnds);
    takeReports(saves || epochEnds || evaluating || logged(cursor_.iteration) || progress_->due(), last);
    if (epochEnds || (last && !result_.interrupted))
      endEpoch();
    if (evaluating) {
      validate(options_.interrupted);
      last = last || result_.interrupted || endsEarly();
    }
    if (saves || last)
      checkpoint();
    if (epochEnds)
      epoch_.begin(loop_.entries().size(), progress_->seconds());
    if (last)
      break;
  }
  result_.iterations = cursor_.iteration;
  for (const SkipWatch::Count &count : watch_.counts()) {
    result_.skipped.push_back(count.skipped);
    result_.updates += count.updates;
  }
  if (!result_.interrupted)
    notePartialWindow();
  if (!folder_ && !result_.interrupted)
    progress_->line("note: nothing was saved (no --checkpoint-dir)");
  if (result_.interrupted)
    noteInterruption();
  return result_;
}
} // namespace

std::vector<std::string> optionsIn(const std::string &typed) {
  std::vector<std::string> options;
  for (size_t at = typed.starts_with("--") ? 0 : typed.npos; at != typed.npos;) {
    const size_t end = typed.find(" --", at);
    options.push_back(typed.substr(at, end == typed.npos ? end : end - at));
    at = end == typed.npos ? end : end + 1;
  }
  return options;
}

TrainResult train(Session &session, const TrainOptions &options) { return Trainer(session, options).run(); }

} // namespace mpc::rt
