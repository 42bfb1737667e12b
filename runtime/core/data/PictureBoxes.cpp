// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Binds pictures with boxes to the inputs of a detector: pictures, corners, classes and the numbers of boxes.
#include "runtime/core/data/Dataset.h"
#include "runtime/support/Error.h"

namespace mpc::rt {

/// Returns what of a picture with boxes a port may take.
static std::optional<PicturePart> partOf(const Port &port, int64_t batch) {
  const size_t rank = port.shape.size();
  if (!port.batched || port.shape[0] != batch)
    return std::nullopt;
  if (takesPictures(port, batch))
    return PicturePart::Pixels;
  if (isFloat(port.dtype) ? rank == 3 && port.shape[2] == 4 : rank == 1 || rank == 2)
    return rank == 3 ? PicturePart::Corners : rank == 2 ? PicturePart::Labels : PicturePart::Count;
  return std::nullopt;
}

[[noreturn]] static void refuse(const std::string &path, Text what) {
  fail(path, what,
       "detectors take floats [samples,channels,height,width] and [samples,boxes,4], and integers [samples,boxes]");
}

void Dataset::bindBoxes(const std::shared_ptr<PictureFiles> &files, const std::string &path, const std::string &name,
                        const std::vector<const Port *> &inputs, const DataOptions &options) {
  const Port *ports[4] = {}; // one for each part
  for (const Port *port : inputs) {
    const std::optional<PicturePart> part = partOf(*port, batch_);
    if (!part || (part == PicturePart::Pixels && !name.empty() && port->name != name))
      continue;
    const Port *&taker = ports[size_t(*part)];
    if (taker && taker->name != port->name)
      refuse(path, concat("fits the inputs '", taker->name, "' and '", port->name, "' alike"));
    taker = port;
  }
  const auto &[pixels, corners, labels, count] = ports;
  if (!pixels)
    refuse(path, concat("no input ", name.empty() ? "" : concat("'", name, "' "), "takes pictures"));
  if (!corners && (labels || count))
    refuse(path, "has boxes, which no input takes");
  addPictures(files, path, *pixels, options);
  if (!corners)
    return; // prediction looks at the pictures alone
  const int64_t room = corners->shape[1];
  std::vector<int64_t> numbers;
  if (labels) {
    bool fits = labels->shape[1] == room;
    for (const Range &range : labels->ranges)
      fits &= range.holds(-1); // the class of rows without a box
    if (!fits)
      refuse(path, concat("input '", corners->name, "' takes ", room, " boxes, and '", labels->name, "' no classes of ",
                          room, " boxes, or not -1"));
    numbers = classNumbers(*files, path, *labels, options);
  }
  const std::shared_ptr<PictureInput> &pictures = sources_.at(pixels->name).pictures;
  pictures->setBoxes(room, std::move(numbers));
  for (size_t part = 1; part < 4; ++part)
    if (ports[part])
      addPart(pictures, PicturePart(part), path, ports[part]->name);
}

} // namespace mpc::rt
