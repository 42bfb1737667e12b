// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/runner/Options.h"

#include "runtime/core/state/Checkpoint.h"
#include "runtime/runner/Checks.h"
#include "runtime/runner/Help.h"
#include "runtime/runner/TrainingOptions.h"
#include "runtime/support/Error.h"
#include "runtime/support/Terminal.h"

#include <charconv>

namespace mpc::rt {

static void addSessionOptions(CLI::App &app, Options &options) {
  beginGroup(app, "Machine");
  app.add_option("--threads", options.session.threads, "CPU threads (0: all available)")
      ->check(wholeNumber(0, 4096, "a number of threads from 0 to 4096"));
  app.add_option("--device", options.session.device,
                 "where it runs: auto (a GPU where there is one, else the host), cuda, host or emulator")
      ->check(oneOf("auto,cuda,host,emulator"));
  auto *checked = app.add_flag("--check-launches", options.session.checkLaunches,
                               "wait for every launch, so that a fault is an error that names its node");
  app.add_option("--launch-timeout", options.session.launchSeconds,
                 "with --check-launches on a GPU: seconds after which a launch that still runs is an error (20; 0: "
                 "wait without end)")
      ->check(finiteNumber(/*aboveZero=*/false))
      ->needs(checked);
  app.add_option("--arch", options.session.arch,
                 "emulator: the architecture, of those that the program was compiled for (default: the newest)");
  app.add_option("--library", options.session.library,
                 "who computes matrix products and convolutions: auto, onednn or generic")
      ->check(oneOf("auto,onednn,generic"));
  beginGroup(app, "Random numbers");
  app.add_option("--seed", options.train.seed, "seed of initial values and of the order of the samples")
      ->check(wholeNumber(0, INT64_MAX, "a whole number from 0 to 2^63 - 1"));
}

/// Returns whether the entries of that kind read data. Without a program this is not known, and --help lists the
/// option as required.
static bool readsData(const Program *program, std::string_view kind) {
  if (!program)
    return true;
  for (const Plan &plan : program->manifest().plans)
    for (const Entry &entry : plan.entries)
      if (entry.kind == kind && !entry.inputs.empty())
        return true;
  return false;
}

static void addDataOptions(CLI::App &app, const Program *program, std::string_view kind, Options &options) {
  beginGroup(app, "Data");
  app.add_option(
         "--data", options.train.data.files,
         "FILE.npz, or INPUT=FILE with .npy, IDX (.gz) or FILE.npz:ARRAY, or pictures: a folder with a folder for each "
         "class, a .tar or a .csv list, or with boxes: a .json of COCO[:FOLDER], a folder of YOLO or Pascal VOC[:SET]; "
         "several joined with ','; not needed by a program without inputs, which has one "
         "batch")
      ->required(readsData(program, kind));
  // train has a checkpoint only where it resumes, and then these must agree with it.
  const std::string standard = app.get_name() == "train" ? "" : "; default: as the checkpoint was trained";
  app.add_option(kTransform, options.train.data.transform,
                 concat("STEPS, or INPUT=STEPS: how pictures get the size that the network takes: resize[:SHORTER or "
                        ":HEIGHTxWIDTH], center-crop, largest-boxes; joined with ','; none: do not",
                        standard));
  if (app.get_name() == "train")
    app.add_option(
        kAugment, options.train.data.augment,
        "STEPS, or INPUT=STEPS: random changes of the pictures of training: random-crop[:PADDING], "
        "random-resized-crop[:LEAST:MOST share of the area], iou-crop[:LEAST:MOST], zoom-out[:MOST[:P]], flip[:P], "
        "vertical-flip[:P], "
        "jitter:BRIGHTNESS[:CONTRAST[:SATURATION[:HUE]]], erase[:P]; and of the samples of a batch, with labels that "
        "are probabilities: mixup[:ALPHA], cutmix[:ALPHA]; joined with ','; none: do not");
  app.add_option("--scale", options.train.data.scale,
                 concat("INPUT=FACTOR: multiply an input; none or INPUT=none: do not", standard));
  app.add_option("--normalize", options.train.data.normalize,
                 concat("INPUT=MEAN,STD: (value - MEAN) / STD after --scale; per channel as M1:M2:M3,S1:S2:S3; none or "
                        "INPUT=none: do not",
                        standard));
  if (kind != "predict" && app.get_name() != "trace") // their results belong to the samples' places
    app.add_option_function<std::string>(
           "--bad-samples", [&options](const std::string &name) { options.train.data.skipBadSamples = name == "skip"; },
           "pictures that cannot be read: stop (default), or skip: leave them out and count them")
        ->check(oneOf("stop,skip"));
  app.add_option("--readers", options.train.data.readers,
                 "threads that read, decode and convert the next batch during a step (0: one for each CPU, at most 8)")
      ->check(wholeNumber(0, 256, "a number of threads from 0 to 256"));
}

static void addHyperOptions(CLI::App &app, const Program *program, Options &options) {
  std::set<std::string> added;
  for (const Step &step : program ? program->manifest().steps : std::vector<Step>())
    for (const Hyper &hyper : step.hyper) {
      bool several = program->manifest().steps.size() > 1;
      std::vector<std::string> names = {hyper.name};
      if (several)
        names.push_back(step.name + "." + hyper.name);
      for (const std::string &name : names) {
        if (!added.insert(name).second)
          continue;
        std::string flag = name;
        std::replace(flag.begin(), flag.end(), '_', '-');
        app.add_option_function<double>(
               "--" + flag, [&options, name](double value) { options.train.hyper[name] = value; },
               concat("hyperparameter of ", name == hyper.name && several ? "every optimizer" : step.optimizer,
                      " (default ", hyper.standard, ")"))
            ->check(finiteNumber(/*aboveZero=*/false))
            ->group("Hyperparameters");
      }
    }
}

/// Accepts a number of steps or of epochs (Span), or several of them.
static CLI::Validator spans(int64_t least, bool several) {
  return CLI::Validator(
      [=](std::string &text) {
        size_t found = Span::parse(text, false, least).size();
        const char *what =
            several ? "steps or epochs such as 500,800 or 30e,60e" : "steps or epochs such as 500 or 30e";
        return found == 1 || (several && found > 1) ? std::string() : concat("must be ", what, ", not '", text, "'");
      },
      "");
}

/// `epochs`: what a number alone counts.
static void addSpan(CLI::App &command, const char *name, Span &span, const std::string &text, int64_t least = 1,
                    bool epochs = false) {
  command
      .add_option_function<std::string>(
          name, [=, &span](const std::string &value) { span = Span::parse(value, epochs, least).front(); }, text)
      ->check(spans(least, /*several=*/false))
      ->type_name("N[e]");
}

static void addNumber(CLI::App &command, const char *name, double &value, const std::string &text,
                      bool aboveZero = true) {
  command.add_option(name, value, text)->check(finiteNumber(aboveZero));
}

/// Accepts "5", "5:accuracy" and "none".
static CLI::Validator patience() {
  return CLI::Validator(
      [](std::string &text) {
        if (text == "none")
          return std::string();
        std::string number = text.substr(0, text.find(':'));
        return text.ends_with(":") ? std::string("has no metric behind ':'") : positiveCount()(number);
      },
      "");
}

static void setEarlyStop(WatchOptions &watch, const std::string &text) {
  size_t colon = text.find(':');
  watch.patience = text == "none" ? 0 : std::atoll(text.c_str());
  if (colon != text.npos)
    watch.stopMetric = text.substr(colon + 1);
}

static void addTrain(CLI::App &app, const Program *program, Options &options) {
  TrainOptions &train = options.train;
  CLI::App &command = *app.add_subcommand("train", "train on data, with checkpoints and evaluation");
  addDataOptions(command, program, "train", options);
  command.add_option("--val", train.validation, "data for evaluation (--val-every)");
  beginGroup(command, "Training");
  auto *epochs =
      command.add_option("--epochs", train.epochs, "passes over the data (1); without inputs a pass is one step")
          ->check(positiveCount());
  command.add_option("--steps", train.steps, "steps instead of epochs")->check(positiveCount())->excludes(epochs);
  addHyperOptions(command, program, options);
  beginGroup(command, "Learning rate");
  Schedule &schedule = train.schedule;
  command
      .add_option_function<std::string>(
          "--schedule", [&schedule](const std::string &name) { schedule.kind = Schedule::kindOf(name); },
          "how the learning rate changes: constant (default), step, multi-step, exponential, polynomial, linear, "
          "cosine, "
          "cosine-restarts, one-cycle or plateau")
      ->check(oneOf(Schedule::kNames).description("")) // which is longer than a line
      ->type_name("NAME");
  addSpan(command, "--warmup", schedule.warmup, "steps (500) or epochs (2e) of linear growth at the start", 0);
  addNumber(command, "--min-lr", schedule.minRate, "lower bound of the learning rate", /*aboveZero=*/false);
  addNumber(command, "--step-gamma", schedule.stepGamma, "step, multi-step, exponential: factor of each decay (0.1)");
  addSpan(command, "--step-size", schedule.stepSize,
          "step: steps (500) or epochs (30e) between decays; exponential: of one decay (1e)");
  command
      .add_option_function<std::string>(
          "--milestones", [&schedule](const std::string &text) { schedule.milestones = Span::parse(text, false, 1); },
          "multi-step: the steps or epochs after which the rate decays (30e,60e)")
      ->check(spans(1, /*several=*/true))
      ->type_name("N[e],...");
  addSpan(command, "--restart-steps", schedule.restartSteps,
          "cosine-restarts: steps (500) or epochs (10e) of the first cycle");
  command
      .add_option("--restart-factor", schedule.restartFactor,
                  "cosine-restarts: length of a cycle / of the one before (1)")
      ->check(positiveCount());
  addNumber(command, "--pct-start", schedule.pctStart,
            "one-cycle: the part of the training in which the rate rises to --lr (0.3)", false);
  addNumber(command, "--div-factor", schedule.divFactor, "one-cycle: --lr / the first rate (25)");
  addNumber(command, "--final-div-factor", schedule.finalDivFactor, "one-cycle: the first rate / the last (10000)");
  addNumber(command, "--power", schedule.power, "polynomial: exponent (1)");
  addNumber(command, "--plateau-factor", train.watch.plateauFactor, "plateau: factor of each decay (0.1)");
  command
      .add_option("--plateau-patience", train.watch.plateauPatience,
                  "plateau: the rate decays after more than so many evaluations without improvement (10)")
      ->check(count());
  command.add_option("--plateau-metric", train.watch.plateauMetric,
                     "plateau: what is to improve: loss (default), or a metric of the program");
  beginGroup(command, "Training");
  command.add_flag_function(
      "--no-shuffle", [&train](int64_t) { train.shuffle = false; }, "keep the samples in file order");
  auto *init = command.add_option("--init", train.init, "start from the parameters in this safetensors file");
  command
      .add_option(
          "--init-missing", train.initMissing,
          "REGEX: parameters that the file of --init may lack or have in another shape, such as a new head; they keep "
          "their initial values")
      ->needs(init);
  beginGroup(command, "Log and evaluation");
  command.add_option(
      "--log", train.log,
      "write a line for each logged step to this file: a JSON object, or a row of a table where the name "
      "ends in .csv");
  command.add_option("--tensorboard", train.tensorBoard,
                     "write the logged values to a new event file in this folder, for TensorBoard");
  command.add_option("--log-every", train.logEvery, "steps between log lines (50)")->check(positiveCount());
  addSpan(command, "--val-every,--eval-every", train.valEvery,
          "epochs (2 or 2e) or steps (500s) between evaluations (1e)", 1,
          /*epochs=*/true);
  command
      .add_option_function<std::string>(
          "--early-stop", [&train](const std::string &text) { setEarlyStop(train.watch, text); },
          "PATIENCE[:METRIC]: end the training after so many evaluations without improvement of the loss, or of "
          "a metric of the program; none: do not")
      ->check(patience())
      ->type_name("PATIENCE");
  beginGroup(command, "Checkpoints");
  command.add_option("--checkpoint-dir", train.checkpointFolder,
                     "folder for checkpoints; must hold no checkpoint unless --resume is given");
  command.add_option("--checkpoint-every", train.checkpointEvery, "steps between checkpoints (0: each epoch)")
      ->check(count());
  command.add_option("--keep", train.keep, "checkpoints to keep (3; 0: all)")->check(count());
  command
      .add_option_function<std::string>(
          "--save-best",
          [&train](const std::string &metric) {
            train.watch.saveBest = metric.empty() ? "loss" : metric == "none" ? "" : metric;
          },
          "keep the checkpoint of the best evaluation as best.safetensors: that of the least loss, or of the "
          "best METRIC of the program; none: do not")
      ->expected(0, 1)
      ->type_name("[METRIC]");
  command.add_flag(
      "--resume", train.resume,
      "continue from the newest checkpoint in --checkpoint-dir, with the options that the training was given, such "
      "as --epochs, --lr and --schedule, where they are not given again");
  beginGroup(command, "Steps that are not finite");
  command
      .add_option_function<std::string>(
          "--nan",
          [&train](const std::string &name) {
            train.onNan = name == "stop" ? OnNan::Stop : name == "skip" ? OnNan::Skip : OnNan::Ignore;
          },
          "steps whose loss is not finite, or whose gradients are not at any loss scale: stop after 10 in a row "
          "(default), "
          "skip them, or ignore it: update with them")
      ->check(oneOf("stop,skip,ignore"));
  command
      .add_option_function<std::vector<int64_t>>(
          "--inject-inf",
          [&train](const std::vector<int64_t> &steps) { train.injectInf = {steps.begin(), steps.end()}; },
          "for tests: at these steps (from 1) put an infinity into every float input, so that the "
          "gradients are not finite")
      ->delimiter(',');
  addSessionOptions(command, options);
  setExample(command, "train --data train.npz --val test.npz --epochs 5 --checkpoint-dir checkpoints");
  command.callback([&options, &command] {
    TrainOptions &train = options.train;
    if (train.resume)
      train.taken = takeStoredOptions(command, train.stored = optionsOfNewest(train.checkpointFolder));
    checkScheduleOptions(command);
    train.typed = trainingOptions(command);
    options.command = Options::Train;
  });
}

/// Adds the checkpoint of a command that does not train, and the choice among its weights.
static void addWeights(CLI::App &command, const char *what, Options &options) {
  auto *checkpoint = command.add_option("--checkpoint", options.checkpoint, what);
  command
      .add_option("--weights", options.weights,
                  "averaged: the moving averages of programs compiled with --ema (default where the checkpoint has "
                  "them); raw: the weights after the last update")
      ->check(oneOf("averaged,raw"))
      ->needs(checkpoint);
}

/// Adds what writes pictures, and returns the option that names the file.
static CLI::Option *addPictures(CLI::App &command, GridOptions &pictures) {
  beginGroup(command, "Pictures");
  auto *file = command.add_option("--images", pictures.file,
                                  "the .png to write: pictures of an output [n,c,h,w] or [n,h,w,c] with c = 1 or 3, "
                                  "side by side");
  command.add_option("--images-of", pictures.output, "the output that has them (default: the only one that may be)")
      ->needs(file);
  command
      .add_option_function<std::string>(
          "--images-range", [&pictures](const std::string &text) { pictures.range = ValueRange::parse(text); },
          "LOW:HIGH: the values that are black and white (default: the least and the largest)")
      ->check(CLI::Validator(
          [](std::string &text) {
            return ValueRange::parse(text)
                       ? std::string()
                       : concat("must be two numbers such as -1:1, the lower one first, not '", text, "'");
          },
          ""))
      ->type_name("LOW:HIGH")
      ->needs(file);
  command.add_option("--images-count", pictures.count, "the most pictures (64)")->check(positiveCount())->needs(file);
  command.add_option("--images-columns", pictures.columns, "pictures in a row (8)")
      ->check(positiveCount())
      ->needs(file);
  return file;
}

/// Adds what draws boxes, and returns the option that names the folder.
static CLI::Option *addBoxes(CLI::App &command, BoxOptions &boxes) {
  auto *folder = command.add_option("--boxes", boxes.folder,
                                    "a folder for a .png of each picture of --data with the boxes that a detector "
                                    "found: the program needs the metric map");
  command
      .add_option("--min-score", boxes.leastScore,
                  "with --boxes: the lowest score of a box that is drawn, from 0 to 1 (0.5)")
      ->check(numberFrom(0, 1, "a number from 0 to 1"))
      ->needs(folder);
  return folder;
}

static void addOthers(CLI::App &app, const Program *program, Options &options) {
  CLI::App &eval = *app.add_subcommand("eval", "loss and metrics over data");
  addDataOptions(eval, program, "eval", options);
  beginGroup(eval, "Evaluation");
  addWeights(eval, "parameters to evaluate (default: the initial ones)", options);
  auto *perClass = eval.add_flag("--per-class", options.perClass,
                                 "print the labels of each class and the share of them that accuracy and top-k found");
  eval.add_option("--class-names", options.classNames, "with --per-class: file of the names of the classes, one a line")
      ->needs(perClass);
  eval.add_flag("--json", options.json, "print one JSON object");
  addSessionOptions(eval, options);
  setExample(eval, "eval --data test.npz --checkpoint checkpoints/step-00000561.safetensors");
  eval.callback([&options] { options.command = Options::Eval; });

  CLI::App &predict = *app.add_subcommand("predict", "outputs of the network for data");
  addDataOptions(predict, program, "predict", options);
  beginGroup(predict, "Prediction");
  auto *out = predict.add_option(
      "--out", options.out,
      "the .npz to write: outputs in which each sample decides its own part are joined over all "
      "batches, those that no sample decides are written once; others need data of exactly one batch");
  addWeights(predict, "parameters to use (default: the initial ones)", options);
  auto *pictures = addPictures(predict, options.pictures);
  auto *boxes = addBoxes(predict, options.boxes);
  addSessionOptions(predict, options);
  predict.footer(
      "'predict --data val.json:val --checkpoint ck/best.safetensors --boxes found' draws a detector's boxes.");
  setExample(predict, "predict --data test.npz --checkpoint checkpoints/step-00000561.safetensors --out outputs.npz");
  predict.callback([&options, out, pictures, boxes] {
    if (out->count() + pictures->count() + boxes->count() == 0)
      throw CLI::RequiredError("--out, --images or --boxes");
    options.command = Options::Predict;
  });

  CLI::App &trace = *app.add_subcommand("trace", "repeat one batch and write losses, gradients and state");
  addDataOptions(trace, program, "train", options);
  beginGroup(trace, "Trace");
  trace.add_option("--steps", options.traceSteps, "how many steps")
      ->required()
      ->check(wholeNumber(1, 1'000'000, "a positive whole number up to 10^6"));
  trace.add_option("--out", options.out, "the .npz to write")->required();
  trace.add_option("--checkpoint", options.checkpoint, "state to start from");
  addHyperOptions(trace, program, options);
  addSessionOptions(trace, options);
  setExample(trace, "trace --data train.npz --steps 3 --out trace.npz");
  trace.callback([&options] { options.command = Options::Trace; });

  CLI::App &bench = *app.add_subcommand("bench", "time training steps on made-up data");
  beginGroup(bench, "Measurement");
  bench.add_option("--steps", options.bench.steps, "timed steps")->check(positiveCount());
  bench.add_option("--warmup", options.bench.warmup, "steps before them")->check(count());
  bench.add_flag(
      "--profile", options.bench.profile,
      "list the time of every launch, slowest first, with its bandwidth, and the sums over launches of one kind");
  bench.add_flag("--json", options.json, "print one JSON object");
  addSessionOptions(bench, options);
  setExample(bench, "bench --steps 20 --profile");
  bench.callback([&options] { options.command = Options::Bench; });

  CLI::App &plot = *app.add_subcommand("plot", "draw the logs of trainings as a picture");
  plot.add_option("logs", options.plot.logs, "files that trainings wrote with --log")->required();
  beginGroup(plot, "Picture");
  plot.add_option("-o,--out", options.plot.out, "the .svg to write")->required();
  plot.add_option("--title", options.plot.title, "a line above the picture");
  plot.add_flag("--log-loss", options.plot.logLoss,
                "a logarithmic axis for losses, also where they differ by less than a factor of 100");
  plot.add_option("--width", options.plot.width, "in pixels (960)")
      ->check(wholeNumber(320, 10'000, "a whole number from 320 to 10000"));
  plot.add_option("--height", options.plot.height, "in pixels (0: as the panels need)")
      ->check(wholeNumber(0, 10'000, "a whole number up to 10000"));
  setExample(plot, "plot run.jsonl other.jsonl -o curves.svg");
  plot.callback([&options] { options.command = Options::Plot; });

  CLI::App &info = *app.add_subcommand("info", "what this program is");
  info.add_flag("--json", options.json, "as one JSON object");
  setExample(info, "info --json");
  info.callback([&options] { options.command = Options::Info; });
}

void addCommands(CLI::App &app, const Program *program, Options &options) {
  addTrain(app, program, options);
  addOthers(app, program, options);
}

/// Returns "digits (mpc 0.2.0): fp16 O2, batch 64, for host, sm_80".
static std::string versionOf(const Program *program) {
  if (!program)
    return "mpc-runner: carries no model";
  const Manifest &manifest = program->manifest();
  std::string targets;
  for (const Plan &plan : manifest.plans)
    targets += concat(targets.empty() ? ", for " : ", ", plan.target);
  return concat(manifest.model, " (", manifest.producer, "): ", manifest.precisionType, " ", manifest.optLevel,
                ", batch ", manifest.batch, targets);
}

std::optional<int> parseOptions(int argc, char **argv, const Program *program, Options &options) {
  std::string model = program ? program->manifest().model : "no model";
  CLI::App app(concat("A training program made by mpc (", model, ")."));
  app.formatter_fn(helpText);
  app.require_subcommand(1);
  app.set_version_flag("--version", [=] { return versionOf(program); }, "print the model, its precision and targets");
  addCommands(app, program, options);
  std::optional<Error> mistake;
  try {
    app.parse(argc, argv);
    mistake = emptyValueIn(*app.get_subcommands().front(), argv[0]);
  } catch (const CLI::ParseError &error) {
    if (error.get_exit_code() == 0)
      return app.exit(error); // prints help or the version
    mistake = mistakeIn(app, error, argv[0], {argv + 1, argv + argc});
  }
  if (mistake) {
    std::fputs(withPaintedLabels(mistake->text(), 2).c_str(), stderr);
    return 1;
  }
  options.session.seed = options.train.seed;
  return std::nullopt;
}

} // namespace mpc::rt
