#!/bin/bash
# SPDX-License-Identifier: MIT
# installed.sh VENV: the wheel, in an environment with nothing but inspect_ai: no other step is
# needed for an evaluation. TAP points. Works in the current directory; the docker command and its
# engine come from the environment, and no sbinject does.
set -u

bin=$1/bin
unset SBINJECT
export PATH=$bin:$PATH

# point NAME COMMAND...
point() {
  local name=$1
  shift
  if "$@" >said 2>&1; then
    echo "ok - wheel: $name"
  else
    echo "not ok - wheel: $name"
    tail -n 20 said | sed 's/^/#   /'
  fi
}

# A model that calls a tool, and ends when it has the answer.
cat >task.py <<'END'
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.solver import solver
from inspect_ai.tool import text_editor


@solver
def view():
    async def solve(state, generate):
        assert "root:" in str(await text_editor()("view", "/etc/passwd"))
        return state

    return solve


@task
def one():
    return Task(dataset=[Sample(input="go")], solver=view())
END
cat >compose.yaml <<'END'
services:
  default: {image: "sbinject-test/bookworm:1", command: [/pause], network_mode: none, x-local: true}
END

evaluate() {
  python -m inspect_ai eval task.py --model mockllm/model --sandbox sbinject --display plain \
    --log-dir logs --log-format json --no-fail-on-error >out 2>&1 || { cat out; return 1; }
  python - logs/*.json <<'END'
import json, sys

log = json.load(open(sys.argv[1]))
sample = log["samples"][0]
told = [e["data"] for e in sample["events"] if e["event"] == "info"]
assert log["status"] == "success" and not sample.get("error"), log.get("error") or sample["error"]
assert told[0]["containers"]["default"]["release"], told
END
}

point "what is installed fits together" python -m pip check
point "the command is there, and is the one inside" sbinject --version
point "an evaluation with --sandbox sbinject" evaluate
point "the doctor says that all is well" python -m inspect_sbinject doctor
