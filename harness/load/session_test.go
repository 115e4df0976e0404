package load

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"touchstone/harness/exchange"
	"touchstone/harness/fixture"
)

func talk() fixture.Workload {
	w := workload()
	w.Name, w.Prompts, w.Requests, w.Stream = "talk", nil, 8, false
	w.Dialogues = [][]string{{"Chat {{n}}. One?", "Two?", "Three?"}, {"Chat {{n}}. Uno?", "Due?"}}
	return w
}

func TestPlanSessions(t *testing.T) {
	rs, warm := Plan(talk(), Limits{})
	var ids []string
	for _, r := range rs {
		ids = append(ids, strings.TrimPrefix(r.ID, "load/talk/"))
		if len(r.Messages) != 1 {
			t.Errorf("%s has %d messages in the plan, want the user's turn alone", r.ID, len(r.Messages))
		}
	}
	if got := strings.Join(ids, " "); got != "0001/1 0001/2 0001/3 0002/1 0002/2 0003/1 0003/2 0003/3" {
		t.Errorf("requests %s", got)
	}
	if got := fmt.Sprint(sessions(rs)); got != "[[0 1 2] [3 4] [5 6 7]]" {
		t.Errorf("sessions %s", got)
	}
	if len(warm) != 2 || !IsWarmup(warm[0]) || strings.Contains(warm[0].Messages[0].Content, "{{n}}") {
		t.Errorf("warm-up %+v", warm)
	}
	if rs[0].Messages[0].Content == rs[5].Messages[0].Content {
		t.Error("two sessions begin alike: the second would be answered from the prefix cache")
	}
}

// answering replies to the last thing that was said, as a server would.
func answering(fail string) (func(context.Context, time.Time, exchange.Request) *exchange.Exchange, map[string]exchange.Request) {
	var mu sync.Mutex
	sent := map[string]exchange.Request{}
	return func(_ context.Context, _ time.Time, r exchange.Request) *exchange.Exchange {
		mu.Lock()
		defer mu.Unlock()
		sent[r.ID] = r
		said := r.Messages[len(r.Messages)-1].Content
		e := &exchange.Exchange{Request: r, Status: 200, ContentType: "application/json", Raw: exchange.Bytes(fmt.Sprintf(
			`{"choices":[{"index":0,"message":{"role":"assistant","content":%q},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`, "re: "+said))}
		if strings.HasSuffix(r.ID, fail) {
			e.Failure = &exchange.Failure{Class: exchange.Dropped}
		}
		return e
	}, sent
}

// Each turn is sent with what was really answered before it.
func TestRunSessions(t *testing.T) {
	rs, _ := Plan(talk(), Limits{})
	do, sent := answering("nowhere")
	r := Run(t.Context(), Options{Concurrency: 2, Requests: rs, Do: do})
	if len(r.Exchanges) != 8 {
		t.Fatalf("%d exchanges", len(r.Exchanges))
	}
	var said []string
	for _, m := range sent["load/talk/0001/3"].Messages {
		said = append(said, m.Role+": "+m.Content)
	}
	first := rs[0].Messages[0].Content
	want := "user: " + first + "|assistant: re: " + first + "|user: Two?|assistant: re: Two?|user: Three?"
	if got := strings.Join(said, "|"); got != want {
		t.Errorf("the third turn was sent as\n%s, want\n%s", got, want)
	}
	if len(rs[2].Messages) != 1 {
		t.Error("the plan was changed")
	}
}

// A turn that failed ends its session and no other.
func TestRunSessionEndsWithAFailure(t *testing.T) {
	rs, _ := Plan(talk(), Limits{})
	do, sent := answering("0001/2")
	r := Run(t.Context(), Options{Concurrency: 2, Requests: rs, Do: do})
	if _, ok := sent["load/talk/0001/3"]; ok || len(sent) != 7 || r.NotSent != 1 {
		t.Errorf("%d requests were sent, %d not; want 7 and 1", len(sent), r.NotSent)
	}
}
