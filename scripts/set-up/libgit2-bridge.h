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
#include <git2/sys/config.h>
#include <git2/sys/errors.h>
#include <git2/sys/odb_backend.h>
#include <git2/sys/repository.h>
#include <string>

#include "libgit2-open.h"

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

// libgit2 1.9 writes past the end of a buffer when it makes the file name of a loose object from an
// id that is longer than the repository's own.
static inline bool bridge_is_of_kind(git_repository *repository, const git_oid *id) {
  return id->type == git_repository_oid_type(repository);
}

// git_commit_lookup inflates the whole object before it looks at its type. With the id of a large
// blob, or of a commit with a large message, anybody who may read could make the process spend a
// second and the object's size in memory; and from a loose object that ends too early, libgit2 1.9
// inflates for ever, with the repository locked. The header alone tells the type, at a cost that
// does not depend on the size. So no commit is handed out: the error says what the object is.
// lib/git/nodegit.ts knows its code for a commit and its text for another object.
static inline int bridge_commit_lookup(git_commit **, git_repository *repository,
                                       const git_oid *id) {
  if (!bridge_is_of_kind(repository, id)) {
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

// --- Repository.headForWorktree -----------------------------------------------------------------

// To hand a look-up to another thread takes more processor time than the look-up. So this one, of
// nodegit's functions of a repository and a text the one that has no other use here, looks up many
// ids at once: full ones in hexadecimal digits, with nothing between them. The error says in a
// letter for each what the object is; of what is unclear, Commit.lookup has the error.
// lib/git/nodegit.ts knows its text and the letters.
static const char BRIDGE_COMMIT = 'c', BRIDGE_OTHER = 'o', BRIDGE_NOTHING = '-', BRIDGE_UNCLEAR = '?';
static const char BRIDGE_KINDS[] = "the objects are: ";

static inline char bridge_kind(git_odb *odb, const git_oid *id) {
  size_t size = 0;
  git_object_t type = GIT_OBJECT_INVALID;
  if (!git_odb_exists_ext(odb, id, GIT_ODB_LOOKUP_NO_REFRESH)) return BRIDGE_NOTHING;
  if (git_odb_read_header(&size, &type, odb, id) != 0) return BRIDGE_UNCLEAR;
  return type == GIT_OBJECT_COMMIT ? BRIDGE_COMMIT : BRIDGE_OTHER;
}

// Looks into packs that have come since the opening for all that are missing together: to find
// these is to read a folder, however many there are.
static inline std::string bridge_kinds(git_odb *odb, git_oid_t type, const std::string &ids) {
  const size_t size = type == GIT_OID_SHA256 ? GIT_OID_SHA256_HEXSIZE : GIT_OID_SHA1_HEXSIZE;
  std::string kinds;
  bool is_fresh = false;
  for (size_t at = 0; at + size <= ids.size(); at += size) {
    git_oid id;
    if (git_oid_fromstr(&id, ids.substr(at, size).c_str(), type) != 0) {
      kinds += BRIDGE_UNCLEAR;
      continue;
    }
    char kind = bridge_kind(odb, &id);
    if (kind == BRIDGE_NOTHING && !is_fresh) {
      is_fresh = true;
      git_odb_refresh(odb);
      kind = bridge_kind(odb, &id);
    }
    kinds += kind;
  }
  return kinds;
}

// The one caller passes a text that it has allocated with malloc and never frees or looks at again.
static inline int bridge_look_up_all(git_reference **, git_repository *repository, const char *text) {
  const std::string ids(text);
  std::free(const_cast<char *>(text));
  git_odb *odb = nullptr;
  int error = git_repository_odb(&odb, repository);
  if (error) return error;
  const std::string kinds = bridge_kinds(odb, git_repository_oid_type(repository), ids);
  git_odb_free(odb);
  git_error_set_str(GIT_ERROR_INVALID, (BRIDGE_KINDS + kinds).c_str());
  return GIT_EEXISTS;
}
#define git_repository_head_for_worktree bridge_look_up_all

// --- Repository.openBare ------------------------------------------------------------------------

// Confirming a commit needs an object database, not a repository. So none of what else libgit2
// reads at an opening is read: included configs, config.worktree, the configuration of a user or a
// machine, grafts, refs, HEAD. As git does, the object format is taken from the repository's own
// config, without its includes; and what git knows no way to read is refused.

static const size_t BRIDGE_CONFIG_BYTES = 1 << 20;

// The config of a repository; empty where it has none, as for git.
static inline int bridge_read_config(std::string &text, const std::string &path) {
  int file = open_at_once(path.c_str(), O_RDONLY | O_CLOEXEC, 0);
  if (file < 0 && errno == ENOENT) return 0;
  ssize_t got = file < 0 ? -1 : 1;
  while (got > 0 && text.size() <= BRIDGE_CONFIG_BYTES) {
    char part[4096];
    do got = read(file, part, sizeof(part));
    while (got < 0 && errno == EINTR);
    if (got > 0) text.append(part, static_cast<size_t>(got));
  }
  if (got < 0) git_error_set(GIT_ERROR_OS, "cannot read %s", path.c_str());
  if (file >= 0) close(file);
  if (got < 0) return -1;
  if (text.size() <= BRIDGE_CONFIG_BYTES) return 0;
  git_error_set(GIT_ERROR_CONFIG, "%s is larger than 1 MB", path.c_str());
  return -1;
}

struct bridge_format {
  int32_t version = 0;
  git_oid_t type = GIT_OID_SHA1;
  std::string unknown_extension;
};

// The extensions that are known change how refs, missing objects, a second id for each object, kept
// objects or worktrees are stored: nothing that an object database is asked for.
static inline int bridge_read_entry(const git_config_entry *entry, void *payload) {
  static const char *const known[] = {
      "noop",       "objectformat", "worktreeconfig",     "preciousobjects",
      "refstorage", "partialclone", "compatobjectformat", "relativeworktrees"};
  bridge_format *format = static_cast<bridge_format *>(payload);
  const std::string name = entry->name, value = entry->value ? entry->value : "";
  if (name == "core.repositoryformatversion")
    return git_config_parse_int32(&format->version, value.c_str());
  if (name.compare(0, 11, "extensions.") != 0) return 0;
  bool is_known = false;
  for (const char *each : known) is_known = is_known || name.compare(11, std::string::npos, each) == 0;
  if (!is_known) format->unknown_extension = name;
  if (name != "extensions.objectformat") return 0;
  format->type = value == "sha256" ? GIT_OID_SHA256 : GIT_OID_SHA1;
  if (value == "sha256" || value == "sha1") return 0;
  git_error_set(GIT_ERROR_REPOSITORY, "unknown object format '%s'", value.c_str());
  return -1;
}

// By libgit2's own parser, from memory: what has no file to begin with follows no includes. All
// entries are gone through, as asking for one of them is what libgit2 1.9 frees the list for.
static inline int bridge_object_format(git_oid_t *type, const std::string &directory) {
  std::string text;
  int error = bridge_read_config(text, directory + "/config");
  if (error) return error;

  bridge_format format;
  git_config *config = nullptr;
  git_config_backend *backend = nullptr;
  error = git_config_new(&config);
  if (!error) error = git_config_backend_from_string(&backend, text.data(), text.size(), nullptr);
  if (!error) {
    error = git_config_add_backend(config, backend, GIT_CONFIG_LEVEL_LOCAL, nullptr, 0);
    if (error) backend->free(backend);
  }
  if (!error) error = git_config_foreach(config, bridge_read_entry, &format);
  git_config_free(config);
  if (error) return error;

  *type = format.type;
  if (format.version < 0 || format.version > 1) {
    git_error_set(GIT_ERROR_REPOSITORY, "unsupported repository version %d", format.version);
    return -1;
  }
  // In a repository of version 0, extensions mean nothing.
  if (format.version == 0 || format.unknown_extension.empty()) return 0;
  git_error_set(GIT_ERROR_REPOSITORY, "unsupported extension name %s",
                format.unknown_extension.c_str());
  return -1;
}

static inline bool bridge_is(mode_t kind, const std::string &path) {
  struct stat found;
  return stat(path.c_str(), &found) == 0 && (found.st_mode & S_IFMT) == kind;
}

// Its commits can be looked up until it is cleaned up, and nothing else works. In front of the
// path, which is absolute, may stand ids that are looked up with the opening, as it takes another
// thread anyway: Repository.getNamespace has the letters of Repository.headForWorktree then.
static inline int bridge_open(git_repository **out, const std::string &ids,
                              const std::string &directory) {
  const std::string objects = directory + "/objects";
  if (!bridge_is(S_IFREG, directory + "/HEAD") || !bridge_is(S_IFDIR, directory + "/refs") ||
      !bridge_is(S_IFDIR, objects)) {
    git_error_set(GIT_ERROR_REPOSITORY, "path is not a repository: %s", directory.c_str());
    return GIT_ENOTFOUND;
  }
  git_odb_options options = GIT_ODB_OPTIONS_INIT;
  int error = bridge_object_format(&options.oid_type, directory);
  if (error) return error;
  git_odb *odb = nullptr;
  error = git_odb_open(&odb, objects.c_str(), &options);
  if (!error) error = git_repository_wrap_odb(out, odb);
  if (!error && !ids.empty())
    error = git_repository_set_namespace(*out, bridge_kinds(odb, options.oid_type, ids).c_str());
  git_odb_free(odb);
  return error;
}

// The one caller passes a text that it has allocated with malloc and never frees or looks at again.
static inline int bridge_repository_open_bare(git_repository **out, const char *path) {
  const std::string text(path);
  std::free(const_cast<char *>(path));
  const size_t start = text.find('/');
  if (start == std::string::npos) return bridge_open(out, "", text);
  return bridge_open(out, text.substr(0, start), text.substr(start));
}
#define git_repository_open_bare bridge_repository_open_bare

// --- Repository.setNamespace --------------------------------------------------------------------

// Cleans up, as Repository.cleanup does, which hands it to another thread: that takes more
// processor time. The one caller passes a text that it has allocated with malloc and never frees or
// looks at again.
static inline int bridge_clean_up(git_repository *repository, const char *text) {
  std::free(const_cast<char *>(text));
  return git_repository__cleanup(repository);
}
#define git_repository_set_namespace bridge_clean_up
