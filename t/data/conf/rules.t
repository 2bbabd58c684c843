# What rule_match chooses. Cases of three lines: the rules, the container's facts, and what comes
# out: the payload's name, or the error. The rules are on line 3 of the file 'f'; payloads a, b, c
# and d exist.

# one rule
[{when: {os: linux}, use: a}]
{"os": "linux"}
a

# one rule that does not hold
[{when: {os: linux}, use: a}]
{"os": "windows"}
no rule in 'f' matches os=windows; see 'sbinject rules'

# an unknown fact matches nothing
[{when: {os: linux, distro: debian}, use: a}]
{"os": "linux"}
no rule in 'f' matches os=linux distro=(unknown); see 'sbinject rules'

# not even a star
[{when: {image: "*"}, use: a}]
{}
no rule in 'f' matches image=(unknown); see 'sbinject rules'

# each fact is named once, in the order of the rules
[{when: {os: linux, arch: amd64}, use: a}, {when: {arch: arm64, os: linux, label: {x: y}}, use: b}]
{"os": "linux", "arch": "riscv64"}
no rule in 'f' matches os=linux arch=riscv64 label.x=(unknown); see 'sbinject rules'

# an empty when matches anything
[{when: {}, use: a}]
{}
a

# and yields to any other
[{when: {}, use: a}, {when: {os: linux}, use: b}]
{"os": "linux"}
b

# if that holds
[{when: {}, use: a}, {when: {os: linux}, use: b}]
{"os": "windows"}
a

# the most specific of three, whatever the order
[{when: {os: linux, arch: amd64, distro: ubuntu}, use: a}, {when: {os: linux}, use: b}, {when: {arch: amd64, os: linux}, use: c}]
{"os": "linux", "arch": "amd64", "distro": "ubuntu"}
a

[{when: {os: linux, arch: amd64, distro: ubuntu}, use: a}, {when: {os: linux}, use: b}, {when: {arch: amd64, os: linux}, use: c}]
{"os": "linux", "arch": "amd64", "distro": "debian"}
c

[{when: {os: linux, arch: amd64, distro: ubuntu}, use: a}, {when: {os: linux}, use: b}, {when: {arch: amd64, os: linux}, use: c}]
{"os": "linux", "arch": "arm64", "distro": "ubuntu"}
b

# more tests are not more specific when they are others
[{when: {arch: amd64}, use: a}, {when: {os: linux, distro: ubuntu}, use: b}]
{"os": "linux", "arch": "amd64", "distro": "ubuntu"}
rules 'f:3:9' and 'f:3:40' both match arch=amd64 os=linux distro=ubuntu, and neither is more specific

# a tie between two that a third settles
[{when: {arch: amd64}, use: a}, {when: {distro: ubuntu}, use: b}, {when: {arch: amd64, distro: ubuntu}, use: c}]
{"arch": "amd64", "distro": "ubuntu"}
c

# where the third does not hold
[{when: {arch: amd64}, use: a}, {when: {distro: [ubuntu, debian]}, use: b}, {when: {arch: amd64, distro: ubuntu}, use: c}]
{"arch": "amd64", "distro": "debian"}
rules 'f:3:9' and 'f:3:40' both match arch=amd64 distro=debian, and neither is more specific

# a less specific third is not named in a tie
[{when: {}, use: a}, {when: {arch: amd64}, use: b}, {when: {distro: ubuntu}, use: c}]
{"arch": "amd64", "distro": "ubuntu"}
rules 'f:3:29' and 'f:3:60' both match arch=amd64 distro=ubuntu, and neither is more specific

# a tie of rules that use the same payload is still one
[{when: {arch: amd64}, use: a}, {when: {distro: ubuntu}, use: a}]
{"arch": "amd64", "distro": "ubuntu"}
rules 'f:3:9' and 'f:3:40' both match arch=amd64 distro=ubuntu, and neither is more specific

# the same facts with other values
[{when: {distro: ubuntu}, use: a}, {when: {distro: [debian, kali]}, use: b}]
{"distro": "kali"}
b

# values are compared whole and with their case
[{when: {distro: ubuntu}, use: a}]
{"distro": "ubuntu-core"}
no rule in 'f' matches distro=ubuntu-core; see 'sbinject rules'

[{when: {distro: ubuntu}, use: a}]
{"distro": "Ubuntu"}
no rule in 'f' matches distro=Ubuntu; see 'sbinject rules'

# versions are texts: 12 is not 12.0, 16.10 not 16.1
[{when: {version: 16.10}, use: a}, {when: {version: 16.1}, use: b}]
{"version": "16.10"}
a

[{when: {version: 12}, use: a}]
{"version": "12.0"}
no rule in 'f' matches version=12.0; see 'sbinject rules'

# a star is itself except in image and client
[{when: {version: "12*"}, use: a}]
{"version": "12.1"}
no rule in 'f' matches version=12.1; see 'sbinject rules'

# any word of the family
[{when: {family: debian}, use: a}]
{"family": "ubuntu debian"}
a

[{when: {family: ubuntu}, use: a}]
{"family": "ubuntu debian"}
a

[{when: {family: fedora}, use: a}]
{"family": "rocky rhel centos fedora"}
a

[{when: {family: [suse, centos]}, use: a}]
{"family": "rocky rhel centos fedora"}
a

[{when: {family: ubu}, use: a}]
{"family": "ubuntu debian"}
no rule in 'f' matches family="ubuntu debian"; see 'sbinject rules'

[{when: {family: debian}, use: a}, {when: {family: ubuntu}, use: b}]
{"family": "ubuntu debian"}
rules 'f:3:9' and 'f:3:43' both match family="ubuntu debian", and neither is more specific

# globs
[{when: {image: "ubuntu:*"}, use: a}]
{"image": "ubuntu:22.04"}
a

[{when: {image: "ubuntu:*"}, use: a}]
{"image": "ubuntu:"}
a

[{when: {image: "ubuntu:*"}, use: a}]
{"image": "docker.io/library/ubuntu:22.04"}
no rule in 'f' matches image=docker.io/library/ubuntu:22.04; see 'sbinject rules'

[{when: {image: "*/ubuntu:*.04"}, use: a}]
{"image": "docker.io/library/ubuntu:22.04"}
a

[{when: {image: "*a*b*c"}, use: a}]
{"image": "xaxbxbcxc"}
a

[{when: {image: "*a*b*c"}, use: a}]
{"image": "xaxbxbcxcd"}
no rule in 'f' matches image=xaxbxbcxcd; see 'sbinject rules'

[{when: {image: "a**"}, use: a}]
{"image": "a"}
a

[{when: {image: "a?c"}, use: a}]
{"image": "abc"}
no rule in 'f' matches image=abc; see 'sbinject rules'

[{when: {image: "[a]"}, use: a}]
{"image": "a"}
no rule in 'f' matches image=a; see 'sbinject rules'

[{when: {client: "inspect_ai 0.3.*"}, use: a}, {when: {}, use: b}]
{"client": "inspect_ai 0.3.252"}
a

[{when: {client: "inspect_ai 0.3.*"}, use: a}, {when: {}, use: b}]
{"client": "inspect_ai 0.4.0"}
b

# two globs that both hold
[{when: {image: "a*"}, use: a}, {when: {image: "*c"}, use: b}]
{"image": "abc"}
rules 'f:3:9' and 'f:3:40' both match image=abc, and neither is more specific

[{when: {image: "a*"}, use: a}, {when: {image: "*c"}, use: b}]
{"image": "ab"}
a

# labels are counted by key
[{when: {label: {x: y}}, use: a}, {when: {label: {x: y, z: w}}, use: b}]
{"label": {"x": "y", "z": "w"}}
b

[{when: {label: {x: y}}, use: a}, {when: {label: {x: y, z: w}}, use: b}]
{"label": {"x": "y", "z": "v"}}
a

[{when: {label: {x: y}}, use: a}, {when: {label: {z: w}}, use: b}]
{"label": {"x": "y", "z": "w"}}
rules 'f:3:9' and 'f:3:42' both match label.x=y label.z=w, and neither is more specific

[{when: {label: {x: y}}, use: a}, {when: {os: linux}, use: b}]
{"label": {"x": "y"}, "os": "linux"}
rules 'f:3:9' and 'f:3:42' both match label.x=y os=linux, and neither is more specific

# an empty label is a value, an absent one is not
[{when: {label: {x: ""}}, use: a}]
{"label": {"x": ""}}
a

[{when: {label: {x: ""}}, use: a}]
{"label": {"y": ""}}
no rule in 'f' matches label.x=(unknown); see 'sbinject rules'

[{when: {label: {x: y}}, use: a}]
{"label": {"x": ""}}
no rule in 'f' matches label.x=""; see 'sbinject rules'

[{when: {label: {x: y}}, use: a}]
{"label": {"x": 1}}
no rule in 'f' matches label.x=(unknown); see 'sbinject rules'

# what a container says of itself is escaped
[{when: {label: {x: y}}, use: a}]
{"label": {"x": "\u001b[31m\nno rule"}}
no rule in 'f' matches label.x="\x1b[31m\x0ano rule"; see 'sbinject rules'

# and cut
[{when: {label: {x: y}}, use: a}]
{"label": {"x": "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"}}
no rule in 'f' matches label.x=bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb...; see 'sbinject rules'
