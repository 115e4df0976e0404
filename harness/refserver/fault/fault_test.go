package fault

import (
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"touchstone/harness/refserver/gguf"
	"touchstone/harness/refserver/internal/ggufedit"
	"touchstone/harness/refserver/llama"
)

func tinyBytes(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile("../../../fixtures/models/tiny/touchstone-tiny-f32.gguf")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func parseFile(t testing.TB, data []byte) *gguf.File {
	t.Helper()
	f, err := gguf.Parse(data, "tiny.gguf")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// load starts the tiny model with faults.
func load(t testing.TB, specs ...string) *llama.Model {
	t.Helper()
	f := parseFile(t, tinyBytes(t))
	var hooks llama.Hooks
	for _, spec := range specs {
		s, err := Parse(spec)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Install(&hooks, f); err != nil {
			t.Fatal(err)
		}
	}
	m, err := llama.Load(f, &hooks)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// next returns the logits after ids.
func next(m *llama.Model, ids []int32) []float32 {
	s := &llama.Seq{}
	for b := range (len(ids) + llama.BlockSize - 1) / llama.BlockSize {
		s.Blocks = append(s.Blocks, int32(b))
	}
	var rows []llama.Row
	for i, id := range ids {
		rows = append(rows, llama.Row{Seq: s, Token: id, Pos: i, Logits: i == len(ids)-1})
	}
	logits := make([]float32, m.Config().Vocab)
	m.Forward(rows, llama.NewPool(m, len(s.Blocks)), logits)
	return logits
}

// Two beginnings and one end, in the tiny model's tokens: "What is the capital of
// Norway", "The colour day" and "What is the?".
var (
	beginning1 = []int32{1, 1168, 309, 265, 1383, 323, 487, 280, 92, 383}
	beginning2 = []int32{1, 297, 1586, 1307}
	end        = []int32{1168, 309, 265, 36}
)

// spread is the largest difference between the log-probabilities of the next
// token after the two beginnings, in nats, over the 20 likeliest of the first.
func spread(m *llama.Model) float64 {
	a := logSoftmax(next(m, slices.Concat(beginning1, end)))
	b := logSoftmax(next(m, slices.Concat(beginning2, end)))
	order := make([]int, len(a))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return int(math.Copysign(1, a[j]-a[i])) })
	worst := 0.0
	for _, i := range order[:20] {
		worst = max(worst, math.Abs(a[i]-b[i]))
	}
	return worst
}

func logSoftmax(logits []float32) []float64 {
	largest, sum := float64(slices.Max(logits)), 0.0
	for _, x := range logits {
		sum += math.Exp(float64(x) - largest)
	}
	out := make([]float64, len(logits))
	for i, x := range logits {
		out[i] = float64(x) - largest - math.Log(sum)
	}
	return out
}

func TestEveryFaultIsDescribed(t *testing.T) {
	all := All()
	if len(all) == 0 {
		t.Fatal("no faults")
	}
	report := regexp.MustCompile(`^[\w.-]+/[\w.-]+#\d+$`)
	for i, f := range all {
		if f.Name == "" || f.Summary == "" || (f.Finding == "") != (f.Kind == Speed) || (f.install == nil) == (f.Kind == Answers) || (f.pace == nil) == (f.Kind == Speed) || len(f.Reports) == 0 {
			t.Errorf("fault %q lacks a field: %+v", f.Name, f)
		}
		if i > 0 && all[i-1].Name >= f.Name {
			t.Errorf("%q after %q: not sorted, or twice", f.Name, all[i-1].Name)
		}
		for _, r := range f.Reports {
			if !report.MatchString(r) {
				t.Errorf("fault %s: report %q is not owner/repository#number", f.Name, r)
			}
		}
		for _, p := range f.Params {
			if p.Name == "" || p.Summary == "" || p.Check == nil || p.Check(p.Default) != nil {
				t.Errorf("fault %s: parameter %q lacks a field or a valid default", f.Name, p.Name)
			}
		}
		if s, err := Parse(f.Name); err != nil || s.Fault.Name != f.Name {
			t.Errorf("Parse(%q): %v", f.Name, err)
		}
	}
}

func TestZeroSettingIsRefused(t *testing.T) {
	if err := (Setting{}).Install(&llama.Hooks{}, parseFile(t, tinyBytes(t))); err == nil {
		t.Error("no error")
	}
}

func TestFaultsCompose(t *testing.T) {
	both := next(load(t, "qkv-shard-order:layers=0", "attention-output-lost:layers=3"), beginning1)
	for _, one := range []string{"qkv-shard-order:layers=0", "attention-output-lost:layers=3"} {
		if slices.Equal(both, next(load(t, one), beginning1)) {
			t.Errorf("the two faults together compute what %s does alone", one)
		}
	}
	// Half and half of one fault is the whole of it.
	for _, name := range []string{"qkv-shard-order", "attention-output-lost"} {
		halves := load(t, name+":layers=0-1", name+":layers=2-3")
		if !slices.Equal(next(halves, beginning1), next(load(t, name), beginning1)) {
			t.Errorf("%s: layers 0-1 and 2-3 together are not all layers", name)
		}
	}
}

// qkvInOrder is the tiny model with its shards listed as Q, K, V.
func qkvInOrder(data []byte) []byte {
	for _, layer := range []string{"0", "1", "2", "3"} {
		name := func(s string) string { return "blk." + layer + ".attn_" + s + ".weight" }
		data = ggufedit.Order(data, name("q"), name("k"), name("v"))
	}
	return data
}

func wantError(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want one with %q", parts)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("error %q does not say %q", err, p)
		}
	}
}
