// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Files that are not regular, change while they are read, or belong to others: each must end the work with a message.

#include "PackedProgram.h"
#include "runtime/core/data/Batches.h"
#include "runtime/core/data/Idx.h"
#include "runtime/core/data/Npy.h"
#include "runtime/core/data/Npz.h"
#include "runtime/core/state/Checkpoint.h"
#include "runtime/core/state/Safetensors.h"
#include "runtime/support/FileLock.h"
#include "runtime/support/MappedFile.h"

#include <atomic>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>
#include <zlib.h>

using namespace mpc::rt;
using namespace mpc::rt::test;

namespace {
std::string messageOf(const std::function<void()> &work) { return errorOf(work).text(); }

std::string big32(uint32_t value) { return {char(value >> 24), char(value >> 16), char(value >> 8), char(value)}; }

/// Compresses `begin` followed by zeros, without holding the zeros in memory.
std::string packedZeros(const std::string &begin, size_t zeros, int windowBits, uint32_t &crc) {
  z_stream stream = {};
  deflateInit2(&stream, 9, Z_DEFLATED, windowBits, 8, Z_DEFAULT_STRATEGY);
  std::string out, piece(1 << 16, '\0'), block(1 << 16, '\0');
  auto put = [&](const std::string &bytes, size_t count, int flush) {
    crc = uint32_t(crc32(crc, reinterpret_cast<const Bytef *>(bytes.data()), uInt(count)));
    stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(bytes.data()));
    stream.avail_in = uInt(count);
    do {
      stream.next_out = reinterpret_cast<Bytef *>(block.data());
      stream.avail_out = uInt(block.size());
      deflate(&stream, flush);
      out.append(block.data(), block.size() - stream.avail_out);
    } while (stream.avail_out == 0);
  };
  put(begin, begin.size(), Z_NO_FLUSH);
  for (size_t done = 0; done < zeros; done += piece.size())
    put(piece, std::min(piece.size(), zeros - done), Z_NO_FLUSH);
  put(piece, 0, Z_FINISH);
  deflateEnd(&stream);
  return out;
}

/// Writes an archive of one deflated array of zeros, whose directory states `stated` bytes more than there are.
void writeZerosNpz(const std::string &path, const std::string &name, mpc_dtype type, const Shape &shape,
                   uint32_t stated = 0) {
  std::string header = npyHeader(type, shape);
  auto zeros = size_t(elementsOf(shape)) * sizeOf(type);
  uint32_t crc = 0;
  std::string bytes = packedZeros(header, zeros, -15, crc), member = name + ".npy";
  auto number = [](size_t value, size_t count) { return std::string(reinterpret_cast<const char *>(&value), count); };
  std::string common = number(20, 2) + number(0, 2) + number(8, 2) + number(0, 4) + number(crc, 4) +
                       number(bytes.size(), 4) + number(header.size() + zeros + stated, 4) + number(member.size(), 2) +
                       number(0, 2);
  std::string local = number(0x04034b50, 4) + common + member + bytes;
  std::string central = number(0x02014b50, 4) + number(20, 2) + common + number(0, 2) + number(0, 2) + number(0, 2) +
                        number(0, 4) + number(0, 4) + member;
  writeFile(path, local + central + number(0x06054b50, 4) + number(0, 2) + number(0, 2) + number(1, 2) + number(1, 2) +
                      number(central.size(), 4) + number(local.size(), 4) + number(0, 2));
}

int64_t peakKiB() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

/// The inputs x [4,3,2] and target [4] of the logistic program.
class Ports {
public:
  Ports() : session(logisticProgram()), inputs(inputsOf({&session.entryOfKind("train")})) {}
  void open(std::vector<std::string> files) {
    DataOptions options;
    options.files = std::move(files);
    data = std::make_unique<Dataset>(options, inputs, 4);
  }
  Session session;
  std::vector<const Port *> inputs;
  std::unique_ptr<Dataset> data;
};
} // namespace

TEST(MappedFile, TakesRegularFilesAloneAndNeverWaits) {
  TemporaryFolder folder;
  auto message = [](const std::string &path) { return messageOf([&] { MappedFile::open(path); }); };
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(message(folder / "pipe"),
            "error: " + (folder / "pipe") +
                ": is a pipe, not a regular file\nhint: write what it gives to a file, and name that\n");
  std::filesystem::create_symlink("pipe", folder / "link");
  EXPECT_NE(message(folder / "link").find("is a pipe"), std::string::npos);
  EXPECT_NE(message(folder.path()).find("is a folder, not a regular file\nhint: name a file in it"), std::string::npos);
  EXPECT_NE(message("/dev/zero").find("is a device"), std::string::npos);
  EXPECT_NE(message(folder / "none").find("cannot open: No such file"), std::string::npos);
  int server = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof address.sun_path, "%s", (folder / "socket").c_str());
  ASSERT_EQ(bind(server, reinterpret_cast<sockaddr *>(&address), sizeof address), 0);
  EXPECT_NE(message(folder / "socket").find("is a socket"), std::string::npos);
  close(server);
  writeFile(folder / "empty", "");
  EXPECT_EQ(MappedFile::open(folder / "empty")->bytes(), "");
}

static const MappedFile *fileAt(const void *address) {
  const MappedFile *found = nullptr;
  MappedFile::visit(address, [&](const MappedFile &file) { found = &file; });
  return found;
}

TEST(MappedFile, IsFoundWhileOthersComeAndGo) {
  TemporaryFolder folder;
  writeFile(folder / "kept", std::string(5000, 'k'));
  writeFile(folder / "other", std::string(5000, 'o'));
  std::shared_ptr<const MappedFile> kept = MappedFile::open(folder / "kept");
  std::atomic<bool> done = false;
  std::thread changes([&] {
    for (int i = 0; i < 2000; ++i) {
      std::shared_ptr<const MappedFile> one = MappedFile::open(folder / "other"),
                                        two = MappedFile::open(folder / "other");
      one.reset();
    }
    done = true;
  });
  while (!done) {
    char first = 0;
    MappedFile::visit(kept->bytes().data(), [&](const MappedFile &file) { first = file.bytes()[0]; });
    ASSERT_EQ(first, 'k');
  }
  changes.join();
}

TEST(MappedFile, IsFoundByItsAddressesAndNoticesWhenItIsCut) {
  TemporaryFolder folder;
  std::vector<std::shared_ptr<const MappedFile>> files;
  for (int i = 0; i < 100; ++i) {
    writeFile(folder / std::to_string(i), std::string(5000, char(i)));
    files.push_back(MappedFile::open(folder / std::to_string(i)));
  }
  for (const auto &file : files) {
    EXPECT_EQ(fileAt(file->bytes().data()), file.get());
    EXPECT_EQ(fileAt(file->bytes().data() + 4999), file.get());
    file->checkWhole();
  }
  const void *gone = files[50]->bytes().data();
  files.erase(files.begin() + 50);
  EXPECT_EQ(fileAt(gone), nullptr);
  EXPECT_EQ(fileAt(&files), nullptr);
  std::filesystem::resize_file(folder / "7", 4990); // within its last page, the rest of which then reads as zeros
  EXPECT_NE(messageOf([&] { files[7]->checkWhole(); }).find("/7: became shorter while it was read: 4990 bytes of 5000"),
            std::string::npos);
  std::filesystem::resize_file(folder / "8", 6000);
  files[8]->checkWhole();
  EXPECT_FALSE(files[9]->changed());
  std::filesystem::last_write_time(folder / "9",
                                   std::filesystem::last_write_time(folder / "9") + std::chrono::hours(1));
  EXPECT_TRUE(files[9]->changed());
}

TEST(Batches, OfAFileThatWasCutAreNotHandedOut) {
  TemporaryFolder folder;
  Ports ports;
  ports.open({writeLogisticData(folder / "d.npz", 400)});
  BatchOptions options;
  options.train = true;
  Batches batches(*ports.data, {&ports.session.entryOfKind("train")}, options);
  ASSERT_NE(batches.next(), nullptr);
  std::filesystem::resize_file(folder / "d.npz", std::filesystem::file_size(folder / "d.npz") - 1);
  std::string message = messageOf([&] {
    for (int i = 0; i < 10; ++i)
      batches.next();
  });
  EXPECT_EQ(message.find("error: " + (folder / "d.npz") + ": became shorter while it was read"), 0u) << message;
}

TEST(Readers, CheckTheShapeBeforeTheyUnpackAnything) {
  TemporaryFolder folder;
  Ports ports;
  const int64_t rows = 1 << 16; // 256 MiB of zeros in a file of 256 KB
  writeZerosNpz(folder / "bomb.npz", "x", MPC_F32, {rows, 1024});
  uint32_t crc = 0;
  writeFile(folder / "bomb.gz",
            packedZeros(std::string("\0\0\x08\x02", 4) + big32(rows) + big32(4096), size_t(rows) * 4096, 31, crc));
  writeFile(folder / "lie.gz",
            packedZeros(std::string("\0\0\x08\x02", 4) + big32(100) + big32(6), size_t(rows) * 4096, 31, crc));
  writeZerosNpz(folder / "lie.npz", "x", MPC_F32, {100, 6}, /*stated=*/1 << 30);
  int64_t before = peakKiB();
  EXPECT_NE(messageOf([&] {
              ports.open({folder / "bomb.npz"});
            }).find("has shape [65536,1024], but input 'x' needs [samples,3,2]"),
            std::string::npos);
  EXPECT_NE(
      messageOf([&] { ports.open({"x=" + (folder / "bomb.gz")}); }).find("has shape [65536,4096], but input 'x' needs"),
      std::string::npos);
  EXPECT_NE(messageOf([&] { ports.open({"x=" + (folder / "lie.gz")}); }).find("unexpected bytes behind the IDX data"),
            std::string::npos);
  EXPECT_NE(messageOf([&] { ports.open({folder / "lie.npz"}); }).find("array 'x' has an impossible size"),
            std::string::npos);
  EXPECT_EQ(NpzReader(folder / "bomb.npz").shapeOf("x"), (Shape{rows, 1024}));
  EXPECT_LT(peakKiB() - before, 16 << 10);
}

TEST(Readers, StopAtHeadersThatAreBombs) {
  TemporaryFolder folder;
  uint32_t crc = 0;
  // The header claims to be 1 GiB of blanks.
  std::string begin = "\x93NUMPY\x02";
  begin += '\0';
  begin += std::string("\0\0\0\x40", 4);
  EXPECT_NE(messageOf([&] {
              parseNpyHeader(begin + std::string(1 << 16, ' '), "x");
            }).find("its .npy header has 1073741824 bytes"),
            std::string::npos);
  // The shape has 255 dimensions. The shapes below have sizes that only a 0 hides.
  writeFile(folder / "many.gz", packedZeros(std::string("\0\0\x0d\xff", 4) + std::string(255 * 4, '\xff'), 0, 31, crc));
  EXPECT_NE(messageOf([&] { readArrayFile(folder / "many.gz"); }).find("impossible shape"), std::string::npos);
  for (const char *shape :
       {"(0, 4611686018427387904, 4611686018427387904)", "(4611686018427387904, 4611686018427387904, 0)"}) {
    std::string dict = std::string("{'descr': '<f4', 'fortran_order': False, 'shape': ") + shape + ", }";
    std::string file = std::string("\x93NUMPY\x01\0", 8) + char(dict.size()) + '\0' + dict;
    writeFile(folder / "huge.npy", file);
    EXPECT_NE(messageOf([&] { readArrayFile(folder / "huge.npy"); }).find("impossible shape"), std::string::npos)
        << shape;
  }
  EXPECT_EQ(elementsOf(Shape{INT64_MAX, INT64_MAX}), INT64_MAX);
  EXPECT_EQ(elementsOf(Shape{INT64_MAX, INT64_MAX, 0}), 0);
  EXPECT_EQ(bytesOf(MPC_F32, Shape{0, 3}), 0);
  EXPECT_EQ(bytesOf(MPC_F32, Shape{2, 3}), 24);
  EXPECT_FALSE(bytesOf(MPC_F32, Shape{0, INT64_MAX}));
  EXPECT_FALSE(bytesOf(MPC_U8, Shape{-1}));
}

TEST(Writers, EmptyTensorsAreReadAsTheyWereWritten) {
  TemporaryFolder folder;
  Tensor full(MPC_F32, {2}), empty(MPC_F32, {0, 3}), scalar(MPC_I64, {});
  full.as<float>()[1] = 7;
  NpzWriter writer(folder / "e.npz");
  for (auto [name, tensor] : {std::pair("a", &full), std::pair("b", &empty), std::pair("c", &scalar)})
    writer.add(name, *tensor);
  writer.finish();
  NpzReader reader(folder / "e.npz");
  EXPECT_EQ(reader.read("b").shape, (Shape{0, 3}));
  EXPECT_EQ(loadDouble(MPC_F32, reader.read("a").data, 1), 7);
  // Python's zipfile checks each member's checksum.
  std::string command =
      "python3 -c \"import zipfile; assert zipfile.ZipFile('" + (folder / "e.npz") + "').testzip() is None\"";
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::vector<TensorToWrite> tensors;
  for (const auto &[name, tensor] : {std::pair("a", full), std::pair("b", empty), std::pair("c", scalar)})
    tensors.push_back({name, tensor.dtype, tensor.shape, [tensor = tensor] { return tensor; }});
  writeSafetensors(folder / "e.safetensors", tensors, {});
  SafetensorsReader(folder / "e.safetensors").verify(/*required=*/true);
}

TEST(FolderLock, IsOfOneHolderAndNamesIt) {
  TemporaryFolder folder;
  {
    FolderLock lock(folder.path(), {});
    std::string message = messageOf([&] { FolderLock second(folder.path(), {}); });
    EXPECT_EQ(message,
              concat("error: ", folder.path(), ": is in use: process ", getpid(),
                     " trains there\nhint: wait for its end, or give this training a --checkpoint-dir of its own\n"));
  }
  EXPECT_FALSE(std::filesystem::exists(folder / ".mpc-lock"));
  // A killed process left this file behind.
  writeFile(folder / ".mpc-lock", "1 elsewhere\n");
  FolderLock again(folder.path(), {});
  EXPECT_EQ(readFile(folder / ".mpc-lock").find(concat(getpid(), " ")), 0u);
  EXPECT_TRUE(CheckpointFolder(folder / "other", 3).empty());
}

TEST(FolderLock, SaysWhereThereCanBeNone) {
  TemporaryFolder folder, victim;
  writeFile(victim / "precious", "data of somebody");
  std::vector<std::string> notes;
  auto note = [&](const std::string &text) { notes.push_back(text); };
  std::filesystem::create_symlink(victim / "precious", folder / ".mpc-lock");
  {
    FolderLock lock(folder.path(), note);
  }
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_NE(notes[0].find("cannot be locked"), std::string::npos);
  std::filesystem::remove(folder / ".mpc-lock");
  std::filesystem::create_hard_link(victim / "precious", folder / ".mpc-lock");
  {
    FolderLock lock(folder.path(), note);
  }
  EXPECT_EQ(readFile(victim / "precious"), "data of somebody");
  FolderLock none("/proc/self", note); // no file can be created there
  EXPECT_EQ(notes.size(), 2u);
}

//===-- Programs, as users start them ----------------------------------------------------------------===//

TEST_F(PackedProgram, PipesAreErrorsWhereverAFileIsRead) {
  ASSERT_EQ(shell("mkfifo pipe; ./model train --data d.npz --checkpoint-dir ckpt --steps 2 > /dev/null; mkfifo "
                  "ckpt/step-00000009.safetensors")
                .status,
            0);
  // A program that waited for the pipe would be ended by `timeout`, which reports status 124.
  for (const char *arguments :
       {"train --data pipe", "eval --data x=pipe --data target=d.npz:target", "eval --data d.npz --checkpoint pipe",
        "train --data d.npz --init pipe", "predict --data d.npz --out pipe", "train --data d.npz --log pipe",
        "train --data d.npz --log pipe --resume --checkpoint-dir ckpt"}) {
    Outcome outcome = shell(concat("timeout 20 ./model ", arguments));
    EXPECT_EQ(outcome.status, 1) << arguments;
    EXPECT_NE(outcome.text.find("pipe: is a pipe"), std::string::npos) << arguments << "\n" << outcome.text;
    EXPECT_NE(outcome.text.find("\nhint: "), std::string::npos) << outcome.text;
  }
  Outcome resumed = shell("timeout 20 ./model train --data d.npz --checkpoint-dir ckpt --resume --steps 4");
  EXPECT_EQ(resumed.status, 0) << resumed.text;
  EXPECT_NE(resumed.text.find("note: skipping a damaged checkpoint: ckpt/step-00000009.safetensors: is a pipe"),
            std::string::npos)
      << resumed.text;
  EXPECT_NE(resumed.text.find("resumed after step 2"), std::string::npos) << resumed.text;
  // A pipe with a reader can take the log. The shell opens the reader's end before it starts either process: otherwise
  // the training could end before the reader opens the pipe.
  EXPECT_EQ(shell("exec 9<>pipe 8<pipe; timeout 60 cat <&8 > read.txt 8<&- 9>&- & timeout 60 ./model train --data "
                  "d.npz --steps 3 --log pipe --log-every 1 > /dev/null 8<&- 9>&-; exec 8<&- 9>&-; wait; "
                  "test $(wc -l < read.txt) = 3")
                .status,
            0);
}

TEST_F(PackedProgram, ASecondTrainingInAFolderNamesTheFirst) {
  const std::string train = "./model train --data d.npz --steps 1000000000 --log-every 10 ";
  const std::string begun =
      " > first.txt 2>&1 & p=$!; for i in $(seq 1000); do grep -qs step first.txt && break; sleep 0.02; done; ";
  Outcome second = shell(
      train + "--checkpoint-dir ckpt --checkpoint-every 1000000000 --log a.jsonl" + begun +
      "lines=$(wc -l < a.jsonl); ./model train --data d.npz --checkpoint-dir ckpt --log a.jsonl; echo status $?; "
      "./model train --data d.npz --checkpoint-dir ckpt --resume --log a.jsonl; echo status $?; "
      "./model train --data d.npz --log a.jsonl; echo status $?; echo first $p; kill -0 $p && kill -9 $p; wait $p; "
      "head -c 8 a.jsonl; ./model train --data d.npz --checkpoint-dir ckpt --steps 3 | tail -n 1");
  size_t pid = second.text.rfind("first ");
  ASSERT_NE(pid, std::string::npos) << second.text;
  std::string first = second.text.substr(pid + 6, second.text.find('\n', pid) - pid - 6);
  std::string busy = "error: ckpt: is in use: process " + first + " trains there\nhint: ";
  EXPECT_EQ(second.text.find(busy), 0u) << second.text;
  EXPECT_NE(second.text.find("status 1\n" + busy), std::string::npos) << second.text;
  EXPECT_NE(second.text.find("error: a.jsonl: is the log of a training that runs\nhint: "), std::string::npos)
      << second.text;
  EXPECT_NE(second.text.find("{\"step\":"), std::string::npos) << "the log was truncated: " << second.text;
  EXPECT_NE(second.text.find("done: 3 steps"), std::string::npos) << "kill -9 releases the lock: " << second.text;
}

TEST_F(PackedProgram, ACutDataFileEndsTheTrainingWithASentence) {
  for (int64_t left : {int64_t(1), int64_t(100000)}) { // the second size is within the last page
    writeLogisticData(folder / "big.npz", 40000);
    int64_t size = int64_t(std::filesystem::file_size(folder / "big.npz"));
    int64_t to = left == 1 ? 4096 : size - 64;
    // The output of the training before is removed, because its "step" would be taken for this one's.
    Outcome cut = shell(concat("rm -f first.txt; timeout 300 ./model train --data big.npz --steps 1000000000 "
                               "--log-every 100 > first.txt 2>&1 & p=$!; for i in $(seq 1000); "
                               "do grep -qs step first.txt && break; sleep 0.02; done; truncate -s ",
                               to, " big.npz; wait $p; s=$?; tail -n 2 first.txt; exit $s"));
    EXPECT_EQ(cut.status, 1) << cut.text;
    EXPECT_NE(cut.text.find("error: big.npz: became shorter while it was read"), std::string::npos) << cut.text;
    EXPECT_NE(cut.text.find("\nhint: "), std::string::npos) << cut.text;
  }
}

TEST_F(PackedProgram, NoFileBecomesAStandardStream) {
  for (const char *closed : {">&-", "2>&-", "<&-", "<&- >&- 2>&-"}) {
    Outcome train = shell(
        concat("./model train --data d.npz --steps 3 --log run.jsonl --log-every 1 --checkpoint-dir ckpt ", closed));
    std::istringstream lines(readFile(folder / "run.jsonl"));
    int count = 0;
    for (std::string line; std::getline(lines, line); ++count)
      EXPECT_TRUE(nlohmann::json::accept(line)) << closed << ": " << line;
    EXPECT_EQ(count, 3) << closed;
    EXPECT_EQ(train.status,
              std::string(closed).find(">&-") == 0 || std::string(closed).find(" >&-") != std::string::npos ? 1 : 0)
        << closed;
    std::filesystem::remove_all(folder / "ckpt");
  }
  for (const char *arguments : {"eval --data d.npz", "eval --data d.npz --json", "info", "--help", "bench --steps 1"})
    for (const char *closed : {">&-", "> /dev/full"}) {
      Outcome lost = shell(concat("./model ", arguments, " ", closed));
      EXPECT_EQ(lost.status, 1) << arguments << closed;
      EXPECT_NE(concat("\n", lost.text).find("\nerror: standard output: cannot be written"), std::string::npos)
          << lost.text;
      EXPECT_NE(lost.text.find("\nhint: "), std::string::npos) << lost.text;
    }
}

TEST_F(PackedProgram, NohupOutlivesTheTerminal) {
  Outcome kept =
      shell("(trap '' HUP; exec ./model train --data d.npz --steps 1000000000 --log-every 10 > first.txt 2>&1) & p=$!; "
            "for i in $(seq 1000); do grep -qs step first.txt && break; sleep 0.02; done; kill -HUP $p; sleep 0.3; "
            "kill -0 $p && echo runs; "
            "kill -TERM $p; wait $p; exit 0");
  EXPECT_NE(kept.text.find("runs"), std::string::npos) << kept.text;
}

TEST_F(PackedProgram, WithoutInputsAnEpochIsOneStep) {
  auto manifest = nlohmann::json::parse(logisticManifest());
  for (auto &entry : manifest["plans"][0]["entries"])
    entry["inputs"] = nlohmann::json::array();
  manifest["metrics"] = nlohmann::json::array();
  writeProgram(manifest.dump());
  Outcome train = run("train --epochs 5 --lr 0.1 --checkpoint-dir ckpt");
  EXPECT_EQ(train.status, 0) << train.text;
  EXPECT_NE(train.text.find("done: 5 steps"), std::string::npos) << train.text;
  EXPECT_NE(run("train --steps 7 --resume --checkpoint-dir ckpt").text.find("done: 7 steps"), std::string::npos);
  EXPECT_NE(run("eval").text.find("samples: 4\nloss: 0.693147"), std::string::npos) << run("eval").text;
  EXPECT_EQ(run("predict --out p.npz").status, 0);
  EXPECT_EQ(NpzReader(folder / "p.npz").read("logits").shape, (Shape{4, 2}));
  EXPECT_EQ(run("trace --steps 2 --out t.npz").status, 0);
  EXPECT_EQ(run("bench --steps 2").status, 0);
  // Data files that are given must still exist.
  EXPECT_EQ(run("eval --data d.npz").status, 0);
  expectError("eval --data none.npz", "none.npz: cannot open");
  writeFile(folder / "x.npy", npyHeader(MPC_F32, {1}) + std::string(4, '\0'));
  expectError("eval --data x.npy", "x.npy: holds an array, but the program has no inputs");
  expectError("eval --scale x=2", "there is no input 'x'");
}
