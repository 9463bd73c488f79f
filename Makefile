# wirelab: two commands matter, make run and make test. The rest is for those
# who change it. Nothing here needs more than Go, git and make on Linux, but
# for the tests that look at pages, keep data in a database or send messages
# through a broker: scripts/browser sees to their Chromium, scripts/database to
# their PostgreSQL, scripts/rabbitmq to their RabbitMQ.

GO      ?= go
SHELL   := /bin/bash -o pipefail
TOOLS   := $(GO) tool -modfile=tools/go.mod
LINT    := $(GO) tool -modfile=tools/lint/go.mod golangci-lint
SOURCES := $(shell find . -name '*.go' -not -path './bin/*' -not -path './.cache/*') $(shell find plan store workload -name '*.yaml' -o -name '*.sql' -o -name '*.graphqls') go.mod go.sum
# Not cached: wirelab's tests start processes and wires whose state the cache
# does not see.
TESTFLAGS ?= -count=1

.DEFAULT_GOAL := help

.PHONY: help
help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-12s %s\n", $$1, $$2}'

.PHONY: build
build: bin/wirelab bin/hermes ## build bin/wirelab and bin/hermes

bin/wirelab: $(SOURCES)
	@mkdir -p bin
	$(GO) build -buildvcs=auto -trimpath -o bin/wirelab ./cmd/wirelab

bin/hermes: $(SOURCES)
	@mkdir -p bin
	$(GO) build -buildvcs=auto -trimpath -o bin/hermes ./cmd/hermes

.PHONY: run
run: build ## compare six wires on the embedded default, about two minutes
	./bin/wirelab run quick

.PHONY: test
test: ## every test, and that generated code is fresh
	@scripts/browser
	@scripts/database
	@scripts/rabbitmq
	@scripts/freshness
	# Vetted whole as it is compiled, and four packages at once: those that wait for
	# a broker leave the cores to others.
	$(GO) test $(TESTFLAGS) -vet=all -p 4 -timeout 25m -skip '^TestSelfTest$$' ./...
	@scripts/manifests
	@scripts/openapi
	@scripts/abuse
	# Both alone: what they find would be spoiled by the other packages' tests.
	$(GO) test $(TESTFLAGS) -timeout 10m -v ./hermes/torture -real
	$(GO) test $(TESTFLAGS) -timeout 12m -run '^TestSelfTest$$' -v ./cmd/wirelab

.PHONY: selftest
selftest: build ## try wirelab itself against what is known beforehand, some twenty minutes
	./bin/wirelab selftest --long

.PHONY: short
short: ## the tests that take two to three minutes together on two cores
	@scripts/browser
	@scripts/database
	@scripts/rabbitmq
	# In memory where there is room: a file system that has just lost thousands of
	# files is slow to make new ones, and no short test asks what outlives a power cut.
	TMPDIR=$$(scripts/memory) $(GO) test $(TESTFLAGS) -short -p 4 -timeout 5m ./...

.PHONY: race
race: ## every test under the race detector
	@scripts/browser
	@scripts/database
	@scripts/rabbitmq
	# But the self-test, whose measurements the detector would spoil.
	$(GO) test $(TESTFLAGS) -race -timeout 40m -skip '^TestSelfTest$$' ./...

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
bench-database: build ## balances a second over wires, beside what pgbench gets from the same server
	@scripts/database
	$(GO) run ./internal/pgbench -wirelab bin/wirelab

.PHONY: bench-queue
bench-queue: build ## entries a second through RabbitMQ on the AMQP path, beside a raw driver's most
	$(GO) run ./internal/queuebench -wirelab bin/wirelab

.PHONY: bench-gateway
bench-gateway: build ## what the log pipeline's gateway costs, beside one further hop over the wire behind it
	$(GO) run ./internal/gatewaybench -wirelab bin/wirelab

.PHONY: bench-brokers
bench-brokers: build ## Hermes beside NATS JetStream and RabbitMQ, three nodes each, some ten minutes; BENCHFLAGS="-shapes backlog" for others
	@scripts/rabbitmq
	$(GO) run ./internal/brokerbench -hermes bin/hermes $(BENCHFLAGS)

.PHONY: torture
torture: ## kill, pause, cut off and fill up Hermes for most of an hour, as root; ARGS='--seed N', see scripts/torture
	@scripts/torture $(ARGS)

.PHONY: clean
clean: ## remove what was built
	rm -rf bin .cache
