// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/mpc-conformance/Workers.h"
#include <algorithm>
#include <cstring>
#include <optional>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

/// Repeats `once(next, rest)`, which moves bytes like send and recv, until all bytes are through; returns false when
/// the other side is gone.
template <typename Byte, typename Once>
bool transfer(Byte *next, size_t bytes, Once once) {
  while (bytes > 0) {
    ssize_t n = once(next, bytes);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return false;
    next += n;
    bytes -= size_t(n);
  }
  return true;
}
bool sendAll(int socket, const void *data, size_t bytes) {
  return transfer(static_cast<const char *>(data), bytes,
                  [=](const char *next, size_t rest) { return send(socket, next, rest, MSG_NOSIGNAL); });
}
bool receiveAll(int socket, void *data, size_t bytes) {
  return transfer(static_cast<char *>(data), bytes,
                  [=](char *next, size_t rest) { return recv(socket, next, rest, 0); });
}

/// Runs at the other end of the socket: receives cases and sends answers, until the parent closes the socket.
[[noreturn]] void serve(int socket, unsigned secondsPerCase, const std::function<std::string(size_t)> &work) {
  size_t index = 0;
  while (receiveAll(socket, &index, sizeof index)) {
    alarm(secondsPerCase); // the signal's default action ends the process
    std::string answer = work(index);
    alarm(0);
    size_t bytes = answer.size();
    if (!sendAll(socket, &bytes, sizeof bytes) || !sendAll(socket, answer.data(), bytes))
      break;
  }
  _exit(0);
}

struct Worker {
  pid_t process = -1;
  int socket = -1;
  std::optional<size_t> current;
};

std::string howItEnded(int status) {
  if (WIFEXITED(status))
    return "ended the process with status " + std::to_string(WEXITSTATUS(status));
  int signal = WTERMSIG(status);
  return signal == SIGALRM ? std::string("takes too long") : "crashed: " + std::string(strsignal(signal));
}

} // namespace

bool mpc::tool::runInWorkers(size_t count, unsigned workers, unsigned secondsPerCase,
                             const std::function<std::string(size_t)> &work,
                             const std::function<void(size_t, const std::string &)> &done,
                             const std::function<void(size_t, const std::string &)> &crash) {
  std::vector<Worker> team(std::max<size_t>(1, std::min<size_t>(workers, count)));
  size_t next = 0;
  auto start = [&](Worker &worker) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
      return false;
    worker.process = fork();
    if (worker.process == 0) {
      // A worker keeps only its own end of the socket, because the others must close when the parent closes them.
      for (const Worker &other : team)
        if (other.socket >= 0)
          close(other.socket);
      close(ends[0]);
      serve(ends[1], secondsPerCase, work);
    }
    close(ends[1]);
    worker.socket = ends[0];
    return worker.process > 0;
  };
  auto stop = [](Worker &worker) {
    close(worker.socket);
    worker.socket = -1;
    int status = 0;
    waitpid(worker.process, &status, 0);
    return status;
  };
  auto assign = [&](Worker &worker) {
    worker.current.reset();
    if (next < count) {
      worker.current = next++;
      sendAll(worker.socket, &*worker.current, sizeof(size_t)); // a dead worker is noticed when its answer is read
    }
  };
  bool started = true;
  for (Worker &worker : team)
    if ((started = started && start(worker)))
      assign(worker);
  while (started) {
    std::vector<pollfd> waiting;
    std::vector<Worker *> owners;
    for (Worker &worker : team)
      if (worker.current) {
        waiting.push_back({worker.socket, POLLIN, 0});
        owners.push_back(&worker);
      }
    if (waiting.empty())
      break;
    if (poll(waiting.data(), waiting.size(), -1) < 0)
      continue; // a signal interrupted it
    for (size_t i = 0; i < waiting.size() && started; ++i) {
      if (!waiting[i].revents)
        continue;
      Worker &worker = *owners[i];
      size_t bytes = 0;
      std::string answer;
      bool alive = receiveAll(worker.socket, &bytes, sizeof bytes);
      if (alive) {
        answer.resize(bytes);
        alive = receiveAll(worker.socket, answer.data(), bytes);
      }
      if (alive) {
        done(*worker.current, answer);
      } else {
        crash(*worker.current, howItEnded(stop(worker)));
        started = start(worker);
      }
      if (started)
        assign(worker);
    }
  }
  for (Worker &worker : team)
    if (worker.socket >= 0)
      stop(worker);
  return started;
}
