/* SPDX-License-Identifier: MIT */
/*
 * adversary: a process inside a container that does its worst while sbinject works on it. Run as
 * "adversary ATTACK [DIRECTORY]" it repeats one attack until it is terminated, and says on stdout,
 * about once a second, how many rounds it has done: "rounds N". DIRECTORY is a path of the host,
 * for links that must lead nobody there. If something succeeds that must be impossible, it prints
 * "reached WHAT". Under any other name it is the impostor: what an attack has put where somebody
 * else's program is expected, and it leaves a mark when root runs it. "adversary answers" lists the
 * lies that it can be made to give.
 */
#ifndef T_ADVERSARY_ADVERSARY_H
#define T_ADVERSARY_ADVERSARY_H

#include <stdbool.h>
#include <stddef.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define PROGRAM_DIR "/var/tmp/.da7be258e003d428"
#define PROGRAM_NAME "inspect-sandbox-tools"
#define USER_HOME "/var/tmp/.sbinject-user"
#define SERVER_DIR PROGRAM_DIR "/.server"
#define SERVER_SOCKET "sandbox-tools.sock"
#define SOURCE "/adversary"			 /* where this program is */
#define DIGEST "/adversary.digest"		 /* the payload's, which is no secret */
#define ANSWER "/adversary.answer"		 /* how the impostor is to lie, if not at random */
#define ROOT_MARK "/impostor-was-run-as-root"	 /* only root can make it */
#define SERVED_MARK "/tmp/.adversary-was-served" /* somebody else's: he was asked to make it */

struct attack {
	const char *name;
	void (*round)(unsigned n); /* the n-th; returns soon */
};

/* One table for each file of attacks, ended by one without a name. */
extern const struct attack path_attacks[];
extern const struct attack service_attacks[];
extern const struct attack process_attacks[];
extern const struct attack root_attacks[];

/* The host's directory that was given. */
extern const char *host_dir;

/* ---- things.c: what can stand at a path ---- */

/* Removes what is at the path, a directory with what is in it, as far as that is permitted. */
void clear(const char *path);
/* Puts the n-th of many kinds of obstacles at a path where nothing is. */
void put_obstacle(const char *path, unsigned n);
/* Puts the n-th of the obstacles for readers: files of every evil content; without 'may_block', not
   those that a reader would wait for. */
void put_nonsense(const char *path, unsigned n, bool may_block);
/* A directory open to everybody. */
void put_dir(const char *path);
/* An executable copy of this program, in one step, over whatever is there. */
void put_impostor(const char *path);
/* Swaps two paths; moves the first if the second does not exist. */
void swap(const char *one, const char *two);

/* ---- impostor.c ---- */

/* The digest that a liar should claim: 64 digits. */
const char *known_digest(void);
/* Prints the names that can stand in ANSWER. */
void list_answers(void);
/* Poses as the program of that name; returns the exit status. */
int impostor(const char *name, const char *command);
/* Serves one connection to the socket as the n-th kind of liar. */
void lie_to(int fd, unsigned n);

#endif
