/* SPDX-License-Identifier: MIT */
/* model_proxy: the host's model for programs in the container. */
#include "payloads/sandbox-tools/cli.h"

#include <stdlib.h>

#include "payloads/lib/sys.h"
#include "payloads/sandbox-tools/model_proxy/run.h"

static const char *variable(const char *name)
{
	const char *value = getenv(name);

	return value && *value ? value : NULL;
}

static int run(const struct cli *cli)
{
	struct fail fail = FAIL_INIT;

	(void)cli;
	sys_close_from(3, -1);
	if (proxy_run(variable("BRIDGE_MODEL_SERVICE_PORT"),
		    variable("BRIDGE_MODEL_SERVICE_INSTANCE"), &fail) < 0)
		return cli_complain(&fail);
	return 1;
}

const struct cli_command cli_model_proxy = {
	"model_proxy",
	"",
	"pass requests for a model on to the host, over HTTP",
	0,
	run,
};
