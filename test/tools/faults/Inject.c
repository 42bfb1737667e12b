/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
/* Makes the n-th call of a kind fail: load it by LD_PRELOAD with MPC_FAULT="KIND:N", where KIND is malloc, mmap, write,
 * fsync or rename.
 *
 * Counting begins at main, because no program can answer for what the loader and the constructors of libraries need.
 * The call is not made; it returns what a full machine returns: ENOMEM, ENOSPC or EIO. Calls are counted over all
 * threads. When a call has failed, the file MPC_FAULT_MARK is created, so that the caller of the program knows whether
 * n was within the number of its calls. Calls inside libc (a stream's writes, the heap's own mappings) are not seen; a
 * stream's flush counts as a write.
 *
 * MLIR constructs its interfaces in memory from malloc without checking for null (mlir/Support/InterfaceSupport.h), in
 * its library and in code that instantiates its templates. No caller can help that, so direct calls of malloc there are
 * not counted; operator new and LLVM's allocators are.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum kind { kind_none, kind_malloc, kind_mmap, kind_write, kind_fsync, kind_rename };
static const char *const names[] = {"", "malloc", "mmap", "write", "fsync", "rename"};
static enum kind chosen;
static long position;
static atomic_long calls;

/* These are glibc's allocator under its own names, because dlsym would allocate. */
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);

/* The code with unchecked calls of malloc: the program, and libMLIR when that is loaded. */
static struct range {
  uintptr_t begin, end;
} unchecked[2];
static int hasMlir;
static int findUnchecked(struct dl_phdr_info *info, size_t bytes, void *data) {
  (void)bytes, (void)data;
  int mlir = strstr(info->dlpi_name, "libMLIR") != NULL;
  if (!mlir && *info->dlpi_name)
    return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i)
    if (info->dlpi_phdr[i].p_type == PT_LOAD && (info->dlpi_phdr[i].p_flags & PF_X)) {
      unchecked[mlir].begin = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
      unchecked[mlir].end = unchecked[mlir].begin + info->dlpi_phdr[i].p_memsz;
    }
  hasMlir |= mlir;
  return 0;
}
static int isUnchecked(void *caller) {
  for (int i = 0; i < 2; ++i)
    if (hasMlir && (uintptr_t)caller >= unchecked[i].begin && (uintptr_t)caller < unchecked[i].end)
      return 1;
  return 0;
}

static void choose(void) {
  const char *fault = getenv("MPC_FAULT"), *colon = fault ? strchr(fault, ':') : NULL;
  if (!colon)
    return;
  position = atol(colon + 1);
  for (int kind = 1; kind < (int)(sizeof names / sizeof *names); ++kind)
    if (strlen(names[kind]) == (size_t)(colon - fault) && strncmp(names[kind], fault, (size_t)(colon - fault)) == 0)
      chosen = (enum kind)kind;
  dl_iterate_phdr(findUnchecked, NULL);
  unsetenv("MPC_FAULT"); /* a process started by this one runs undisturbed */
}

static int fails(enum kind kind, int error) {
  if (kind != chosen || atomic_fetch_add(&calls, 1) + 1 != position)
    return 0;
  const char *mark = getenv("MPC_FAULT_MARK");
  long file = mark ? syscall(SYS_openat, AT_FDCWD, mark, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;
  if (file >= 0)
    syscall(SYS_close, file);
  errno = error;
  return 1;
}

/* The next function of that name after this library. */
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static int (*program)(int, char **, char **);
static int begin(int count, char **words, char **environment) {
  choose();
  return program(count, words, environment);
}
/* The start-up code of a program calls this with main. */
int __libc_start_main(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void), void (*)(void),
                      void *);
int __libc_start_main(int (*entry)(int, char **, char **), int count, char **words, void (*init)(void),
                      void (*fini)(void), void (*rtld)(void), void *stack) {
  program = entry;
  return NEXT(__libc_start_main)(begin, count, words, init, fini, rtld, stack);
}

void *malloc(size_t bytes) {
  return !isUnchecked(__builtin_return_address(0)) && fails(kind_malloc, ENOMEM) ? NULL : __libc_malloc(bytes);
}
void *calloc(size_t count, size_t bytes) { return fails(kind_malloc, ENOMEM) ? NULL : __libc_calloc(count, bytes); }
void *realloc(void *old, size_t bytes) { return fails(kind_malloc, ENOMEM) ? NULL : __libc_realloc(old, bytes); }
void *memalign(size_t alignment, size_t bytes) {
  return fails(kind_malloc, ENOMEM) ? NULL : __libc_memalign(alignment, bytes);
}
void *aligned_alloc(size_t alignment, size_t bytes) {
  return fails(kind_malloc, ENOMEM) ? NULL : __libc_memalign(alignment, bytes);
}
int posix_memalign(void **memory, size_t alignment, size_t bytes) {
  if (fails(kind_malloc, ENOMEM))
    return ENOMEM;
  *memory = __libc_memalign(alignment, bytes);
  return *memory ? 0 : ENOMEM;
}

void *mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset) {
  if (fails(kind_mmap, ENOMEM))
    return MAP_FAILED;
  return (void *)syscall(SYS_mmap, address, bytes, protection, flags, file, offset);
}
void *mmap64(void *address, size_t bytes, int protection, int flags, int file, off_t offset) {
  return mmap(address, bytes, protection, flags, file, offset);
}

ssize_t write(int file, const void *data, size_t bytes) {
  return fails(kind_write, ENOSPC) ? -1 : NEXT(write)(file, data, bytes);
}
ssize_t pwrite(int file, const void *data, size_t bytes, off_t offset) {
  return fails(kind_write, ENOSPC) ? -1 : NEXT(pwrite)(file, data, bytes, offset);
}
ssize_t pwrite64(int file, const void *data, size_t bytes, off_t offset) {
  return fails(kind_write, ENOSPC) ? -1 : NEXT(pwrite64)(file, data, bytes, offset);
}
ssize_t writev(int file, const struct iovec *parts, int count) {
  return fails(kind_write, ENOSPC) ? -1 : NEXT(writev)(file, parts, count);
}
int fflush(FILE *stream) { return fails(kind_write, ENOSPC) ? EOF : NEXT(fflush)(stream); }
int fsync(int file) { return fails(kind_fsync, EIO) ? -1 : NEXT(fsync)(file); }
int fdatasync(int file) { return fails(kind_fsync, EIO) ? -1 : NEXT(fdatasync)(file); }
int rename(const char *from, const char *to) { return fails(kind_rename, EIO) ? -1 : NEXT(rename)(from, to); }
