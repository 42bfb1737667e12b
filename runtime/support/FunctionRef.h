// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A reference to something that can be called. Unlike std::function it never allocates, so it may be made where memory
// may be short and no exception may leave.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace mpc::rt {

template <typename Signature>
class FunctionRef;

/// Does not own what it refers to: take it as a parameter, and do not keep it.
template <typename Result, typename... Parameters>
class FunctionRef<Result(Parameters...)> {
public:
  template <typename Callable, typename = std::enable_if_t<!std::is_same_v<std::remove_cvref_t<Callable>, FunctionRef>>>
  FunctionRef(Callable &&callable)
      : callable_(const_cast<void *>(static_cast<const void *>(std::addressof(callable)))),
        call_([](void *callable, Parameters... parameters) -> Result {
          return (*static_cast<std::remove_reference_t<Callable> *>(callable))(std::forward<Parameters>(parameters)...);
        }) {}
  Result operator()(Parameters... parameters) const {
    return call_(callable_, std::forward<Parameters>(parameters)...);
  }

private:
  void *callable_;
  Result (*call_)(void *, Parameters...);
};

} // namespace mpc::rt
