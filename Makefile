# callgate. `make` alone lists the targets.

SHELL := bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

VERSION ?= $(shell git describe --tags --always --abbrev=12 --dirty 2>/dev/null || echo dev)
# make build OPA=1 makes a callgate that evaluates Rego. That program is a separate module.
export OPA ?=
PROGRAM := cmd/callgate$(if $(OPA),-opa)
LDFLAGS := -s -w -X callgate/internal/app.Version=$(VERSION)
GOLANGCI := go run github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

# Programs for callgate's development, in a separate module.
DEV := internal/dev

# The race detector needs a C compiler on most systems; everything else does not. All builds use the same flags, so that
# each package is compiled only once.
RACE ?= $(shell command -v "$$(CGO_ENABLED=1 go env CC | cut -d' ' -f1)" >/dev/null && echo -race)
export CGO_ENABLED := 0

# Packages whose tests run on one goroutine. The race detector would find nothing there and takes eight times as long.
ONE_GOROUTINE := ./docs ./examples ./examples/demo ./gate/internal/... ./gate/tools/internal/... ./internal/address \
	./internal/app/checkpoints ./internal/checkpoint ./internal/command/approve ./internal/command/connect \
	./internal/companion/wire ./internal/doctor ./internal/gitfiles ./internal/home ./internal/install ./internal/jsonx \
	./internal/loopback ./internal/manual ./internal/nolink ./internal/oncall ./internal/output ./internal/packaging \
	./internal/policy ./internal/push ./internal/report ./internal/startup ./internal/suggest ./internal/supply \
	./internal/textscan ./internal/translate ./internal/upstream/environment ./internal/vault ./permissions/lint \
	./proxy/internal/catalogue ./proxy/internal/chat ./proxy/internal/elicitation ./proxy/internal/tasks \
	./proxy/internal/workspace ./rag/chunks ./rag/ignore ./rag/internal/extract ./rag/internal/terms ./shellparse/...

# The same for the development module. make check also compiles what these import.
DEV_ONE_GOROUTINE := ./deploy ./ragbench/... ./vet

# Start the slowest packages first.
LONGEST := ./internal/command ./internal/companion ./internal/cluster

# Many tests wait for processes and for time, so twice as many tests of a package run as there are processors. So many
# packages at the same time would hold up replicas until they lose their leases. make check vets all code, including
# tests. Without debugging tables, programs link faster.
BESIDE := $(shell echo $$((2 * $$(getconf _NPROCESSORS_ONLN))))
TEST := go test -timeout 40m -parallel $(BESIDE) -vet=off -ldflags='-s -w'
# The race detector is linked with cgo.
RACED := $(if $(RACE),CGO_ENABLED=1) $(TEST) $(RACE)
# Without this, raced programs sleep for a second when they end.
export GORACE ?= atexit_sleep_ms=0

# The Go tests and benchmarks to run: make test PKG=./permissions
PKG ?= ./...
# How long each fuzz target runs.
FUZZTIME ?= 20s
# Who answers the question of `make run`: approve, reject, always, or empty for a person.
ANSWER ?=
# More flags for the benchmark: make bench BENCHFLAGS='-rounds 9'
BENCHFLAGS ?=
# More flags for the conformance suites: make conformance CONFORMANCEFLAGS=-update
CONFORMANCEFLAGS ?=

NPM := testdata/npm/node_modules/.package-lock.json
SUITES := testdata/conformance/node_modules/.package-lock.json
PAGE := internal/companion/web/node_modules/.package-lock.json

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/callgate
	go build -C $(PROGRAM) -ldflags '$(LDFLAGS)' -o '$(CURDIR)/bin/callgate'

.PHONY: install
install: ## install callgate into $GOBIN
	go build -C $(PROGRAM) -ldflags '$(LDFLAGS)' -o "$$(go list -f '{{.Target}}' ./cmd/callgate)"

.PHONY: run
run: build ## try it: three calls through the gate (ANSWER=approve answers the question)
	go build -o bin/callgate-demo ./examples/demo
	go build -o bin/callgate-host ./examples/host
	@rm -rf .demo
	@bash examples/demo/prepare .demo/workspace
	@cd .demo/workspace && PATH="$(CURDIR)/bin:$$PATH" callgate-host --data-dir "$(CURDIR)/.demo/data" \
		$(if $(ANSWER),--answer $(ANSWER)) -- \
		callgate run --config "$(CURDIR)/examples/demo/callgate.yaml" --data-dir "$(CURDIR)/.demo/data"

.PHONY: test
test: $(NPM) $(PAGE) browser terminal languages ## run all tests
ifeq ($(PKG),./...)
	$(RACED) $(LONGEST) $$(go list ./... | grep -vxFf <(go list $(ONE_GOROUTINE) $(LONGEST)))
	$(TEST) $(ONE_GOROUTINE)
	cd cmd/callgate-opa && $(TEST) ./...
	cd $(DEV) && $(RACED) $$(go list ./... | grep -vxFf <(go list $(DEV_ONE_GOROUTINE)))
	cd $(DEV) && $(TEST) $(DEV_ONE_GOROUTINE)
else
	$(RACED) $(PKG)
endif

# How often stress runs the tests, and with how many busy loops next to them.
ROUNDS ?= 5
LOOPS ?= 4

.PHONY: stress
stress: $(NPM) $(PAGE) ## run the tests of PKG ROUNDS times on a busy machine, up to the first failure
	@set -euo pipefail; for ((i = 0; i < $(LOOPS); i++)); do \
		while kill -0 $$$$ 2>/dev/null; do :; done & \
	done; \
	loops="$$(jobs -p)"; trap '[ -z "$$loops" ] || kill $$loops' EXIT; \
	for ((round = 1; round <= $(ROUNDS); round++)); do \
		procs=$$((2 - round % 2)); \
		echo "round $$round of $(ROUNDS), GOMAXPROCS=$$procs"; \
		GOMAXPROCS=$$procs $(RACED) -count=1 -failfast -timeout 2h $(PKG); \
	done

.PHONY: wine
wine: ## run the Windows binary and tests under Wine (Debian)
	@if [ "$$(id -u)" = 0 ] && ! { command -v wine && command -v x86_64-w64-mingw32-ld; } >/dev/null; then \
		apt-get install -y -qq --no-install-recommends wine wine64 binutils-mingw-w64-x86-64 >/dev/null; \
	fi
	CALLGATE_WINE=1 go test -count=1 -run TestWine -v ./internal/command

# The approvers' page is tested in a real browser. Root gets one here. If you are not root, install one yourself;
# otherwise these tests are skipped.
.PHONY: browser
browser:
	@if [ "$$(id -u)" = 0 ] && [ -z "$${CHROMIUM:-$$(command -v chromium)}" ] && command -v apt-get >/dev/null; then \
		apt-get update -q && apt-get install -y -q --no-install-recommends chromium; fi
	@if [ "$$(id -u)" = 0 ] && [ -z "$${CHROMIUM:-$$(command -v chromium-headless-shell)}" ] && command -v apt-get >/dev/null; then \
		apt-get install -y -q --no-install-recommends chromium-headless-shell || echo "the page is tested in chromium, which takes longer"; fi

# The same holds for the real terminal in which the terminal approver is tested.
.PHONY: terminal
terminal:
	@if [ "$$(id -u)" = 0 ] && ! { command -v tmux && command -v dbus-daemon; } >/dev/null && command -v apt-get >/dev/null; then \
		apt-get update -q && apt-get install -y -q --no-install-recommends tmux dbus-daemon; fi

# The same holds for the interpreters with which tests check what callgate takes for read-only.
.PHONY: languages
languages:
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		missing=""; for p in mawk gawk sed jq yq sqlite3 busybox original-awk; do [ -n "$$(command -v $$p)" ] || missing="$$missing $$p"; done; \
		[ -z "$$missing" ] || { apt-get update -q && apt-get install -y -q --no-install-recommends $$missing; }; fi

$(PAGE): internal/companion/web/package.json internal/companion/web/package-lock.json
	npm ci --prefix internal/companion/web --ignore-scripts --no-audit --no-fund
	@touch $@

.PHONY: page
page: $(PAGE) ## build the approvers' page into internal/companion/page
	npm run build --prefix internal/companion/web

# The page uses the system's fonts. With these fonts, pictures from different machines look alike.
.PHONY: fonts
fonts:
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && [ -z "$$(fc-list Inter 2>/dev/null)" ]; then \
		apt-get update -q && apt-get install -y -q --no-install-recommends fontconfig fonts-inter fonts-jetbrains-mono; fi

.PHONY: screenshots
screenshots: $(PAGE) browser fonts ## take the pictures in docs/images
	CALLGATE_SCREENSHOTS=1 go test -count=1 -run TestPageLooks ./internal/companion

# The MCP servers that tests run callgate against.
$(NPM): testdata/npm/package.json testdata/npm/package-lock.json
	npm ci --prefix testdata/npm --ignore-scripts --no-audit --no-fund
	@touch $@

.PHONY: check
check: ## gofmt, linters, and vet for Windows and macOS
	@unformatted="$$(gofmt -l $$(go list -f '{{.Dir}}' ./...) $(DEV) cmd/callgate-opa)"; \
		if [ -n "$$unformatted" ]; then echo "not formatted with gofmt:"; echo "$$unformatted"; exit 1; fi
	$(GOLANGCI) run
	cd $(DEV) && $(GOLANGCI) run
	cd cmd/callgate-opa && $(GOLANGCI) run
	@set -e; for module in . $(DEV) cmd/callgate-opa examples/library; do echo "go mod tidy in $$module"; go -C $$module mod tidy -diff; done
	go run github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
	go build -C $(DEV) -o ../../bin/ ./vet
	GOOS=windows GOARCH=amd64 bin/vet . $(DEV)
	GOOS=darwin GOARCH=arm64 bin/vet . $(DEV)

.PHONY: bench
bench: build ## compare callgate with no proxy and the cheapest one; draw what it costs
	go build -C $(DEV) -o ../../bin/ ./bench ./bench/echo ./bench/floor
	go build -tags profile -o bin/callgate-profile ./cmd/callgate
	bin/bench -bin bin -plots docs/images $(BENCHFLAGS)
	go test -run '^$$' -bench BenchmarkAround -benchmem ./proxy
	go test -run '^$$' -bench 'Start|Watch' -benchtime 100x ./internal/guard
	go test -run '^$$' -bench BenchmarkConnect -benchmem ./internal/sandbox
	go test -run '^$$' -bench BenchmarkHook -benchtime 100x ./internal/command
	go test -run '^$$' -bench 'Saw|Carry|Flow|Form|Grams' -benchmem ./internal/flow ./internal/secrets ./internal/textscan ./gate

# Other MCP proxies are installed in the user's cache, in the versions named in internal/dev/bench/peers.go.
.PHONY: bench-peers
bench-peers: build ## install other MCP proxies and compare callgate with them alone
	go build -C $(DEV) -o ../../bin/ ./bench ./bench/echo
	bin/bench -bin bin -install -only peers $(BENCHFLAGS)

# The repositories of the development benchmark are in {REPOS}/{name}, and fetched if they are missing. If REPOS is
# empty, that part is skipped.
REPOS ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/callgate/bench-repos

.PHONY: bench-rag
bench-rag: ## measure search: how well it finds, how fast, with how much memory
	go build -C $(DEV) -o ../../bin/bench-rag ./ragbench
	$(if $(REPOS),internal/dev/ragbench/fetch.sh '$(REPOS)')
	bin/bench-rag -repos '$(REPOS)'

# Where releases are published. This file is the only place that says so.
export RELEASE_ADDRESS := $(shell cat internal/packaging/address)
# Packages contain the commit's time, so that two builds of it are the same.
export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 0)
export RELEASE_DATE ?= $(shell date -u -d @$(SOURCE_DATE_EPOCH) +%Y-%m-%dT%H:%M:%SZ 2>/dev/null || date -u -r $(SOURCE_DATE_EPOCH) +%Y-%m-%dT%H:%M:%SZ)
export RELEASE_COMMIT ?= $(shell git rev-parse --short=12 HEAD 2>/dev/null || echo 0)
GORELEASER := go run github.com/goreleaser/goreleaser/v2@v2.15.0
# make release SNAPSHOT=1 needs no tag.
SNAPSHOT ?=

# For root, rpm and runc are installed here: tests install the packages with one and run the image with the other.
.PHONY: rpm
rpm:
	@if [ "$$(id -u)" = 0 ] && ! { command -v rpm && command -v runc; } >/dev/null && command -v apt-get >/dev/null; then \
		apt-get update -q && apt-get install -y -q --no-install-recommends rpm runc; fi

.PHONY: release
release: build rpm ## build all packages into .release/out; publishes nothing
	rm -rf .release
	mkdir -p .release/completions
	bin/callgate man .release/man
	for shell in bash zsh fish; do bin/callgate completion $$shell > .release/completions/callgate.$$shell; done
	$(GORELEASER) release --config internal/packaging/goreleaser.yaml --skip=publish $(if $(SNAPSHOT),--snapshot)
	go run ./internal/packaging .release/dist .release/out
	CALLGATE_RELEASE="$(CURDIR)/.release/out" go test -count=1 ./internal/packaging

.PHONY: reproducible
reproducible: release ## build the release twice and compare
	cp .release/out/checksums.txt bin/checksums.txt
	$(MAKE) release
	cmp bin/checksums.txt .release/out/checksums.txt

# More flags for the runs of hosts: make hosts HOSTSFLAGS='-update docs/testdata/hosts.md'
HOSTSFLAGS ?=

.PHONY: hosts
hosts: build ## run the LLM hosts that are installed through callgate, and print what was seen
	go build -C $(DEV) -o ../../bin/hosts ./hosts
	bin/hosts $(HOSTSFLAGS)

.PHONY: host-tools
host-tools: build ## run the built-in tools of the LLM hosts that are installed, connected to callgate
	go build -C $(DEV) -o ../../bin/hosts ./hosts
	bin/hosts tools $(HOSTSFLAGS)

# The suites, the Inspector and the Node.js that they need come from npm. The reference server is the official Go SDK's.
$(SUITES): testdata/conformance/package.json testdata/conformance/package-lock.json
	npm ci --prefix testdata/conformance --no-audit --no-fund
	@touch $@

.PHONY: conformance
conformance: build $(SUITES) $(NPM) ## run the official conformance suites, the MCP Inspector and three replicas
	GOBIN="$(CURDIR)/bin" go install github.com/modelcontextprotocol/go-sdk/conformance/everything-{server,client}@v1.8.0
	go build -o bin/extension-server ./internal/testserver/extension
	go build -C $(DEV) -o ../../bin/conformance-run ./conformance
	bin/conformance-run $(CONFORMANCEFLAGS)
	CALLGATE_CONFORMANCE=1 $(TEST) -count=1 -run 'TestInspector|TestMatrixOfThree|TestSDKsOfThree|TestBalancers' ./internal/command

# Where to train the embedding table, and how many Debian packages to read: 0 means all.
OUT ?= .embedding
PACKAGES ?= 0

.PHONY: embedding
embedding: ## train the embedding table of search anew (Debian, Python with NumPy and SciPy)
	internal/dev/ragbench/train/run.sh '$(OUT)' $(PACKAGES)

.PHONY: microbench
microbench: ## run the Go benchmarks of PKG
	go test -run '^$$' -bench . -benchmem $(PKG)

.PHONY: fuzz
fuzz: ## run every fuzz target of PKG for FUZZTIME
	@set -euo pipefail; for pkg in $$(go list $(PKG)); do \
		targets="$$(go test -list '^Fuzz' $$pkg)"; \
		for target in $$(grep '^Fuzz' <<<"$$targets" || true); do \
			echo "$$pkg $$target"; \
			go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$pkg; \
		done; \
	done

.PHONY: clean
clean: ## remove what make made
	rm -rf bin $(DEV)/bin .demo testdata/npm/node_modules testdata/conformance/node_modules internal/companion/web/node_modules
