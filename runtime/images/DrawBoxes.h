// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Writes pictures with the boxes that a network found.
#pragma once

#include "mpc/data.h"
#include "runtime/images/augment/Maker.h"

namespace mpc::images {

/// Does what mpc_data_plugin's draw_boxes does. Throws Error, perhaps without a place: it is the maker's last sample.
void drawBoxes(Maker &maker, const mpc_box_drawing &drawing);

} // namespace mpc::images
