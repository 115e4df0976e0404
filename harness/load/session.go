package load

import (
	"slices"
	"strings"

	"touchstone/harness/exchange"
)

// sessions groups requests that are turns of one session, which stand one
// after the other in a plan. A request that is no turn is a session of its own.
func sessions(requests []exchange.Request) [][]int {
	var out [][]int
	last := ""
	for i, r := range requests {
		s, turn := sessionOf(r)
		if turn && s == last {
			out[len(out)-1] = append(out[len(out)-1], i)
			continue
		}
		out = append(out, []int{i})
		last = s
	}
	return out
}

// sessionOf returns the session of a turn: "load/chat/0001" of
// "load/chat/0001/2".
func sessionOf(r exchange.Request) (session string, turn bool) {
	parts := strings.Split(r.ID, "/")
	if len(parts) != 4 {
		return "", false
	}
	return strings.Join(parts[:3], "/"), true
}

// follow is the request of the next turn: all that was said before, the real
// answer, and what the user says now. Only what was answered is said again; a
// model's reasoning is not, as chat templates drop it too.
func follow(before *exchange.Exchange, next exchange.Request) exchange.Request {
	answer := ""
	if reply, failure := exchange.Decode(before); failure == nil {
		answer = reply.Text
	}
	said := slices.Clone(before.Request.Messages)
	said = append(said, exchange.Message{Role: "assistant", Content: answer})
	next.Messages = append(said, next.Messages...)
	return next
}
