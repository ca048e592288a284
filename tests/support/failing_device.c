/* Preloaded into a process: a device that fails, and a clock that is wrong.

   DEVICE_PATHS      parts of paths, each ended by ':'; the files that it is about
   DEVICE_FAILS      read, write or fsync: what fails there
   DEVICE_ERRNO      the number of the error
   DEVICE_AFTER      bytes that are read or written by the process before it fails
   CLOCK_OFFSET_S    seconds by which the clock is set forth, or back */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static long long left = -1;

static int is_meant(int file, const char *operation) {
    const char *fails = getenv("DEVICE_FAILS"), *paths = getenv("DEVICE_PATHS");
    if (!fails || !paths || strcmp(fails, operation)) return 0;
    char link[64], path[4096], all[8192];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size < 0) return 0;
    path[size] = 0;
    snprintf(all, sizeof all, "%s", paths);
    for (char *rest, *part = strtok_r(all, ":", &rest); part; part = strtok_r(NULL, ":", &rest))
        if (strstr(path, part)) return 1;
    return 0;
}

/* How many of some bytes pass before the failure; -1 where none does. */
static ssize_t passing(int file, const char *operation, size_t size) {
    if (!is_meant(file, operation)) return size;
    if (left < 0) left = getenv("DEVICE_AFTER") ? atoll(getenv("DEVICE_AFTER")) : 0;
    if (size && !left) { errno = atoi(getenv("DEVICE_ERRNO")); return -1; }
    ssize_t some = size < (size_t)left ? (ssize_t)size : (ssize_t)left;
    left -= some;
    return some;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define PASSING(operation) \
    ssize_t some = passing(file, operation, size); \
    if (some < 0) return -1;

ssize_t read(int file, void *data, size_t size) {
    PASSING("read") return REAL(read)(file, data, some);
}
ssize_t pread(int file, void *data, size_t size, off_t at) {
    PASSING("read") return REAL(pread)(file, data, some, at);
}
ssize_t pread64(int file, void *data, size_t size, off64_t at) {
    PASSING("read") return REAL(pread64)(file, data, some, at);
}
ssize_t write(int file, const void *data, size_t size) {
    PASSING("write") return REAL(write)(file, data, some);
}
ssize_t pwrite(int file, const void *data, size_t size, off_t at) {
    PASSING("write") return REAL(pwrite)(file, data, some, at);
}
ssize_t pwrite64(int file, const void *data, size_t size, off64_t at) {
    PASSING("write") return REAL(pwrite64)(file, data, some, at);
}
int fsync(int file) {
    if (is_meant(file, "fsync")) { errno = atoi(getenv("DEVICE_ERRNO")); return -1; }
    return REAL(fsync)(file);
}
int clock_gettime(clockid_t clock, struct timespec *now) {
    int status = REAL(clock_gettime)(clock, now);
    const char *offset = getenv("CLOCK_OFFSET_S");
    if (!status && clock == CLOCK_REALTIME && offset) now->tv_sec += atoll(offset);
    return status;
}
