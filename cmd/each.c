/* SPDX-License-Identifier: MIT */
#include "cmd/cmd.h"

#include "cmd/out.h"
#include "engine/clock.h"
#include "payloads/lib/wire.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum {
	PROGRESS_AFTER_MS = 300,
	MAX_WORKERS = 256,
	STACK_SIZE = 1 << 20, /* else it is what "ulimit -s" allows, which may be little or much */
};

/* What the workers share; everything below `mutex` is guarded by it. */
struct work {
	const struct cmd_env *env;
	const struct cmd_session *session;
	cmd_each_fn fn;
	pthread_mutex_t mutex;
	pthread_cond_t changed, released;
	int next, done, failed;
	const char *busy[MAX_WORKERS]; /* ids of the containers that are being worked on, or NULL */
	enum sb_code failure; /* what they have in common; SB_SOME_FAILED when that is nothing */
	bool interrupted;
};

const char *cmd_where(const struct plan *plan, enum wire_placed placed, char *text, size_t size)
{
	const char *path = plan->conf->path;

	if (placed == PLACED_FILE)
		snprintf(text, size, " at %s", path);
	else if (placed == PLACED_LINK)
		snprintf(text, size, " through a link at %s", path);
	else
		snprintf(text, size,
			" in %s, but not at '%s', which is read-only: only 'sbinject call' and "
			"'sbinject pipe' reach it",
			plan->home_path, path);
	return text;
}

/* Since 0.3.263 they want a regular file. */
const char *cmd_adopted_by(enum wire_placed placed)
{
	static const char *const releases[] = {
		[PLACED_FILE] = "inspect_ai",
		[PLACED_LINK] = "inspect_ai up to 0.3.262",
		[PLACED_NONE] = "none",
	};

	return releases[placed];
}

int cmd_hint(const struct cmd_env *env, struct sb_err *err)
{
	if (env->bare && err->code == SB_NO_CONTAINER)
		sb_err_add(err, "; if you meant a command, see 'sbinject --help'");
	return -1;
}

static const char **find_busy(struct work *work, const char *id)
{
	for (size_t i = 0; i < MAX_WORKERS; i++)
		if (id ? work->busy[i] && !strcmp(work->busy[i], id) : !work->busy[i])
			return &work->busy[i];
	return NULL;
}

/* A container that is named twice is worked on by one after the other. Whether it had to wait. */
static bool claim(struct work *work, const char *id)
{
	bool waited = false;

	pthread_mutex_lock(&work->mutex);
	while (find_busy(work, id)) {
		pthread_cond_wait(&work->released, &work->mutex);
		waited = true;
	}
	*find_busy(work, NULL) = id;
	pthread_mutex_unlock(&work->mutex);
	return waited;
}

static void release(struct work *work, const char *id)
{
	pthread_mutex_lock(&work->mutex);
	*find_busy(work, id) = NULL;
	pthread_cond_broadcast(&work->released);
	pthread_mutex_unlock(&work->mutex);
}

static int work_on(struct work *work, struct plan *plan, const char *ref, struct cmd_result *ret,
	struct sb_err *err)
{
	int outcome;

	if (claim(work, plan->container.id))
		eng_begin_work(plan->client, cmd_timeout_ms(work->env));
	outcome = work->fn(work->env, plan, ref, ret, err);
	release(work, plan->container.id);
	return outcome;
}

static int run_one(struct work *work, struct eng_client **client, const char *ref,
	struct cmd_result *ret, struct sb_err *err)
{
	sb_auto(plan_release) struct plan plan = PLAN_INIT;
	struct plan_opts opts = cmd_plan_opts(work->env, work->session);
	int timeout_ms = cmd_timeout_ms(work->env);

	if (*client)
		eng_begin_work(*client, timeout_ms);
	else if (eng_open(&work->session->endpoint, timeout_ms, client, err) < 0)
		return -1;
	if (plan_make(*client, &opts, ref, &plan, err) < 0 ||
		work_on(work, &plan, ref, ret, err) < 0)
		return plan.container.id ? presence_explain(&plan, err) : cmd_hint(work->env, err);
	return ret->json ? 0 : sb_err_nomem(err);
}

static void finish_one(struct work *work, enum sb_code code)
{
	pthread_mutex_lock(&work->mutex);
	work->done++;
	if (code != SB_OK) {
		work->failure = !work->failed || work->failure == code ? code : SB_SOME_FAILED;
		work->failed++;
		work->interrupted |= code == SB_INTERRUPTED;
	}
	pthread_cond_signal(&work->changed);
	pthread_mutex_unlock(&work->mutex);
}

static const char *take_next(struct work *work)
{
	const char *ref = NULL;

	pthread_mutex_lock(&work->mutex);
	if (work->next < work->env->arg_count)
		ref = work->env->args[work->next++];
	pthread_mutex_unlock(&work->mutex);
	return ref;
}

static void *worker(void *ctx)
{
	sb_auto(eng_closep) struct eng_client *client = NULL;
	struct work *work = ctx;
	const char *ref;

	while ((ref = take_next(work))) {
		struct cmd_result result = {.line = ""};
		struct sb_err err = SB_ERR_INIT;

		if (run_one(work, &client, ref, &result, &err) < 0)
			/* The next one begins with a connection that nothing went wrong on. */
			eng_close(sb_steal(client));
		finish_one(work, err.code);
		if (err.code == SB_OK)
			out_result(result.line, result.json);
		else
			out_error(ref, &err);
		json_decref(result.json);
	}
	return NULL;
}

static void show_progress(const struct work *work, const char *doing, int64_t since)
{
	const struct cmd_env *env = work->env;
	int seconds = (int)((sb_now_ms() - since) / 1000);

	if (env->arg_count == 1)
		out_progress("%s %s ... %d s", doing, env->args[0], seconds);
	else
		out_progress("%s %d containers: %d done, %d failed, %d s", doing, env->arg_count,
			work->done, work->failed, seconds);
}

static void wait_all(struct work *work, const char *doing)
{
	int64_t start = sb_now_ms();

	pthread_mutex_lock(&work->mutex);
	while (work->done < work->env->arg_count) {
		struct timespec until;

		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += PROGRESS_AFTER_MS * 1000000L;
		until.tv_sec += until.tv_nsec / 1000000000L;
		until.tv_nsec %= 1000000000L;
		pthread_cond_timedwait(&work->changed, &work->mutex, &until);
		if (work->done < work->env->arg_count && sb_now_ms() - start >= PROGRESS_AFTER_MS)
			show_progress(work, doing, start);
	}
	pthread_mutex_unlock(&work->mutex);
}

/* Start up to --jobs workers; at least one, or an error. */
static int start_workers(struct work *work, pthread_t *threads, struct sb_err *err)
{
	int wanted = work->env->opts.jobs, count = 0;
	pthread_attr_t attr;

	if (wanted > work->env->arg_count)
		wanted = work->env->arg_count;
	if (pthread_attr_init(&attr) != 0)
		return sb_err_nomem(err);
	pthread_attr_setstacksize(&attr, STACK_SIZE);
	while (count < wanted && pthread_create(&threads[count], &attr, worker, work) == 0)
		count++;
	pthread_attr_destroy(&attr);
	return count ? count : sb_err_set(err, SB_FAILED, "cannot start a thread");
}

static enum sb_code exit_code(const struct work *work)
{
	if (work->interrupted)
		return SB_INTERRUPTED;
	return work->failed && work->failed < work->env->arg_count ? SB_SOME_FAILED : work->failure;
}

enum sb_code cmd_each(const struct cmd_env *env, const char *doing, cmd_each_fn fn)
{
	sb_auto(cmd_session_release) struct cmd_session session = CMD_SESSION_INIT;
	struct work work = {.env = env,
		.session = &session,
		.fn = fn,
		.mutex = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER,
		.released = PTHREAD_COND_INITIALIZER};
	struct sb_err err = SB_ERR_INIT;
	pthread_t threads[MAX_WORKERS];
	int count;

	if (cmd_session_find(env, &session, &err) < 0 ||
		(count = start_workers(&work, threads, &err)) < 0) {
		out_error(NULL, &err);
		return err.code;
	}
	wait_all(&work, doing);
	for (int i = 0; i < count; i++)
		pthread_join(threads[i], NULL);
	return exit_code(&work);
}
