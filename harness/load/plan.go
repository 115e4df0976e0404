package load

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"touchstone/harness/exchange"
	"touchstone/harness/fixture"
	"touchstone/harness/load/arrival"
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
// ("load/smoke/0001", "load/smoke/warmup-01"; "load/chat/0001/2" is the second
// turn of a session) and bodies are the same in every run with the same
// limits. Each {{n}} in a prompt is replaced by a nonce that no other request
// has. A warm-up request never repeats a prompt that is measured: where the
// prompt has no {{n}}, a nonce is put before it, since an equal prompt would
// leave its prefix in the server's cache.
//
// The later turns of a session hold what the user says alone: Run puts the
// turns before and the real answers to them in front.
func Plan(w fixture.Workload, limits Limits) (requests, warmup []exchange.Request) {
	p := newPlan(w, limits)
	switch {
	case w.Trace != nil:
		for i, t := range w.Trace[:p.n] {
			requests = append(requests, p.request(i, fmt.Sprintf("%04d", i+1), t.MaxTokens, p.traced(i, t)))
		}
		return requests, p.warmup(nil)
	case len(w.Texts()) == 0:
		return nil, nil
	case len(w.Dialogues) > 0:
		return p.sessions(), p.warmup(firsts(w.Dialogues))
	}
	for i := range p.n {
		requests = append(requests, p.request(i, fmt.Sprintf("%04d", i+1), p.kinds[i].MaxTokens, p.text(i)))
	}
	return requests, p.warmup(w.Texts())
}

// Measurements returns the prompts that have to come to a length in tokens, by
// their index among the requests and then the warm-up; empty where none has.
func Measurements(w fixture.Workload, limits Limits) map[int]Sized {
	p := newPlan(w, limits)
	out := map[int]Sized{}
	switch {
	case w.Trace != nil:
		for i, t := range w.Trace[:p.n] {
			nonce := p.nonces.next()
			if t.PromptTokens > 0 {
				out[i] = p.tracedSize(i, t, nonce)
			}
		}
	case w.Sized():
		for i := range p.n + p.warm {
			out[i] = p.sized(i, p.nonces.next())
		}
	}
	return out
}

// plan is a workload with its limits, and the random part of it.
type plan struct {
	fixture.Workload
	limits Limits
	n      int // requests
	warm   int
	kinds  []fixture.Length // of the requests and then the warm-up
	nonces *nonces
}

func newPlan(w fixture.Workload, limits Limits) *plan {
	p := &plan{Workload: w, limits: limits, n: w.Count(), warm: w.Warmup, nonces: newNonces(w.Seed, limits.Salt)}
	if w.Open() && len(w.Dialogues) == 0 {
		p.n = min(p.n, len(arrival.Schedule(w, limits.Salt, p.n))) // the duration may end it
	}
	if limits.Requests > 0 {
		p.n = min(p.n, limits.Requests)
	}
	if limits.Warmup != nil {
		p.warm = *limits.Warmup
	}
	p.kinds = kinds(w, p.n+p.warm)
	return p
}

// text returns the prompt of request i, warm-up after the others.
func (p *plan) text(i int) string {
	nonce := p.nonces.next()
	if i < len(p.Exact) {
		return p.Exact[i]
	}
	if p.Sized() {
		s := p.sized(i, nonce)
		return s.Text(s.About(p.Workload))
	}
	texts := p.Texts()
	return strings.ReplaceAll(texts[i%len(texts)], fixture.Nonce, nonce)
}

func (p *plan) sized(i int, nonce string) Sized {
	texts := p.Texts()
	group := i % max(1, p.Prefixes)
	shared := newNonces(p.Seed+1+int64(group), p.limits.Salt).next()
	return Sized{
		Length: p.kinds[i], nonce: nonce, group: shared,
		prompt: strings.ReplaceAll(texts[i%len(texts)], fixture.Nonce, nonce),
		seed:   uint64(p.Seed) + uint64(i), shared: uint64(p.Seed) + uint64(group),
	}
}

// question ends the prompts of a trace that tells no text.
const question = "Write down what this text tells, one sentence after the other."

func (p *plan) tracedSize(i int, t fixture.Traced, nonce string) Sized {
	return Sized{
		Length: fixture.Length{PromptTokens: t.PromptTokens, MaxTokens: t.MaxTokens},
		nonce:  nonce, prompt: question, seed: uint64(p.Seed) + uint64(i),
	}
}

// traced returns the messages of a traced request.
func (p *plan) traced(i int, t fixture.Traced) any {
	nonce := p.nonces.next() // one for each, whether it is used or not
	switch {
	case len(t.Messages) > 0:
		return t.Messages
	case t.PromptTokens == 0:
		return strings.ReplaceAll(t.Prompt, fixture.Nonce, nonce)
	case i < len(p.Exact) && p.Exact[i] != "":
		return p.Exact[i]
	}
	s := p.tracedSize(i, t, nonce)
	return s.Text(s.About(p.Workload))
}

// sessions plans whole dialogues, as long as they fit into the number of
// requests; the last one is cut short.
func (p *plan) sessions() []exchange.Request {
	var out []exchange.Request
	for s := 0; len(out) < p.n; s++ {
		nonce := p.nonces.next()
		turns := p.Dialogues[s%len(p.Dialogues)]
		for k := 0; k < len(turns) && len(out) < p.n; k++ {
			text := strings.ReplaceAll(turns[k], fixture.Nonce, nonce)
			out = append(out, p.request(len(out), fmt.Sprintf("%04d/%d", s+1, k+1), p.MaxTokens, text))
		}
	}
	return out
}

func firsts(dialogues [][]string) []string {
	var out []string
	for _, d := range dialogues {
		out = append(out, d[0])
	}
	return out
}

// warmup plans the warm-up. It is sent in a closed loop in any case.
func (p *plan) warmup(texts []string) (out []exchange.Request) {
	for i := range p.warm {
		text := question
		switch {
		case p.Sized():
			text = p.text(p.n + i)
		default:
			nonce := p.nonces.next()
			if len(texts) > 0 {
				text = texts[i%len(texts)]
			}
			if strings.Contains(text, fixture.Nonce) {
				text = strings.ReplaceAll(text, fixture.Nonce, nonce)
			} else {
				text = nonce + "\n\n" + text
			}
		}
		out = append(out, p.request(p.n+i, fmt.Sprintf("%s%02d", warmupMark, i+1), p.kinds[p.n+i].MaxTokens, text))
	}
	return out
}

const warmupMark = "warmup-"

// IsWarmup says whether a request is part of a load's warm-up.
func IsWarmup(r exchange.Request) bool {
	_, last, found := strings.Cut(strings.TrimPrefix(r.ID, "load/"), "/")
	return strings.HasPrefix(r.ID, "load/") && found && strings.HasPrefix(last, warmupMark)
}

// request is one request of the load; what is its text or its messages.
// Sampling is pinned: what is left to a server's default moves between
// versions, and throughput with it. Token ids are not asked for, since they
// would make every chunk larger.
func (p *plan) request(i int, id string, most int, what any) exchange.Request {
	if p.limits.MaxTokens > 0 {
		most = min(most, p.limits.MaxTokens)
	}
	params := map[string]any{"max_tokens": most, "seed": p.Seed + int64(i)}
	if p.Temperature != nil {
		params["temperature"] = *p.Temperature
	}
	if p.IgnoreEOS {
		params["ignore_eos"] = true
	}
	if p.Stream {
		params["stream_options"] = map[string]any{"include_usage": true}
	}
	r := exchange.Request{ID: "load/" + p.Name + "/" + id, Probe: Probe, Case: p.Name, API: p.API, Stream: p.Stream, Params: params}
	switch x := what.(type) {
	case []exchange.Message:
		r.API, r.Messages = exchange.Chat, x
	case string:
		if p.API == exchange.Chat {
			r.Messages = []exchange.Message{{Role: "user", Content: x}}
		} else {
			r.Prompt = x
		}
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
