/*
 * libclock.so, preloaded into a server, shifts the wall clock that it sees:
 * clock_gettime(CLOCK_REALTIME), gettimeofday and time. No other clock, and no other process.
 *
 * The offset comes from the file that LOCKBENCH_CLOCK names, which is mapped:
 *
 *   byte 0         which of the slots counts
 *   byte 8 + 8*s   slot s, of 128: the offset in ns, int64 of the machine's byte order
 *
 * Whoever sets it writes a slot that does not count, and then byte 0: no reader sees half an offset.
 *
 * The clock is read by a system call, not through the C library: whoever looks up the next
 * function of that name (dlsym) may need memory, and a server whose allocator asks for
 * the time while it starts then waits for itself.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

_Static_assert(sizeof(time_t) == 8 && sizeof(long) == 8, "a 64-bit system");

static const struct offsets { uint8_t slot, unused[7]; int64_t ns[128]; } *offsets;

__attribute__((constructor)) static void map_offsets(void) {
  const char *path = getenv("LOCKBENCH_CLOCK");
  int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (fd < 0) return;
  void *p = mmap(NULL, sizeof *offsets, PROT_READ, MAP_SHARED, fd, 0);
  if (p != MAP_FAILED) offsets = p;
  close(fd);
}

int clock_gettime(clockid_t clock, struct timespec *ts) {
  int r = syscall(SYS_clock_gettime, clock, ts);
  if (r != 0 || clock != CLOCK_REALTIME || offsets == NULL) return r;
  uint8_t slot = __atomic_load_n(&offsets->slot, __ATOMIC_ACQUIRE);
  int64_t off = __atomic_load_n(&offsets->ns[slot % 128], __ATOMIC_RELAXED);
  int64_t ns = ts->tv_nsec + off % 1000000000;
  ts->tv_sec += off / 1000000000 + (ns >= 1000000000) - (ns < 0);
  ts->tv_nsec = ns < 0 ? ns + 1000000000 : ns % 1000000000;
  return 0;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone) {
  struct timespec ts;
  (void)zone; /* obsolete since 4.3BSD */
  clock_gettime(CLOCK_REALTIME, &ts);
  tv->tv_sec = ts.tv_sec;
  tv->tv_usec = ts.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *t) {
  struct timespec ts;
  clock_gettime(CLOCK_REALTIME, &ts);
  if (t) *t = ts.tv_sec;
  return ts.tv_sec;
}
