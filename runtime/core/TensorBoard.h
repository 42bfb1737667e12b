// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The log as an event file of TensorBoard.
#pragma once

#include "runtime/core/LogSink.h"

#include <memory>
#include <string>
#include <string_view>

namespace mpc::rt {

/// Makes a new file "events.out.tfevents.SECONDS.HOST.mpc" in the folder, which is made where it is missing. SECONDS is
/// the time of day, or more where the folder has newer event files, because TensorBoard reads them in this order. The
/// file begins with a SessionLog START, at which TensorBoard forgets the steps of earlier files that are not kept:
/// those above `keepBelow` >= 0 (a resumed training), else all.
///
/// Each line becomes one event with these scalars at its step, in f32:
///   train/loss, train/lr, train/scale, train/skipped (0 or 1), train/samples_per_second, and epoch of a step;
///   train/loss/NAME and so on for each of several optimizers, instead of those without a name;
///   val/loss and val/METRIC of an evaluation, without its counts and tables.
/// Other numbers of a line appear as train/NAME and val/NAME; notes do not appear.
///
/// Throws Error when the folder or the file cannot be made.
std::unique_ptr<LogSink> openEventFile(const std::string &folder, int64_t keepBelow);

/// Returns the CRC-32C (Castagnoli, RFC 3720 appendix B.4) of the bytes.
uint32_t crc32c(std::string_view bytes);

} // namespace mpc::rt
