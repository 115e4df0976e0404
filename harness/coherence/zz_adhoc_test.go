package coherence

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"testing"
)

func TestAdhoc(t *testing.T) {
	f, err := os.Open(os.Getenv("ADHOC"))
	if err != nil {
		t.Skip()
	}
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<26)
	n, bad := 0, 0
	per := map[string]int{}
	for sc.Scan() {
		var x struct {
			ID, Text, Prompt string
			Tags             []string
			Baseline         *string
		}
		if err := json.Unmarshal(sc.Bytes(), &x); err != nil {
			t.Fatal(err)
		}
		n++
		fs := Run(Text{Text: x.Text, Prompt: x.Prompt, Tags: x.Tags, Baseline: x.Baseline})
		if len(fs) > 0 {
			bad++
		}
		for _, f := range fs {
			per[f.Check]++
			if per[f.Check] <= 12 || os.Getenv("ALL") != "" {
				fmt.Printf("%s %s m=%.3g l=%.3g at=%d %q\n", x.ID, f.Check, f.Measured, f.Limit, f.Offset, f.Excerpt)
			}
		}
	}
	fmt.Println("texts", n, "flagged", bad, per)
}
