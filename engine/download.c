/* SPDX-License-Identifier: MIT */
#include "engine/download.h"

#include "engine/authorities.h"
#include "engine/clock.h"
#include "engine/interrupt.h"
#include "engine/log.h"

#include <curl/curl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { CONNECT_TIMEOUT_S = 30, REDIRECTS_MAX = 10 };

struct transfer {
	const struct eng_download *what;
	struct eng_download_reply *reply;
	CURL *easy;
	uint64_t len;	   /* that the sink has got */
	bool left;	   /* the body is not wanted */
	struct sb_err err; /* of the sink, or of the limit */
};

static void free_easy(CURL **easy)
{
	curl_easy_cleanup(*easy);
}

static void free_headers(struct curl_slist **list)
{
	curl_slist_free_all(*list);
}

static void free_url(CURLU **url)
{
	curl_url_cleanup(*url);
}

static void free_text(char **text)
{
	curl_free(*text);
}

void eng_download_reply_release(struct eng_download_reply *reply)
{
	sb_buf_release(&reply->url);
}

const char *eng_url_text(const char *url, char text[ENG_URL_TEXT_SIZE])
{
	const char *scheme = strstr(url, "://");
	const char *host = scheme ? scheme + 3 : url;
	const char *at = memchr(host, '@', strcspn(host, "/?#"));

	/* A password may have an '@', too. */
	for (const char *next = at; next; next = memchr(at + 1, '@', strcspn(at + 1, "/?#")))
		at = next;
	snprintf(text, ENG_URL_TEXT_SIZE, "%.*s%s", (int)(host - url), url, at ? at + 1 : host);
	return text;
}

int eng_url_join(const char *base, const char *link, struct sb_buf *ret, struct sb_err *err)
{
	sb_auto(free_url) CURLU *url = curl_url();
	sb_auto(free_text) char *text = NULL;
	char shown[ENG_URL_TEXT_SIZE];

	if (!url)
		return sb_err_nomem(err);
	if (curl_url_set(url, CURLUPART_URL, base, 0) != CURLUE_OK ||
		curl_url_set(url, CURLUPART_URL, link, 0) != CURLUE_OK ||
		curl_url_set(url, CURLUPART_FRAGMENT, NULL, 0) != CURLUE_OK ||
		curl_url_get(url, CURLUPART_URL, &text, 0) != CURLUE_OK)
		return sb_err_set(err, SB_FAILED, "'%s' has a link that is no URL: '%.200s'",
			eng_url_text(base, shown), link);
	return sb_buf_adds(ret, text, err);
}

/* "Content-Range: bytes 0-99/1234" */
static size_t on_header(char *data, size_t one, size_t len, void *ctx)
{
	static const char name[] = "content-range:";
	struct transfer *transfer = ctx;
	char line[128];
	const char *slash;

	(void)one;
	snprintf(line, sizeof(line), "%.*s", (int)len, data);
	if (strncasecmp(line, name, strlen(name)) != 0)
		return len;
	slash = strchr(line, '/');
	if (slash && slash[1] >= '0' && slash[1] <= '9')
		transfer->reply->total = strtoumax(slash + 1, NULL, 10);
	return len;
}

static size_t on_body(char *data, size_t one, size_t len, void *ctx)
{
	struct transfer *transfer = ctx;
	const struct eng_download *what = transfer->what;
	long status = 0;

	(void)one;
	curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
	if (status != (what->range ? 206 : 200)) {
		transfer->left = true;
		return 0;
	}
	if (len > what->max - transfer->len) {
		sb_err_set(&transfer->err, SB_MISMATCH,
			"it is larger than the expected %" PRIu64 " bytes", what->max);
		return 0;
	}
	transfer->len += len;
	return what->sink(what->ctx, data, len, &transfer->err) < 0 ? 0 : len;
}

static int on_progress(
	void *ctx, curl_off_t down_total, curl_off_t down, curl_off_t up_total, curl_off_t up)
{
	(void)ctx, (void)down_total, (void)down, (void)up_total, (void)up;
	return eng_interrupted;
}

static bool is_passing(CURLcode code)
{
	static const CURLcode codes[] = {CURLE_PARTIAL_FILE, CURLE_GOT_NOTHING, CURLE_SEND_ERROR,
		CURLE_RECV_ERROR, CURLE_OPERATION_TIMEDOUT};

	for (size_t i = 0; i < SB_ARRAY_SIZE(codes); i++)
		if (codes[i] == code)
			return true;
	return false;
}

static int fail(
	const struct transfer *transfer, CURLcode code, const char *problem, struct sb_err *err)
{
	char url[ENG_URL_TEXT_SIZE];

	if (eng_interrupted)
		return sb_err_set(err, SB_INTERRUPTED, "interrupted");
	eng_url_text(transfer->what->url, url);
	if (transfer->err.code != SB_OK) {
		*err = transfer->err;
		return sb_err_wrap(err, "cannot download '%s'", url);
	}
	transfer->reply->passing = is_passing(code);
	if (code == CURLE_SSL_CACERT_BADFILE)
		problem = "no certificates to check the server by can be read; SSL_CERT_FILE "
			  "names a file of them";
	if (code == CURLE_OPERATION_TIMEDOUT)
		problem = "the server sends nothing any more; --timeout allows more";
	return sb_err_set(err, SB_FAILED, "cannot download '%s': %s", url,
		*problem ? problem : curl_easy_strerror(code));
}

static void set_options(CURL *easy, struct transfer *transfer, char *problem)
{
	const struct eng_download *what = transfer->what;
	const char *given = getenv("SSL_CERT_FILE");
	const char *ca = given && *given ? given : eng_authorities();

	curl_easy_setopt(easy, CURLOPT_URL, what->url);
	curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, problem);
	curl_easy_setopt(easy, CURLOPT_USERAGENT, "sbinject/" SB_RELEASE);
	curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR,
		strncasecmp(what->url, "https:", 6) ? "http,https" : "https");
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 1L);
	curl_easy_setopt(easy, CURLOPT_MAXREDIRS, (long)REDIRECTS_MAX);
	curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_TIMEOUT_S);
	curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, 1L);
	curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, (long)what->stall_s);
	curl_easy_setopt(easy, CURLOPT_RANGE, what->range);
	if (ca) {
		curl_easy_setopt(easy, CURLOPT_CAINFO, ca);
		/* Else the system's authorities would count besides. */
		curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
	}
	curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, on_progress);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, transfer);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, transfer);
}

static int set_accept(
	CURL *easy, const char *accept, struct curl_slist **headers, struct sb_err *err)
{
	char line[200];

	if (!accept)
		return 0;
	snprintf(line, sizeof(line), "Accept: %s", accept);
	*headers = curl_slist_append(NULL, line);
	if (!*headers)
		return sb_err_nomem(err);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, *headers);
	return 0;
}

static int take_reply(CURL *easy, struct eng_download_reply *reply, struct sb_err *err)
{
	const char *url = NULL;
	long status = 0;

	curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_getinfo(easy, CURLINFO_EFFECTIVE_URL, &url);
	reply->status = (int)status;
	sb_buf_reset(&reply->url);
	return sb_buf_adds(&reply->url, url ? url : "", err);
}

int eng_download(
	const struct eng_download *what, struct eng_download_reply *ret, struct sb_err *err)
{
	sb_auto(free_headers) struct curl_slist *headers = NULL;
	sb_auto(free_easy) CURL *easy = curl_easy_init();
	struct transfer transfer = {.what = what, .reply = ret, .easy = easy, .err = SB_ERR_INIT};
	char problem[CURL_ERROR_SIZE] = "", url[ENG_URL_TEXT_SIZE];
	int64_t start = sb_now_ms();
	CURLcode code;

	ret->passing = false;
	ret->total = 0;
	if (!easy)
		return sb_err_nomem(err);
	set_options(easy, &transfer, problem);
	if (set_accept(easy, what->accept, &headers, err) < 0)
		return -1;
	code = curl_easy_perform(easy);
	if (take_reply(easy, ret, err) < 0)
		return -1;
	sb_log(SB_TRACE_HTTP, "GET %s (%s) -> %d, %" PRIu64 " bytes, %d ms",
		eng_url_text(what->url, url), what->range ? what->range : "all", ret->status,
		transfer.len, (int)(sb_now_ms() - start));
	if (code != CURLE_OK && !(transfer.left && !eng_interrupted))
		return fail(&transfer, code, problem, err);
	return 0;
}
