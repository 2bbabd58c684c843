#!/bin/bash
# SPDX-License-Identifier: MIT
# kinds.sh: the data of t/live/kinds.
#   kinds.sh list               its lines, seven fields each divided by tabs
#   kinds.sh man                as the table of sbinject(1)
#   kinds.sh images             the images that it names
#   kinds.sh outcomes FILE...   a table of the lines "# outcome: ENGINE<tab>KIND<tab>WHAT" in them
set -eu -o pipefail
here=$(cd "$(dirname "$0")" && pwd)

list() { sed -E '/^(#|$)/d; s/ *\| */\t/g' "$here/kinds"; }

man() {
  printf '.TS\nlb cb s cb s\nlb lb lb lb lb\nlx l l l l.\n\tDocker\tPodman\nContainer\tas root\trootless\tas root\trootless\n'
  list | awk -F '\t' -v OFS='\t' '{
    for (i = 4; i <= 7; i++) sub(/:.*/, "", $i)
    print "T{\n" $1 "\nT}", $4, $5, $6, $7 }' | sed 's/-/\\-/g'
  printf '.TE\n'
}

outcomes() {
  sed -n 's/^# outcome: //p' "$@" | awk -F '\t' '
    !($1 in column) { column[$1] = ++columns; name[columns] = $1 }
    !($2 in row) { row[$2] = ++rows; kind[rows] = $2 }
    { what[row[$2], column[$1]] = $3 }
    END {
      printf "%-46s", "container"
      for (c = 1; c <= columns; c++) printf "  %-17s", name[c]
      for (r = 1; r <= rows; r++) {
        printf "\n%-46s", kind[r]
        for (c = 1; c <= columns; c++) printf "  %-17s", what[r, c]
      }
      print ""
    }'
}

case ${1:-} in
  list | man) "$1" ;;
  images) list | cut -f 2 | sort -u | xargs ;;
  outcomes) "$@" ;;
  *) sed -n 's/^# *kinds.sh/usage: kinds.sh/p' "$0" >&2; exit 2 ;;
esac
