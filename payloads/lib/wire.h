/* SPDX-License-Identifier: MIT */
/*
 * What sbinject and the program in the container say to each other, and where they put what both
 * look for. Each word is here once, and both programs are compiled with it. Constants only.
 *
 * sbinject starts the program with one of the commands, writes a question, one line of JSON, and
 * reads a receipt, another one. Members that a receipt does not need are left out.
 */
#ifndef PAYLOADS_LIB_WIRE_H
#define PAYLOADS_LIB_WIRE_H

#define WIRE_VERSION 1

/* For a list X(NAME, "word")…: the names, for an enum, and a table of the words by name. */
#define WIRE_NAME(name, word) name,
#define WIRE_WORD(name, word) [name] = word,

/* ---- names in the container ---- */

#define WIRE_HOME_NAME ".sbinject"	     /* root's home, in a directory that sbinject chooses */
#define WIRE_USER_HOME_NAME ".sbinject-user" /* a user's, beside the directory of the program */
#define WIRE_CURRENT_NAME "current"	     /* in a home: link to the version in use */
#define WIRE_USER_NAME "user"		     /* in root's home: what that user runs */
#define WIRE_SERVER_NAME ".server"	     /* beside a program: where its server is */
#define WIRE_KEPT_PREFIX "run-"		     /* and 64 hex digits */
#define WIRE_STAGING_PREFIX ".sbinject-tree-" /* and 32 hex digits: a tree not yet whole */
#define WIRE_ASIDE_MARK ".sbinject-aside-"    /* and 8 hex digits, behind a name */

/* ---- commands ---- */

#define WIRE_INSTALL "install"
#define WIRE_UNINSTALL "uninstall"
#define WIRE_STATUS "status"
#define WIRE_GRAFT "graft"
#define WIRE_UNPACK "unpack"
#define WIRE_PIPE "pipe"
#define WIRE_GREET "version" /* also the first request that sbinject sends to a pipe */

/* ---- argument of a pipe that runs commands: one JSON object; see run/world.h ---- */

#define WIRE_RUN_CWD "cwd"		/* path: where they begin */
#define WIRE_RUN_USER "user"		/* who runs them; absent: as the pipe */
#define WIRE_RUN_REFUSED "refused"	/* why nobody can by default, in words */
#define WIRE_RUN_DEFAULT "only_default" /* what other users get is not known */
#define WIRE_RUN_GROUPS "groups"	/* of every user, by name or number */
#define WIRE_RUN_LISTS_GID "lists_gid"	/* the group of a user is one of these, too */
#define WIRE_RUN_HAS_HOME "has_home"	/* does its environment set HOME? absent: not known */
#define WIRE_RUN_SETTLE "settle_ms"	/* how long to hear what they leave behind */

/* ---- members of a question ---- */

#define WIRE_NONCE "nonce"	 /* 32 hex digits; comes back with the receipt */
#define WIRE_HOME "home"	 /* path */
#define WIRE_BESIDE "beside"	 /* true: the program was delivered beside the home, not into it */
#define WIRE_SHA256 "sha256"	 /* install, graft: digest of the program */
#define WIRE_STAGED "staged"	 /* install, graft: its name in the home as it was delivered */
#define WIRE_KEEP "keep"	 /* install: its further name there */
#define WIRE_PATH "path"	 /* where clients look for it */
#define WIRE_LINKS "links"	 /* paths */
#define WIRE_CWD "cwd"		 /* install: where the service is started */
#define WIRE_START "start"	 /* install: arguments to start it with */
#define WIRE_NEEDS "needs"	 /* install: what the client runs (needs.h), 32 at most */
#define WIRE_OWN_HOME "own_home" /* install: the program makes the home */
#define WIRE_TIMEOUT "timeout_ms"
#define WIRE_WHEN "when"       /* graft: one of WIRE_WHENS */
#define WIRE_DISCARD "discard" /* uninstall: only these names in the home, and what was "born" */
#define WIRE_BORN "born"       /* uninstall: nonce of the run that may have made it from nothing */
#define WIRE_USER_GONE "user_gone"	 /* uninstall: the user's service has been removed */
#define WIRE_SERVICE_ONLY "service_only" /* uninstall: trees that are no service stay */
#define WIRE_NAME_OF "name"		 /* unpack: what the tree is called */
#define WIRE_TREE "tree"	 /* unpack: its digest (treesum.h); WIRE_PATH is its directory */
#define WIRE_LAUNCHER "launcher" /* unpack: a path in it, of a program */
#define WIRE_SERVICE "service"	 /* unpack: true: it is the service; WIRE_START its arguments */

/* ---- members of a tree's stream, which follows a question of `unpack` ---- */

/* One line of JSON for each thing, a directory before what is in it, and after a file's line its
   content; in the end, {"end": true}. */
#define WIRE_DIR "dir"	 /* path */
#define WIRE_FILE "file" /* path */
#define WIRE_SIZE "size"
#define WIRE_EXEC "exec" /* true: it is executable */
#define WIRE_LINK "link" /* path */
#define WIRE_TO "to"
#define WIRE_AGAIN "again" /* path of a file that is the same as another one before */
#define WIRE_OF "of"
#define WIRE_END "end"

/* On what condition `graft` brings the program. */
#define WIRE_WHENS(X)                                    \
	X(WHEN_ALWAYS, "always")                         \
	X(WHEN_HOME, "home")	   /* there is a home */ \
	X(WHEN_CURRENT, "current") /* the program is the version in use there */
enum wire_when { WIRE_WHENS(WIRE_NAME) };

/* ---- members of a receipt ---- */

#define WIRE_RECEIPT "sbinject" /* WIRE_VERSION; shows that it is a receipt; and WIRE_NONCE */
#define WIRE_OK "ok"
#define WIRE_CODE "code" /* of a failure: one of WIRE_FAILURES */
#define WIRE_WHAT "what" /* the same for people */

/* of install; and WIRE_PATH */
#define WIRE_WAS "was"		 /* one of WIRE_WERE; uninstall: WAS_USERS or nothing */
#define WIRE_PLACED "placed"	 /* one of WIRE_PLACES; also of status */
#define WIRE_STARTED "started"	 /* by this run */
#define WIRE_MOVED_ASIDE "aside" /* paths */
#define WIRE_MISSING "missing"	 /* places in the list of WIRE_NEEDS, from 0 */

/* of unpack: a first one, with this alone, where it wants the stream; else WIRE_WAS, WIRE_TREE */
#define WIRE_SEND "send"
#define WIRE_FILES "files"
#define WIRE_BYTES "bytes"

/* of the service: of install, and of status in WIRE_SERVER; and WIRE_SHA256 */
#define WIRE_RELEASE "release"
#define WIRE_WIRE "wire"
#define WIRE_PID "pid"
#define WIRE_UID "uid"
#define WIRE_UPTIME "uptime_ms"
#define WIRE_CAN_SWITCH "can_switch_user"

/* of status */
#define WIRE_PATH_OK "path_ok"
#define WIRE_SERVER "server"
#define WIRE_RUNNING "running"
#define WIRE_TREES "trees" /* each: WIRE_PATH, WIRE_NAME_OF, WIRE_SERVICE, WIRE_TREE or null */

/* of uninstall */
#define WIRE_REMOVED "removed" /* number of things */
#define WIRE_STANDS "stands"   /* true: an installation is left, which another run has made */

/* of graft */
#define WIRE_GRAFTED "grafted"
#define WIRE_CURRENT "current" /* digest of the version in use */

/* What was there before. */
#define WIRE_WERE(X)                                                                             \
	X(WAS_ABSENT, "absent")                                                                  \
	X(WAS_SAME, "same")                                                                      \
	X(WAS_OTHER, "other") /* another version, or that of another user */                     \
	X(WAS_USERS, "user")  /* root did nothing: there is a service of the container's user */ \
	X(WAS_KIND, "kind")   /* nothing was done: the service there is a tree, or is none */
enum wire_was { WIRE_WERE(WIRE_NAME) };

/* What stands at the path where clients look. */
#define WIRE_PLACES(X)                                                               \
	X(PLACED_FILE, "file")                                                       \
	X(PLACED_LINK, "link") /* files there cannot be executed, or have no room */ \
	X(PLACED_NONE, "none") /* it is read-only */
enum wire_placed { WIRE_PLACES(WIRE_NAME) };

/* Why it failed. */
#define WIRE_FAILURES(X)                                                           \
	X(FAIL_INTERNAL, "internal") /* for no other reason here */                \
	X(FAIL_READONLY, "readonly")                                               \
	X(FAIL_NOEXEC, "noexec")                                                   \
	X(FAIL_NOSPACE, "nospace")                                                 \
	X(FAIL_LIMIT, "limit")	     /* of processes or memory */                  \
	X(FAIL_OCCUPIED, "occupied") /* something that is not ours has the name */ \
	X(FAIL_DENIED, "denied")                                                   \
	X(FAIL_DIGEST, "digest") /* it is not the program that was asked for */    \
	X(FAIL_START, "start")	 /* the service did not start */                   \
	X(FAIL_TIMEOUT, "timeout")                                                 \
	X(FAIL_BUSY, "busy")
enum wire_failure { WIRE_FAILURES(WIRE_NAME) };

#endif
