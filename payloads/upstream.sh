#!/bin/sh
# SPDX-License-Identifier: MIT
# upstream.sh FILE: write the table of upstream.tsv as initialisers of struct upstream, for upstream.c.
set -eu
awk -F '\t' -v file="${1##*/}" '
  function die(why) { printf "%s:%d: %s\n", file, FNR, why >"/dev/stderr"; bad = 1; exit 1 }
  function text(word) { return word == "-" ? "NULL" : "\"" word "\"" }
  function digest(word) { if (length(word) != 64 || word !~ /^[0-9a-f]+$/) die("\"" word "\" is no digest"); return text(word) }
  function number(word) { if (word !~ /^[1-9][0-9]*$/) die("\"" word "\" is no number"); return word }
  function release(word, part) {
    if (split(word, part, ".") != 3 || word !~ /^[0-9.]+$/) die("\"" word "\" is no release")
    return "{{" part[1] ", " part[2] ", " part[3] "}}"
  }
  /^#/ { next }
  NF != 13 { die("not 13 columns") }
  $4 !~ /^(glibc|musl)$/ { die("unknown libc \"" $4 "\"") }
  $6 !~ /^(executable|tar\.gz)$/ { die("unknown form \"" $6 "\"") }
  ($11 == "-") != ($12 == "-") || ($11 != "-" && $7 == "-") { die("a wheel without a digest, or without a size of what is in it") }
  $6 != "tar.gz" && $13 != "-" { die("only a tar.gz has a tree") }
  {
    printf "{\"%s\", %s, \"%s\", \"%s\", \"%s\", \"%s\", %s, %s, %s, %s, %s, %s, %s},\n", $1, number($2), $3, $4, $5, $6,
      $7 == "-" ? 0 : number($7), digest($8), release($9), release($10), text($11), $12 == "-" ? "NULL" : digest($12), $13 == "-" ? "NULL" : digest($13)
  }
  END { exit bad }' "$1"
