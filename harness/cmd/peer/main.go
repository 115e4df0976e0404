// Peer holds the verdicts of harness/rounds beside those of inference-doctor,
// an installed Python package that judges repeated result files: its own
// calibration table, on the same simulated runs, and what it passes that ours
// refuses. It prints Markdown tables; docs/statistics.md keeps them.
package main

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"touchstone/harness/rounds"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: peer PATH-OF-VENV (with inference-doctor installed in it)")
		os.Exit(2)
	}
	if err := peer(os.Args[1], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "peer:", err)
		os.Exit(1)
	}
}

// Both tools judge throughput against a margin of 10 % at 90 %, as
// inference-doctor does unless it is told otherwise.
const (
	margin     = 0.10
	confidence = 0.90
)

// trials of each row, as in the peer's own table.
const trials = 4000

// experiment is a number of runs a side of both builds.
type experiment struct {
	A          []float64 `json:"a"`
	B          []float64 `json:"b"`
	Margin     float64   `json:"margin"` // percent
	Confidence float64   `json:"confidence"`
}

// machine is a model of noise: 4 % of each run alone, and what pairs of runs
// that stand beside each other in time have in common.
type machine struct {
	name   string
	shared float64 // standard deviation of what a pair shares
}

var machines = []machine{{"independent noise of 4 %", 0}, {"4 %, and a drift of 8 % that both builds share", 0.08}}

const scatter = 0.04

// draw runs an experiment, in the order ABBA.
func (m machine) draw(rng *rand.Rand, runs int, drop float64) experiment {
	e := experiment{Margin: 100 * margin, Confidence: confidence}
	for range runs {
		both := math.Exp(m.shared * rng.NormFloat64())
		e.A = append(e.A, 1000*both*(1+scatter*rng.NormFloat64()))
		e.B = append(e.B, 1000*(1-drop)*both*(1+scatter*rng.NormFloat64()))
	}
	return e
}

// ours judges an experiment: its runs as pairs, one look. aa is nil where the
// machine was never measured.
func (e experiment) ours(aa *rounds.Calibration) string {
	return strings.ToUpper(rounds.Judge(e.rounds(), options(len(e.A), aa)).Status.String())
}

func (e experiment) rounds() []rounds.Round {
	var rs []rounds.Round
	for i := range e.A {
		rs = append(rs, round(rounds.A, i, e.A[i]), round(rounds.B, i, e.B[i]))
	}
	return rs
}

func options(runs int, aa *rounds.Calibration) rounds.Options {
	return rounds.Options{
		Margin: map[string]float64{"": margin}, Confidence: confidence,
		Primary: []string{"output_tokens_per_s"}, Looks: []int{runs}, AA: aa,
	}
}

// measured is an A/A of ten pairs, drawn anew for every few experiments, so
// that its own luck is in the table. One that tells equal builds apart by
// chance would be run again.
func (m machine) measured(rng *rand.Rand) (*rounds.Calibration, error) {
	for {
		aa, err := rounds.Calibrate(m.draw(rng, 10, 0).rounds(), rounds.Options{Primary: []string{"output_tokens_per_s"}})
		if err != nil || aa.Passed {
			return aa, err
		}
	}
}

func round(side rounds.Side, i int, value float64) rounds.Round {
	index := 2*i + 1 // of the first of its pair
	if (side == rounds.B) == (i%2 == 0) {
		index++
	}
	return rounds.Round{
		Side: side, Index: index, Pair: i + 1, Launch: 1, Requests: 1, Successes: 1,
		Values: map[string]float64{"output_tokens_per_s": value},
	}
}

//go:embed judge.py
var judge string

// theirs judges experiments with the installed package, and tells its version.
func theirs(venv string, es []experiment) (words []string, version string, err error) {
	var in bytes.Buffer
	enc := json.NewEncoder(&in)
	for _, e := range es {
		if err := enc.Encode(e); err != nil {
			return nil, "", err
		}
	}
	cmd := exec.Command(filepath.Join(venv, "bin", "python"), "-c", judge)
	cmd.Stdin, cmd.Stderr = &in, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, "", fmt.Errorf("inference-doctor in %s: %w", venv, err)
	}
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		words = append(words, s.Text())
	}
	if len(words) != len(es)+1 {
		return nil, "", fmt.Errorf("inference-doctor judged %d of %d experiments", len(words)-1, len(es))
	}
	return words[1:], words[0], nil
}

// share of words that are one, in percent.
func share(words []string, one string) float64 {
	n := 0
	for _, w := range words {
		if w == one {
			n++
		}
	}
	return 100 * float64(n) / float64(len(words))
}

// runs a side, and true drops: none; half of the margin; the margin itself,
// where either verdict is wrong; and what has to be found.
var (
	sizes = []int{3, 5, 10}
	drops = []float64{0, 0.05, margin, 0.15, 0.20}
)

// cell is one row of the table.
type cell struct {
	machine
	runs int
	drop float64
	seed uint64
}

func cells() []cell {
	var out []cell
	for i, m := range machines {
		for _, runs := range sizes {
			for j, drop := range drops {
				out = append(out, cell{m, runs, drop, uint64(1000*i + 10*runs + j)})
			}
		}
	}
	return out
}

func (c cell) experiments(n int) []experiment {
	rng := rand.New(rand.NewPCG(c.seed, 6))
	out := make([]experiment, n)
	for i := range out {
		out[i] = c.draw(rng, c.runs, c.drop)
	}
	return out
}

// perAA experiments share an A/A, as comparisons on one machine do.
const perAA = 20

// ours are our verdicts without and with an A/A.
func (c cell) ours(es []experiment) (without, with []string, err error) {
	rng := rand.New(rand.NewPCG(c.seed, 7))
	var aa *rounds.Calibration
	for i, e := range es {
		if i%perAA == 0 {
			if aa, err = c.measured(rng); err != nil {
				return nil, nil, err
			}
		}
		without, with = append(without, e.ours(nil)), append(with, e.ours(aa))
	}
	return without, with, nil
}

// tuned returns the smallest confidence, in steps of 5 %, at which the peer is
// wrong no more often at the margin than it promises at 90 %. Where builds
// share a drift its intervals are too wide, and this gives them back what it
// costs: rules are only comparable where they are wrong equally often.
func tuned(venv string, atMargin []experiment) (float64, error) {
	for c := 0.50; c < confidence-0.01; c += 0.05 {
		words, _, err := theirs(venv, at(atMargin, c))
		if err != nil {
			return 0, err
		}
		if share(words, "PASS")+share(words, "FAIL") <= 100*(1-confidence) {
			return c, nil
		}
	}
	return confidence, nil
}

// at returns the experiments, to be judged at another confidence.
func at(es []experiment, confidence float64) []experiment {
	out := append([]experiment{}, es...)
	for i := range out {
		out[i].Confidence = confidence
	}
	return out
}

func peer(venv string, out io.Writer) error {
	_, version, err := theirs(venv, nil)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "inference-doctor %s beside harness/rounds: margin %g %%, intervals of %g %%, %d experiments a row, the same runs for all. Shares are of pass / fail, in percent.\n\n", version, 100*margin, 100*confidence, trials)
	fmt.Fprintln(out, "| noise | runs a side | true drop | theirs | theirs, as often wrong as promised | ours, no A/A | ours, with an A/A |")
	fmt.Fprintln(out, "|---|--:|--:|--:|--:|--:|--:|")
	tunings := map[string]float64{}
	for _, c := range cells() {
		key := fmt.Sprint(c.name, c.runs)
		if tunings[key] == 0 {
			edge := c
			edge.drop = margin
			if tunings[key], err = tuned(venv, edge.experiments(trials)); err != nil {
				return err
			}
		}
		if err := c.row(venv, out, tunings[key]); err != nil {
			return err
		}
	}
	return refusals(venv, out)
}

// row prints a line of the table.
func (c cell) row(venv string, out io.Writer, tuning float64) error {
	es := c.experiments(trials)
	their, _, err := theirs(venv, es)
	if err != nil {
		return err
	}
	fair, _, err := theirs(venv, at(es, tuning))
	if err != nil {
		return err
	}
	without, with, err := c.ours(es)
	if err != nil {
		return err
	}
	both := func(words []string) string {
		return fmt.Sprintf("%.1f / %.1f", share(words, "PASS"), share(words, "FAIL"))
	}
	fmt.Fprintf(out, "| %s | %d | %.0f %% | %s | %s (at %.0f %%) | %s | %s |\n", c.name, c.runs, 100*c.drop, both(their), both(fair), 100*tuning, both(without), both(with))
	return nil
}

// refusals shows what the peer passes and ours does not.
func refusals(venv string, out io.Writer) error {
	dir, err := os.MkdirTemp("", "peer")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	fmt.Fprint(out, "\n| files on both sides | theirs | ours | because |\n|---|---|---|---|\n")
	for i, c := range cases() {
		their, err := compareRuns(venv, filepath.Join(dir, fmt.Sprint(i)), c)
		if err != nil {
			return err
		}
		res := rounds.Judge(c.rounds(), options(len(c.a), nil))
		fmt.Fprintf(out, "| %s | %s | %s | %s |\n", c.name, their, strings.ToUpper(res.Status.String()), strings.ReplaceAll(res.Because, "|", "/"))
	}
	return nil
}
