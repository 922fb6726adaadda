# hkt - one Makefile, no configure step. `make help` lists the targets.
#
#   CC=gcc|clang   SAN=address,undefined   WERROR=yes (default when CI=true)   DEPS=no (do not install packages)
#   BUILD=DIR      PREFIX=/usr/local       LIBDIR=PREFIX/lib     DESTDIR=      MODULE='NAME...' (make test: these modules)
#   CROSS=aarch64-linux-gnu (build for this processor, with the libraries in SYSROOT=DIR; see test-arm64)

VERSION := 0.1.0
comma   := ,
CC      ?= cc
ifeq ($(origin CC),default)
CC      := $(if $(CROSS),$(CROSS)-)gcc
endif
PREFIX  ?= /usr/local
LIBDIR  ?= $(PREFIX)/lib
BUILD   ?= build$(if $(CROSS),/$(CROSS:aarch64-linux-gnu=arm64))$(if $(SAN),/san-$(subst $(comma),-,$(SAN)))$(if $(findstring clang,$(CC)),/clang)
DEPS    ?= yes
WERROR  ?= $(if $(filter true,$(CI)),yes,no)
PYTHON  ?= python3

# --- flags ------------------------------------------------------------------------------------------------------------
# No -ffast-math and no contraction behind our back: the certified checks rest on IEEE rounding.
PACKAGES := gsl openblas lapacke jansson inih libarchive libxxhash
# OpenBLAS's cblas, not gslcblas, which is several times slower and would come first.
SYSROOT  ?= $(if $(CROSS),build/arm64/sysroot)
PKG      := $(if $(SYSROOT),PKG_CONFIG_SYSROOT_DIR=$(abspath $(SYSROOT)) \
              PKG_CONFIG_LIBDIR=$(abspath $(SYSROOT))/usr/lib/$(CROSS)/pkgconfig) pkg-config --define-variable=GSL_CBLAS_LIB=-lopenblas
ifeq ($(filter help deps clean,$(MAKECMDGOALS)),)
PKG_CFLAGS := $(shell $(PKG) --cflags $(PACKAGES) 2>/dev/null)
PKG_LIBS   := $(shell $(PKG) --libs $(PACKAGES) 2>/dev/null)
endif
# FLINT and Arb have no .pc in Debian 12, where they are two libraries; from FLINT 3 on they are one.
BALL_LIBS := -Wl,--as-needed $(if $(wildcard $(SYSROOT)/usr/lib/*/libflint-arb.so),-lflint-arb) -lflint -lgmp
OPT      ?= -O3
WARN     := -Wall -Wextra -Wshadow -Wmissing-prototypes -Wstrict-prototypes -Wpointer-arith -Wcast-qual -Wwrite-strings \
            -Wvla -Wformat=2 -Wundef -Wdouble-promotion $(if $(filter yes,$(WERROR)),-Werror)
SANFLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer)
# clang is every processor's compiler; gcc has a program for each.
TARGET   := $(and $(CROSS),$(findstring clang,$(CC)),--target=$(CROSS)) $(SYSROOT:%=--sysroot=%)
# Hidden, but for what the public headers declare as HKT_API.
ALL_CFLAGS = $(TARGET) -std=c11 -D_GNU_SOURCE $(OPT) -g -ffp-contract=off -fno-math-errno -fopenmp -fPIC -fvisibility=hidden \
             $(WARN) $(SANFLAGS) -Iinclude -Isrc -I. -I$(BUILD) $(PKG_CFLAGS) $(CFLAGS)
ALL_LDLIBS = $(PKG_LIBS) $(BALL_LIBS) -lm -lpthread $(LDLIBS)

# --- sources ----------------------------------------------------------------------------------------------------------
LIB_SRC  := $(wildcard src/base/*.c src/num/*.c src/model/*.c src/data/*.c src/train/*.c src/foreign/*.c src/api/*.c analysis/*/*.c analysis/*/*/*.c)
# A source that includes num/real.h is compiled once for float and once for double (see src/num/real.h).
DUAL_SRC := $(shell grep -l '^.include "num/real.h"' $(LIB_SRC) /dev/null)
ONE_SRC  := $(filter-out $(DUAL_SRC),$(LIB_SRC))
# Vector kernels: each precision once per instruction set, chosen at run time (see src/num/simd/simd.h).
SIMD_SRC := $(wildcard src/num/simd/*.c)
# The processor that the compiler compiles for; while there is no compiler, this machine's.
ARCH     := $(firstword $(subst -, ,$(or $(shell $(CC) $(TARGET) -dumpmachine 2>/dev/null),$(shell uname -m))))
ISAS_x86_64  := generic avx2 avx512
ISAS_aarch64 := neon
ISAS     := $(ISAS_$(ARCH))
ifeq ($(ISAS)$(filter help deps clean,$(MAKECMDGOALS)),)
$(error hkt: expected an x86_64 or aarch64 processor, found $(ARCH))
endif
ISA_avx2    := -mavx2 -mfma
ISA_avx512  := -mavx512f -mavx512dq -mavx512bw -mavx512vl -mfma -mprefer-vector-width=512

OBJ      := $(BUILD)/obj
LIB_OBJ  := $(ONE_SRC:%.c=$(OBJ)/%.o) $(DUAL_SRC:%.c=$(OBJ)/%.f32.o) $(DUAL_SRC:%.c=$(OBJ)/%.f64.o) \
            $(foreach i,$(ISAS),$(SIMD_SRC:%.c=$(OBJ)/%.f32.$(i).o) $(SIMD_SRC:%.c=$(OBJ)/%.f64.$(i).o))
PROGRAMS := $(patsubst src/programs/%.c,%,$(wildcard src/programs/hkt-*.c))
BIN      := $(PROGRAMS:%=$(BUILD)/bin/%)
# Everything that programs and tests are linked from. What is installed is the library made of src/api and what that needs.
LIB      := $(BUILD)/obj/all.a
API_OBJ  := $(patsubst %.c,$(OBJ)/%.o,$(wildcard src/api/*.c))
SONAME   := libhkt.so.0
# Sanitizers want to be in the program, not in a library; the libraries of a SYSROOT name others that are not in it.
LIBRARY  := $(if $(SAN)$(CROSS),,$(BUILD)/lib/libhkt.a $(BUILD)/lib/libhkt.so.$(VERSION))
TEST_SRC := $(wildcard tests/test_*.c)
TEST_BIN := $(TEST_SRC:tests/%.c=$(BUILD)/tests/%)
MAN      := $(wildcard docs/man/*.[13])
# Made from what the programs say of their options, where they can be run.
COMPLETION := $(if $(CROSS),,$(PROGRAMS:%=$(BUILD)/completion/%) $(PROGRAMS:%=$(BUILD)/completion/_%))

.PHONY: all help deps clean test test-slow test-machines test-arm64 fuzz mutation demo figures verify lint format install uninstall dist deb
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:

all: $(LIB) $(LIBRARY) $(BIN) $(COMPLETION)

help:
	@echo 'make              programs in build/bin, library in build/lib'
	@echo 'make demo         set-up, then: data, training, verification, analysis, figures, report (demo/)'
	@echo 'make test         set-up, then: all fast tests; the last line is "N passed, N failed"'
	@echo 'make test MODULE=attention | SAN=address,undefined | CC=clang'
	@echo 'make test-slow    the tests that take minutes'
	@echo 'make test-machines  the tests of what computes for every instruction set and OpenBLAS core, and clang'
	@echo 'make fuzz         every reader of foreign bytes under libFuzzer and sanitizers, SECONDS=60 each'
	@echo 'make mutation     edits of a copy that the tests must notice: FILES=..., EDITS=300'
	@echo 'make test-arm64   cross-built programs under qemu: tests, and the same bytes as on this machine'
	@echo 'make verify       every claim against the committed table of expected verdicts'
	@echo 'make figures      redraws the figures of demo/'
	@echo 'make lint         format, static analysis, direction of dependencies, man pages'
	@echo 'make install PREFIX=/usr/local LIBDIR= DESTDIR='
	@echo 'make dist         build/hkt-$(VERSION).tar.gz: builds and tests without git'
	@echo 'make deb          Debian packages in build/deb (needs debhelper)'

# --- set-up -----------------------------------------------------------------------------------------------------------
deps:
ifneq ($(DEPS),no)
	@CC='$(CC)' sh tests/deps.sh
endif

# --- compilation ------------------------------------------------------------------------------------------------------
# Changed flags rebuild everything; the stamp is rewritten only when they differ.
$(BUILD)/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(CC) $(ALL_CFLAGS) $(ALL_LDLIBS)' | cmp -s - $@ || printf '%s\n' '$(CC) $(ALL_CFLAGS) $(ALL_LDLIBS)' > $@
# Also of a clone that is owned by somebody else, and without writing into it: git refreshes a copy of the index. An archive of
# a release has its commit in a file.
GIT := git -c safe.directory='*'
$(BUILD)/commit.h: FORCE
	@mkdir -p $(@D)
	@if [ -e .commit ]; then c=$$(cat .commit); else c=$$($(GIT) rev-parse --short=12 HEAD 2>/dev/null || echo unknown); \
	 if cp "$$($(GIT) rev-parse --git-path index 2>/dev/null)" $@.index 2>/dev/null; then \
	   GIT_INDEX_FILE='$(abspath $@).index' $(GIT) diff --quiet HEAD -- src include analysis plots Makefile || c=$$c+; fi; \
	 rm -f $@.index; fi; \
	 printf '#define HKT_VERSION "%s"\n#define HKT_COMMIT "%s"\n#define HKT_CC "%s"\n' '$(VERSION)' "$$c" "$$($(CC) --version | head -n 1)" > $@.new; \
	 cmp -s $@.new $@ && rm $@.new || mv $@.new $@
FORCE:

.PRECIOUS: $(OBJ)/%.o # kept, though only steps on the way to a program
$(OBJ)/src/base/provenance.o: $(BUILD)/commit.h
COMPILE = @mkdir -p $(@D) && echo '  CC $(@:$(OBJ)/%=%)' && $(CC) $(ALL_CFLAGS) -MMD -MP
$(OBJ)/%.f32.o: %.c $(BUILD)/flags
	$(COMPILE) -c $< -o $@
$(OBJ)/%.f64.o: %.c $(BUILD)/flags
	$(COMPILE) -DHKT_REAL_F64 -c $< -o $@
define ISA_RULES
$(OBJ)/%.f32.$(1).o: %.c $(BUILD)/flags
	$$(COMPILE) $(ISA_$(1)) -DHKT_ISA_NAME=$(1) -c $$< -o $$@
$(OBJ)/%.f64.$(1).o: %.c $(BUILD)/flags
	$$(COMPILE) $(ISA_$(1)) -DHKT_ISA_NAME=$(1) -DHKT_REAL_F64 -c $$< -o $$@
endef
$(foreach i,$(ISAS),$(eval $(call ISA_RULES,$(i))))
$(OBJ)/%.o: %.c $(BUILD)/flags
	$(COMPILE) -c $< -o $@

$(LIB): $(LIB_OBJ)
	@mkdir -p $(@D) && rm -f $@ && $(if $(CROSS),$(CROSS)-)ar rcs $@ $^
# One object with what src/api needs; in it, as in the shared library, only the API can be linked to.
$(BUILD)/lib/libhkt.a: $(API_OBJ) $(LIB)
	@mkdir -p $(@D) && rm -f $@ && ld -r -o $(BUILD)/lib/hkt.o $^ && objcopy --localize-hidden $(BUILD)/lib/hkt.o && ar rcs $@ $(BUILD)/lib/hkt.o
$(BUILD)/lib/libhkt.so.$(VERSION): $(API_OBJ) $(LIB) src/hkt.map
	@mkdir -p $(@D) && echo '  LD $(@F)' && $(CC) $(ALL_CFLAGS) $(LDFLAGS) -shared -Wl,-soname,$(SONAME) -Wl,--no-undefined -Wl,--as-needed -Wl,--version-script=src/hkt.map \
	  $(filter-out %.map,$^) $(ALL_LDLIBS) -o $@ && ln -sf $(@F) $(@D)/$(SONAME) && ln -sf $(SONAME) $(@D)/libhkt.so
# The parts of program hkt-NAME are src/programs/NAME_*.c.
.SECONDEXPANSION:
# early.c is for those that use OpenBLAS.
EARLY_OBJ = $(if $(filter data plot,$(1)),,$(OBJ)/src/programs/early.o)
PART_OBJ = $(call EARLY_OBJ,$(1)) $(addprefix $(OBJ)/,$(addsuffix .o,$(basename $(wildcard src/programs/$(1)_*.c))))
$(BUILD)/bin/hkt-%: $(OBJ)/src/programs/hkt-%.o $$(call PART_OBJ,$$*) $(LIB)
	@mkdir -p $(@D) && echo '  LD $(@F)' && $(CC) $(ALL_CFLAGS) $(LDFLAGS) $(filter %.o,$^) $(LIB) $(ALL_LDLIBS) -o $@
# Shares nothing with the library whose verdicts it decides.
$(BUILD)/bin/hkt-check: $(OBJ)/src/programs/hkt-check.o
	@mkdir -p $(@D) && echo '  LD $(@F)' && $(CC) $(ALL_CFLAGS) $(LDFLAGS) $< -lgmp -o $@
$(BUILD)/tests/%: $(OBJ)/tests/%.o $(LIB)
	@mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) $(LDFLAGS) $< $(LIB) -lcmocka $(ALL_LDLIBS) -o $@
$(BUILD)/completion/_%: $(BUILD)/bin/% src/completion.sh
	@mkdir -p $(@D) && sh src/completion.sh zsh $< > $@
$(BUILD)/completion/%: $(BUILD)/bin/% src/completion.sh
	@mkdir -p $(@D) && sh src/completion.sh bash $< > $@

-include $(LIB_OBJ:.o=.d) $(OBJ)/tests/fuzz/fuzz.d $(TEST_BIN:$(BUILD)/tests/%=$(OBJ)/tests/%.d) $(patsubst %.c,$(OBJ)/%.d,$(wildcard src/programs/*.c))

# --- the main jobs ----------------------------------------------------------------------------------------------------
# The packages must be there before the second make reads their flags.
test: deps
	@+$(MAKE) --no-print-directory -j$$(nproc) all build-tests
	@+BUILD=$(BUILD) MODULE='$(MODULE)' sh tests/run.sh fast
test-slow: deps
	@+$(MAKE) --no-print-directory -j$$(nproc) all build-tests
	@+BUILD=$(BUILD) MODULE='$(MODULE)' sh tests/run.sh slow
# What computes, as on other machines: every instruction set and core of OpenBLAS that this one has, and clang.
test-machines: deps
	@CC=clang DEPS=$(DEPS) $(MAKE) --no-print-directory deps
	@+$(MAKE) --no-print-directory -j$$(nproc) all build-tests
	@+$(MAKE) --no-print-directory -j$$(nproc) CC=clang BUILD=$(BUILD)/clang all build-tests
	@BUILD=$(BUILD) CLANG=$(BUILD)/clang sh tests/machines.sh
# Every reader of bytes from outside, with clang's libFuzzer and sanitizers: make fuzz SECONDS=600 READER=npy
SECONDS ?= 60
fuzz:
	@CC=clang DEPS=$(DEPS) $(MAKE) --no-print-directory deps
	@+$(MAKE) --no-print-directory -j$$(nproc) CC=clang SAN=address$(comma)undefined CFLAGS='-fsanitize=fuzzer-no-link -Wno-pass-failed' OPT=-O1 \
	    BUILD=build/fuzz build/fuzz/fuzz
	@BUILD=build/fuzz sh tests/fuzz/run.sh $(SECONDS) $(READER)
$(BUILD)/fuzz: $(OBJ)/tests/fuzz/fuzz.o $(LIB)
	$(CC) $(ALL_CFLAGS) -fsanitize=fuzzer $< $(LIB) $(ALL_LDLIBS) -lgmp -o $@
# Small edits of a copy; a test must notice: make mutation FILES='src/base/tsv.c' MODULE='tsv' EDITS=50
FILES ?= $(wildcard src/num/*.c analysis/*/*.c analysis/*/*/*.c)
EDITS ?= 300
mutation: deps
	@MODULE='$(MODULE)' $(PYTHON) tests/mutation.py build/mutation $(EDITS) $(FILES)

# The same bytes on the other processor: its programs run under qemu beside those of this machine.
test-arm64: ARM_MODULES := arm64 attention certify golden kernels moments vmath \
              $(foreach m,bytes elementary,$(if $(wildcard tests/*_$(m).*),$(m)))
test-arm64: CROSS_MAKE   = $(MAKE) --no-print-directory CROSS=aarch64-linux-gnu BUILD=build/arm64 SYSROOT=build/arm64/sysroot
test-arm64: deps
ifneq ($(DEPS),no)
	@CROSS=aarch64-linux-gnu sh tests/deps.sh
endif
	@sh tests/sysroot.sh build/arm64/sysroot
	@+$(MAKE) --no-print-directory -j$$(nproc) all
	@+$(CROSS_MAKE) -j$$(nproc) all build-tests
	@sh tests/emulate.sh build/arm64 build/arm64/run
	@+BUILD=build/arm64/run HKT_NATIVE='$(abspath $(BUILD))' MODULE='$(ARM_MODULES)' sh tests/run.sh fast
.PHONY: build-tests
build-tests: $(TEST_BIN)

demo: deps
	@+$(MAKE) --no-print-directory -j$$(nproc) all
	@BUILD=$(BUILD) sh experiments/demo.sh
figures: all
	$(BUILD)/bin/hkt-plot all --from demo --out demo/figures --plots plots
verify: all
	$(BUILD)/bin/hkt-verify all --quick --expect docs/verdicts.tsv

# --- quality ----------------------------------------------------------------------------------------------------------
C_FILES = $(wildcard include/hkt/*.h src/*/*.[ch] src/*/*/*.[ch] analysis/*/*.[ch] analysis/*/*/*.[ch] tests/*.[ch] tests/*/*.[ch])
lint:
	@sh tests/lint.sh
format:
	clang-format -i $(C_FILES)

# --- installation -----------------------------------------------------------------------------------------------------
# install-files copies what was built and builds nothing.
HEADERS := $(wildcard include/hkt/*.h)
# A Debian package has its licence in debian/copyright.
LICENSES ?= LICENSE
DOCS    := README.md $(LICENSES) CHANGELOG.md CITATION.cff docs/verdicts.tsv $(wildcard docs/*.md)
# Debian's own is vendor-completions.
ZSH_SITE ?= site-functions
install: all
	@+$(MAKE) --no-print-directory install-files
.PHONY: install-files
install-files: D = $(DESTDIR)$(PREFIX)
install-files: L = $(DESTDIR)$(LIBDIR)
install-files:
	install -d $D/bin $D/include/hkt $L/pkgconfig $D/share/man/man1 $D/share/man/man3 $D/share/hkt/plots $D/share/doc/hkt/examples
	install -m 755 $(BIN) $D/bin
	install -m 644 $(HEADERS) $D/include/hkt
	install -m 644 $(filter %.1,$(MAN)) $D/share/man/man1
	install -m 644 $(filter %.3,$(MAN)) $D/share/man/man3
	install -m 644 plots/*.gp plots/published.tsv $D/share/hkt/plots
	install -m 644 $(DOCS) $D/share/doc/hkt
ifneq ($(COMPLETION),)
	install -d $D/share/bash-completion/completions $D/share/zsh/$(ZSH_SITE)
	install -m 644 $(PROGRAMS:%=$(BUILD)/completion/%) $D/share/bash-completion/completions
	install -m 644 $(PROGRAMS:%=$(BUILD)/completion/_%) $D/share/zsh/$(ZSH_SITE)
endif
	install -m 644 $(wildcard docs/examples/*) $D/share/doc/hkt/examples
ifneq ($(LIBRARY),)
	install -m 644 $(LIBRARY) $L
	ln -sf libhkt.so.$(VERSION) $L/$(SONAME)
	ln -sf $(SONAME) $L/libhkt.so
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' -e 's|@VERSION@|$(VERSION)|' src/hkt.pc.in > $L/pkgconfig/hkt.pc
endif
uninstall:
	rm -f $(PROGRAMS:%=$(DESTDIR)$(PREFIX)/share/bash-completion/completions/%) $(PROGRAMS:%=$(DESTDIR)$(PREFIX)/share/zsh/$(ZSH_SITE)/_%)
	rm -f $(PROGRAMS:%=$(DESTDIR)$(PREFIX)/bin/%) $(DESTDIR)$(LIBDIR)/libhkt.* $(DESTDIR)$(LIBDIR)/pkgconfig/hkt.pc \
	  $(foreach m,$(notdir $(MAN)),$(DESTDIR)$(PREFIX)/share/man/man$(patsubst .%,%,$(suffix $m))/$m)
	rm -rf $(DESTDIR)$(PREFIX)/share/hkt $(DESTDIR)$(PREFIX)/share/doc/hkt $(DESTDIR)$(PREFIX)/include/hkt

# An archive that builds and tests without git: the commit is in its file .commit.
dist:
	@mkdir -p build && git archive --prefix=hkt-$(VERSION)/ --add-virtual-file=hkt-$(VERSION)/.commit:$$(git rev-parse --short=12 HEAD) \
	  -o build/hkt-$(VERSION).tar.gz HEAD && echo build/hkt-$(VERSION).tar.gz
# Debian packages hkt, libhkt0 and libhkt-dev from that archive, in build/deb.
deb: dist
	@rm -rf build/deb && mkdir -p build/deb && tar -C build/deb -xzf build/hkt-$(VERSION).tar.gz
	@cd build/deb/hkt-$(VERSION) && env -u MAKEFLAGS -u MAKELEVEL -u CFLAGS dpkg-buildpackage -us -uc -b -d
	@ls build/deb/*.deb

clean:
	rm -rf build
