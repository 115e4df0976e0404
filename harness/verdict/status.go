// Package verdict turns findings into one answer: a status, an exit code and
// a diagnosis. It is pure: the same findings give the same bytes, wherever and
// whenever they are judged.
package verdict

import "fmt"

// Status is the outcome of a check or of a whole run. The zero value is
// Inconclusive: no data is never a pass.
type Status int

// The statuses. Rank says which one wins when several apply.
const (
	Inconclusive Status = iota // could not be judged
	Pass                       // judged, and good
	Known                      // a failure that is waived until a date, with a reason
	Fail                       // a regression
	Error                      // a defect of Touchstone itself
)

var statusNames = [...]string{
	Inconclusive: "inconclusive",
	Pass:         "pass",
	Known:        "known",
	Fail:         "fail",
	Error:        "error",
}

func (s Status) String() string {
	if s < 0 || int(s) >= len(statusNames) {
		return fmt.Sprintf("Status(%d)", int(s))
	}
	return statusNames[s]
}

// MarshalText implements encoding.TextMarshaler.
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Status) UnmarshalText(b []byte) error {
	for i, n := range statusNames {
		if n == string(b) {
			*s = Status(i)
			return nil
		}
	}
	return fmt.Errorf("unknown status %q, want one of %v", b, statusNames)
}

// rank orders statuses by how much they say about the build: a regression
// that was seen stays a regression, even where Touchstone had an error too.
func (s Status) rank() int {
	switch s {
	case Pass:
		return 0
	case Known:
		return 1
	case Inconclusive:
		return 2
	case Error:
		return 3
	case Fail:
		return 4
	}
	return 3
}

// Worse returns the one of two statuses that decides.
func Worse(a, b Status) Status {
	if b.rank() > a.rank() {
		return b
	}
	return a
}
