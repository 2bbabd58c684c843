/* SPDX-License-Identifier: MIT */
/* view: a file, or some lines of it. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "payloads/lib/io.h"
#include "payloads/sandbox-tools/text_editor/commands.h"
#include "payloads/sandbox-tools/text_editor/file.h"
#include "payloads/sandbox-tools/text_editor/show.h"

#define BLOCK 65536

/* Feeds the whole file, block by block. */
static int scan_file(struct scan *scan, const struct editor_path *path)
{
	int fd = file_open(path);
	char *block = malloc(BLOCK);
	ssize_t n = fd < 0 ? fd : block ? 1 : -ENOMEM;

	while (n > 0) {
		n = io_read(fd, block, BLOCK);
		if (n > 0) {
			int r = scan_feed(scan, block, (size_t)n);

			n = r < 0 ? r : n;
		}
	}
	if (n == 0)
		n = scan_end(scan);
	free(block);
	io_close(&fd);
	return (int)n;
}

static void fail_range(struct editor_reply *reply, const struct editor_request *req)
{
	reply_fail(reply, "Invalid `view_range`: [");
	reply_add_number(reply, req->range[0]);
	reply_add(reply, ", ");
	reply_add_number(reply, req->range[1]);
	reply_add(reply, "]. ");
}

/* Are these lines the file has? Known only when it has been read. */
static bool check_range(struct editor_reply *reply, const struct editor_request *req, int64_t lines)
{
	int64_t first = req->range[0], last = req->range[1];

	if (first < 1 || first > lines) {
		fail_range(reply, req);
		reply_add(reply, "Its first element `");
		reply_add_number(reply, first);
		reply_add(reply, "` should be within the range of lines of the file: [1, ");
		reply_add_number(reply, lines);
		reply_add(reply, "]");
		return false;
	}
	if (last <= lines && last != -1 && last < first) {
		fail_range(reply, req);
		reply_add(reply, "Its second element `");
		reply_add_number(reply, last);
		reply_add(reply, "` should be larger or equal than its first `");
		reply_add_number(reply, first);
		reply_add(reply, "`");
		return false;
	}
	return true;
}

void fail_reading(struct editor_reply *reply, int error, const struct scan *scan,
	const struct editor_path *path)
{
	if (error != -EILSEQ) {
		reply_fail_io(reply, error, path->name, "read");
		return;
	}
	reply_fail(reply, "Ran into ");
	reply_add(reply, scan->why);
	reply_add(reply, " while trying to read ");
	reply_add_escaped(reply, text_of(path->name));
}

void view_file(const struct editor_request *req, const struct editor_path *path,
	struct editor_reply *reply)
{
	struct scan scan = SCAN_INIT(1, SHOW_TO_END);
	int r;

	if (req->range_len == 2) {
		scan.first = req->range[0];
		scan.last = req->range[1] < 0 ? SHOW_TO_END : req->range[1];
	}
	r = scan_file(&scan, path);
	if (r < 0)
		fail_reading(reply, r, &scan, path);
	else if (req->range_len > 0 && req->range_len != 2)
		reply_fail(reply, "Invalid `view_range`. It should be a list of two integers.");
	else if (req->range_len == 0 || check_range(reply, req, scan.lines))
		show_scan(reply, &scan, "", path->name);
	scan_release(&scan);
}
