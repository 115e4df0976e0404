package rounds

import (
	"math/rand/v2"
	"testing"

	"touchstone/harness/stat"
)

// TestBesideWelch holds Judge beside the rule of inference-doctor 0.4.1, a
// Welch interval of 90 % against a margin of 10 %, at a noise of 4 %. (The
// package itself is compared by harness/cmd/peer.) Once what a machine does to
// its rounds is known from an A/A, pairs are never worse where noise is
// independent, and far better where both builds share a drift; and neither
// verdict at the margin is wrong more often than the 5 % that either rule
// promises.
func TestBesideWelch(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 500))
	for _, m := range []struct {
		name   string
		noise  noise
		better float64 // at least so much more often, where Welch isn't near 100 % already
	}{
		{"independent", noise{SD: 0.04}, -0.02},                         // two standard errors of a difference
		{"a drift of 8 % shared", noise{SD: 0.0894, Shared: 0.8}, 0.15}, // √(0.04² + 0.08²)
	} {
		for _, n := range []int{3, 5, 10} {
			for _, c := range []struct{ change, right float64 }{{0, 1}, {-0.15, -1}, {-0.20, -1}, {-0.10, 0}} {
				ours, theirs := [3]float64{}, [3]float64{} // fail, open, pass
				var aa *Calibration
				for i := range experiments {
					if i%20 == 0 {
						aa = calibrated(t, newWorld(m.noise, 0, rng))
					}
					rs := newWorld(m.noise, c.change, rng).some(n)
					ours[1+status(judge(rs, peerOptions(n, aa)))]++
					theirs[1+welch(rs)]++
				}
				at := 1 + int(c.right)
				o, w := ours[at]/experiments, theirs[at]/experiments
				if c.right == 0 {
					t.Logf("%-22s %2d a side, true −10 %%: wrong pass %.1f %%, wrong fail %.1f %%; Welch %.1f and %.1f", m.name, n,
						100*ours[2]/experiments, 100*ours[0]/experiments, 100*theirs[2]/experiments, 100*theirs[0]/experiments)
					// Three standard errors of 5 %.
					if ours[0]/experiments > 0.05+0.015 || ours[2]/experiments > 0.05+0.015 {
						t.Errorf("%s, %d a side: more than 5 %% of either verdict at the margin", m.name, n)
					}
					continue
				}
				t.Logf("%-22s %2d a side, true %+3.0f %%: right in %5.1f %%, Welch %5.1f %%", m.name, n, 100*c.change, 100*o, 100*w)
				if want := min(w+m.better, 0.97); o < want {
					t.Errorf("%s, %d a side, true %+.0f %%: right in %.1f %%, want %.1f %%", m.name, n, 100*c.change, 100*o, 100*want)
				}
			}
		}
	}
}

func peerOptions(n int, aa *Calibration) Options {
	return Options{Margin: map[string]float64{"": 0.10}, Confidence: 0.90, Primary: []string{"output_tokens_per_s"}, Looks: []int{n}, AA: aa}
}

// some runs n pairs.
func (w *world) some(n int) []Round {
	var rs []Round
	for i := 1; i <= n; i++ {
		rs = append(rs, w.pair(i)...)
	}
	return rs
}

// calibrated measures a machine by ten pairs of equal builds. An A/A that
// fails its own check by chance would only be run again.
func calibrated(t *testing.T, w *world) *Calibration {
	t.Helper()
	aa, err := Calibrate(w.some(10), Options{})
	if err != nil {
		t.Fatal(err)
	}
	aa.Passed = true
	return aa
}

// status is 1 for a pass, −1 for a failure, 0 for neither.
func status(r Result) int {
	switch r.Status.String() {
	case "pass":
		return 1
	case "fail":
		return -1
	}
	return 0
}

// welch is the other tool's rule, on logarithms.
func welch(rs []Round) int {
	s := split(rs)
	a, _, _ := logs(s.a, "output_tokens_per_s")
	b, _, _ := logs(s.b, "output_tokens_per_s")
	i := stat.Unpaired(a, b).Interval(0.90)
	switch at := (Comparison{Metric: Metric{Higher: true}, Margin: 0.10}).bound(); {
	case i.Hi <= at:
		return -1
	case i.Lo > at:
		return 1
	}
	return 0
}
