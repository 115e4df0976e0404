# Touchstone. `make demo` shows what it does, `make test` checks it.
.PHONY: build test demo lint bench baseline clean engine-llama engine-vllm test-engines stat-peer

GO      ?= go
VERSION ?= $(shell git describe --always --dirty 2>/dev/null || echo dev)

# One static binary, with prompts, workloads, the tiny model and its baseline inside.
build:
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o bin/touchstone ./harness/cmd/touchstone

# Everything except what has a target of its own. Closes with "N passed, N failed, N skipped".
test: lint
	@GINKGO_NO_COLOR=TRUE $(GO) test -json -timeout 15m ./... | $(GO) run ./harness/cmd/tally

# Records a good build, passes it again, catches two broken ones, measures throughput.
demo: build
	@$(GO) run ./harness/cmd/demo bin/touchstone

lint:
	@test -z "$$(gofmt -l suites fixtures harness)" || { gofmt -l suites fixtures harness; echo "not formatted: run gofmt -w on them"; exit 1; }
	@$(GO) vet ./...
	@$(GO) tool staticcheck ./...

# Speed, side by side with its references. Nothing here passes or fails.
bench:
	$(GO) test -run '^$$' -bench . -benchtime 3x ./harness/...

# Records the baseline of the tiny model anew. Review the diff before you commit it.
baseline: build
	bin/touchstone record --as tiny --tier full --baselines fixtures/baselines --force

# Real engines, pinned, in a folder that git ignores. They take minutes and gigabytes, so nothing else needs them.
ENGINES := fixtures/engines/cache

engine-llama:
	@fixtures/engines/llama.sh $(ENGINES)/llama

engine-vllm:
	@fixtures/engines/vllm.sh $(ENGINES)/vllm $$(ls $(ENGINES)/llama/SmolLM2-*.gguf 2>/dev/null)

# Gates real engines, healthy and broken. About an hour; -run picks some: make test-engines RUN=Llama
test-engines:
	@GINKGO_NO_COLOR=TRUE $(GO) test -json -count 1 -timeout 3h -tags engines -run '$(or $(RUN),Llama|VLLM)' ./suites | $(GO) run ./harness/cmd/tally

# The statistics beside those of inference-doctor, on the same simulated rounds. About four minutes; Python 3.11 or later.
stat-peer:
	@test -x $(ENGINES)/peer/bin/inference-doctor || { python3 -m venv $(ENGINES)/peer && $(ENGINES)/peer/bin/pip install -q inference-doctor==0.4.1; }
	@$(GO) run ./harness/cmd/peer $(ENGINES)/peer

clean:
	rm -rf bin
