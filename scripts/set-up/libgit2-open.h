// Opens a file without ever waiting for it.
//
// To open a named pipe is to wait for whoever writes into it, and libgit2 opens whatever has the
// name that it looks for. The set-up puts this file into the one file of libgit2 that opens others
// (src/util/posix.c): what is no regular file is refused, whenever it has come there.
//
// It is C and C++.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

// A folder may be opened too: nothing waits for one.
static inline int open_may(const struct stat *found) {
  return S_ISREG(found->st_mode) || S_ISDIR(found->st_mode);
}

// As open(2); EINVAL for what is no regular file.
static inline int open_at_once(const char *path, int flags, mode_t mode) {
  struct stat found;
  int file;

  // Asked first, as to open a device may do something, and again of what was opened.
  if (stat(path, &found) == 0 && !open_may(&found)) {
    errno = EINVAL;
    return -1;
  }
  // The flag stays: some files of /proc are regular, and to read them is to wait as well.
  file = open(path, flags | O_NONBLOCK, mode);
  if (file >= 0 && (fstat(file, &found) != 0 || !open_may(&found))) {
    close(file);
    errno = EINVAL;
    return -1;
  }
  return file;
}
