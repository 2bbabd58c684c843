# What rule_next_tie finds without a container. Cases of two lines: the rules, which conf_parse
# accepts, and the pairs that may tie, counted from 1 ("none" if there are none).

[{when: {os: linux}, use: a}]
none

# other values
[{when: {os: linux}, use: a}, {when: {os: windows}, use: b}]
none

# one more specific
[{when: {os: linux}, use: a}, {when: {os: linux, arch: amd64}, use: b}]
none

[{when: {}, use: a}, {when: {os: linux}, use: b}, {when: {arch: amd64}, use: c}]
2-3

# other things
[{when: {os: linux}, use: a}, {when: {arch: amd64}, use: b}, {when: {distro: kali}, use: c}]
1-2 1-3 2-3

# other things, but apart in one they share
[{when: {os: linux, arch: amd64}, use: a}, {when: {arch: arm64, distro: kali}, use: b}]
none

[{when: {os: linux, arch: amd64}, use: a}, {when: {arch: [arm64, amd64], distro: kali}, use: b}]
1-2

# settled by a third
[{when: {arch: amd64}, use: a}, {when: {distro: kali}, use: b}, {when: {distro: kali, arch: amd64}, use: c}]
none

[{when: {arch: amd64}, use: a}, {when: {distro: kali}, use: b}, {when: {distro: [debian, kali], arch: [amd64, arm64]}, use: c}]
none

# not quite
[{when: {arch: [amd64, arm64]}, use: a}, {when: {distro: kali}, use: b}, {when: {distro: kali, arch: amd64}, use: c}]
1-2

[{when: {arch: amd64}, use: a}, {when: {distro: kali}, use: b}, {when: {distro: kali, arch: amd64, os: linux}, use: c}]
1-2

# settled by a glob
[{when: {arch: amd64}, use: a}, {when: {image: "x/y:*"}, use: b}, {when: {arch: amd64, image: "x/*"}, use: c}]
none

[{when: {arch: amd64}, use: a}, {when: {image: "x/*"}, use: b}, {when: {arch: amd64, image: "x/y:*"}, use: c}]
1-2

# families: a container may have several
[{when: {family: debian}, use: a}, {when: {family: ubuntu}, use: b}]
1-2

# globs
[{when: {image: "a*"}, use: a}, {when: {image: "b*"}, use: b}]
none

[{when: {image: "*a"}, use: a}, {when: {image: "*b"}, use: b}]
none

[{when: {image: "a*"}, use: a}, {when: {image: "ab*"}, use: b}]
1-2

[{when: {image: "*a"}, use: a}, {when: {image: "*ba"}, use: b}]
1-2

[{when: {image: "a*b"}, use: a}, {when: {image: "*"}, use: b}]
1-2

[{when: {image: "a*b"}, use: a}, {when: {image: "acc"}, use: b}]
none

[{when: {image: "a*b", os: linux}, use: a}, {when: {image: "acb", arch: amd64}, use: b}]
1-2

# labels
[{when: {label: {x: y}}, use: a}, {when: {label: {x: z}}, use: b}]
none

[{when: {label: {x: y}}, use: a}, {when: {label: {w: y}}, use: b}]
1-2

[{when: {label: {x: y}}, use: a}, {when: {label: {x: y, w: y}}, use: b}]
none

# not settled by a third that is more specific than one of them only
[{when: {arch: amd64}, use: a}, {when: {distro: kali, os: linux}, use: b}, {when: {arch: amd64, distro: kali}, use: c}]
1-2 2-3
