/* SPDX-License-Identifier: MIT */
/* conf/builtin.yaml as a string, and its size as a 64-bit number: see conf_load(). */
	.section .rodata, "a"

	.global conf_builtin_data
	.type conf_builtin_data, %object
conf_builtin_data:
	.incbin "conf/builtin.yaml"
	.set conf_builtin_length, . - conf_builtin_data
	.byte 0
	.size conf_builtin_data, . - conf_builtin_data

	.balign 8
	.global conf_builtin_size
	.type conf_builtin_size, %object
conf_builtin_size:
	.quad conf_builtin_length
	.size conf_builtin_size, 8

	.section .note.GNU-stack, "", %progbits
