package load

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"touchstone/harness/exchange"
	"touchstone/harness/fixture"
)

// Probe is the value of Request.Probe in every request that a load makes.
const Probe = "throughput"

// Limits narrow a workload. Zero values leave it as it is.
type Limits struct {
	Requests  int  // at most so many are measured
	MaxTokens int  // no request asks for more output tokens
	Warmup    *int // instead of the workload's own number
	// Salt changes the nonces. With the same salt every run sends the same
	// prompts, and a server that kept its prefix cache answers the second run
	// from it: measured elsewhere as up to 86 % more throughput.
	Salt int64
}

// Plan returns the requests of a workload, and those of its warm-up. Ids
// ("load/smoke/0001", "load/smoke/warmup-01") and bodies are the same in every
// run with the same limits. Each {{n}} in a prompt is replaced by a nonce that
// no other request has. A warm-up request never repeats a prompt that is
// measured: where the prompt has no {{n}}, a nonce is put before it, since an
// equal prompt would leave its prefix in the server's cache.
func Plan(w fixture.Workload, limits Limits) (requests, warmup []exchange.Request) {
	n, warm := w.Requests, w.Warmup
	if limits.Requests > 0 {
		n = min(n, limits.Requests)
	}
	if limits.Warmup != nil {
		warm = *limits.Warmup
	}
	texts := w.Texts()
	if len(texts) == 0 {
		return nil, nil
	}
	nonces := newNonces(w.Seed, limits.Salt)
	for i := range n {
		text := strings.ReplaceAll(texts[i%len(texts)], fixture.Nonce, nonces.next())
		r := request(w, limits, i, text)
		r.ID = fmt.Sprintf("load/%s/%04d", w.Name, i+1)
		requests = append(requests, r)
	}
	for i := range warm {
		text, nonce := texts[i%len(texts)], nonces.next()
		if strings.Contains(text, fixture.Nonce) {
			text = strings.ReplaceAll(text, fixture.Nonce, nonce)
		} else {
			text = nonce + "\n\n" + text
		}
		r := request(w, limits, n+i, text)
		r.ID = fmt.Sprintf("load/%s/%s%02d", w.Name, warmupMark, i+1)
		warmup = append(warmup, r)
	}
	return requests, warmup
}

const warmupMark = "warmup-"

// IsWarmup says whether a request is part of a load's warm-up.
func IsWarmup(r exchange.Request) bool {
	_, last, found := strings.Cut(strings.TrimPrefix(r.ID, "load/"), "/")
	return strings.HasPrefix(r.ID, "load/") && found && strings.HasPrefix(last, warmupMark)
}

// request is one request of the load. Sampling is pinned: what is left to a
// server's default moves between versions, and throughput with it. Token ids
// are not asked for, since they would make every chunk larger.
func request(w fixture.Workload, limits Limits, i int, text string) exchange.Request {
	most := w.MaxTokens
	if limits.MaxTokens > 0 {
		most = min(most, limits.MaxTokens)
	}
	params := map[string]any{"max_tokens": most, "seed": w.Seed + int64(i)}
	if w.Temperature != nil {
		params["temperature"] = *w.Temperature
	}
	if w.IgnoreEOS {
		params["ignore_eos"] = true
	}
	if w.Stream {
		params["stream_options"] = map[string]any{"include_usage": true}
	}
	r := exchange.Request{Probe: Probe, Case: w.Name, API: w.API, Stream: w.Stream, Params: params}
	if w.API == exchange.Chat {
		r.Messages = []exchange.Message{{Role: "user", Content: text}}
	} else {
		r.Prompt = text
	}
	return r
}

// nonces are short words that are all different and that no text holds.
type nonces struct {
	rng  *rand.Rand
	seen map[string]bool
}

func newNonces(seed, salt int64) *nonces {
	return &nonces{rng: rand.New(rand.NewPCG(uint64(seed), uint64(salt))), seen: map[string]bool{}}
}

func (n *nonces) next() string {
	const consonants = "bcdfghjklmnpqrstvwxz"
	for {
		var b strings.Builder
		for range 6 { // 64 million of them
			b.WriteByte(consonants[n.rng.IntN(len(consonants))])
		}
		if s := b.String(); !n.seen[s] {
			n.seen[s] = true
			return s
		}
	}
}
