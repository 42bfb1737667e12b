/* Opens two libraries privately, by relative paths, changes to another folder, and uses both models side by side.
 * usage: plugin LIBRARY LIBRARY */
#include "regressor.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef mpc_session *(*open_fn)(const char *, const mpc_open_options *);
typedef const char *(*info_fn)(mpc_session *);
typedef const char *(*error_fn)(void);
typedef int (*input_fn)(mpc_session *, mpc_mode, size_t, mpc_tensor *);
typedef int (*bind_fn)(mpc_session *, const char *, mpc_dtype, const void *, size_t);
typedef int (*step_fn)(mpc_session *, mpc_step_report *);
typedef void (*close_fn)(mpc_session *);
enum { MOST_INPUTS = 16 };

int main(int argc, char **argv) {
  void *handles[2];
  (void)argc;
  for (int i = 0; i < 2; ++i)
    if (!(handles[i] = dlopen(argv[1 + i], RTLD_NOW | RTLD_LOCAL)))
      return printf("%s\n", dlerror()), 1;
  if (chdir("/") != 0)
    return 1;
  for (int i = 0; i < 2; ++i) {
    mpc_session *s = ((open_fn)dlsym(handles[i], "mpc_open"))(NULL, NULL);
    if (!s)
      return printf("%s\n", ((error_fn)dlsym(handles[i], "mpc_error"))()), 1;
    printf("%d: %s", i, strstr(((info_fn)dlsym(handles[i], "mpc_info"))(s), "\"model\""));
    mpc_tensor t;
    void *data[MOST_INPUTS] = {0};
    for (size_t k = 0; k < MOST_INPUTS && ((input_fn)dlsym(handles[i], "mpc_input"))(s, MPC_TRAIN, k, &t) == 0; ++k)
      if (((bind_fn)dlsym(handles[i], "mpc_bind"))(s, t.name, (mpc_dtype)t.dtype, data[k] = calloc(t.elements, 8),
                                                   t.elements) != 0)
        return printf("%s\n", ((error_fn)dlsym(handles[i], "mpc_error"))()), 1;
    mpc_step_report report;
    if (((step_fn)dlsym(handles[i], "mpc_step"))(s, &report) != 0)
      return printf("%s\n", ((error_fn)dlsym(handles[i], "mpc_error"))()), 1;
    printf("%d: one step, loss %.3f\n", i, report.loss);
    ((close_fn)dlsym(handles[i], "mpc_close"))(s);
    for (size_t k = 0; k < MOST_INPUTS; ++k)
      free(data[k]);
  }
  return 0;
}
