# make test is the one test command; CI runs nothing else.

GO ?= go
PKGS := ./...

.PHONY: build test quick soak lint cross bench fuzz clean deps web screenshot release

build:
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/weft ./cmd/weft

# What the tests want beside Go, as command:package: mawk for benchmarks, python3
# for the independent comparison of conversions and OTF2's bindings for it, libotf and its tools with a
# compiler for OTF in both directions, the tools and the library of OTF2, EZTrace with
# Open MPI for archives of real programs, Node.js (20 at least, or the tests of the page skip),
# groff and man for the manual pages, and the shell of Chromium that has no windows, or else
# Chromium. Packages of headers are looked for by name where there is dpkg: mpicc is there without them, too. Where
# nothing may be installed, the tests that need a missing thing skip and say so.
deps:
	@install() { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 && \
		{ apt-get update -qq; apt-get install -y -qq $$1; } >/dev/null 2>&1; }; \
	for x in mawk:mawk python3:python3 python3-otf2:python3-otf2 otfprint:otf-trace otf2-print:otf2-tools \
		mpirun:openmpi-bin mpicc:libopenmpi-dev eztrace:eztrace otfconfig:libopen-trace-format-dev \
		otf2-config:libotf2-trace-dev gcc:gcc node:nodejs npm:npm groff:groff-base man:man-db; do \
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

# Everything: the tests, the race detector on those in which goroutines meet, vet,
# staticcheck, gofmt and the types on all platforms. internal/testrun says what runs when.
test: deps
	$(GO) run ./internal/testrun

# The inner loop: gofmt and the tests on short data, without browser and race detector. What has
# not changed since the last time is not run again.
quick:
	$(GO) run ./internal/testrun -quick

# Random and exhaustive tests at length; takes hours.
soak: deps
	WEFT_SOAK=1 $(GO) test -count=1 -timeout 12h $(PKGS)

lint:
	@test -z "$$(gofmt -l $$(git ls-files '*.go' 2>/dev/null || find . -name '*.go'))" || \
		{ gofmt -l .; echo "run gofmt -w on these"; exit 1; }
	$(GO) build -C tools -o $(CURDIR)/bin/lint ./lint
	bin/lint $(PKGS)

# The program is pure Go on every platform that it is for.
cross:
	CGO_ENABLED=0 GOOS=linux GOARCH=amd64 $(GO) build -o /dev/null ./cmd/weft
	CGO_ENABLED=0 GOOS=linux GOARCH=arm64 $(GO) build -o /dev/null ./cmd/weft
	CGO_ENABLED=0 GOOS=darwin GOARCH=arm64 $(GO) build -o /dev/null ./cmd/weft
	CGO_ENABLED=0 GOOS=windows GOARCH=amd64 $(GO) build -o /dev/null ./cmd/weft

# The page of weft view, from its sources in web/src; needs Node.js 20 and npm.
web:
	cd web && npm ci && npm run check && npm run build

# The picture of the page in README.md.
screenshot: build web/node_modules
	node docs/screenshot.mjs bin/weft format/otf2/testdata/ok/heat2d-mt/traces.otf2 docs/viewer.png

web/node_modules:
	cd web && npm ci

# Ratios against mawk and wc on generated files of 10 MB and 1 GB, and against OTF's
# own tools on a trace of 8 million events, and Pallas beside what its own library was
# measured to take; takes some minutes and 6 GB of disk.
# Writes docs/performance.md, and docs/performance-otf.md, -pallas.md, -otf2.md, -reads.md,
# -transform.md, -workloads.md, -verify.md, -answers.md and -viewer.md. The page is measured if `make web` has put its
# packages there.
bench:
	$(GO) run ./internal/bench -files cps.etf,stencil.trf -o docs/performance.md

# Each fuzz target for a minute.
fuzz:
	@grep -rno '^func Fuzz[A-Za-z]*' --include=*_test.go . | while IFS=: read -r file line name; do \
		$(GO) test ./$$(dirname $$file) -run '^$$' -fuzz "^$${name#func }\$$" -fuzztime 60s || exit 1; \
	done

# Everything that a release consists of, into the folder dist, for VERSION, such as
# `make release VERSION=1.2.3`, or else the version in internal/cli/version.go. It needs no network
# once the modules are in the module cache (`go -C tools/release mod download`).
release:
	$(GO) run -C tools/release . -o $(CURDIR)/dist $(if $(VERSION),-version $(VERSION))

clean:
	rm -rf bin dist
