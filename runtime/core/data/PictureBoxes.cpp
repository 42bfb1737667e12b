// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Binds pictures with boxes to the inputs of a detector: pictures, corners, classes and the numbers of boxes.
#include "runtime/core/data/Dataset.h"
#include "runtime/support/Error.h"

namespace mpc::rt {

/// Returns what of a picture with boxes a port may take.
static std::optional<PicturePart> partOf(const Port &port, int64_t batch) {
  const size_t rank = port.shape.size();
  if (takesPictures(port, batch))
    return PicturePart::Pixels;
  if (!port.batched || port.shape[0] != batch)
    return std::nullopt;
  if (isFloat(port.dtype))
    return rank == 3 && port.shape[2] == 4 ? std::optional(PicturePart::Corners) : std::nullopt;
  return rank == 2 ? std::optional(PicturePart::Labels) : rank == 1 ? std::optional(PicturePart::Count) : std::nullopt;
}

void Dataset::bindBoxes(const std::shared_ptr<PictureFiles> &files, const std::string &path, const std::string &name,
                        const std::vector<const Port *> &inputs, const DataOptions &options) {
  static constexpr char kForm[] = "a detector takes pictures [samples,channels,height,width] and boxes "
                                  "[samples,boxes,4] as floats, and classes [samples,boxes] as integers";
  const Port *ports[4] = {}; // one for each part
  for (const Port *port : inputs) {
    const std::optional<PicturePart> part = partOf(*port, batch_);
    if (!part || (part == PicturePart::Pixels && !name.empty() && port->name != name))
      continue;
    const Port *&taker = ports[size_t(*part)];
    if (taker && taker->name != port->name)
      fail(path, concat("inputs '", taker->name, "' and '", port->name, "' take the same part of it"),
           *part == PicturePart::Pixels ? concat("say which one: --data ", port->name, "=", path) : kForm);
    taker = port;
  }
  const auto &[pixels, corners, labels, count] = ports;
  if (!pixels)
    fail(path, name.empty() ? "no input takes pictures" : concat("input '", name, "' takes no pictures"), kForm);
  if (!corners && (labels || count))
    fail(path, "has boxes, which no input takes", kForm);
  addPictures(files, path, *pixels, options);
  if (!corners)
    return; // prediction looks at the pictures alone
  const int64_t room = corners->shape[1];
  std::vector<int64_t> numbers;
  if (labels) {
    if (labels->shape[1] != room)
      fail(path,
           concat("input '", corners->name, "' takes ", room, " boxes, and '", labels->name, "' ", labels->shape[1]),
           kForm);
    for (const Range &range : labels->ranges)
      if (!range.holds(-1))
        fail(path, concat("has the class -1 where there is no box; input '", labels->name, "' takes ", range.text()),
             "compile with a loss that ignores -1");
    numbers = classNumbers(*files, path, *labels, options);
  }
  const std::shared_ptr<PictureInput> pictures = sources_.at(pixels->name).pictures;
  pictures->setBoxes(room, std::move(numbers));
  for (PicturePart part : {PicturePart::Corners, PicturePart::Labels, PicturePart::Count}) {
    const Port *port = ports[size_t(part)];
    if (!port)
      continue;
    Source source;
    source.array.dtype = part == PicturePart::Corners ? MPC_F32 : MPC_I64;
    source.where = path;
    source.fromFiles = true;
    source.pictures = pictures;
    source.part = part;
    add(port->name, std::move(source));
  }
}

} // namespace mpc::rt
