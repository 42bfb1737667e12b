// Library calls: from the manifest through a provider to numbers.

#include "LogisticProgram.h"

#include <cstdlib>
#include <gtest/gtest.h>

using namespace mpc::rt;
using namespace mpc::rt::test;

namespace {
/// y [2,2] = relu(x [2,3] @ w [3,2] + bias [2]) by one library call with `scratchBytes` in the plan, `times`
/// in a row.
std::shared_ptr<const Program> matmulProgram(const std::string &fields, int64_t scratchBytes, int times = 1) {
  const std::string launch = R"({"name":"gemm","loc":"Gemm_7","library":{)" + fields +
                             R"(},"args":[64,0,24,128],"scratch":4096,"scratch_bytes":)" +
                             std::to_string(scratchBytes) + "}";
  std::string launches = launch;
  for (int i = 1; i < times; ++i)
    launches += "," + launch;
  std::string manifest =
      R"({"format":1,"model":"m","batch":2,"variables":[],"plans":[{"target":"host","arena_bytes":1048576,
    "storage":[],"constants":[{"offset":0,"bytes":32,"data_offset":0}],"entries":[{"name":"p","kind":"predict",
    "inputs":[{"name":"x","dtype":"f32","shape":[2,3],"offset":64,"bytes":24,"batched":true}],
    "outputs":[{"name":"y","role":"output","dtype":"f32","shape":[2,2],"offset":128,"bytes":16}],
    "launches":[)" +
      launches + "]}]}]}";
  const float values[] = {1, 2, 3, 4, 5, 6, /*bias:*/ 0.5f, -100};
  return Program::fromMemory(manifest, {{"data", {reinterpret_cast<const char *>(values), sizeof values}}});
}
// By name and by number, as the abi's README allows.
const char *const kNamed =
    R"("op":"matmul","type_a":"f32","type_b":"f32","type_out":"f32","type_bias":"f32","has_bias":true,
    "activation":"relu","batch":1,"m":2,"n":2,"k":3)";
const char *const kNumbered = R"("op":1,"type_a":3,"type_b":3,"type_out":3,"type_bias":3,"has_bias":1,
    "activation":1,"batch":1,"m":2,"n":2,"k":3)";

void expectProduct(Session &session) {
  const Entry &entry = session.entryOfKind("predict");
  Tensor x(MPC_F32, {2, 3});
  for (size_t i = 0; i < 6; ++i)
    x.as<float>()[i] = float(i + 1);
  session.setInput(entry, "x", x);
  session.run(entry);
  Tensor y = session.output(entry, "y");
  EXPECT_EQ(y.at(0), 22.5); // 1*1 + 2*3 + 3*5 + 0.5
  EXPECT_EQ(y.at(1), 0);    // relu
  EXPECT_EQ(y.at(2), 49.5);
  EXPECT_EQ(y.at(3), 0);
}
} // namespace

TEST(Provider, RunsAMatmulWithItsEpilogue) {
  for (const char *fields : {kNamed, kNumbered})
    for (const char *library : {"generic", "auto"})
      for (int threads : {1, 2}) {
        SessionOptions options;
        options.library = library;
        options.threads = threads;
        Session session(matmulProgram(fields, 1 << 19), options);
        EXPECT_NE(session.device().description().find(','), std::string::npos) << "names the library";
        expectProduct(session);
      }
}

TEST(Provider, TooLittleScratchIsAllocatedAndSaid) {
  std::vector<std::string> notes;
  SessionOptions options;
  options.library = "generic";
  options.note = [&](const std::string &text) { notes.push_back(text); };
  Session enough(matmulProgram(kNamed, 1 << 19), options);
  EXPECT_TRUE(notes.empty());
  Session session(matmulProgram(kNamed, 0, 3), options);
  expectProduct(session);
  ASSERT_EQ(notes.size(), 1u); // the launches share it
  EXPECT_NE(notes[0].find("generic needs more scratch here than was planned for 3 of 3 library calls"),
            std::string::npos)
      << notes[0];
}

TEST(Provider, UnsupportedCallsNameTheOperation) {
  std::string fields = kNamed;
  fields.replace(fields.find("\"type_a\":\"f32\""), 14, "\"type_a\":\"i64\"");
  Error error = errorOf([&] { Session session(matmulProgram(fields, 4096)); });
  EXPECT_EQ(error.where(), "Gemm_7: gemm");
}

TEST(Provider, UnknownOrMissingOnesAreErrors) {
  SessionOptions options;
  options.library = "fast";
  EXPECT_NE(errorOf([&] { Session session(matmulProgram(kNamed, 4096), options); })
                .text()
                .find("use auto, onednn or generic"),
            std::string::npos);
  // Two sessions share the process-wide provider; the death of one leaves the other its threads.
  options.library = "generic";
  options.threads = 2;
  auto first = std::make_unique<Session>(matmulProgram(kNamed, 1 << 19), options);
  Session second(matmulProgram(kNamed, 1 << 19), options);
  first.reset();
  expectProduct(second);
}
