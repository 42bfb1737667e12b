// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// This target reads annotations: the first byte says whether as those of COCO, YOLO or Pascal VOC, or as YAML.
#include "runtime/images/ClassNames.h"
#include "runtime/images/YamlNames.h"
#include "runtime/support/Error.h"
#include "test/fuzz/runtime/Pictures.h"

using namespace mpc::rt::fuzz;
using namespace mpc::images;

/// Checks what the table's only sample has.
static void inspect(const BoxTable &table, int64_t classes) {
  for (const LabelledBox &box : table.of(0))
    if (!(box.area() > 0) || box.label < 0 || box.label >= classes)
      finding("a box without an area or a class");
  acceptsPicture([&] {
    for (const LabelledBox &box : table.inPixels(0, {640, 480}))
      if (box.x1 < 0 || box.y1 < 0 || box.x2 > 640 || box.y2 > 480)
        finding("a box beyond its picture");
  });
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0)
    return 0;
  const std::string &path = asFile(data + 1, size - 1);
  std::unique_ptr<const Source> source;
  BoxTable table(/*relative=*/data[0] == 'y');
  ClassNames classes;
  switch (data[0]) {
  case 'c': // a picture's name that is there, such as /dev/null, leads further
    if (accepts([&] { source = openCoco(path, ""); }))
      inspectSource(std::move(source), false);
    break;
  case 'y':
    if (accepts([&] { readYolo(path, table, 0); })) {
      table.endSample({}, path);
      inspect(table, kMostClasses);
    }
    break;
  case 'v':
    if (accepts([&] { readVoc(path, path, table, classes); }))
      inspect(table, int64_t(classes.size()));
    break;
  default:
    accepts([&] { yamlNames(path, std::string_view(reinterpret_cast<const char *>(data) + 1, size - 1)); });
  }
  return 0;
}
