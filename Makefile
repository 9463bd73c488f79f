# wirelab: two commands matter, make run and make test. The rest is for those
# who change it. Nothing here needs more than Go, git and make on Linux. What
# tests ask for beside is used where it is there; where not, the tests that need
# it are skipped, and the last lines say so. make tools installs all of it.

GO      ?= go
SHELL   := /bin/bash -o pipefail
TOOLS   := $(GO) tool -modfile=tools/go.mod
LINT    := $(GO) tool -modfile=tools/lint/go.mod golangci-lint
SOURCES := $(shell find . -name '*.go' -not -path './bin/*' -not -path './.cache/*') $(shell find plan store workload -name '*.yaml' -o -name '*.sql' -o -name '*.graphqls') go.mod go.sum
# Not cached: wirelab's tests start processes and wires whose state the cache
# does not see.
TESTFLAGS ?= -count=1
# Runs tests and tells of them, see its package comment. Four packages at once:
# those that wait for a server leave the cores to others.
TESTRUN := bin/testrun $(if $(TOTALS),-totals $(TOTALS)) $(if $(TIMES),-times $(TIMES))

.DEFAULT_GOAL := help

.PHONY: help
help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-12s %s\n", $$1, $$2}'

.PHONY: build
build: bin/wirelab bin/hermes bin/wirelab-nats ## build bin/wirelab, bin/hermes and bin/wirelab-nats

bin/wirelab: $(SOURCES)
	@GO=$(GO) scripts/build ./cmd/wirelab $@

bin/testrun: $(SOURCES)
	@GO=$(GO) scripts/build ./internal/testrun $@

bin/hermes: $(SOURCES)
	@GO=$(GO) scripts/build ./cmd/hermes $@

bin/wirelab-nats: $(SOURCES)
	@GO=$(GO) scripts/build ./cmd/wirelab-nats $@

.PHONY: run
run: bin/wirelab ## compare six protocols, about two minutes
	./bin/wirelab run quick

.PHONY: test
test: bin/testrun ## every test of the packages; skips what the machine lacks
	@$(TESTRUN) -memory 8 -shared -- $(TESTFLAGS) -vet=off -p 4 -timeout 25m -skip '^TestSelfTest$$'

.PHONY: test-rest
test-rest: bin/testrun ## what make test does not run: go vet, manifests, API fuzzing, Hermes tortured, the self-test
	@$(TESTRUN) -rest

.PHONY: test-all
test-all: ## make test, and then make test-rest
	@totals=$$(mktemp -u) && trap 'rm -f '$$totals EXIT && $(MAKE) test TOTALS=$$totals && $(MAKE) test-rest TOTALS=$$totals

.PHONY: tools
tools: bin/testrun ## say how to install what tests ask for; as root on Debian, install it
	@$(TESTRUN) -tools

.PHONY: selftest
selftest: build ## try wirelab itself against what is known beforehand, some twenty minutes
	./bin/wirelab selftest --long

.PHONY: short
short: bin/testrun ## the tests that are quick
	@$(TESTRUN) -memory 4 -shared -- $(TESTFLAGS) -vet=off -short -p 4 -timeout 5m

.PHONY: race
race: bin/testrun ## every test under the race detector, which needs a C compiler
	# But the self-test, whose measurements the detector would spoil.
	@$(TESTRUN) -shared -- $(TESTFLAGS) -race -timeout 40m -skip '^TestSelfTest$$'

.PHONY: lint
lint: ## format and lint
	@test -z "$$($(TOOLS) gofumpt -l $$(git ls-files '*.go' | grep -v '/gen/'))" || { echo 'not formatted; run: make format'; $(TOOLS) gofumpt -l $$(git ls-files '*.go' | grep -v '/gen/'); exit 1; }
	$(LINT) run ./...

.PHONY: format
format: ## format
	$(TOOLS) gofumpt -w $$(git ls-files '*.go' | grep -v '/gen/')

.PHONY: generate
generate: ## write the generated code again
	@scripts/generate
	# The pages of reference: what the programs' own help says.
	$(GO) test -count=1 ./cmd/wirelab ./cmd/hermes -run '^TestReferenceIsFresh$$' -update

.PHONY: picture
picture: build ## measure docs/examples/plan.yaml and draw docs/report.svg, the picture in README, two minutes
	@mkdir -p .cache && rm -f .cache/picture.db
	./bin/wirelab run docs/examples/plan.yaml --results .cache/picture.db
	./bin/wirelab report latest --results .cache/picture.db --format svg -o docs/report.svg

.PHONY: check
check: ## what must pass before a change is done: generate, lint, vet, rules, race tests, vulnerabilities
	@scripts/freshness
	$(MAKE) lint
	$(GO) vet ./...
	$(GO) test $(TESTFLAGS) ./internal/...
	$(MAKE) race
	@scripts/vulnerabilities

.PHONY: conformance
conformance: ## prove every cell, named, against the in-memory reference
	$(GO) test $(TESTFLAGS) -v -run Conformance -timeout 14m ./workload/...

.PHONY: faults
faults: ## plant faults in the bindings one at a time and see each caught
	$(GO) run ./internal/plant

.PHONY: bench
bench: ## what one call and one sample cost, in ns and allocations
	$(GO) test -run '^$$' -bench . -benchmem ./stat ./load ./pipeline/gateway ./workload/...

.PHONY: bench-rivals
bench-rivals: build ## what a request costs our raw driver and others' load generators, side by side
	@scripts/rivals
	$(GO) run ./internal/rivals -wirelab bin/wirelab

.PHONY: bench-database
bench-database: build tools ## balances a second over wires, beside what pgbench gets from the same server
	$(GO) run ./internal/pgbench -wirelab bin/wirelab

.PHONY: bench-queue
bench-queue: build ## entries a second through RabbitMQ on the AMQP path, beside a raw driver's most
	$(GO) run ./internal/queuebench -wirelab bin/wirelab

.PHONY: bench-gateway
bench-gateway: build ## what the log pipeline's gateway costs, beside one further hop over the wire behind it
	$(GO) run ./internal/gatewaybench -wirelab bin/wirelab

.PHONY: bench-brokers
bench-brokers: build tools ## Hermes beside NATS JetStream and RabbitMQ, three nodes each, some ten minutes; BENCHFLAGS="-shapes backlog" for others
	$(GO) run ./internal/brokerbench -hermes bin/hermes $(BENCHFLAGS)

.PHONY: torture
torture: ## kill, pause, cut off and fill up Hermes for most of an hour, as root; ARGS='--seed N', see scripts/torture
	@scripts/torture $(ARGS)

.PHONY: clean
clean: ## remove what was built
	rm -rf bin .cache
