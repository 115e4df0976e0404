package load

import (
	"regexp"
	"slices"
	"strings"

	"touchstone/harness/exchange"
)

// Leak is a reply that holds what only another request was sent.
type Leak struct {
	ID    string `json:"id"` // of the reply's request
	Nonce string `json:"nonce"`
	Owner string `json:"owner"` // the request that was sent it
}

// nonceLike are words like those of nonces: no language has them.
var nonceLike = regexp.MustCompile(`\b[bcdfghjklmnpqrstvwxz]{6}\b`)

// canaries finds the replies in which the nonce of another request stands. A
// nonce is a word of six consonants that one request alone was sent.
type canaries struct {
	owner map[string]string // nonce → id of the request; "" where several have it
	said  []Leak            // words of replies that look like nonces of others
}

func newCanaries(exchanges []*exchange.Exchange) *canaries {
	c := &canaries{owner: map[string]string{}}
	for _, e := range exchanges {
		for _, n := range noncesIn(e.Request) {
			if who, taken := c.owner[n]; taken && who != e.Request.ID {
				c.owner[n] = ""
				continue
			}
			c.owner[n] = e.Request.ID
		}
	}
	return c
}

// read looks at one reply, and books one leak of it at most.
func (c *canaries) read(id, answer string) {
	if len(c.owner) == 0 {
		return
	}
	for _, n := range nonceLike.FindAllString(answer, -1) {
		if who := c.owner[n]; who != "" && who != id {
			c.said = append(c.said, Leak{ID: id, Nonce: n, Owner: who})
			return
		}
	}
}

// leaks returns what was found, by the id of the reply.
func (c *canaries) leaks() []Leak {
	slices.SortFunc(c.said, func(a, b Leak) int { return strings.Compare(a.ID, b.ID) })
	return c.said
}

func noncesIn(r exchange.Request) []string {
	out := nonceLike.FindAllString(r.Prompt, -1)
	for _, m := range r.Messages {
		out = append(out, nonceLike.FindAllString(m.Content, -1)...)
	}
	return out
}
