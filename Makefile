# CI runs make test and nothing else.

GO ?= go
PKGS := ./...

.PHONY: build test quick soak lint cross bench fuzz clean deps web screenshot release

build:
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/weft ./cmd/weft

# deps installs the programs that tests need in addition to Go, as command:package: mawk for benchmarks; python3
# with OTF2's bindings for the independent comparison of conversions; libotf with its tools and a compiler to compare
# OTF in both directions; the tools and the library of OTF2; EZTrace with Open MPI for archives of real programs;
# Node.js for the page (20 or later, otherwise its tests skip); groff, man, zsh, fish, lua and rpm for releases; and
# Chromium without windows, or else Chromium. dpkg, if it exists, finds packages of headers by name, because mpicc
# exists without them, too. If a program cannot be installed, the tests that need it skip and name it.
deps:
	@install() { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 && \
		{ apt-get update -qq; apt-get install -y -qq $$1; } >/dev/null 2>&1; }; \
	for x in mawk:mawk python3:python3 python3-otf2:python3-otf2 otfprint:otf-trace otf2-print:otf2-tools \
		mpirun:openmpi-bin mpicc:libopenmpi-dev eztrace:eztrace otfconfig:libopen-trace-format-dev \
		otf2-config:libotf2-trace-dev gcc:gcc node:nodejs npm:npm groff:groff-base man:man-db \
		zsh:zsh fish:fish lua:lua5.4 rpm:rpm; do \
		p=$${x#*:}; \
		dpkg-query -W -f '$${Status}' $$p 2>/dev/null | grep -q 'ok installed' && continue; \
		case $$p in *-dev) command -v dpkg >/dev/null 2>&1 ;; *) false ;; esac || \
			! command -v $${x%%:*} >/dev/null 2>&1 || continue; \
		install $$p || echo "$$p is missing and cannot be installed; tests that need it skip"; \
	done; \
	for p in chromium-headless-shell chromium; do \
		command -v $$p >/dev/null 2>&1 || install $$p || continue; exit; \
	done; \
	echo "chromium is missing and cannot be installed; tests that need it skip"

# test runs all tests, the tests with concurrent goroutines under the race detector, vet, staticcheck and gofmt, and
# checks the types on all platforms. internal/testrun determines the order, and makes deps while it compiles. It is
# compiled with the flags of the tests, so that they share the packages of Go.
test:
	CGO_ENABLED=0 $(GO) run -trimpath -pgo=off -ldflags=-w ./internal/testrun -install deps

# quick runs gofmt and the tests on short data, without browser and race detector. It skips packages that have not
# changed since the last run.
quick:
	$(GO) run ./internal/testrun -quick

# soak runs the random and exhaustive tests for hours.
soak: deps
	WEFT_SOAK=1 $(GO) test -count=1 -timeout 12h $(PKGS)

lint:
	@test -z "$$(gofmt -l $$(git ls-files '*.go' 2>/dev/null || find . -name '*.go'))" || \
		{ gofmt -l .; echo "run gofmt -w on these"; exit 1; }
	$(GO) build -C tools -o $(CURDIR)/bin/lint ./lint
	bin/lint $(PKGS)

# cross builds the program, which is pure Go, for each of its platforms.
cross:
	CGO_ENABLED=0 GOOS=linux GOARCH=amd64 $(GO) build -o /dev/null ./cmd/weft
	CGO_ENABLED=0 GOOS=linux GOARCH=arm64 $(GO) build -o /dev/null ./cmd/weft
	CGO_ENABLED=0 GOOS=darwin GOARCH=arm64 $(GO) build -o /dev/null ./cmd/weft
	CGO_ENABLED=0 GOOS=windows GOARCH=amd64 $(GO) build -o /dev/null ./cmd/weft

# web builds the page of weft view from its sources in web/src. It needs Node.js 20 and npm.
web:
	cd web && npm ci && npm run check && npm run build

# screenshot renews the picture of the page in README.md.
screenshot: build web/node_modules
	node docs/screenshot.mjs bin/weft format/otf2/testdata/ok/heat2d-mt/traces.otf2 docs/viewer.png

web/node_modules:
	cd web && npm ci

# bench compares weft with mawk and wc on generated files of 10 MB and 1 GB, with OTF's own tools on a trace of
# 8 million events, and with earlier measurements of Pallas' own library. It takes some minutes and 6 GB of disk.
# It writes docs/performance.md, and docs/performance-otf.md, -pallas.md, -otf2.md, -reads.md, -transform.md,
# -workloads.md, -verify.md, -answers.md and -viewer.md. It measures the page if `make web` has installed the page's
# packages.
bench:
	$(GO) run ./internal/bench -files cps.etf,stencil.trf -o docs/performance.md

# fuzz runs each fuzz target for a minute.
fuzz:
	@grep -rno '^func Fuzz[A-Za-z]*' --include=*_test.go . | while IFS=: read -r file line name; do \
		$(GO) test ./$$(dirname $$file) -run '^$$' -fuzz "^$${name#func }\$$" -fuzztime 60s || exit 1; \
	done

# release writes all files of a release to the folder dist. `make release VERSION=1.2.3` sets the version; otherwise
# it is that in internal/cli/version.go. It needs no network if the modules are in the module cache
# (`go -C tools/release mod download`).
release:
	$(GO) run -C tools/release . -o $(CURDIR)/dist $(if $(VERSION),-version $(VERSION))

clean:
	rm -rf bin dist
