# SPDX-License-Identifier: MIT
# The in-container programs, for inclusion in the top Makefile (or: make -f payloads/payload.mk).
# Uses ARCHES, RELEASE, B and PB (build directories: tests, programs). Gives PAYLOADS (files to embed), the targets
# payloads, payload-test (unit), payload-black-box, payload-check (both), payload-arches (build and try
# all architectures that toolchain.sh knows) and payload-fuzz.

ARCHES ?= amd64 arm64
B ?= build
# Whatever the host program is built with, the payloads are the same.
PB ?= build
RELEASE ?= 0.1.0
Q ?= @

PAYLOAD_WARN := -Wall -Wextra -Wshadow -Wvla -Wundef -Wformat=2 -Wpointer-arith -Wwrite-strings \
	-Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition
PAYLOAD_CPP := -std=gnu11 -D_GNU_SOURCE -I. -DRELEASE='"$(RELEASE)"'
PAYLOAD_CFLAGS := -Os -g0 -fno-common -ffunction-sections -fdata-sections -fno-ident \
	-fno-asynchronous-unwind-tables -fno-unwind-tables \
	'-ffile-prefix-map=$(CURDIR)=.' $(PAYLOAD_WARN) $(if $(DEV),-Werror)
# musl itself does not make RELRO read-only in a static program; sys_start() does.
PAYLOAD_LDFLAGS := -s -Wl,--gc-sections -Wl,--build-id=none -Wl,-z,noexecstack \
	-Wl,-z,separate-code -Wl,-z,relro -Wl,-z,now
# A program laid out for smaller pages than the kernel's does not start; arm64 and ppc64le kernels
# with 64 KiB pages exist.
PAYLOAD_PAGE_arm64 := 65536
PAYLOAD_PAGE_ppc64le := 65536

PAYLOAD_SRC := $(sort $(wildcard payloads/lib/*.c payloads/sandbox-tools/*.c \
	payloads/sandbox-tools/*/*.c))
PAYLOADS := $(foreach a,$(ARCHES),$(PB)/payloads/$(a)/inspect-sandbox-tools)

payloads: $(PAYLOADS)
.PHONY: payloads payload-test payload-check payload-black-box payload-arches payload-fuzz payload-fuzz-replay FORCE
FORCE:

# $(1) architecture
define payload_rules
$(PB)/toolchain/$(1)/.stamp: FORCE
	@payloads/toolchain.sh $(1) $(PB)/toolchain/$(1)

$(PB)/payloads/$(1)/%.o: %.c $(PB)/toolchain/$(1)/.stamp
	@mkdir -p $$(@D)
	$(Q)$(PB)/toolchain/$(1)/cc $(PAYLOAD_CPP) -isystem $(PB)/toolchain/$(1)/include \
		$(PAYLOAD_CFLAGS) -MMD -MP -c -o $$@ $$<

$(PB)/payloads/$(1)/inspect-sandbox-tools: $(PAYLOAD_SRC:%.c=$(PB)/payloads/$(1)/%.o)
	$(Q)$(PB)/toolchain/$(1)/cc $(PAYLOAD_LDFLAGS) \
		-Wl,-z,max-page-size=$(or $(PAYLOAD_PAGE_$(1)),4096) -o $$@ $$^ -L$(PB)/toolchain/$(1)/lib -ljansson

-include $(PAYLOAD_SRC:%.c=$(PB)/payloads/$(1)/%.d)
endef
$(foreach a,$(ARCHES),$(eval $(call payload_rules,$(a))))

# The target is a file with $FLAGS, and new only if these are.
define keep_flags
@mkdir -p $(@D)
@printf '%s\n' "$$FLAGS" | cmp -s - $@ || printf '%s\n' "$$FLAGS" >$@
endef

$(foreach a,$(ARCHES),$(PAYLOAD_SRC:%.c=$(PB)/payloads/$(a)/%.o)): $(PB)/payloads/.flags
$(PB)/payloads/.flags: export FLAGS = $(PAYLOAD_CPP) $(filter-out -Werror,$(PAYLOAD_CFLAGS)) $(PAYLOAD_LDFLAGS)
$(PB)/payloads/.flags: FORCE
	$(keep_flags)

# A test's "/* wrap: malloc calloc */" line becomes --wrap flags.
wraps = $(addprefix -Wl$(comma)--wrap=,$(shell sed -n 's|^/\* wrap: \(.*\) \*/|\1|p' $(1)))
comma := ,

# Unit tests: the same sources with the host's compiler, under sanitizers.
PAYLOAD_TEST_DIR := $(B)/payloads/test
PAYLOAD_TESTS := $(patsubst t/unit/%.c,$(PAYLOAD_TEST_DIR)/%,$(sort $(wildcard t/unit/test_payload_*.c)))
PAYLOAD_SAN := -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
PAYLOAD_TEST_OBJ := $(patsubst %.c,$(PAYLOAD_TEST_DIR)/%.o, \
	$(filter-out payloads/sandbox-tools/main.c,$(PAYLOAD_SRC)))

$(PAYLOAD_TEST_DIR)/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(PAYLOAD_CPP) $(PAYLOAD_SAN) $(PAYLOAD_WARN) $(if $(DEV),-Werror) -MMD -MP -c -o $@ $<

$(PAYLOAD_TEST_DIR)/libpayload.a: $(PAYLOAD_TEST_OBJ)
	$(Q)rm -f $@ && $(AR) rcD $@ $^

$(PAYLOAD_TEST_DIR)/test_payload_%: t/unit/test_payload_%.c $(PAYLOAD_TEST_DIR)/libpayload.a
	$(Q)$(CC) $(PAYLOAD_CPP) $(PAYLOAD_SAN) $(PAYLOAD_WARN) -MMD -MP -MF $@.d $(call wraps,$<) -o $@ \
		$< $(PAYLOAD_TEST_DIR)/libpayload.a -lcmocka -ljansson

-include $(PAYLOAD_TESTS:=.d)

-include $(PAYLOAD_TEST_OBJ:.o=.d)

# The whole program under sanitizers, for the black-box tests: they put what it needs of the system
# into /mnt of the worlds it runs in.
PAYLOAD_SAN_PROGRAM := $(B)/payloads/san/inspect-sandbox-tools

$(PAYLOAD_SAN_PROGRAM): $(PAYLOAD_TEST_DIR)/payloads/sandbox-tools/main.o $(PAYLOAD_TEST_DIR)/t/payload/san.o \
		$(PAYLOAD_TEST_DIR)/libpayload.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(PAYLOAD_SAN) -Wl,--compress-debug-sections=zlib -static-libasan -static-libubsan -static-libgcc \
		-Wl,--dynamic-linker=/mnt/ld.so,-rpath=/mnt,--disable-new-dtags -o $@ $^ -l:libjansson.a

-include $(PAYLOAD_TEST_DIR)/payloads/sandbox-tools/main.d

payload-test: $(PAYLOAD_TESTS)
	@t/unit.sh $(PAYLOAD_TESTS)

payload-check: payload-test payload-black-box

payload-black-box: $(PAYLOADS) $(PAYLOAD_SAN_PROGRAM)
	@B='$(PB)' ARCHES='$(ARCHES)' SAN_PROGRAM='$(PAYLOAD_SAN_PROGRAM)' t/payload/run.sh

payload-arches: export ARCHES = $(shell payloads/toolchain.sh --list)
payload-arches:
	@t/setup.sh build && t/setup.sh test
	@$(MAKE) --no-print-directory ARCHES="$$ARCHES" payloads
	@B='$(PB)' bash t/payload/020-arches.sh

# What attacks it from within a container, for t/live; static, for the same reason.
ADVERSARY_ARCH := $(firstword $(ARCHES))

adversary: $(PB)/adversary
.PHONY: adversary

$(PB)/adversary: $(wildcard t/adversary/*.[ch]) $(PB)/toolchain/$(ADVERSARY_ARCH)/.stamp
	$(Q)$(PB)/toolchain/$(ADVERSARY_ARCH)/cc $(PAYLOAD_CPP) -Os $(PAYLOAD_WARN) $(if $(DEV),-Werror) \
		-s -o $@.new $(filter %.c,$^) && mv $@.new $@

# libFuzzer. A fuzzer's own definitions stand in for what it does not want of the library.
PAYLOAD_FUZZERS := chunk editor intake lib mcp methods pipe proxy rpc spec terminal user
PAYLOAD_FUZZ_DIR := $(B)/payloads/fuzz
PAYLOAD_FUZZ_FLAGS := -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all
PAYLOAD_FUZZ_OBJ := $(PAYLOAD_TEST_OBJ:$(PAYLOAD_TEST_DIR)/%=$(PAYLOAD_FUZZ_DIR)/%)
FUZZ_SECONDS ?= 60

$(PAYLOAD_FUZZ_DIR)/%.o: %.c
	@mkdir -p $(@D)
	$(Q)clang $(PAYLOAD_CPP) $(PAYLOAD_FUZZ_FLAGS) -fsanitize=fuzzer-no-link -MMD -MP -c -o $@ $<

$(PAYLOAD_FUZZ_DIR)/libpayload.a: $(PAYLOAD_FUZZ_OBJ)
	$(Q)rm -f $@ && $(AR) rcD $@ $^

$(PAYLOAD_FUZZERS:%=$(PAYLOAD_FUZZ_DIR)/fuzz_%): $(PAYLOAD_FUZZ_DIR)/fuzz_%: t/fuzz/fuzz_%.c $(PAYLOAD_FUZZ_DIR)/libpayload.a
	$(Q)clang $(PAYLOAD_CPP) $(PAYLOAD_FUZZ_FLAGS) -fsanitize=fuzzer $(PAYLOAD_WARN) -o $@ $^ -ljansson

-include $(PAYLOAD_FUZZ_OBJ:.o=.d)

payload-fuzz: $(PAYLOAD_FUZZERS:%=$(PAYLOAD_FUZZ_DIR)/fuzz_%)
	@for f in $(PAYLOAD_FUZZERS); do echo "fuzzing $$f for $(FUZZ_SECONDS) s"; \
		mkdir -p $(PAYLOAD_FUZZ_DIR)/corpus/$$f; d=t/fuzz/$$f.dict; [ ! -f $$d ] || d="-dict=$$d"; \
		$(PAYLOAD_FUZZ_DIR)/fuzz_$$f -max_total_time=$(FUZZ_SECONDS) -verbosity=0 -timeout=10 \
		-rss_limit_mb=2048 -artifact_prefix=$(PAYLOAD_FUZZ_DIR)/ $${d##t/*} \
		$(PAYLOAD_FUZZ_DIR)/corpus/$$f t/fuzz/corpus/$$f || exit 1; done

payload-fuzz-replay: $(PAYLOAD_FUZZERS:%=$(PAYLOAD_FUZZ_DIR)/fuzz_%)
	@for f in $(PAYLOAD_FUZZERS); do \
		$(PAYLOAD_FUZZ_DIR)/fuzz_$$f -runs=0 -verbosity=0 -timeout=10 \
			-artifact_prefix=$(PAYLOAD_FUZZ_DIR)/ t/fuzz/corpus/$$f || exit 1; \
		echo "ok - fuzz corpus $$f ($$(ls t/fuzz/corpus/$$f | wc -l) inputs)"; done
