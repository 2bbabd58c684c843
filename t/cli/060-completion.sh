#!/bin/bash
# Goal: the completion scripts are well formed and complete sub-commands, options and containers.
# tier: check
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

# Names of containers, as `sbinject ls -q` prints them, without an engine; the last ones as what only
# looks like an engine could list them. What it was asked is in asked.
mkdir "$tmp/bin"
cat >"$tmp/bin/sbinject" <<END
#!/bin/sh
echo "\$*" >"$tmp/asked"
[ "\$1 \$2" = "ls -q" ] || exit 9
printf '%s\n' web db '\$(touch $tmp/bad)' '\`touch $tmp/bad\`' '-x' 'a b' ';touch $tmp/bad' 'e*'
END
chmod +x "$tmp/bin/sbinject"
export PATH=$tmp/bin:$PATH
real=$SBINJECT

# complete_words WORD...: what bash offers for the last of the words, sorted, as one line. As
# readline does it, words are split at '=' and ':'.
complete_words() {
  bash -c '
    set -eu
    source "$0"
    complete -p sbinject | grep -q "_sbinject sbinject" || echo "not registered"
    COMP_LINE="$*" COMP_WORDS=() COMPREPLY=()
    for w; do
      while [[ $w =~ ^([^=:]*)([=:]+)(.*)$ ]]; do
        [ -z "${BASH_REMATCH[1]}" ] || COMP_WORDS+=("${BASH_REMATCH[1]}")
        COMP_WORDS+=("${BASH_REMATCH[2]}")
        w=${BASH_REMATCH[3]}
        [ -n "$w" ] || continue 2
      done
      COMP_WORDS+=("$w")
    done
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_POINT=${#COMP_LINE}
    _sbinject || true
    printf "%s\n" ${COMPREPLY[@]+"${COMPREPLY[@]}"}' "$tmp/c.bash" "$@" 2>&1 | sort | xargs
}
sorted() { printf '%s\n' "$@" | sort | xargs; }
long() { "$real" "$@" --help | sed -n '/^Options/,$p' | grep -oE -- '^ .{5}--[a-z-]+' | cut -c7-; }

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
touch "$tmp/one.yaml" "$tmp/one two"
mkdir "$tmp/rc"
is "bash: files after --config" "$(complete_words sbinject inject --config "$tmp/one.y")" \
  "$tmp/one.yaml"
is "bash: files after --config=" "$(complete_words sbinject inject "--config=$tmp/one.y")" \
  "$tmp/one.yaml"
is "bash: a file with a blank is one" "$(complete_words sbinject payloads -o "$tmp/one ")" "$tmp/one two"
is "bash: files for rules" "$(complete_words sbinject rules --check "$tmp/one.y")" "$tmp/one.yaml"
is "bash: files at once after --config=" "$(cd "$tmp/rc" && touch f && complete_words sbinject --config=)" f
is "bash: containers for --explain" "$(complete_words sbinject rules --explain '')" "db web"
is "bash: containers for --explain=" "$(complete_words sbinject rules --explain=w)" web
is "bash: nothing for a value of its own kind" "$(complete_words sbinject inject --jobs '')" ""
is "bash: the payloads for --extract" "$(complete_words sbinject payloads --extract '')" \
  "$("$real" payloads | awk '{ print $1 }' | sort | xargs)"
is "bash: what --require begins with" "$(complete_words sbinject web --require '')" \
  "release= sha256= wire="
is "bash: the same after =" "$(complete_words sbinject web --require=w)" wire=
is "bash: shells for completion" "$(complete_words sbinject completion '')" "bash fish zsh"
mapfile -t want < <(long ls)
for before in "-H unix:///x" "--host unix:///x" "--host=unix:///x" "-Hunix:///x" "-qH unix:///x"; do
  # shellcheck disable=SC2086
  is "bash: $before is not the sub-command" "$(complete_words sbinject $before ls --)" \
    "$(sorted "${want[@]}")"
  # shellcheck disable=SC2086
  is "bash: $before is passed on" "$(complete_words sbinject $before ls '') $(
    complete_words sbinject $before w) $(cat "$tmp/asked")" " web ls -q -t 2 -Hunix:///x"
done
is "bash: a host behind the sub-command is passed on" \
  "$(complete_words sbinject status -H tcp://h:1 w) $(cat "$tmp/asked")" "web ls -q -t 2 -Htcp://h:1"
mapfile -t want < <(long payloads)
is "bash: -j 8 is not the sub-command" "$(complete_words sbinject -j 8 payloads --)" \
  "$(sorted "${want[@]}")"
is "bash: behind -- there are only names" \
  "$(complete_words sbinject -- '') $(complete_words sbinject status -- -)" "db web "
is "bash: no other name is offered" "$(complete_words sbinject status e)" ""
[ -e "$tmp/bad" ] && ran=yes || ran=no
is "bash: no name is run" "$ran" no
like "bash: no container is looked into" "$(cat "$tmp/asked")" "^ls -q -t 2$"

# tab SHELL LINE: what an interactive shell with the completion shows once LINE is typed.
mkdir "$tmp/zfunctions"
cp "$tmp/c.zsh" "$tmp/zfunctions/_sbinject"
printf 'PS1="READY> "\nbind "set bell-style none"\nsource %s\n' "$tmp/c.bash" >"$tmp/rc/bash"
printf 'PS1="READY> "\nautoload -Uz compinit\n' >"$tmp/rc/zsh"
cat >"$tmp/rc/sourced" <<END
compinit -u -D
source <(cat $tmp/c.zsh)
END
cat >"$tmp/rc/autoloaded" <<END
fpath=($tmp/zfunctions \$fpath)
compinit -u -D
END
tab() {
  mkdir -p "$tmp/z-$1"
  case $1 in
    bash) "$top/t/cli/tab.py" "$2" bash --noprofile --rcfile "$tmp/rc/bash" -i ;;
    *)
      cat "$tmp/rc/zsh" "$tmp/rc/$1" >"$tmp/z-$1/.zshrc"
      ZDOTDIR=$tmp/z-$1 "$top/t/cli/tab.py" "$2" zsh -d -i
      ;;
  esac
}
is "bash, typed: a sub-command" "$(tab bash $'sbinject pro\t')" "sbinject probe"
is "bash, typed: --config=" "$(tab bash "sbinject inject --config=$tmp/one.y"$'\t')" \
  "sbinject inject --config=$tmp/one.yaml"
is "bash, typed: behind a host" "$(tab bash $'sbinject -H unix:///x remove --dr\t')" \
  "sbinject -H unix:///x remove --dry-run"
is "bash, typed: a container" "$(tab bash $'sbinject status w\t')" "sbinject status web"
like "bash, typed: all containers" "$(tab bash $'sbinject status \t\t')" "db +web"

mv "$tmp/bin/sbinject" "$tmp/bin/off"
printf '#!/bin/sh\necho "sbinject: no engine" >&2\nexit 3\n' >"$tmp/bin/sbinject"
chmod +x "$tmp/bin/sbinject"
is "bash: without an engine the sub-commands are left" "$(complete_words sbinject '')" \
  "$(sorted "${all[@]}")"
mv "$tmp/bin/off" "$tmp/bin/sbinject"

# ---- zsh and fish ----

for shell in zsh fish; do
  if command -v "$shell" >/dev/null; then
    run "$shell" -n "$tmp/c.$shell"
    is "$shell: the syntax is right" "$rc$err" 0
  else
    skip "$shell: the syntax is right" "$shell is not installed"
  fi
done
is "zsh: begins with what compinit looks for" "$(head -n 1 "$tmp/c.zsh")" "#compdef sbinject"

if command -v zsh >/dev/null; then
  for how in autoloaded sourced; do
    is "zsh, $how: a sub-command" "$(tab "$how" $'sbinject pro\t')" "sbinject probe"
    is "zsh, $how: a container" "$(tab "$how" $'sbinject status w\t')" "sbinject status web"
    is "zsh, $how: a container after a container" "$(tab "$how" $'sbinject db w\t')" "sbinject db web"
    is "zsh, $how: an option behind a host" "$(tab "$how" $'sbinject -H unix:///x remove --dr\t')" \
      "sbinject -H unix:///x remove --dry-run"
    is "zsh, $how: a file" "$(tab "$how" "sbinject web --config=$tmp/one.y"$'\t')" \
      "sbinject web --config=$tmp/one.yaml"
    is "zsh, $how: a shell" "$(tab "$how" $'sbinject completion f\t')" "sbinject completion fish"
    is "zsh, $how: a payload" "$(tab "$how" $'sbinject payloads --extract tools-am\t')" \
      "sbinject payloads --extract tools-amd64"
    is "zsh, $how: a container for --explain" "$(tab "$how" $'sbinject rules --explain w\t')" \
      "sbinject rules --explain web"
  done
  tab autoloaded $'sbinject --host=unix:///x status w\t' >/dev/null
  is "zsh: a host is passed on" "$(cat "$tmp/asked")" "ls -q -t 2 -Hunix:///x"
  tab autoloaded $'sbinject status -H \'tcp://h:1\' w\t' >/dev/null
  is "zsh: a host behind the sub-command is passed on" "$(cat "$tmp/asked")" "ls -q -t 2 -Htcp://h:1"
  like "zsh: the names are listed, no others" "$(tab sourced $'sbinject status \t')" \
    '^sbinject status db web (READY> )?sbinject status$'
fi

# ---- fish ----

if command -v fish >/dev/null; then
  # offers LINE: what fish offers at its end, without descriptions.
  offers() {
    # shellcheck disable=SC2016
    fish --no-config -c 'source $argv[1]; complete -C $argv[2]' "$tmp/c.fish" "$1" 2>&1 | cut -f1 |
      sort | xargs
  }
  options() { offers "$1 --" | tr ' ' '\n' | sed 's/=$//' | sort | xargs; }
  is "fish: sub-commands and containers" "$(offers 'sbinject ')" "$(sorted "${all[@]}" web db)"
  is "fish: containers" "$(offers 'sbinject status ')" "db web"
  is "fish: more containers" "$(offers 'sbinject db ')" "db web"
  is "fish: behind -- there are only names" "$(offers 'sbinject -- ')" "db web"
  is "fish: none where none can stand" "$(offers 'sbinject ls ')" ""
  is "fish: a host is passed on" "$(offers 'sbinject -H unix:///x status w') $(cat "$tmp/asked")" \
    "web ls -q -t 2 -Hunix:///x"
  is "fish: a host behind the sub-command is passed on" \
    "$(offers 'sbinject status --host=tcp://h:1 w') $(cat "$tmp/asked")" "web ls -q -t 2 -Htcp://h:1"
  is "fish: containers for --explain" "$(offers 'sbinject rules --explain ')" "db web"
  is "fish: containers for --explain=" "$(offers 'sbinject rules --explain=w')" "--explain=web"
  is "fish: files for --config" "$(offers "sbinject web --config $tmp/one.y")" "$tmp/one.yaml"
  is "fish: files for rules" "$(offers "sbinject rules --check $tmp/one.y")" "$tmp/one.yaml"
  is "fish: a payload" "$(offers 'sbinject payloads --extract tools-am')" tools-amd64
  is "fish: what --require begins with" "$(offers 'sbinject web --require ')" "release= sha256= wire="
  is "fish: shells" "$(offers 'sbinject completion ')" "bash fish zsh"
  for c in "${all[@]}"; do
    mapfile -t want < <(long "$c")
    is "fish: the options of $c" "$(options "sbinject $c")" "$(sorted "${want[@]}")"
  done
  mapfile -t want < <(long ls)
  is "fish: a host is not the sub-command" "$(options 'sbinject -H unix:///x ls')" \
    "$(sorted "${want[@]}")"
fi

done_testing
