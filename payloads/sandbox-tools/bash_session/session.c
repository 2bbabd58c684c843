/* SPDX-License-Identifier: MIT */
/* Who waits for which output, and until when. */
#include "payloads/sandbox-tools/bash_session/session.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "payloads/lib/base.h"
#include "payloads/lib/quote.h"
#include "payloads/sandbox-tools/bash_session/shell.h"
#include "payloads/sandbox-tools/bash_session/terminal.h"

#define INTERRUPT '\003'

/* ---- answers ---- */

static void unlink_reader(struct bash_reader *reader)
{
	struct bash_reader **link = &reader->session->readers;

	while (*link != reader)
		link = &(*link)->next;
	*link = reader->next;
	loop_clear_timer(reader->session->host->loop, &reader->timer);
}

/* What a reader gets. */
struct view {
	struct output *output;
	size_t limit;
};

static int write_view(struct buf *out, const void *arg)
{
	const struct view *view = arg;
	struct buf text = BUF_INIT(OUTPUT_LIMIT_MAX);
	int r = output_show(view->output, view->limit, &text);

	if (text.len > 0)
		text.len = terminal_strip(text.data, text.len);
	if (r == 0)
		r = quote_add(out, text.data, text.len);
	buf_release(&text);
	return r;
}

/* Answers with all there is and frees the reader. For a caller who has gone it stays for the next.
 */
static void answer(struct bash_reader *reader)
{
	struct output *output = &reader->session->shell->output;
	struct rpc_call *call = reader->call;
	struct view view = {output, reader->limit};

	unlink_reader(reader);
	free(reader);
	if (call->abandoned)
		rpc_call_error(call, RPC_HANDLER_ERROR, "CancelledError()", NULL);
	else if (rpc_call_result_text(call, write_view, &view) == 0)
		output_forget(output);
}

static void on_due(struct loop_timer *timer)
{
	answer(container_of(timer, struct bash_reader, timer));
}

/* ---- the clock ---- */

static void set_clock(struct bash_reader *reader, int ms)
{
	loop_set_timer(reader->session->host->loop, &reader->timer, ms);
}

/* Its input has been taken: now it waits for output. */
static void start_clock(struct bash_reader *reader)
{
	const struct output *output = &reader->session->shell->output;

	reader->started = true;
	set_clock(reader, output_is_empty(output) ? reader->wait_ms : reader->idle_ms);
}

static void heard(void *owner)
{
	struct bash_session *session = owner;
	bool burst = output_is_burst(&session->shell->output);
	struct bash_reader *first = NULL, *next;

	for (struct bash_reader *reader = session->readers; reader; reader = next) {
		next = reader->next;
		if (reader->call->abandoned) {
			answer(reader);
			continue;
		}
		if (!reader->started) {
			reader->burst = burst;
			continue;
		}
		set_clock(reader, reader->idle_ms);
		if (burst && !first)
			first = reader;
	}
	if (first)
		answer(first);
}

static void accepted(void *owner)
{
	struct bash_session *session = owner;
	struct bash_reader *next;

	for (struct bash_reader *reader = session->readers; reader; reader = next) {
		next = reader->next;
		if (reader->started || session->shell->taken < reader->input_end)
			continue;
		start_clock(reader);
		if (reader->burst && output_is_burst(&session->shell->output))
			answer(reader);
	}
}

/* ---- interactions ---- */

static void add_reader(struct bash_session *session, struct bash_reader *reader)
{
	struct bash_reader **link = &session->readers;

	while (*link)
		link = &(*link)->next;
	*link = reader;
}

static void refuse_input(struct rpc_call *call, int error)
{
	if (error == -EMSGSIZE)
		rpc_call_error(call, RPC_TOOL_FAILURE,
			"The shell does not read its input; too much is waiting to be read.", NULL);
	else
		rpc_call_error(call, RPC_HANDLER_ERROR, "MemoryError()", NULL);
}

void bash_session_interact(
	struct bash_session *session, struct rpc_call *call, const struct bash_request *request)
{
	struct bash_reader *reader = calloc(1, sizeof(*reader));
	struct shell *shell = session->shell;
	const char *input = request->input;
	size_t len = request->input_len;
	int r = reader ? 0 : -ENOMEM;

	output_set_limit(&shell->output, request->limit);
	if (r == 0 && len > 0 && *input == INTERRUPT && shell_interrupt(shell)) {
		input++;
		len--;
	}
	if (r == 0 && len > 0)
		r = shell_tell(shell, input, len);
	if (r < 0) {
		free(reader);
		refuse_input(call, r);
		return;
	}
	*reader = (struct bash_reader){.session = session,
		.call = call,
		.timer = {.due = on_due},
		.wait_ms = request->wait_ms,
		.idle_ms = request->idle_ms,
		.limit = request->limit,
		.input_end = shell->queued};
	add_reader(session, reader);
	/* a shell that does not read is not waited for longer than one that says nothing */
	set_clock(reader, reader->wait_ms);
	accepted(session);
}

/* ---- life ---- */

static struct shell *new_shell(struct bash_session *session, struct fail *fail)
{
	struct shell *shell = shell_new(session->host, session->user, fail);

	if (shell) {
		shell->owner = session;
		shell->heard = heard;
		shell->accepted = accepted;
	}
	return shell;
}

int bash_session_start(struct bash_session *session, struct fail *fail)
{
	session->shell = new_shell(session, fail);
	return session->shell ? 0 : -1;
}

static void answer_all(struct bash_session *session)
{
	while (session->readers)
		answer(session->readers);
}

int bash_session_restart(struct bash_session *session, struct fail *fail)
{
	struct shell *old = session->shell, *shell = new_shell(session, fail);

	if (!shell)
		return -1;
	answer_all(session);
	session->shell = shell;
	shell_end(old);
	return 0;
}

void bash_session_stop(struct bash_session *session)
{
	answer_all(session);
	/* an interactive shell ignores the TERM that follows */
	shell_hang_up(session->shell);
}

void bash_session_close(struct bash_session *session)
{
	if (session->shell) {
		answer_all(session);
		shell_free(session->shell);
	}
	free(session->user);
}
