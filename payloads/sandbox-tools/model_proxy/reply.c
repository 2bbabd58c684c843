/* SPDX-License-Identifier: MIT */
/* Heads of replies. */
#include "payloads/sandbox-tools/model_proxy/reply.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "payloads/lib/base.h"

#define HEAD_MAX 512

static const struct phrase {
	int status;
	const char *text;
} phrases[] = {
	{200, "OK"},
	{201, "Created"},
	{202, "Accepted"},
	{203, "Non-Authoritative Information"},
	{204, "No Content"},
	{205, "Reset Content"},
	{206, "Partial Content"},
	{300, "Multiple Choices"},
	{301, "Moved Permanently"},
	{302, "Found"},
	{303, "See Other"},
	{304, "Not Modified"},
	{307, "Temporary Redirect"},
	{308, "Permanent Redirect"},
	{400, "Bad Request"},
	{401, "Unauthorized"},
	{402, "Payment Required"},
	{403, "Forbidden"},
	{404, "Not Found"},
	{405, "Method Not Allowed"},
	{406, "Not Acceptable"},
	{407, "Proxy Authentication Required"},
	{408, "Request Timeout"},
	{409, "Conflict"},
	{410, "Gone"},
	{411, "Length Required"},
	{412, "Precondition Failed"},
	{413, "Request Entity Too Large"},
	{414, "Request-URI Too Long"},
	{415, "Unsupported Media Type"},
	{416, "Requested Range Not Satisfiable"},
	{417, "Expectation Failed"},
	{418, "I'm a Teapot"},
	{421, "Misdirected Request"},
	{422, "Unprocessable Entity"},
	{423, "Locked"},
	{424, "Failed Dependency"},
	{425, "Too Early"},
	{426, "Upgrade Required"},
	{428, "Precondition Required"},
	{429, "Too Many Requests"},
	{431, "Request Header Fields Too Large"},
	{451, "Unavailable For Legal Reasons"},
	{500, "Internal Server Error"},
	{501, "Not Implemented"},
	{502, "Bad Gateway"},
	{503, "Service Unavailable"},
	{504, "Gateway Timeout"},
	{505, "HTTP Version Not Supported"},
	{506, "Variant Also Negotiates"},
	{507, "Insufficient Storage"},
	{508, "Loop Detected"},
	{510, "Not Extended"},
	{511, "Network Authentication Required"},
};

static const char *phrase_of(int status)
{
	for (size_t i = 0; i < ARRAY_SIZE(phrases); i++)
		if (phrases[i].status == status)
			return phrases[i].text;
	if (status >= 400 && status < 500)
		return "Client Error";
	return status >= 500 && status < 600 ? "Server Error" : "";
}

/* The status line and what every reply has. */
static int add_start(struct buf *out, int status)
{
	static const char days[] = "SunMonTueWedThuFriSat";
	static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
	char text[HEAD_MAX];
	time_t now = time(NULL);
	struct tm tm;
	int len;

	gmtime_r(&now, &tm);
	/* strftime(3) would bring locales with it */
	len = snprintf(text, sizeof(text),
		"HTTP/1.1 %d %s\r\nDate: %.3s, %02d %.3s %d %02d:%02d:%02d GMT\r\n"
		"Server: asyncio-proxy\r\n",
		status, phrase_of(status), days + 3 * (size_t)tm.tm_wday, tm.tm_mday,
		months + 3 * (size_t)tm.tm_mon, 1900 + tm.tm_year, tm.tm_hour, tm.tm_min,
		tm.tm_sec);
	return buf_add(out, text, (size_t)len);
}

int reply_add_head(struct buf *out, const struct reply *reply, size_t len)
{
	char text[HEAD_MAX];
	int r = add_start(out, reply->status);
	int n = snprintf(text, sizeof(text),
		"Content-Type: %s\r\nContent-Length: %zu\r\nConnection: close\r\n%s\r\n",
		reply->type ? reply->type : "application/json; charset=utf-8", len,
		reply->extra ? reply->extra : "");

	if (n < 0 || (size_t)n >= sizeof(text))
		return -EMSGSIZE;
	return r < 0 ? r : buf_add(out, text, (size_t)n);
}

int reply_add_stream_head(struct buf *out)
{
	int r = add_start(out, 200);

	if (r < 0)
		return r;
	return buf_add_str(out, "Cache-Control: no-cache\r\n"
				"Connection: keep-alive\r\n"
				"Content-Type: text/event-stream; charset=utf-8\r\n"
				"Transfer-Encoding: chunked\r\n\r\n");
}
