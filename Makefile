# The main targets are make run and make test. The others are for contributors.
# All targets need only Go, git and make on Linux. A test that needs another tool
# is skipped if the tool is missing, and the last lines say so. make tools prints
# how to install the tools.

GO      ?= go
SHELL   := /bin/bash -o pipefail
TOOLS   := $(GO) tool -modfile=build/tools/go.mod
LINT    := $(GO) tool -modfile=build/tools/lint/go.mod golangci-lint
SOURCES := $(shell find . -name '*.go' -not -path './bin/*' -not -path './.cache/*') $(shell find lab results system workload hermes -name '*.yaml' -o -name '*.sql' -o -name '*.graphqls') go.mod go.sum
# Tests are not cached: they start processes and servers whose state the cache
# does not see.
TESTFLAGS ?= -count=1
# Runs tests and reports them, see its package comment. Four packages run at
# once: those that wait for a server leave the cores to others.
TESTRUN := bin/testrun $(if $(TOTALS),-totals $(TOTALS)) $(if $(TIMES),-times $(TIMES))

.DEFAULT_GOAL := help

.PHONY: help
help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-12s %s\n", $$1, $$2}'

.PHONY: build
build: bin/wirelab bin/hermes bin/wirelab-nats ## build bin/wirelab, bin/hermes and bin/wirelab-nats

bin/wirelab: $(SOURCES)
	@GO=$(GO) build/scripts/build ./cmd/wirelab $@

bin/testrun: $(SOURCES)
	@GO=$(GO) build/scripts/build ./internal/testrun $@

bin/hermes: $(SOURCES)
	@GO=$(GO) build/scripts/build ./cmd/hermes $@

bin/wirelab-nats: $(SOURCES)
	@GO=$(GO) build/scripts/build ./cmd/wirelab-nats $@

.PHONY: run
run: bin/wirelab ## compare six protocols, about two minutes
	./bin/wirelab run quick

.PHONY: test
test: bin/testrun ## run the tests; skips those whose tools are missing
	@$(TESTRUN) -memory 8 -shared -without-rest -- $(TESTFLAGS) -vet=off -p 4 -timeout 25m

.PHONY: test-rest
test-rest: bin/testrun ## run the rest: vet, fuzzing, torture, experiments, self-test
	@$(TESTRUN) -rest

.PHONY: test-all
test-all: ## run make test, and then make test-rest
	@totals=$$(mktemp -u) && trap 'rm -f '$$totals EXIT && $(MAKE) test TOTALS=$$totals && $(MAKE) test-rest TOTALS=$$totals

.PHONY: tools
tools: bin/testrun ## print how to install test tools; as root on Debian, install
	@$(TESTRUN) -tools

.PHONY: selftest
selftest: build ## check wirelab against known servers, about twenty minutes
	./bin/wirelab selftest --long

.PHONY: short
short: bin/testrun ## run the quick tests
	@$(TESTRUN) -memory 4 -without-rest -- $(TESTFLAGS) -vet=off -short -p 6 -timeout 5m

.PHONY: race
race: bin/testrun ## run all tests with the race detector, which needs a C compiler
	# Except the self-test: the detector would distort its measurements.
	@$(TESTRUN) -shared -- $(TESTFLAGS) -race -timeout 40m -skip '^TestSelfTest$$'

.PHONY: lint
lint: ## format and lint
	@test -z "$$($(TOOLS) gofumpt -l $$(git ls-files '*.go' | grep -v -e '/gen/' -e '[.]pb[.]go' -e '_gen[.]go'))" || { echo 'not formatted; run: make format'; $(TOOLS) gofumpt -l $$(git ls-files '*.go' | grep -v -e '/gen/' -e '[.]pb[.]go' -e '_gen[.]go'); exit 1; }
	$(LINT) run ./...

.PHONY: format
format: ## format
	$(TOOLS) gofumpt -w $$(git ls-files '*.go' | grep -v -e '/gen/' -e '[.]pb[.]go' -e '_gen[.]go')

.PHONY: generate
generate: ## write the generated code and the reference again
	@build/scripts/generate
	# The pages of reference: what the programs' own help says.
	$(GO) test -count=1 ./cmd/wirelab ./cmd/hermes -run '^TestReferenceIsFresh$$' -update

.PHONY: picture
picture: build ## measure and draw the picture of README, two minutes
	@mkdir -p .cache && rm -f .cache/picture.db
	./bin/wirelab run docs/examples/plan.yaml --results .cache/picture.db
	./bin/wirelab report latest --results .cache/picture.db --format svg -o docs/report.svg

.PHONY: check
check: ## run what must pass before a change is done
	@build/scripts/freshness
	$(MAKE) lint
	$(GO) vet ./...
	$(GO) test $(TESTFLAGS) ./internal/...
	$(MAKE) race
	@build/scripts/vulnerabilities

.PHONY: conformance
conformance: ## compare every cell with the in-memory reference
	$(GO) test $(TESTFLAGS) -v -run Conformance -timeout 14m ./workload/...

.PHONY: faults
faults: ## put faults into the bindings; the tests must find each
	$(GO) run ./internal/mutationtest

.PHONY: bench
bench: ## measure what one call and one sample cost, in ns and allocations
	$(GO) test -run '^$$' -bench . -benchmem ./lab/stat ./lab/load ./pipeline/gateway ./workload/...

# These run presets, whose results are stored: "wirelab results list" shows them. What cannot be had here is left out, and
# said; a preset that ends without an answer does not keep the others from being run.
PRESETS = set -o pipefail; worst=0; for preset in $(1); do bin/wirelab run $$preset $(BENCHFLAGS) || worst=$$?; done; exit $$worst

.PHONY: bench-rivals
bench-rivals: build ## compare the raw driver with other load generators
	@build/scripts/rivals
	@$(call PRESETS,generators-http1 generators-grpc generators-grpc-1 generators-grpc-go)

.PHONY: bench-database
bench-database: build tools ## compare ledger and logger with pgbench on the same database
	@$(call PRESETS,database-balance database-entries)

.PHONY: bench-queue
bench-queue: build ## compare the AMQP path with a bare client of RabbitMQ
	@$(call PRESETS,queue-clients queue-paths queue-paths-embedded)
	$(GO) test -run '^$$' -bench BareClient -benchtime 5s -timeout 30m ./system/rabbitmq

.PHONY: bench-gateway
bench-gateway: build ## compare the gateway of the log pipeline with one more hop
	@$(call PRESETS,gateway-rpc gateway-grpc gateway-http)

.PHONY: bench-brokers
bench-brokers: build tools ## compare Hermes with NATS and RabbitMQ; see docs/hermes.md
	@$(call PRESETS,brokers-stream-100 brokers-stream-1024 brokers-callers-60 brokers-callers-150 \
		brokers-end-to-end brokers-backlog)

.PHONY: bench-hermes
bench-hermes: ## measure Hermes with 10,000 topics, and with a slow disk
	$(GO) test -run '^$$' -bench . -benchtime 1x -timeout 60m ./hermes/local

.PHONY: torture
torture: ## torture Hermes for most of an hour, as root; ARGS='--seed N'
	@build/scripts/torture $(ARGS)

.PHONY: clean
clean: ## remove what was built
	rm -rf bin .cache
