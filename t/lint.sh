#!/bin/bash
# SPDX-License-Identifier: MIT
# lint.sh: what a compiler does not say: layering, one foreign library in one file, headers that
# stand alone, length of functions, banned calls, formatting; and gcc, clang, cppcheck, clang-tidy
# and shellcheck without a word. One TAP point for each.
set -u
cd "$(dirname "$0")/.." || exit 1
points=0 failures=0

# check NAME: fails if stdin has anything.
check() {
  local text
  text=$(cat)
  points=$((points + 1))
  if [ -z "$text" ]; then
    printf 'ok %d - %s\n' "$points" "$1"
  else
    failures=$((failures + 1))
    printf 'not ok %d - %s\n' "$points" "$1"
    printf '%s\n' "$text" | head -n 40 | sed 's/^/#   /'
  fi
}

mapfile -t host < <(ls engine/*.c recon/*.c conf/*.c payloads/*.c cmd/*.c)
mapfile -t inside < <(find payloads/lib payloads/sandbox-tools -name '*.c')
mapfile -t headers < <(find engine recon conf payloads cmd -name '*.h')
mapfile -t scripts < <(find t payloads .ci -type f \( -name '*.sh' -o -path '.ci/run' \))
warn=(-std=gnu11 -D_GNU_SOURCE -I. -Ibuild/gen '-DSB_RELEASE=__FILE__' '-DRELEASE=__FILE__' -Wall -Wextra
  -Wshadow -Wvla -Wundef -Wformat=2 -Wpointer-arith -Wwrite-strings -Wstrict-prototypes
  -Wmissing-prototypes -Wold-style-definition -Werror -O2 -fsyntax-only)
mapfile -t flags < <(pkg-config --cflags libcurl jansson libarchive yaml-0.1 | tr ' ' '\n' | sed '/^$/d')

export FLAGS="${warn[*]} ${flags[*]}"

# Which directory may include which: cmd > payloads > recon, conf > engine.
upward() {
  grep -nE '^#include "(recon|conf|payloads|cmd)/' engine/*.[ch]
  grep -nE '^#include "(conf|payloads|cmd)/' recon/*.[ch]
  grep -nE '^#include "(recon|payloads|cmd)/' conf/*.[ch]
  grep -nE '^#include "cmd/' payloads/*.[ch]
  grep -rnE '^#include "(engine|recon|conf|cmd)/' payloads/lib payloads/sandbox-tools
}

foreign() {
  local lib n
  for lib in curl/curl.h archive.h yaml.h; do
    n=$(grep -lF "#include <$lib>" "${host[@]}" "${headers[@]}" | wc -l)
    [ "$n" -eq 1 ] || echo "<$lib> is included in $n files"
  done
}

banned() {
  grep -nE '\b(gets|strcat|sprintf|vsprintf|strtok|atoi|atol|system|popen|tmpnam|mktemp|alloca)\(' \
    "${host[@]}" "${inside[@]}"
  grep -nE '\b(exit|abort|printf|puts|perror)\(' engine/*.c recon/*.c conf/*.c payloads/*.c
}

lone_headers() {
  local h
  for h in "${headers[@]}"; do
    gcc "${warn[@]}" "${flags[@]}" -x c "$h" 2>&1
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
    "$1" "${warn[@]}" "${flags[@]}" "$f" 2>&1
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

run_clang_tidy() {
  printf '%s\n' "${host[@]}" "${inside[@]}" |
    xargs -P "$(nproc)" -n 12 sh -c 'clang-tidy --quiet "$@" -- $FLAGS 2>/dev/null' - |
    grep -E 'warning:|error:' | sort -u
}

strays() {
  git grep -nIE 'https?://[a-z0-9.-]*(debian|npmjs|pypi|pythonhosted)[a-z0-9.-]*/' 2>/dev/null
  git ls-files | cut -d/ -f1 | sort -u |
    grep -vxE 'Makefile|README\.md|LICENSE|\..*|cmd|engine|recon|payloads|conf|t|man'
  git grep -nIE '(^|[^a-zA-Z0-9._-])/(work|farm)/' -- ':!t/lint.sh' 2>/dev/null
}

spdx() { grep -L 'SPDX-License-Identifier: MIT' "${host[@]}" "${inside[@]}" "${headers[@]}" "${scripts[@]}"; }

check "includes point one way" < <(upward)
check "one foreign library in one file" < <(foreign)
check "no banned calls; libraries neither print nor exit" < <(banned)
check "every header compiles alone" < <(lone_headers)
check "no function over 80 lines" < <(long_functions "${host[@]}" "${inside[@]}" "${headers[@]}")
check "every file names its licence" < <(spdx)
check "gcc has no warning" < <(compile gcc)
check "clang has no warning" < <(compile clang)
check "formatted by .clang-format" < <(formatted)
check "cppcheck has nothing to say" < <(run_cppcheck)
check "clang-tidy has nothing to say" < <(run_clang_tidy)
check "shellcheck has nothing to say" < <(shellcheck -x -S warning -e SC2010,SC2034,SC2120 "${scripts[@]}" 2>&1)
check "no registry's host name, no path of one machine, nothing else beside the folders" < <(strays)

printf '1..%d\n' "$points"
[ "$failures" -eq 0 ]
