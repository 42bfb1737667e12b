// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `trace`: runs N steps on one batch and returns every number that a check needs.
#pragma once

#include "runtime/core/Session.h"
#include "runtime/core/data/Dataset.h"

#include <map>

namespace mpc::rt {

/// Repeats the first `batch` samples of the data for `steps` iterations at constant learning rate and returns
///   loss             [steps] f32: unscaled, before the update of step i; of the first optimizer
///   loss/<step>      the same for every optimizer, when there are several
///   grad/<parameter> unscaled f32 gradients of the first step (outputs of role grad)
///   scale            [steps] f32, with a scaler: the loss scale that step i used
/// [steps] bool, if steps may be skipped: whether step i was skipped
///   scale/<step>, skipped/<step>  the same for every optimizer, when there are several
///   state/<variable> after the last step, in logical order
/// Throws Error when the data holds less than one batch.
std::map<std::string, Tensor> trace(Session &session, const Dataset &data, int64_t steps,
                                    const std::map<std::string, double> &hyper = {});

} // namespace mpc::rt
