# hkt - one Makefile, no configure step. `make help` lists the targets.
#
#   CC=gcc|clang   SAN=address,undefined   WERROR=yes (default when CI=true)   DEPS=no (do not install packages)
#   BUILD=DIR      PREFIX=/usr/local       DESTDIR=                            MODULE='NAME...' (make test: these modules)
#   CROSS=aarch64-linux-gnu (build for this processor, with the libraries in SYSROOT=DIR; see test-arm64)

VERSION := 0.1.0
comma   := ,
CC      ?= cc
ifeq ($(origin CC),default)
CC      := $(if $(CROSS),$(CROSS)-)gcc
endif
PREFIX  ?= /usr/local
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
OPT      ?= -O3
WARN     := -Wall -Wextra -Wshadow -Wmissing-prototypes -Wstrict-prototypes -Wpointer-arith -Wcast-qual -Wwrite-strings \
            -Wvla -Wformat=2 -Wundef -Wdouble-promotion $(if $(filter yes,$(WERROR)),-Werror)
SANFLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-sanitize-recover=all -fno-omit-frame-pointer)
# clang is every processor's compiler; gcc has a program for each.
TARGET   := $(and $(CROSS),$(findstring clang,$(CC)),--target=$(CROSS)) $(SYSROOT:%=--sysroot=%)
ALL_CFLAGS = $(TARGET) -std=c11 -D_GNU_SOURCE $(OPT) -g -ffp-contract=off -fno-math-errno -fopenmp $(WARN) $(SANFLAGS) -Isrc -I. \
             -I$(BUILD) $(PKG_CFLAGS) $(CFLAGS)
ALL_LDLIBS = $(PKG_LIBS) -lm -lpthread $(LDLIBS)

# --- sources ----------------------------------------------------------------------------------------------------------
LIB_SRC  := $(wildcard src/base/*.c src/num/*.c src/model/*.c src/data/*.c src/train/*.c analysis/*/*.c analysis/*/*/*.c)
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
LIB      := $(BUILD)/lib/libhkt.a
TEST_SRC := $(wildcard tests/test_*.c)
TEST_BIN := $(TEST_SRC:tests/%.c=$(BUILD)/tests/%)
MAN      := $(wildcard docs/man/*.1)

.PHONY: all help deps clean test test-slow test-machines test-arm64 fuzz mutation demo figures verify lint format install uninstall
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:

all: $(LIB) $(BIN)

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
	@echo 'make install PREFIX=/usr/local DESTDIR='

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
$(BUILD)/commit.h: FORCE
	@mkdir -p $(@D)
	@c=$$(git rev-parse --short=12 HEAD 2>/dev/null || echo unknown); \
	 git diff --quiet HEAD -- src analysis plots Makefile 2>/dev/null || c=$$c+; \
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
	$(COMPILE) -DHKT_SHAREDIR='"$(PREFIX)/share/hkt"' -c $< -o $@

$(LIB): $(LIB_OBJ)
	@mkdir -p $(@D) && rm -f $@ && $(if $(CROSS),$(CROSS)-)ar rcs $@ $^
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

-include $(LIB_OBJ:.o=.d) $(TEST_BIN:$(BUILD)/tests/%=$(OBJ)/tests/%.d) $(patsubst %.c,$(OBJ)/%.d,$(wildcard src/programs/*.c))

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
# Small edits of a copy; the tests of the edited module must notice: make mutation FILES='src/base/tsv.c' EDITS=50
FILES ?= $(wildcard src/num/*.c analysis/*/*.c analysis/*/*/*.c)
EDITS ?= 300
mutation: deps
	@$(PYTHON) tests/mutation.py build/mutation $(EDITS) $(FILES)

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
C_FILES = $(wildcard src/*/*.[ch] src/*/*/*.[ch] analysis/*/*.[ch] analysis/*/*/*.[ch] tests/*.[ch] tests/*/*.[ch])
lint:
	@sh tests/lint.sh
format:
	clang-format -i $(C_FILES)

# --- installation -----------------------------------------------------------------------------------------------------
# The public headers: what a program needs to read a checkpoint, look at the model and verify it. Everything else is
# private. tests/cli_headers.sh compiles each alone, as C and as C++; the .inc.h and num/both.h are parts of others.
HEADERS := $(addprefix base/,status.h provenance.h safetensors.h tsv.h) data/dataset.h \
  $(addprefix num/,attention.h attention.inc.h both.h) \
  $(addprefix model/,config.h layout.h checkpoint.h cost.h net.h net.inc.h part.h) \
  $(addprefix analysis/math/,certify.h linalg.h modular.h rank.h moments.h mardia.h quartic.h bootstrap.h multiple.h paired.h \
    fit.h laws.h entropy.h) \
  $(addprefix analysis/view/,scene.h walk.h scores.h sample.h gram.h stream.h hierarchy.h asymmetry.h errors.h) \
  $(addprefix analysis/measure/,measure.h list.h) \
  $(addprefix analysis/claims/,check.h list.h report.h accuracy/runs.h)
install: all install-headers
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/share/man/man1 \
	  $(DESTDIR)$(PREFIX)/share/hkt/plots
	install -m 755 $(BIN) $(DESTDIR)$(PREFIX)/bin
	install -m 644 $(LIB) $(DESTDIR)$(PREFIX)/lib
	install -m 644 $(MAN) $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 644 plots/*.gp plots/published.tsv $(DESTDIR)$(PREFIX)/share/hkt/plots
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' src/hkt.pc.in > $(DESTDIR)$(PREFIX)/lib/pkgconfig/hkt.pc
.PHONY: install-headers
install-headers:
	for h in $(HEADERS); do src=src/$$h; [ -e $$src ] || src=$$h; \
	  install -D -m 644 $$src $(DESTDIR)$(PREFIX)/include/hkt/$$h || exit 1; done
uninstall:
	rm -f $(PROGRAMS:%=$(DESTDIR)$(PREFIX)/bin/%) $(DESTDIR)$(PREFIX)/lib/libhkt.a \
	  $(DESTDIR)$(PREFIX)/lib/pkgconfig/hkt.pc $(MAN:docs/man/%=$(DESTDIR)$(PREFIX)/share/man/man1/%)
	rm -rf $(DESTDIR)$(PREFIX)/share/hkt $(DESTDIR)$(PREFIX)/include/hkt

clean:
	rm -rf build
