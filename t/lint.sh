#!/bin/bash
# SPDX-License-Identifier: MIT
# lint.sh: what a compiler does not say: layering, where foreign libraries are known, headers that
# stand alone, length and complexity of functions, banned calls, formatting; and gcc, clang,
# cppcheck, clang-tidy and shellcheck without a word. One TAP point for each; as many at a time as
# there are cores.
set -u
cd "$(dirname "$0")/.." || exit 1
# shellcheck source=t/tiers.sh
. t/tiers.sh
# shellcheck source=t/engines/paths.sh
. t/engines/paths.sh
points=0 failures=0 names=()
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
# The two slowest have nothing to say again of what they have seen.
memory=$SBINJECT_CACHE/lint
mkdir -p "$memory"
find "$memory" -type f -mtime +30 -delete

# check NAME COMMAND...: a point that fails if the command says anything.
check() {
  names+=("$1")
  while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do wait -n; done
  {
    local began=$SECONDS
    "${@:2}" >"$out/${#names[@]}" 2>&1
    took "$((SECONDS - began))" "lint: $1"
  } &
}

# show NAME FILE
show() {
  points=$((points + 1))
  if [ ! -s "$2" ]; then
    printf 'ok %d - %s\n' "$points" "$1"
  else
    failures=$((failures + 1))
    printf 'not ok %d - %s\n' "$points" "$1"
    head -n 40 "$2" | sed 's/^/#   /'
  fi
}

mapfile -t host < <(ls engine/*.c recon/*.c conf/*.c payloads/*.c cmd/*.c)
mapfile -t inside < <(find payloads/lib payloads/sandbox-tools -name '*.c')
mapfile -t tests < <(ls t/*/*.c)
mapfile -t headers < <(find engine recon conf payloads cmd -name '*.h')
mapfile -t scripts < <(find engine conf cmd t payloads .ci -type f \( -name '*.sh' -o -path '.ci/run' \))
warn=(-std=gnu11 -D_GNU_SOURCE -I. -Ibuild/gen '-DSB_RELEASE=__FILE__' '-DRELEASE=__FILE__' -Wall -Wextra
  -Wshadow -Wvla -Wundef -Wformat=2 -Wpointer-arith -Wwrite-strings -Wstrict-prototypes
  -Wmissing-prototypes -Wold-style-definition -Werror -O2)
mapfile -t flags < <(pkg-config --cflags libcurl jansson libarchive yaml-0.1 | tr ' ' '\n' | sed '/^$/d')

# Which directory may include which: cmd > payloads > recon, conf > engine; and in the container
# tools > server > rpc, child > lib, install > server, and model_proxy > lib. A folder without a line
# below is a tool: nobody includes it, and tools.h lists it. The words that both programs use (payloads/lib/wire.h)
# may be known everywhere: constants only.
upward() {
  {
    grep -nE '^#include "(recon|conf|payloads|cmd)/' engine/*.[ch]
    grep -nE '^#include "(conf|payloads|cmd)/' recon/*.[ch]
    grep -nE '^#include "(recon|payloads|cmd)/' conf/*.[ch]
    grep -nE '^#include "cmd/' payloads/*.[ch]
    grep -rnE '^#include "(engine|recon|conf|cmd)/' payloads/lib payloads/sandbox-tools
  } | grep -v '"payloads/lib/wire\.h"'
  grep -rnE '^#include "payloads/' payloads/lib payloads/sandbox-tools | awk -F: '
    function room(path) {
      sub(/^payloads\/(sandbox-tools\/)?/, "", path)
      sub(/\/.*/, "", path)
      return path
    }
    BEGIN {
      may["lib"] = ""
      may["rpc"] = may["child"] = "lib"
      may["server"] = "lib rpc child"
      may["run"] = "lib rpc child"
      may["install"] = "lib server cli.h tools.h"
      may["model_proxy"] = "lib"
      tool = "lib rpc child server tools.h"
      command = "lib rpc child server install cli.h cli_apart.h cli_runs.h tools.h"
      may["tools.h"] = may["tools.c"] = "rpc server tools.h"
      may["cli_runs.h"] = may["cli_runs.c"] = command " run"
      may["cli_exec.c"] = command " chunk"
      may["cli_model_proxy.c"] = command " model_proxy"
    }
    {
      from = room($1)
      split($3, quoted, "\"")
      to = room(quoted[2])
      allowed = from in may ? may[from] : from ~ /\.[ch]$/ ? command : tool
      if (from != to && index(" " allowed " ", " " to " ") == 0)
        print
    }'
}

# known LIBRARY WHERE: only files that fit the pattern know it.
known() {
  grep -lF "#include <$1>" "${host[@]}" "${headers[@]}" | grep -vxE "$2" | sed "s|$| includes <$1>|"
}

foreign() {
  known curl/curl.h 'engine/(http|download)\.c'
  known archive.h 'engine/(tar|untar|pack|zip)\.c'
  known yaml.h 'conf/yaml\.c'
}

banned() {
  grep -nE '\b(gets|strcat|sprintf|vsprintf|strtok|atoi|atol|system|popen|tmpnam|mktemp|alloca)\(' \
    "${host[@]}" "${inside[@]}"
  grep -nE '\b(exit|abort|printf|puts|perror)\(' engine/*.c recon/*.c conf/*.c payloads/*.c
}

lone_headers() {
  local h
  for h in "${headers[@]}"; do
    gcc -fsyntax-only "${warn[@]}" "${flags[@]}" -x c "$h" 2>&1
  done
}

# Functions over 80 lines, by the place of their closing brace.
long_functions() {
  awk 'FNR == 1 { start = 0 }
    /^[a-zA-Z_].*\)$/ || /^\t.*\)$/ { head = FNR }
    /^\{/ { start = FNR }
    /^\}/ && start { if (FNR - start > 80) print FILENAME ":" start ": " FNR - start " lines"; start = 0 }' \
    "$@"
}

compile() { # compile CC
  local f
  for f in "${host[@]}" "${inside[@]}"; do
    "$1" -fsyntax-only "${warn[@]}" "${flags[@]}" "$f" 2>&1
  done
}

formatted() {
  git ls-files '*.c' '*.h' | xargs clang-format --dry-run 2>&1 | grep -E 'warning:|error:'
}

# It knows neither __attribute__((cleanup)) nor that readdir is safe for one stream per thread.
run_cppcheck() {
  cppcheck --quiet --enable=warning,performance,portability --inline-suppr --std=c11 -I. \
    --suppress=missingIncludeSystem --suppress=memleak --suppress=resourceLeak \
    --suppress=readdirCalled --suppress=unknownMacro --suppress=invalidFunctionArgBool \
    --library=posix "${host[@]}" "${inside[@]}" 2>&1
}

# remembering COMMAND...: its output; that it had none is remembered for what is on stdin.
remembering() {
  local key said
  key=$(sha256sum)
  key=$memory/${key%% *}
  [ ! -e "$key" ] || { touch "$key"; return 0; }
  said=$("$@" 2>/dev/null) || said=${said:-$1 fails}
  [ -n "$said" ] || touch "$key"
  printf '%s' "${said:+$said$'\n'}"
}

# Functions that are beyond the limits of .clang-tidy, from before there were any.
over='fake_step recon_facts'

tidy() ( # tidy FILE
  set -o pipefail
  clang-tidy --quiet "$1" -- "${warn[@]}" "${flags[@]}" | awk -v over=" $(echo $over) " '
    /: (warning|error): / {
      split($0, quoted, "\047")
      skip = /\[readability-function-/ && index(over, " " quoted[2] " ")
    }
    !skip'
)

# What the compiler sees of a file, comments too.
run_clang_tidy() {
  local file
  for file in "${host[@]}" "${inside[@]}" "${tests[@]}"; do
    {
      clang-tidy --version
      echo "$over"
      cat .clang-tidy t/.clang-tidy "$file"
      clang -E -C "${warn[@]}" "${flags[@]}" "$file"
    } 2>&1 | remembering tidy "$file"
  done
}

run_shellcheck() {
  { shellcheck --version; cat "$0" "${scripts[@]}"; } |
    remembering shellcheck -x -S warning -e SC2010,SC2034,SC2120 "${scripts[@]}"
}

strays() {
  git grep -nIE 'https?://[a-z0-9.-]*(debian|npmjs|pypi|pythonhosted)[a-z0-9.-]*/' 2>/dev/null
  git ls-files | cut -d/ -f1 | sort -u |
    grep -vxE 'Makefile|README\.md|LICENSE|\..*|cmd|engine|recon|payloads|conf|t|man'
  git grep -nIE '(^|[^a-zA-Z0-9._-])/(work|farm)/' -- ':!t/lint.sh' 2>/dev/null
}

# A test without a word for when it runs would never run.
tierless() {
  local t
  for t in t/*/[0-9][0-9][0-9]-*.sh; do tier_of "$t" >/dev/null || echo "$t: no tier in its head (t/tiers.sh)"; done
}

# A command that runs in the name of a point is the one of which a $? after it tells.
lost_statuses() { grep -nE '\b(is|fits|like|succeeded|costs) "[^"]*\$\([^(].*\$\?' t/*.sh t/*/*.sh; }

# A test is spoken of by its number.
same_numbers() {
  printf '%s\n' t/*/[0-9][0-9][0-9]-*.sh | sed 's|-[^/]*$||' | uniq -d | sed 's/$/: the number of two tests/'
}

# Two blanks, as .editorconfig says, but in here-documents, of which some need tabs.
tabbed() {
  awk 'FNR == 1 { end = "" }
    end != "" { line = $0; sub(/^\t+/, "", line); if (line == end) end = ""; next }
    /^ *\t/ { print FILENAME ":" FNR ": begins with a tab" }
    match($0, /[^<]<<-?["\047\\]*[A-Za-z_]+/) {
      end = substr($0, RSTART + 3, RLENGTH - 3)
      gsub(/[^A-Za-z_]/, "", end)
    }' "${scripts[@]}"
}

# What begins with "#!" can be called by its name; what is sourced, or no program, cannot.
modes() {
  diff <(git ls-files -s -- ':!t/fuzz/corpus' | sed -n 's/^100755.*\t//p') \
    <(git ls-files -z -- ':!t/fuzz/corpus' | xargs -0 awk '/^#!/ { print FILENAME } { nextfile }') |
    sed -n 's/^< \(.*\)/\1: executable, without "#!"/p; s/^> \(.*\)/\1: not executable/p'
}

spdx() { grep -L 'SPDX-License-Identifier: MIT' "${host[@]}" "${inside[@]}" "${headers[@]}" "${scripts[@]}"; }

check "clang-tidy has nothing to say" run_clang_tidy
check "shellcheck has nothing to say" run_shellcheck
check "cppcheck has nothing to say" run_cppcheck
check "gcc has no warning" compile gcc
check "clang has no warning" compile clang
check "every header compiles alone" lone_headers
check "formatted by .clang-format" formatted
check "includes point one way" upward
check "no circle of includes, no function without a user, a contract in headers" t/house.py --check
check "foreign libraries are known where they belong" foreign
check "no banned calls; libraries neither print nor exit" banned
check "no function over 80 lines" long_functions "${host[@]}" "${inside[@]}" "${headers[@]}"
check "every file names its licence" spdx
check "every test says when it runs" tierless
check "every test has a number of its own" same_numbers
check "no point takes the status of its own name" lost_statuses
check "no script is indented with tabs" tabbed
check "what can be called is executable, and nothing else" modes
check "no registry's host name, no path of one machine, nothing else beside the folders" strays
wait
for i in "${!names[@]}"; do show "${names[i]}" "$out/$((i + 1))"; done

printf '1..%d\n' "$points"
[ "$failures" -eq 0 ]
