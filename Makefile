# Development tasks. `make` lists them.

# One set of flags for all targets: other flags would rebuild everything.
GOFLAGS ?= -buildvcs=false
export GOFLAGS

PACKAGES ?= ./...
LINT := github.com/golangci/golangci-lint/v2/cmd/golangci-lint
LINT_VERSION := v2.13.0
AIR := github.com/air-verse/air@v1.63.0

# `make nightly` runs long tests (testkit.Long) and tests on a Redis Cluster. SHORT= runs them here.
SHORT ?= -short

# Packages with concurrent code, tested with the race detector. Their tests mostly wait, so
# more packages than processors run in parallel. Add every package that starts goroutines.
RACED := ^github.com/tandian-dev/tandian/internal/(feed|flashsale|note|order|visit|kit/(batch|cache|clientaddr|dblock|embedredis|gqlserver|broadcast|cdc|eventbus|failover|lock|notify|pubsub|redisdb|sqldb|observe|outbox|plan|quota|ratelimit|schedule|sequence))(/|$$)

# Steps of `make check`, in order.
CHECKS := commits fresh lint web-fresh race

.PHONY: help run dev build test go-test e2e browser deploytest deploy faulttest mutants livetest ratingtest test-cluster race soak release check checks apart servers generate migration web format $(CHECKS)

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

run: ## start Tandian with embedded stores; needs only Go
	go run .

dev: ## like run, rebuilt and restarted when a file changes
	go run $(AIR)

build: ## build the binary ./tandian
	go build -buildvcs=auto -o tandian .

test: ## run all tests: on embedded stores, on PostgreSQL and Redis, and in a browser
	$(MAKE) go-test
	$(MAKE) e2e LOOK=$(or $(LOOK),phone-en-light)

go-test: servers ## run the Go tests, without a browser: PACKAGES=./internal/shop
	scripts/servers.sh run go test $(SHORT) -timeout 20m $(PACKAGES)

e2e: servers browser ## test the web app and the playground in a browser, on both stacks: [SPEC=playground] [STACK=embedded] [LOOK=phone-en-light]
	TANDIAN_E2E_LOOK=$(LOOK) scripts/servers.sh run go test -count=1 -tags e2e -timeout 30m -v ./internal/web/e2e $(if $(STACK),-run 'TestBrowser/$(STACK)') $(if $(SPEC),-args $(SPEC))

# CI requires a browser. Elsewhere, browser tests are skipped with a message.
browser:
	@scripts/servers.sh install-browser || test -z "$$CI"

deploytest: servers deploy ## test the configuration in deploy/ on nginx, Redis, Prometheus and its exporters: [RUN=TestNginx]
	scripts/servers.sh run go test -C lab -count=1 -tags deploy -timeout 10m ./deploytest/... $(if $(RUN),-run '$(RUN)')

# CI requires nginx, Prometheus and the exporters. Elsewhere, their tests are skipped with
# a message.
deploy:
	@scripts/servers.sh install-deploy || test -z "$$CI"

dashboard: ## generate the Grafana dashboard from internal/tools/dashboard
	go run ./internal/tools/dashboard deploy/grafana/dashboards/tandian.json
.PHONY: dashboard

# The program of the separate module lab/.
LAB := scripts/servers.sh run .cache/lab
lab: servers ## build .cache/lab, the program for benchmarks and for fault, live and soak tests
	go build -C lab -o $(CURDIR)/.cache/lab ./cmd/lab
.PHONY: lab

faulttest: lab ## inject faults into servers and stores while clients buy, and check that no order is lost: DUR=2m SEED=1 [EMBEDDED=1]
	$(LAB) fault --dur $(or $(DUR),2m) --seed $(or $(SEED),0) $(if $(EMBEDDED),--embedded)

mutants: lab ## check that the fault test detects servers with a seeded bug: MUTANTS="blind-release …"
	$(LAB) mutants fault $(MUTANTS)

livetest: lab ## inject faults into servers while clients follow live feeds, and check that no note is missed: DUR=5m SEED=1 [MUTANTS=all]
	$(LAB) $(if $(MUTANTS),mutants live --seed $(or $(SEED),0) $(filter-out all,$(MUTANTS)),live --seed $(or $(SEED),0) --dur $(or $(DUR),5m))

ratingtest: lab ## kill servers and Redis while clients rate shops, and compare counters, rankings and lists with the rows: DUR=30s SEED=1
	$(LAB) ratings --dur $(or $(DUR),30s) --seed $(or $(SEED),0)

soak: lab ## run two servers under load while Redis restarts: DUR=10m RATE=150 SEED=1 OUT=tmp/soak
	$(LAB) soak --dur $(or $(DUR),10m) --rate $(or $(RATE),150) --seed $(or $(SEED),1) --out $(or $(OUT),tmp/soak)

# The profile for profile-guided optimisation. Only releases use it, because it recompiles every package.
pgo: lab ## profile bench serve and write deploy/server.pgo
	rm -rf .cache/pgo
	GOFLAGS="$(GOFLAGS) -trimpath" $(LAB) bench serve --rounds 2 --dur 5s --tail 0 --shops 50000 --notes 20000 --profiles .cache/pgo
	go tool pprof -proto .cache/pgo/*.cpu.pprof >deploy/server.pgo
.PHONY: pgo

release: ## build archives for all platforms, with checksums, in dist/: VERSION=v0.1.0
	scripts/release.sh "$(VERSION)"

# Tests of domain packages on Redis Cluster and Sentinel, then of whole servers while a master is killed.
test-cluster: lab ## test sales and feeds during failovers of Redis Cluster, Sentinel and PostgreSQL: SEED=1 [ONLY="cluster sentinel sync async"]
	for redis in cluster sentinel; do TANDIAN_TEST_REDIS=$$redis scripts/servers.sh run go test -count=1 -timeout 5m ./internal/flashsale -run 'TestWindow|OneKey|Reconcil' || exit 1; done
	for redis in cluster sentinel; do TANDIAN_TEST_REDIS=$$redis scripts/servers.sh run go test -count=1 -timeout 5m ./internal/app -run 'TestFeed(Follows|Is|Shows)' || exit 1; done
	$(LAB) cluster --seed $(or $(SEED),0) $(ONLY)

labtest: servers ## run the tests of the lab: short fault and live runs, hostile clients, comparisons
	scripts/servers.sh run go test -C lab -timeout 40m ./...
.PHONY: labtest

compare: lab ## compare anomalies and losses of other schemes and libraries with those of Tandian
	$(LAB) bench cache --only anomalies
	$(LAB) bench lock --only anomalies
	$(LAB) bench sale --only wrong
	$(LAB) bench queue --messages 200 --only losses
	$(LAB) bench sequence --rounds 1
.PHONY: compare

nightly: ## run everything that CI omits: PARTS="faulttest mutants"
	scripts/nightly.sh $(PARTS)
.PHONY: nightly

recipe: servers ## test the steps of "Add a field" in CONTRIBUTING.md, in a copy of the tree
	scripts/recipe.sh
.PHONY: recipe

check: $(CHECKS) ## check commit subjects, generated code, format, lint, web app and data races

commits: ## check the subjects of new commits: [BASE=HEAD~3]
	scripts/commit-subjects.sh $(BASE)

fresh: servers ## check that the generated code is fresh
	scripts/servers.sh run scripts/fresh.sh code

# SQLite is C code translated to Go. It is excluded from race detection, where it would take
# most of the time; its driver is included.
UNWATCHED := $(foreach p,modernc.org/sqlite/lib modernc.org/libc,'-gcflags=$(p)=-race=false -d=checkptr=0')

race: servers ## test concurrent packages with the race detector, in random order
	@if [ "$$(go env CGO_ENABLED)" != 1 ]; then \
		echo "race: no C compiler: the race detector is off"; test -z "$$CI"; fi
	scripts/servers.sh run go test $(SHORT) -timeout 20m -vet=off -p $$(( $$(getconf _NPROCESSORS_ONLN) * 3 / 2 )) $$(test "$$(go env CGO_ENABLED)" = 1 && echo -race) $(UNWATCHED) -shuffle=on \
		$$(go list ./... | grep -E '$(RACED)')

.PHONY: vuln
vuln: ## scan for known vulnerabilities in reachable code
	scripts/vuln.sh

generate: ## generate all Go code
	go generate ./ent
	go generate ./graph
	go generate ./internal/kit/gqlserver/gqltest
	go generate -C lab ./compare/live/stock

migration: servers ## generate the migrations for the ent schema: NAME=add_shop_owner
	@test -n "$(NAME)" || { echo "usage: make migration NAME=add_shop_owner"; exit 2; }
	scripts/servers.sh run go run ./internal/tools/entdiff -name $(NAME)

web: ## check and build the web app
	scripts/servers.sh install-node
	cd internal/web/app && export PATH="$$(../../../scripts/servers.sh node-path):$$PATH" && \
		npm ci --no-audit --no-fund && npm run check && npm run build && npm --prefix ../../kit/gqlserver/clients run check && \
		cd ../e2e && npm ci --ignore-scripts --no-audit --no-fund && npm run check

# CI requires Node. Elsewhere, the committed build is used.
web-fresh: ## check that the built web app is fresh
	@if [ ! -f internal/web/app/package.json ]; then echo "web: no web app found"; \
	elif [ -n "$$CI" ] && ! scripts/servers.sh install-node; then exit 1; \
	elif node=$$(scripts/servers.sh node-path); then PATH="$$node:$$PATH" scripts/fresh.sh web; \
	else echo "web: Node not found, build not checked; run make web to install it"; fi

# The linters include go vet. The binary is cached by version, because building it takes
# minutes. A binary built by an older Go cannot read code for a newer one.
GOLANGCI = .cache/bin/golangci-lint-$(LINT_VERSION)-$(shell go env GOVERSION)
# With the defaults, garbage collection took a quarter of the time.
LINT_MEMORY = GOGC=400 GOMEMLIMIT=4GiB
LINTED = $(wildcard . ./graph ./graph/scalar ./ent/schema) ./internal/...

lint: golangci ## run go vet, static analysis and format checks
	$(LINT_MEMORY) $(GOLANGCI) run $(LINTED)
	cd lab && $(LINT_MEMORY) $(abspath $(GOLANGCI)) run ./...

format: golangci ## format all code
	$(GOLANGCI) fmt $(LINTED)
	cd lab && $(abspath $(GOLANGCI)) fmt ./...

golangci:
	@test -x $(GOLANGCI) || { \
		echo "building golangci-lint $(LINT_VERSION)" && \
		GOBIN=$(CURDIR)/.cache/bin go install $(LINT)@$(LINT_VERSION) && \
		mv .cache/bin/golangci-lint $(GOLANGCI); }
.PHONY: golangci

servers:
	@scripts/servers.sh install

# For .ci/run, which runs each step separately and only once.
checks:
	@echo $(CHECKS)
apart:
	@go list ./... | grep -Ev '$(RACED)'
