// RUN: mpc-opt %s --mpc-form-dispatches --verify-diagnostics

// The places are chosen for the dispatches in their order.
// expected-error @+2 {{the memory of this module is planned (kernel.plan), so its dispatches keep their order}}
// expected-note @+1 {{hint: run mpc-form-dispatches before mpc-plan-arena}}
module attributes {kernel.plan = #kernel.plan<arena_bytes = 0, state_bytes = 0, constant_bytes = 0, temporary_bytes = 0, peak_bytes = 0, saved_bytes = 0>} {}
