#!/bin/sh
# SPDX-License-Identifier: MIT
# hosts.sh FILE: write the table of hosts.tsv as initialisers of struct host, for hosts.c.
set -eu
awk -F '\t' -v file="${1##*/}" '
  function die(why) { printf "%s:%d: %s\n", file, FNR, why >"/dev/stderr"; bad = 1; exit 1 }
  function text(word) { return word == "-" ? "NULL" : "\"" word "\"" }
  function release(word, part) {
    if (split(word, part, ".") != 3 || word !~ /^[0-9.]+$/) die("\"" word "\" is no release")
    return "{{" part[1] ", " part[2] ", " part[3] "}}"
  }
  /^#/ { next }
  NF != 9 { die("not 9 columns") }
  $5 !~ /^(-|root|user|auto)$/ { die("unknown service \"" $5 "\"") }
  {
    n = split($8 == "-" ? "" : $8, need, " ")
    if (n > 7) die("more than 7 needs")
    needs = ""
    for (i = 1; i <= n; i++) needs = needs text(need[i]) ", "
    printf "{\"%s\", %s, %s, %s, CONF_%s, %s, %d, {%sNULL}, %s},\n", $1, release($2), release($3), text($4),
      $5 == "-" ? "UNSAID" : toupper($5), text($6), $7 == "-" ? 0 : $7, needs, text($9)
  }
  END { exit bad }' "$1"
