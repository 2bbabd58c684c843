#!/bin/bash
# SPDX-License-Identifier: MIT
# kinds.sh: the data of t/live/kinds.
#   kinds.sh list               its lines, eight fields each divided by tabs
#   kinds.sh man                as the table of sbinject(1)
#   kinds.sh images             the images that it names
#   kinds.sh outcomes FILE...   a table of the lines "# outcome: ENGINE<tab>KIND<tab>WHAT" in them
set -eu -o pipefail
here=$(cd "$(dirname "$0")" && pwd)

list() {
  sed -E '/^(#|$)/d; s/ *\| */\t/g' "$here/kinds" | awk -F '\t' -v OFS='\t' '
    NF == 4 { $5 = $6 = $7 = $8 = $4 }
    { print }'
}

man() {
  cat <<-'END'
	.TS
	lb cb s s cb s
	lb lb2 lb2 lb2 lb2 lb
	lx l2 l2 l2 l2 l.
	END
  printf '\tDocker\tPodman\nContainer\troot\tremap\trootless\troot\trootless\n'
  list | awk -F '\t' -v OFS='\t' '{
    for (i = 4; i <= NF; i++) sub(/:.*/, "", $i)
    print "T{\n" $1 "\nT}", $4, $5, $6, $7, $8 }' | sed 's/-/\\-/g'
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
