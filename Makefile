# lockbench. `make run` measures this machine, `make test` tests the project.

GO ?= go
# -pgo=off: with a profile one of two identical locks ran five times faster.
BUILDFLAGS := -pgo=off -trimpath
REVISION := $(shell git rev-parse HEAD 2>/dev/null)$(shell test -z "$$(git status --porcelain 2>/dev/null)" || echo -dirty)
LDFLAGS := -X lockbench/internal/cli.revision=$(REVISION)
BIN := bin/lockbench

# Tools, pinned; each is run from the module cache.
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOVULNCHECK := golang.org/x/vuln/cmd/govulncheck@v1.9.0

# Containers are reached over loopback, also from a machine that is itself a container, and the program and its
# watchdog clean up: Ryuk's image is not needed.
test race bench-distributed bench-chaos: export TESTCONTAINERS_HOST_OVERRIDE ?= 127.0.0.1
test race bench-distributed bench-chaos: export TESTCONTAINERS_RYUK_DISABLED ?= true

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/lockbench
	@echo "compiling lockbench ..." >&2
	@$(GO) build $(BUILDFLAGS) -ldflags "$(LDFLAGS)" -o $(BIN) ./cmd/lockbench

.PHONY: run
run: build ## measure this machine: the default run, ARGS="..." for flags
	@$(BIN) run $(ARGS)

# Packages whose tests start servers run one after the other: what they measure and what others
# measure beside them shares the processors.
SERVERS := ^lockbench/(backends|impls/distributed|internal/(cli|doctest|figures/distributed))(/|$$)
RACED := ./lock/... ./impls/... ./workloads/... ./results/... ./internal/...

.PHONY: test
test: ## all tests
	@missing=$$($(GO) run -pgo=off ./cmd/lockbench env | grep -E '^  missing '); test -z "$$missing" || { \
	  echo "skipped, because servers for distributed locks cannot be started here:"; \
	  echo "  backends, impls/distributed (but lease and loopback), scripts and documented commands that start servers"; echo "$$missing"; } >&2
	$(GO) test -pgo=off $$($(GO) list ./... | grep -vE '$(SERVERS)')
	$(GO) test -pgo=off -p 1 $$($(GO) list ./... | grep -E '$(SERVERS)')
	cd examples/customlock && $(GO) test -pgo=off ./...

.PHONY: race
race: ## all tests that the race detector can watch
	$(GO) test -race -short -skip 'TestScripts/collapse' $$($(GO) list $(RACED) | grep -vE '$(SERVERS)')
	$(GO) test -race -short -skip 'TestScripts/collapse' -p 1 $$($(GO) list $(RACED) | grep -E '$(SERVERS)')

.PHONY: lint
lint: ## gofmt, vet on all platforms, staticcheck, generated code up to date, expectations of chaos complete
	@out=$$(gofmt -l $$(git ls-files '*.go')); test -z "$$out" || { echo "gofmt would change:" $$out; exit 1; }
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...
	@$(MAKE) --no-print-directory cross
	@$(MAKE) --no-print-directory check-generated
	$(GO) run -pgo=off ./chaos/expect/expectdoc -check
	$(GO) mod tidy -diff
	cd examples/customlock && $(GO) vet ./... && $(GO) mod tidy -diff
	cd images/etcd && $(GO) mod tidy -diff

.PHONY: check-generated
check-generated: ## fail if go generate would change anything
	@for d in $$(git grep -lE '^//go:generate go run lockbench/cmd/lockloop' -- '*.go' ':!examples' | xargs -n1 dirname | sort -u); do \
	  args=$$(grep -rhoE '^//go:generate go run lockbench/cmd/lockloop .*' $$d/*.go | sed 's,.*lockloop ,,'); \
	  (cd $$d && $(GO) run lockbench/cmd/lockloop -check $$args) || exit 1; done

.PHONY: cross
cross: ## build and vet for all platforms
	@for p in linux/amd64 linux/arm64 darwin/arm64; do \
	  echo "vet $$p"; GOOS=$${p%/*} GOARCH=$${p#*/} CGO_ENABLED=0 $(GO) vet ./... || exit 1; \
	  GOOS=$${p%/*} GOARCH=$${p#*/} CGO_ENABLED=0 $(GO) build -pgo=off -o /dev/null ./cmd/lockbench || exit 1; done

.PHONY: generate
generate: ## write the measured loops of all locks anew, and the tables of docs/CHAOS.md
	$(GO) generate ./...
	$(GO) run -pgo=off ./chaos/expect/expectdoc

.PHONY: tidy
tidy: ## go mod tidy, in the modules of the example and of etcd's image too
	$(GO) mod tidy
	cd examples/customlock && $(GO) mod tidy
	cd images/etcd && $(GO) mod tidy

.PHONY: fmt
fmt: ## gofmt
	gofmt -w $$(git ls-files '*.go')

.PHONY: qemu
qemu: ## conformance on arm64 under qemu-user: executes the stubs, does not test weak order
	./scripts/qemu-arm64.sh

.PHONY: fuzz
fuzz: ## each fuzz target for FUZZTIME inputs (default 500000x)
	./scripts/fuzz.sh

.PHONY: bench
bench: build ## the figures of speed and cost, one line each at the end
	$(GO) run -pgo=off ./internal/figures -program $(BIN)

.PHONY: bench-distributed
bench-distributed: build ## the figures of distributed locks (docs/BENCH_DISTRIBUTED.md): about 10 minutes, wants Docker; ARGS=-only=redis-pair for flags
	$(GO) run -pgo=off ./internal/figures/distributed -program $(BIN) $(ARGS)

.PHONY: bench-chaos
bench-chaos: build ## the figures of chaos (docs/BENCH_CHAOS.md): more than 2 hours, wants Docker; ARGS=-only=recovery for flags
	$(GO) run -pgo=off ./internal/figures/chaos -program $(BIN) $(ARGS)

# Both are run whatever the other one does; the figures come last.
STUDY := out/gate-study

.PHONY: gate-study
gate-study: build ## how often the gate is wrong, and what it finds: about 50 minutes on an idle machine; ARGS="..." for flags
	@mkdir -p $(STUDY)
	@status=0; $(GO) run -pgo=off ./internal/figures -program $(BIN) -only store > $(STUDY)/store.txt || status=$$?; \
	$(GO) run -pgo=off ./internal/gatestudy -program $(BIN) -dir $(STUDY) -write docs/GATE_STUDY.md $(ARGS) || status=$$?; \
	cat $(STUDY)/store.txt; exit $$status

.PHONY: publish
publish: build ## measure this machine for results/published: about 13 minutes on two cores
	$(GO) run -pgo=off ./internal/publish -program $(BIN)

.PHONY: publish-tables
publish-tables: ## write published tables, charts and pages again from their records
	$(GO) run -pgo=off ./internal/publish -regenerate

.PHONY: vuln
vuln: ## known vulnerabilities; skipped where the database is out of reach
	./scripts/vuln.sh $(GOVULNCHECK)

.PHONY: install-tools
install-tools: ## fetch the pinned tools into the module cache
	$(GO) install $(STATICCHECK)

.PHONY: images
images: ## images of the servers for a machine without a registry (images/README.md): about 2 minutes, once
	@./scripts/images.sh

.PHONY: clean
clean: ## remove what make built
	rm -rf bin
