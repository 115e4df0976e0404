// Package suites holds the Ginkgo specs, one file an area. They are thin: each
// asks a probe for its findings and expects them to pass. `go test ./suites`
// and the program run the very same specs.
package suites

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/extensions/globals"
	"github.com/onsi/ginkgo/v2/formatter"
	"github.com/onsi/ginkgo/v2/types"
	"github.com/onsi/gomega"

	"touchstone/harness/gate"
	"touchstone/harness/matchers"
	"touchstone/harness/probe"
	"touchstone/harness/verdict"
)

// State is how a spec ended.
type State string

// The states.
const (
	Passed  State = "passed"
	Failed  State = "failed"
	Skipped State = "skipped"
)

// Spec is how one spec ended.
type Spec struct {
	Name    string
	State   State
	Message string // why it failed or was skipped
}

// Summary is how the specs ended.
type Summary struct {
	Specs    []Spec
	Panicked string // the first spec that panicked: a defect of ours
	Broken   string // why an area could not be collected: a full disk, say
}

// running guards Ginkgo's globals: it can run one suite at a time.
var running sync.Mutex

// Run runs the specs of the areas over a run. Ginkgo takes standard output for
// itself, so its report goes to out instead. t may be nil outside `go test`.
func Run(ctx context.Context, t ginkgo.GinkgoTestingT, r *gate.Run, out io.Writer, areas ...verdict.Area) Summary {
	running.Lock()
	defer running.Unlock()
	globals.Reset()
	stdout := formatter.ColorableStdOut
	formatter.ColorableStdOut = out
	defer func() { formatter.ColorableStdOut = stdout }()
	if t == nil {
		t = quiet{}
	}
	gomega.RegisterFailHandler(ginkgo.Fail)

	var s Summary
	// One container around all: Ginkgo shuffles the outermost ones, and the
	// load must come last.
	ginkgo.Describe(r.Target.Model, func() {
		for _, a := range areas {
			builders[a](spec{ctx: ctx, run: r, broken: &s.Broken})
		}
	})
	ginkgo.ReportAfterEach(func(rep ginkgo.SpecReport) {
		spec := Spec{Name: rep.FullText(), State: Failed, Message: rep.Failure.Message}
		switch rep.State {
		case types.SpecStatePassed:
			spec.State = Passed
		case types.SpecStateSkipped:
			spec.State = Skipped
		case types.SpecStatePanicked:
			if s.Panicked == "" {
				s.Panicked = fmt.Sprintf("%s: %s", rep.FullText(), rep.Failure.ForwardedPanic)
			}
		}
		s.Specs = append(s.Specs, spec)
	})
	suite, reporter := ginkgo.GinkgoConfiguration()
	suite.Timeout = 24 * time.Hour // a big model takes its time; each request has its own limits
	reporter.NoColor = true
	ginkgo.RunSpecs(t, "Touchstone", suite, reporter)
	return s
}

// quiet is the testing.T of a run outside `go test`: the verdict is made from
// the run folder, so nothing hangs on it.
type quiet struct{}

func (quiet) Fail() {}

// builders makes the specs of an area.
var builders = map[verdict.Area]func(spec){
	verdict.Coherence:  coherenceSpecs,
	verdict.Tokens:     tokensSpecs,
	verdict.Anchors:    anchorsSpecs,
	verdict.Context:    contextSpecs,
	verdict.Throughput: throughputSpecs,
	verdict.Server:     serverSpecs,
}

// spec is what the specs of an area are built from.
type spec struct {
	ctx context.Context
	run *gate.Run
	// broken takes the first error of ours: the run can't go on, and no spec
	// can say so in the verdict.
	broken *string
}

// each makes a spec for each request of an area: it came back, and no finding
// points at it.
func (s spec) each(area verdict.Area, title string) {
	for _, q := range s.run.Planned(area) {
		ginkgo.It(fmt.Sprintf("%s: %s", title, strings.TrimPrefix(q.ID, string(area)+"/")), func() {
			gomega.Expect(at(s.outcome(area).Findings, q.ID)).To(matchers.Pass())
		})
	}
}

// none expects that a check found nothing in an area where something was
// judged.
func (s spec) none(area verdict.Area, check string) {
	ginkgo.GinkgoHelper()
	o := s.outcome(area)
	if len(o.Findings) == 0 {
		ginkgo.Skip(reason(o, check))
	}
	var found []verdict.Finding
	for _, f := range o.Findings {
		if f.Check == check {
			found = append(found, f)
		}
	}
	gomega.Expect(found).To(matchers.Pass())
}

// whole makes a spec for each check of an area.
func (s spec) whole(area verdict.Area, checks ...string) {
	for _, check := range checks {
		ginkgo.It(check, func() {
			o := s.outcome(area)
			var found []verdict.Finding
			for _, f := range o.Findings {
				if f.Check == check || strings.HasPrefix(f.Check, check+"-") {
					found = append(found, f)
				}
			}
			if len(found) == 0 {
				ginkgo.Skip(reason(o, check))
			}
			gomega.Expect(found).To(matchers.Pass())
		})
	}
}

func reason(o probe.Outcome, check string) string {
	for _, u := range o.NotCovered {
		if u.Check == check {
			return u.Reason
		}
	}
	return "nothing came back that this check could judge"
}

// outcome collects and scores an area. What goes wrong here is ours.
func (s spec) outcome(area verdict.Area) probe.Outcome {
	ginkgo.GinkgoHelper()
	o, err := s.run.Outcome(s.ctx, area)
	if s.ctx.Err() != nil {
		ginkgo.Skip("interrupted")
	}
	if err != nil && *s.broken == "" {
		*s.broken = err.Error()
	}
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	return o
}

// at returns the findings that point at a request.
func at(fs []verdict.Finding, id string) []verdict.Finding {
	var out []verdict.Finding
	for _, f := range fs {
		if where, _, _ := strings.Cut(f.Where, ","); where == id {
			out = append(out, f)
		}
	}
	return out
}
