// Bridges nodegit's generated C++ to a libgit2 that reads SHA-256 repositories.
//
// libgit2 1.9 knows SHA-256 only when everything is compiled with GIT_EXPERIMENTAL_SHA256, and
// that flag changes the signatures of a few functions. nodegit was generated against the usual
// ones. The set-up compiles both with the flag and puts this file in front of each of nodegit's
// sources (`-include`), so that no file of nodegit is changed. Only what nodegit calls is here.
#pragma once

#include <cstdlib>
#include <cstring>
#include <git2.h>
#include <git2/sys/errors.h>

// The flag takes these two away, as there is more than one length now. nodegit sizes buffers with
// them: the longest is right.
#define GIT_OID_HEXSZ GIT_OID_MAX_HEXSIZE
#define GIT_OID_RAWSZ GIT_OID_MAX_SIZE

// --- Functions that got one more argument -------------------------------------------------------

// nodegit hands over hexadecimal text alone: its length tells the kind of id.
static inline git_oid_t bridge_oid_type(const char *hex) {
  return std::strlen(hex) > GIT_OID_SHA1_HEXSIZE ? GIT_OID_SHA256 : GIT_OID_SHA1;
}

// Frees nothing, though most callers leak the copy that they pass (`strdup`): a few pass text that
// they own. Oid.fromString (below) is the way that does not leak.
static inline int git_oid_fromstr(git_oid *out, const char *hex) {
  return git_oid_fromstr(out, hex, bridge_oid_type(hex));
}

// The one caller, GitOid::Fromstrp (src/oid.cc), passes a copy that it has allocated with malloc
// and never frees or looks at again. It is freed here, or each id that is looked up would leak one.
static inline int git_oid_fromstrp(git_oid *out, const char *hex) {
  int result = git_oid_fromstrp(out, hex, bridge_oid_type(hex));
  std::free(const_cast<char *>(hex));
  return result;
}

// Absent options mean SHA-1, as in a libgit2 without the flag. (An object database that is reached
// through its repository has that repository's kind of id.)
static inline int git_odb_open(git_odb **out, const char *directory) {
  return git_odb_open(out, directory, nullptr);
}

static inline int git_index_open(git_index **out, const char *path) {
  return git_index_open(out, path, nullptr);
}

static inline int git_diff_from_buffer(git_diff **out, const char *content, size_t length) {
  return git_diff_from_buffer(out, content, length, nullptr);
}

static inline int git_odb_hashfile(git_oid *out, const char *path, git_object_t type) {
  return git_odb_hashfile(out, path, type, GIT_OID_SHA1);
}

static inline int git_object_rawcontent_is_valid(int *valid, const char *content, size_t length,
                                                 git_object_t type) {
  return git_object_rawcontent_is_valid(valid, content, length, type, GIT_OID_SHA1);
}

// --- Commit.lookup ------------------------------------------------------------------------------

// git_commit_lookup inflates the whole object before it looks at its type. With the id of a large
// blob, or of a commit with a large message, anybody who may read could make the process spend a
// second and the object's size in memory; and from a loose object that ends too early, libgit2 1.9
// inflates for ever, with the repository locked. The header alone tells the type, at a cost that
// does not depend on the size. So no commit is handed out: the error says what the object is.
// lib/git/nodegit.ts knows its code for a commit and its text for another object.
static inline int bridge_commit_lookup(git_commit **, git_repository *repository,
                                       const git_oid *id) {
  // libgit2 1.9 writes past the end of a buffer when it makes the file name of a loose object from
  // an id that is longer than the repository's own.
  if (id->type != git_repository_oid_type(repository)) {
    git_error_set_str(GIT_ERROR_ODB, "the id is of another kind than the repository's");
    return GIT_ENOTFOUND;
  }

  git_odb *odb = nullptr;
  size_t size = 0;
  git_object_t type = GIT_OBJECT_INVALID;
  int error = git_repository_odb(&odb, repository);
  if (!error) error = git_odb_read_header(&size, &type, odb, id);
  git_odb_free(odb);
  if (error) return error;
  if (type != GIT_OBJECT_COMMIT) {
    git_error_set_str(GIT_ERROR_INVALID, "the object is not a commit");
    return GIT_ENOTFOUND;
  }
  git_error_set_str(GIT_ERROR_INVALID, "the object is a commit");
  return GIT_EEXISTS;
}
#define git_commit_lookup bridge_commit_lookup

// --- Repository.openBare ------------------------------------------------------------------------

// libgit2 refuses a repository whose config names an extension that it does not know, and nodegit
// cannot pass it more names. These extensions change how refs, missing objects, a second id for
// each object or worktrees are stored. Confirming a commit needs the object database alone.
//
// Nor does it need the configuration of a user or a machine, which libgit2 would read at every
// opening: one that the service's user may not read would make every repository unreadable.
static inline int bridge_set_options() {
  static const char *names[] = {"refstorage", "partialclone", "compatobjectformat",
                                "relativeworktrees"};
  static const git_config_level_t levels[] = {GIT_CONFIG_LEVEL_PROGRAMDATA, GIT_CONFIG_LEVEL_SYSTEM,
                                              GIT_CONFIG_LEVEL_XDG, GIT_CONFIG_LEVEL_GLOBAL};
  for (git_config_level_t level : levels) git_libgit2_opts(GIT_OPT_SET_SEARCH_PATH, level, "");
  return git_libgit2_opts(GIT_OPT_SET_EXTENSIONS, names, sizeof(names) / sizeof(names[0]));
}

static inline int bridge_repository_open_bare(git_repository **out, const char *path) {
  // Once per process (C++ guards the initialisation), as these options are global to libgit2 and
  // not locked. Should one fail, the opening below says what is unknown or cannot be read.
  static const int result = bridge_set_options();
  (void)result;
  return git_repository_open_bare(out, path);
}
#define git_repository_open_bare bridge_repository_open_bare
