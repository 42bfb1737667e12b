//===- BoxTile.cpp - loads of tiles that are boxes -------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "passes/Lowering/HeroToGpu/BoxTile.h"
#include "dialects/Graph/IR/Shapes.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::hero;

BoxTile::BoxTile(Code c, const Operand &operand, Box box, unsigned map, int tileOuter, int tileK,
                 const BlockPlace &place, Value memory, int blocks, Value rank)
    : c(c), operand(operand), box(std::move(box)), map(map), tileK(tileK),
      bytes(int64_t(tileOuter) * tileK * graph::elementOf(operand.tensor).getIntOrFloatBitWidth() / 8), memory(memory),
      blocks(blocks) {
  Value first = operand.outer == Axis::M ? place.firstM : place.firstN;
  if (blocks > 1) {
    first = c.add(first, c.mul(rank, tileOuter / blocks));
    this->memory = c.at(memory, c.wide(c.mul(rank, bytes / blocks)));
  }
  for (int i = 0; i < this->box.loads; ++i)
    outer.push_back(splitDigits(c, operand.digits[unsigned(operand.outer)], c.add(first, i * boxElements)));
  z = splitDigits(c, operand.digits[unsigned(Axis::Z)], place.z);
}

Values BoxTile::cursor(Value kTile) { return splitDigits(c, operand.digits[unsigned(Axis::K)], c.mul(kTile, tileK)); }
Values BoxTile::advance(ValueRange cursor) { return addToDigits(c, operand.digits[unsigned(Axis::K)], cursor, tileK); }

void BoxTile::load(ValueRange cursor, Value stage, Value barrier) {
  Value to = c.at(memory, c.wide(c.mul(stage, bytes)));
  for (int i = 0; i < box.loads; ++i) {
    auto digit = [&](Axis axis, unsigned number) {
      return axis == Axis::K ? cursor[number] : axis == Axis::Z ? z[number] : outer[i][number];
    };
    Values coordinates, offsets;
    for (const Box::Dimension &at : box.dimensions) {
      Value position = c.add(c.mul(digit(at.axis, at.digit), at.step), at.lower);
      if (at.group)
        position = c.add(position, c.mul(digit(at.group->axis, at.group->digit), at.group->coefficient));
      coordinates.push_back(position);
      bool spatial = &at != &box.dimensions.front() && &at != &box.dimensions.back();
      if (box.pixels == 0 || !spatial)
        continue;
      Value offset = c.i32(0);
      if (at.tap) {
        Value tap = digit(at.tap->axis, at.tap->digit);
        offset = at.tap->coefficient < 0 ? c.mul(c.sub(c.i32(at.taps - 1), tap), -at.tap->coefficient)
                                         : c.mul(tap, at.tap->coefficient);
      }
      offsets.push_back(c.truncate(c.b.getI16Type(), offset));
    }
    Value mask = blocks > 1 ? c.constant(c.b.getI16Type(), (1 << blocks) - 1) : Value();
    kernel::TensorLoadOp::create(c.b, c.at(to, i * (bytes / blocks / box.loads)), barrier, map, coordinates, offsets,
                                 mask);
  }
}
