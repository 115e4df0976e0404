package verdict

import (
	"encoding/json"
	"fmt"
	"sort"
)

// Schema is the version of verdict.json.
const Schema = 1

// Finding is what one check saw. A passing check leaves a finding too, so that
// a reader sees what was held against what.
type Finding struct {
	Check     string `json:"check"`
	Status    Status `json:"status"`
	Summary   string `json:"summary"`
	Measured  string `json:"measured,omitempty"`
	Limit     string `json:"limit,omitempty"`
	Baseline  string `json:"baseline,omitempty"`
	Evidence  string `json:"evidence,omitempty"`  // an excerpt of what came back
	Where     string `json:"where,omitempty"`     // request, and token index where that is known
	Reproduce string `json:"reproduce,omitempty"` // a curl command
}

// Detail is a named part of a finding.
type Detail struct{ Name, Value string }

// Details are the parts of a finding that are not empty, as every format shows
// them; the command apart, which must stay in one piece.
func (f Finding) Details() []Detail {
	var out []Detail
	for _, d := range []Detail{
		{"where", f.Where}, {"limit", f.Limit}, {"baseline", f.Baseline}, {"measured", f.Measured}, {"evidence", f.Evidence},
	} {
		if d.Value != "" {
			out = append(out, d)
		}
	}
	return out
}

// Uncovered is a check that could not run, and why.
type Uncovered struct {
	Check  string `json:"check"`
	Reason string `json:"reason"`
}

// Cause is a fault that would explain the findings.
type Cause struct {
	Cause      string `json:"cause"`
	Confidence string `json:"confidence"` // high, medium, low
	Because    string `json:"because"`
}

// Verdict is verdict.json.
type Verdict struct {
	Schema     int         `json:"schema"`
	Status     Status      `json:"status"`
	ExitCode   int         `json:"exit_code"`
	Findings   []Finding   `json:"findings"`
	Diagnosis  []Cause     `json:"diagnosis"`
	NotCovered []Uncovered `json:"not_covered"`
}

// Decide makes the verdict of findings. A required area in which nothing was
// judged makes it inconclusive.
func Decide(findings []Finding, uncovered []Uncovered, required []Area) Verdict {
	judged := map[Area]bool{}
	status := Pass
	for _, f := range findings {
		status = Worse(status, f.Status)
		if f.Status != Inconclusive {
			judged[AreaOf(f.Check)] = true
		}
	}
	all := append([]Finding{}, findings...)
	for _, a := range required {
		if judged[a] {
			continue
		}
		status = Worse(status, Inconclusive)
		all = append(all, Finding{
			Check:   string(a),
			Status:  Inconclusive,
			Summary: fmt.Sprintf("nothing was judged in the area %s, which this run requires", a),
		})
	}
	sortFindings(all)
	nc := append([]Uncovered{}, uncovered...)
	sort.SliceStable(nc, func(i, j int) bool {
		if ai, aj := areaRank(nc[i].Check), areaRank(nc[j].Check); ai != aj {
			return ai < aj
		}
		if nc[i].Check != nc[j].Check {
			return nc[i].Check < nc[j].Check
		}
		return nc[i].Reason < nc[j].Reason
	})
	return Verdict{
		Schema:     Schema,
		Status:     status,
		ExitCode:   status.ExitCode(),
		Findings:   all,
		Diagnosis:  Diagnose(all),
		NotCovered: nc,
	}
}

// Count returns how many findings have the status.
func (v Verdict) Count(s Status) int {
	n := 0
	for _, f := range v.Findings {
		if f.Status == s {
			n++
		}
	}
	return n
}

// JSON returns verdict.json: indented, with a final line break, free of
// anything about the judging itself.
func (v Verdict) JSON() ([]byte, error) {
	if v.Diagnosis == nil {
		v.Diagnosis = []Cause{}
	}
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(b, '\n'), nil
}

func areaRank(check string) int {
	for i, a := range Areas() {
		if AreaOf(check) == a {
			return i
		}
	}
	return len(Areas())
}

// sortFindings puts the worst first, then area, check and place.
func sortFindings(fs []Finding) {
	sort.SliceStable(fs, func(i, j int) bool {
		a, b := fs[i], fs[j]
		if a.Status != b.Status {
			return a.Status.rank() > b.Status.rank()
		}
		if ra, rb := areaRank(a.Check), areaRank(b.Check); ra != rb {
			return ra < rb
		}
		if a.Check != b.Check {
			return a.Check < b.Check
		}
		if a.Where != b.Where {
			return a.Where < b.Where
		}
		return a.Summary < b.Summary
	})
}
