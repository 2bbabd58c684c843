# SPDX-License-Identifier: MIT
#
#   make demo      install what is missing, build, inject into a container, make a call
#   make check     every test once, on private engines of their own
#   make check-all all of every test, on every engine, with inspect_ai, on new minimal systems
#   make soak      long campaigns: hours
#   make differential   the same requests to inspect_ai's own in-container program and to ours
#   make bench-interop   what a sample costs with inspect_ai's provider, and with ours
#   make interop   of check-all: releases of inspect_ai from the Python index, on a private Docker;
#                  and whether all are known
#   make           build; then: make install PREFIX=/usr DESTDIR=...
#   make static    the command as one file for each of HOSTS, which needs nothing but Linux
#   make packages  of these, in dist/: tarball deb image sbom wheel; each is a target, too
#   make lint | house | fuzz | bench | bench-faults | payload-arches | cover | dist | clean
#
# STATIC=: link with the system's shared libraries; the default needs only libc at run time, and
# starts in a tenth of the time; STATIC=1 is an error where that is not possible. DEV=1: warnings are errors. SAN=1: ASan and UBSan, in a build directory of its own.
# CC=clang works as CC=gcc does. ARCHES: what payloads to build and embed. Q=: show commands.

RELEASE := 0.1.0
ARCHES ?= amd64 arm64
export ARCHES
SAN ?=
DEV ?=
STATIC ?= $(if $(SAN),,auto)
B ?= build$(if $(SAN),-san)
PREFIX ?= /usr/local
SETUP := t/setup.sh
Q ?= @

# ---- settings ----

WARN := -Wall -Wextra -Wshadow -Wvla -Wundef -Wformat=2 -Wpointer-arith -Wwrite-strings \
	-Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition $(if $(DEV),-Werror)
SANFLAGS := -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
HARDENING := $(B)/gen/hardening-$(notdir $(lastword $(CC)))
HARD := $(if $(SAN),-O1 $(SANFLAGS) -fstack-protector-strong,-O2 @$(HARDENING))
CPPFLAGS += -I. -I$(B)/gen -D_GNU_SOURCE -DSB_RELEASE='"$(RELEASE)"'
CFLAGS ?= -g
ALL_CFLAGS = -std=gnu11 -fno-common -pthread -fPIE \
	'-ffile-prefix-map=$(CURDIR)=.' $(WARN) $(HARD) $(CFLAGS) $(PKG_CFLAGS)
ALL_LDFLAGS = -pie -pthread -Wl,-z,relro,-z,now,-z,separate-code $(if $(SAN),$(SANFLAGS)) $(LDFLAGS)

PKGS := libcurl jansson libarchive yaml-0.1
ifneq ($(MUSL),)
# Its compiler links static programs only.
CC = $(PB)/toolchain/$(MUSL)/cc
CFLAGS := -g0
ALL_LDFLAGS = $(PAYLOAD_LDFLAGS) -Wl,-z,max-page-size=$(or $(PAYLOAD_PAGE_$(MUSL)),4096) $(LDFLAGS)
override STATIC := 1
endif
ifneq ($(STATIC),)
S := $(B)/static
PKG_CFLAGS := -isystem $(S)/include
PKG_LIBS = -Wl,--gc-sections -L$(S)/lib $(shell cat $(S)/libs 2>/dev/null)
else
PKG_CFLAGS := $(shell pkg-config --cflags $(PKGS) 2>/dev/null)
PKG_LIBS := $(shell pkg-config --libs $(PKGS) 2>/dev/null)
endif

# ---- sources ----

LIB_SRC := $(sort $(filter-out cmd/main.c,$(wildcard engine/*.c recon/*.c conf/*.c payloads/*.c \
	cmd/*.c))) payloads/lib/sha256.c payloads/lib/sha256_blocks.c \
	payloads/lib/buf.c payloads/lib/relro.c payloads/lib/treesum.c payloads/lib/utf8.c
LIB_OBJ := $(LIB_SRC:%.c=$(B)/obj/%.o) $(B)/obj/conf/builtin.o $(B)/obj/embed.o
UNIT := $(patsubst t/unit/%.c,$(B)/t/%,$(filter-out t/unit/test_payload_%,$(sort \
	$(wildcard t/unit/test_*.c))))

all: $(B)/sbinject $(B)/THIRD-PARTY

include payloads/payload.mk

$(B)/sbinject: $(B)/obj/cmd/main.o $(B)/libsbinject.a
	@echo "  LINK $@"
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(PKG_LIBS)

$(B)/libsbinject.a: $(LIB_OBJ)
	@rm -f $@
	$(Q)$(AR) rcD $@ $^

$(B)/obj/%.o: %.c $(B)/gen/.packages $(HARDENING)
	@mkdir -p $(@D)
	@echo "  CC   $<"
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(B)/obj/cmd/version.o: $(B)/gen/linked.inc
$(B)/obj/payloads/catalogue.o: $(B)/gen/embed.S
$(B)/obj/payloads/hosts.o: $(B)/gen/hosts.inc
$(B)/obj/payloads/upstream.o: $(B)/gen/upstream.inc

$(B)/gen/%.inc: payloads/%.tsv payloads/%.sh
	@mkdir -p $(@D)
	$(Q)payloads/$*.sh payloads/$*.tsv >$@.new && mv $@.new $@

$(B)/obj/conf/builtin.o: conf/builtin.S conf/builtin.yaml
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) -c -o $@ $<

$(B)/obj/embed.o: $(B)/gen/embed.S $(PAYLOADS)
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) -c -o $@ $<

$(B)/gen/embed.S: $(PAYLOADS) payloads/embed.sh
	@mkdir -p $(@D)
	$(Q)payloads/embed.sh $(@D) $(foreach a,$(ARCHES),$(a)=$(PB)/payloads/$(a)/inspect-sandbox-tools)

$(HARDENING): payloads/hardening.sh $(if $(MUSL),| $(PB)/toolchain/$(MUSL)/.stamp)
	@mkdir -p $(@D)
	$(Q)payloads/hardening.sh host $(CC) >$@

# An upgrade of the system's libraries makes new ones.
$(S)/.stamp: FORCE $(if $(MUSL),$(PB)/toolchain/$(MUSL)/.stamp)
	@$(if $(MUSL),engine/musl.sh $(MUSL) $(PB)/toolchain/$(MUSL) $(S),\
		CC='$(CC)' STATIC='$(STATIC)' engine/static.sh $(S))

# What is linked in, and its licences. Of shared libraries there is none.
TOOLS := $(PB)/toolchain/$(firstword $(ARCHES))

$(B)/THIRD-PARTY: $(if $(STATIC),$(S)/.stamp) $(TOOLS)/.stamp
	$(Q)cat $(if $(STATIC),$(wildcard $(S)/THIRD-PARTY)) $(TOOLS)/THIRD-PARTY >$@

$(B)/linked.tsv: cmd/linked.sh $(if $(STATIC),$(S)/.stamp) $(TOOLS)/.stamp
	$(Q)cmd/linked.sh $(if $(STATIC),sbinject=$(S)/.stamp) \
		$(if $(MUSL),sbinject=$(PB)/toolchain/$(MUSL)/.stamp) payloads=$(TOOLS)/.stamp >$@

$(B)/gen/linked.inc: $(B)/linked.tsv
	@mkdir -p $(@D)
	$(Q)awk -F '\t' '{ printf "{\"%s\", \"%s\", \"%s\", \"%s\"},\n", $$1, $$2, $$3, $$4 }' $< >$@

# One clear line instead of a missing header.
$(B)/gen/.packages: $(if $(STATIC),$(S)/.stamp)
	@mkdir -p $(@D)
	@[ -n '$(MUSL)' ] || pkg-config --exists $(PKGS) || { \
		echo "make: libraries are missing ($(PKGS)); '$(SETUP) build' installs them" >&2; exit 1; }
	@touch $@

# Another release, compiler or flag makes new ones, too.
$(LIB_OBJ) $(B)/obj/cmd/main.o: $(B)/gen/.flags
$(B)/gen/.flags: export FLAGS = $(CC) $(CPPFLAGS) $(filter-out -Werror,$(ALL_CFLAGS))
$(B)/gen/.flags: FORCE
	$(keep_flags)

-include $(LIB_OBJ:.o=.d) $(B)/obj/cmd/main.d

# ---- one file that needs nothing of the system it runs on ----

HOSTS ?= $(filter amd64 arm64,$(ARCHES))
# The one that runs here writes the completions, which go into packages for other machines, too.
NATIVE := $(shell dpkg --print-architecture 2>/dev/null)
STATICS := $(addprefix static-,$(sort $(HOSTS) $(NATIVE)))

static: $(HOSTS:%=static-%)

# The payloads first, which all have in common.
$(STATICS): static-%: $(PAYLOADS)
	@$(MAKE) --no-print-directory MUSL=$* B=build/host/$* all

# ---- packages of it, in dist/ ----

export RELEASE
PACKAGES := tarball deb image sbom wheel
packages: $(PACKAGES)

$(PACKAGES): static static-$(NATIVE)
	@for a in $(HOSTS); do SELF=build/host/$(NATIVE)/sbinject cmd/package/$@.sh $$a || exit 1; done
	@cmd/package/sums.sh

# ---- the two commands of the README ----

demo:
	@$(SETUP) demo
	@[ -e $(B)/sbinject ] || echo "demo: building sbinject and its payloads (two minutes, the first time)"
	@$(MAKE) --no-print-directory -j$$(nproc) all
	@t/demo.sh $(B)/sbinject

check:
	@$(SETUP) all
	@t/check.sh check

check-all: check
	@t/check.sh rest

soak:
	@$(SETUP) all
	@t/check.sh soak

# ---- tests ----

$(B)/t/%: t/unit/%.c $(B)/libsbinject.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -MF $@.d $(ALL_LDFLAGS) $(call wraps,$<) -o $@ $< \
		$(B)/libsbinject.a $(PKG_LIBS) -lcmocka

-include $(UNIT:=.d)

# A libarchive that is linked in would have its share of the allocations that tests let fail, and
# exits then.
ifneq ($(STATIC),)
unit:
	@$(MAKE) --no-print-directory SAN=1 STATIC= unit
else
unit: $(UNIT)
	@t/unit.sh $(UNIT)
endif

# The command with another catalogue of upstream's programs: small ones, which a test can make.
FAKE := $(B)/t/fake

fakes: $(FAKE)/sbinject

$(FAKE)/upstream.tsv: t/cli/store.py
	@mkdir -p $(FAKE)
	$(Q)t/cli/store.py make $(FAKE)

$(FAKE)/upstream.inc: $(FAKE)/upstream.tsv payloads/upstream.sh
	$(Q)payloads/upstream.sh $< >$@.new && mv $@.new $@

$(FAKE)/upstream.o: payloads/upstream.c $(FAKE)/upstream.inc $(B)/libsbinject.a
	$(Q)$(CC) -I$(FAKE) $(CPPFLAGS) $(ALL_CFLAGS) -c -o $@ $<

$(FAKE)/sbinject: $(B)/obj/cmd/main.o $(FAKE)/upstream.o $(B)/libsbinject.a
	@echo "  LINK $@"
	$(Q)$(CC) $(ALL_LDFLAGS) -o $@ $^ $(PKG_LIBS)

FUZZERS := $(filter-out $(PAYLOAD_FUZZERS),$(patsubst t/fuzz/fuzz_%.c,%,$(sort $(wildcard t/fuzz/fuzz_*.c))))
FUZZ_SECONDS ?= 60

fuzz: $(FUZZERS:%=$(B)/fuzz/%) payload-fuzz
	@for f in $(FUZZERS); do echo "fuzzing $$f for $(FUZZ_SECONDS) s"; mkdir -p $(B)/fuzz/corpus/$$f; \
		$(B)/fuzz/$$f -max_total_time=$(FUZZ_SECONDS) -verbosity=0 -timeout=10 -rss_limit_mb=2048 \
			-artifact_prefix=$(B)/fuzz/ $(B)/fuzz/corpus/$$f t/fuzz/corpus/$$f || exit 1; done

# Every input that was ever worth keeping, once: no fuzzing engine needed.
fuzz-replay: $(FUZZERS:%=$(B)/fuzz/%) payload-fuzz-replay
	@for f in $(FUZZERS); do \
		$(B)/fuzz/$$f -runs=0 -verbosity=0 -artifact_prefix=$(B)/fuzz/ t/fuzz/corpus/$$f || exit 1; \
		echo "ok - fuzz corpus $$f ($$(ls t/fuzz/corpus/$$f | wc -l) inputs)"; done

FUZZFLAGS := -std=gnu11 -g -O1 -pthread -fsanitize=address,undefined -fno-sanitize-recover=all
FUZZ_OBJ := $(patsubst %.c,$(B)/fuzz/obj/%.o,$(filter-out cmd/%,$(LIB_SRC)))

$(B)/fuzz/obj/%.o: %.c $(B)/gen/embed.S $(B)/gen/hosts.inc $(B)/gen/upstream.inc $(B)/gen/.packages
	@mkdir -p $(@D)
	$(Q)clang $(FUZZFLAGS) -fsanitize=fuzzer-no-link $(CPPFLAGS) $(PKG_CFLAGS) -MMD -MP -c -o $@ $<

$(B)/fuzz/libfuzz.a: $(FUZZ_OBJ) $(B)/obj/conf/builtin.o $(B)/obj/embed.o
	@rm -f $@
	$(Q)$(AR) rcD $@ $^

$(B)/fuzz/%: t/fuzz/fuzz_%.c $(B)/fuzz/libfuzz.a
	@echo "  FUZZ $@"
	$(Q)clang $(FUZZFLAGS) -fsanitize=fuzzer $(CPPFLAGS) $(PKG_CFLAGS) -o $@ $^ $(PKG_LIBS)

-include $(FUZZ_OBJ:.o=.d)

lint:
	@t/lint.sh

interop: all
	@$(SETUP) all
	@status=0; for t in hosts run; do t/interop/$$t.sh || status=1; done; exit $$status

# What a sample costs with inspect_ai's provider, and with ours.
bench-interop: all
	@$(SETUP) all
	@t/interop/run.sh --bench

# What differs from the in-container program of a release of inspect_ai: nothing but by design.
differential: payloads
	@$(SETUP) all
	@t/differential/run.sh

bench: all $(B)/bench/floor $(B)/bench/trips
	@$(SETUP) bench
	@t/bench/bench.sh

# Figures of the code: sizes, complexity, cycles of includes, what nobody uses.
house:
	@python3 t/house.py

# What the in-container program costs under load and abuse.
bench-faults: payloads
	@t/bench/faults.sh

$(B)/bench/%: t/bench/%.c $(B)/libsbinject.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@ $^ $(PKG_LIBS)

cover:
	@$(MAKE) --no-print-directory STATIC= B=build-cover CFLAGS="-g -O0 --coverage" LDFLAGS=--coverage unit
	@gcovr -r . build-cover/obj --exclude t/ 2>/dev/null || echo "install gcovr for the table"

format:
	clang-format -i $$(git ls-files '*.c' '*.h')

# ---- installation ----

MANPAGES := $(wildcard man/*.[1-8])
EXAMPLES := $(wildcard conf/examples/*)

# The command that writes the completions: not always one for this machine is installed.
SELF ?= $(B)/sbinject

install: all
	install $(if $(MUSL),,-s) -D -m 755 $(B)/sbinject $(DESTDIR)$(PREFIX)/bin/sbinject
	@for m in $(MANPAGES); do s=$${m##*.}; \
		install -D -m 644 $$m $(DESTDIR)$(PREFIX)/share/man/man$$s/$${m##*/} || exit 1; done
	@for s in bash:bash-completion/completions/sbinject zsh:zsh/site-functions/_sbinject \
		fish:fish/vendor_completions.d/sbinject.fish; do \
		d=$(DESTDIR)$(PREFIX)/share/$${s#*:}; mkdir -p $$(dirname $$d); \
		$(SELF) completion $${s%%:*} >$$d || exit 1; done
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/doc/sbinject $(B)/THIRD-PARTY LICENSE man/CHANGES.md
	install -D -m 644 conf/builtin.yaml \
		$(DESTDIR)$(PREFIX)/share/doc/sbinject/sbinject.yaml.example
	install -d $(DESTDIR)$(PREFIX)/share/doc/sbinject/examples
	cp $(EXAMPLES) $(DESTDIR)$(PREFIX)/share/doc/sbinject/examples

uninstall:
	rm -f $(DESTDIR)$(PREFIX)/bin/sbinject $(addprefix $(DESTDIR)$(PREFIX)/share/,\
		bash-completion/completions/sbinject zsh/site-functions/_sbinject \
		fish/vendor_completions.d/sbinject.fish doc/sbinject/sbinject.yaml.example \
		$(addprefix doc/sbinject/,THIRD-PARTY LICENSE CHANGES.md) \
		$(EXAMPLES:conf/%=doc/sbinject/%))
	@for m in $(MANPAGES); do rm -f $(DESTDIR)$(PREFIX)/share/man/man$${m##*.}/$${m##*/}; done

dist:
	@mkdir -p dist
	git archive --prefix=sbinject-$(RELEASE)/ -o dist/sbinject-$(RELEASE).tar.gz HEAD
	@echo dist/sbinject-$(RELEASE).tar.gz

clean:
	rm -rf build build-san build-cover dist

.PHONY: all static packages $(PACKAGES) $(STATICS) fakes demo check check-all soak differential interop house unit fuzz fuzz-replay lint bench bench-faults bench-interop cover format install \
	uninstall dist clean FORCE
.DELETE_ON_ERROR:
