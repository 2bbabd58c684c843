#!/bin/bash
# Goal: the completion scripts are well formed and complete sub-commands, options and containers.
# SPDX-License-Identifier: MIT
# shellcheck source=t/cli/lib.sh
. "$(dirname "$0")/lib.sh"

mapfile -t all < <(commands)

for shell in bash zsh fish; do
  "$SBINJECT" completion "$shell" >"$tmp/c.$shell"
  missing=
  for c in "${all[@]}"; do
    grep -qw -- "$c" "$tmp/c.$shell" || missing+=" $c"
  done
  is "$shell: every sub-command is in the script" "$missing" ""
done

# ---- bash ----

run bash -n "$tmp/c.bash"
is "bash: the syntax is right" "$rc$err" 0
run shellcheck -s bash -S error "$tmp/c.bash"
[ "$rc" -eq 127 ] || is "bash: shellcheck sees no error" "$rc$out" 0

# A table of containers, as `sbinject ls` prints it, without an engine.
mkdir "$tmp/bin"
cat >"$tmp/bin/sbinject" <<'END'
#!/bin/sh
[ "$1" = ls ] || exit 9
echo 'ID            NAME   IMAGE  STATE    SERVICE'
echo '0123456789ab  web    nginx  running  -'
echo '123456789abc  db     pg     running  -'
END
chmod +x "$tmp/bin/sbinject"

# complete_words WORD...: what bash offers for the last of the words, sorted, as one line.
complete_words() {
  PATH=$tmp/bin:$PATH bash -c '
    set -eu
    source "$0"
    complete -p sbinject | grep -q "_sbinject sbinject" || echo "not registered"
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    _sbinject || true
    printf "%s\n" ${COMPREPLY[@]+"${COMPREPLY[@]}"}' "$tmp/c.bash" "$@" 2>&1 | sort | xargs
}
sorted() { printf '%s\n' "$@" | sort | xargs; }
long() { "$SBINJECT" "$@" --help | sed -n '/^Options/,$p' | grep -oE -- '^ .{5}--[a-z-]+' | cut -c7-; }

is "bash: sub-commands and containers" "$(complete_words sbinject '')" \
  "$(sorted "${all[@]}" web db)"
is "bash: the beginning of a sub-command" "$(complete_words sbinject pro)" probe
is "bash: the beginning of a container" "$(complete_words sbinject w)" web
is "bash: containers after a sub-command" "$(complete_words sbinject status '')" "db web"
is "bash: containers after an option" "$(complete_words sbinject status --json d)" db
is "bash: more containers" "$(complete_words sbinject inject db w)" web
is "bash: more containers without a sub-command" "$(complete_words sbinject db w)" web
is "bash: a container that begins like a sub-command's word" \
  "$(complete_words sbinject db pro)" ""
for c in "${all[@]}"; do
  mapfile -t want < <(long "$c")
  is "bash: the options of $c" "$(complete_words sbinject "$c" --)" "$(sorted "${want[@]}")"
done
is "bash: the beginning of an option" "$(complete_words sbinject inject --dry)" --dry-run
is "bash: options after a container" "$(complete_words sbinject inject web --js)" --json
is "bash: no containers where none can stand" "$(complete_words sbinject payloads '')" ""
touch "$tmp/one.yaml"
is "bash: files after --config" "$(complete_words sbinject inject --config "$tmp/one.y")" \
  "$tmp/one.yaml"
mv "$tmp/bin/sbinject" "$tmp/bin/off"
printf '#!/bin/sh\necho "sbinject: no engine" >&2\nexit 3\n' >"$tmp/bin/sbinject"
chmod +x "$tmp/bin/sbinject"
is "bash: without an engine the sub-commands are left" "$(complete_words sbinject '')" \
  "$(sorted "${all[@]}")"

# ---- zsh and fish ----

for shell in zsh fish; do
  if command -v "$shell" >/dev/null; then
    run "$shell" -n "$tmp/c.$shell"
    is "$shell: the syntax is right" "$rc$err" 0
  else
    note "$shell is not installed: its script is not tried"
  fi
done
is "zsh: begins with what compinit looks for" "$(head -n 1 "$tmp/c.zsh")" "#compdef sbinject"
is "zsh: quotes are balanced" "$(tr -cd "'" <"$tmp/c.zsh" | wc -c | awk '{ print $1 % 2 }')" 0
is "fish: every line is a complete command" "$(grep -cv '^complete -c sbinject ' "$tmp/c.fish")" 0
is "fish: quotes are balanced" \
  "$(awk '{ if (gsub(/\047/, "") % 2) print NR }' "$tmp/c.fish" | xargs)" ""
for c in "${all[@]}"; do
  mapfile -t want < <(long "$c")
  is "fish: the options of $c" \
    "$(sed -nE "s/.*__fish_seen_subcommand_from $c' -l ([a-z-]+).*/--\1/p" "$tmp/c.fish" |
      sort | xargs)" "$(sorted "${want[@]}")"
done

done_testing
