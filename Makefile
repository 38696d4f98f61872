# What one does here. `make` lists it.

# Set once: another set of flags would build everything a second time.
GOFLAGS ?= -buildvcs=false
export GOFLAGS

PACKAGES ?= ./...
LINT := github.com/golangci/golangci-lint/v2/cmd/golangci-lint
LINT_VERSION := v2.13.0
AIR := github.com/air-verse/air@v1.63.0

# Long tests (testkit.Long) and those on a Redis Cluster are left to `make nightly`. SHORT= runs them here.
SHORT ?= -short

# The packages whose own code is concurrent: they run under the race detector. Their tests
# wait a good deal, so more packages than processors run at once. Add a package that gets goroutines.
RACED := ^github.com/tandian-dev/tandian/internal/(feed|flashsale|note|order|visit|kit/(batch|cache|dblock|door|embedredis|live|lock|logreader|observe|outbox|plan|quota|schedule|sequence|store|stream))(/|$$)

# What `make check` does, in this order.
CHECKS := commits fresh lint web-fresh race

.PHONY: help run dev build test go-test e2e browser deploytest deploy faulttest mutants livetest test-cluster race soak release check checks apart servers generate migration web format $(CHECKS)

help: ## list what there is to do
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-12s %s\n", $$1, $$2}'

run: ## start Tandian with nothing else installed
	go run .

dev: ## the same, built and started anew whenever a file changes
	go run $(AIR)

build: ## the binary ./tandian
	go build -buildvcs=auto -o tandian .

test: ## the tests of the server, on the embedded stores and on PostgreSQL and Redis, and in a browser
	$(MAKE) go-test
	$(MAKE) e2e LOOK=$(or $(LOOK),phone-en-light)

go-test: servers ## those of them without a browser: PACKAGES=./internal/shop
	scripts/servers.sh run go test $(SHORT) -timeout 20m $(PACKAGES)

e2e: servers browser ## the web app and the playground in a browser, on both stacks: [SPEC=playground] [STACK=embedded] [LOOK=phone-en-light]
	TANDIAN_E2E_LOOK=$(LOOK) scripts/servers.sh run go test -count=1 -tags e2e -timeout 30m -v ./internal/web/e2e $(if $(STACK),-run 'TestBrowser/$(STACK)') $(if $(SPEC),-args $(SPEC))

# CI must have a browser; elsewhere its tests are skipped without one, and say so.
browser:
	@scripts/servers.sh install-browser || test -z "$$CI"

deploytest: servers deploy ## nginx, Redis, Prometheus and its exporters as deploy/ sets them up: [RUN=TestNginx]
	scripts/servers.sh run go test -C lab -count=1 -tags deploy -timeout 10m ./deploytest/... $(if $(RUN),-run '$(RUN)')

# CI must have nginx, Prometheus and the exporters; elsewhere their tests are skipped
# without them, and say so.
deploy:
	@scripts/servers.sh install-deploy || test -z "$$CI"

dashboard: ## write the dashboard of Grafana from internal/tools/dashboard
	go run ./internal/tools/dashboard deploy/grafana/dashboards/tandian.json
.PHONY: dashboard

# The program of lab/, which is a module of its own.
LAB := scripts/servers.sh run .cache/lab
lab: servers ## build .cache/lab, the program of benchmarks and of fault, live and soak runs
	go build -C lab -o $(CURDIR)/.cache/lab ./cmd/lab
.PHONY: lab

faulttest: lab ## harm servers and stores while clients buy, and prove that no order is lost: DUR=2m SEED=1 [EMBEDDED=1]
	$(LAB) fault --dur $(or $(DUR),2m) --seed $(or $(SEED),0) $(if $(EMBEDDED),--embedded)

mutants: lab ## check that the fault run catches servers with a mistake: MUTANTS="blind-release …"
	$(LAB) mutants fault $(MUTANTS)

livetest: lab ## harm servers while clients follow live feeds, and prove that none misses a note: DUR=5m SEED=1 [MUTANTS=all]
	$(LAB) $(if $(MUTANTS),mutants live --seed $(or $(SEED),0) $(filter-out all,$(MUTANTS)),live --seed $(or $(SEED),0) --dur $(or $(DUR),5m))

soak: lab ## load two servers for minutes while Redis restarts: DUR=10m RATE=150 SEED=1 OUT=tmp/soak
	$(LAB) soak --dur $(or $(DUR),10m) --rate $(or $(RATE),150) --seed $(or $(SEED),1) --out $(or $(OUT),tmp/soak)

# The compiler's profile. Only releases use it: with a profile, every package is compiled again.
pgo: lab ## write deploy/server.pgo from the load of bench serve
	rm -rf .cache/pgo
	$(LAB) bench serve --rounds 2 --dur 5s --tail 0 --shops 50000 --notes 20000 --profiles .cache/pgo
	go tool pprof -proto .cache/pgo/*.cpu.pprof >deploy/server.pgo
.PHONY: pgo

release: ## archives of the program for all platforms, with checksums, in dist/: VERSION=v0.1.0
	scripts/release.sh "$(VERSION)"

# Rooms on a cluster and through Sentinel, then whole servers of which a master is killed.
test-cluster: lab ## sales and feeds on Redis Cluster, on Sentinel and with a standby of PostgreSQL, of which masters die: SEED=1 [ONLY="cluster sentinel sync async"]
	for redis in cluster sentinel; do TANDIAN_TEST_REDIS=$$redis scripts/servers.sh run go test -count=1 -timeout 5m ./internal/flashsale -run 'TestWindow|OneKey|Reconcil' || exit 1; done
	for redis in cluster sentinel; do TANDIAN_TEST_REDIS=$$redis scripts/servers.sh run go test -count=1 -timeout 5m ./internal/app -run 'TestAFeed' || exit 1; done
	$(LAB) cluster --seed $(or $(SEED),0) $(ONLY)

labtest: servers ## the tests of the lab: short fault and live runs, hostile clients, comparisons
	scripts/servers.sh run go test -C lab -timeout 40m ./...
.PHONY: labtest

compare: lab ## the anomalies and losses of other schemes and libraries, next to Tandian's
	$(LAB) bench cache --only anomalies
	$(LAB) bench lock --only anomalies
	$(LAB) bench sale --only wrong
	$(LAB) bench queue --messages 200 --only losses
	$(LAB) bench sequence --rounds 1
.PHONY: compare

nightly: ## everything that CI leaves out, part by part: PARTS="faulttest mutants"
	scripts/nightly.sh $(PARTS)
.PHONY: nightly

recipe: servers ## do what CONTRIBUTING.md says under "Add a field", in a copy of the tree
	scripts/recipe.sh
.PHONY: recipe

check: $(CHECKS) ## commit subjects, generated code, format, lint, web app, race detector

commits: ## subjects of new commits: [BASE=HEAD~3]
	scripts/commit-subjects.sh $(BASE)

fresh: servers ## is all generated code what the generators write?
	scripts/servers.sh run scripts/fresh.sh code

# The detector does not watch SQLite, which is C translated to Go: it would be most of its
# work. It watches the driver around it.
UNWATCHED := $(foreach p,modernc.org/sqlite/lib modernc.org/libc,'-gcflags=$(p)=-race=false -d=checkptr=0')

race: servers ## tests of what runs concurrently, with the race detector, in random order
	@if [ "$$(go env CGO_ENABLED)" != 1 ]; then \
		echo "race: no C compiler, so no race detector"; test -z "$$CI"; fi
	scripts/servers.sh run go test $(SHORT) -timeout 20m -vet=off -p $$(( $$(getconf _NPROCESSORS_ONLN) * 3 / 2 )) $$(test "$$(go env CGO_ENABLED)" = 1 && echo -race) $(UNWATCHED) -shuffle=on \
		$$(go list ./... | grep -E '$(RACED)')

.PHONY: vuln
vuln: ## known vulnerabilities that our code reaches
	scripts/vuln.sh

generate: ## write all generated Go code
	go generate ./ent
	go generate ./graph
	go generate ./internal/kit/door/doortest
	go generate -C lab ./compare/live/stock

migration: servers ## write the migrations that the ent schema needs: NAME=add_shop_owner
	@test -n "$(NAME)" || { echo "make migration NAME=what_it_does"; exit 2; }
	scripts/servers.sh run go run ./internal/tools/entdiff -name $(NAME)

web: ## check and build the web app
	scripts/servers.sh install-node
	cd internal/web/app && export PATH="$$(../../../scripts/servers.sh node-path):$$PATH" && \
		npm ci --no-audit --no-fund && npm run check && npm run build && npm --prefix ../../kit/door/clients run check && \
		cd ../e2e && npm ci --ignore-scripts --no-audit --no-fund && npm run check

# CI must have a Node; elsewhere the built app is taken as it is.
web-fresh: ## is the built web app what its sources say?
	@if [ ! -f internal/web/app/package.json ]; then echo "web: there is no web app yet"; \
	elif [ -n "$$CI" ] && ! scripts/servers.sh install-node; then exit 1; \
	elif node=$$(scripts/servers.sh node-path); then PATH="$$node:$$PATH" scripts/fresh.sh web; \
	else echo "web: not rebuilt without Node; make web installs one"; fi

# go vet is among the linters. The binary is kept by version: building it takes
# minutes, and one built by an older Go does not read the newer one's code.
GOLANGCI = .cache/bin/golangci-lint-$(LINT_VERSION)-$(shell go env GOVERSION)
# A quarter of its time went to collecting garbage.
LINT_MEMORY = GOGC=400 GOMEMLIMIT=4GiB
LINTED = $(wildcard . ./graph ./graph/scalar ./ent/schema) ./internal/...

lint: golangci ## vet, static analysis, format
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

# For .ci/run, which does these one by one and nothing twice.
checks:
	@echo $(CHECKS)
apart:
	@go list ./... | grep -Ev '$(RACED)'
