package load

import "math"

// Step is one load of a sweep, at one rate or concurrency.
type Step struct {
	Value   float64 `json:"value"` // requests a second, or requests in flight
	Dir     string  `json:"dir"`   // its run folder
	Metrics Metrics `json:"metrics"`
	// Why the step does not meet the SLO; empty: it does, or there is none.
	Missed string `json:"missed,omitempty"`
	Void   []Void `json:"void,omitempty"`
}

// Search looks for the highest value that meets an SLO, between two bounds. It
// takes for granted that what is met at a value is met at every smaller one.
// The bounds are tried first, then the geometric mean of the highest value
// that met it and the lowest that did not, until these are close.
type Search struct {
	Lo, Hi float64
	Whole  bool    // whole numbers alone
	Close  float64 // the ratio at which it ends; 0: 1.05

	best, worst float64 // the highest that met, the lowest that did not; 0: none yet
}

// Next returns the value to try, or false where the search is over.
func (s *Search) Next() (float64, bool) {
	switch {
	case s.worst == s.Lo && s.worst > 0, s.best == s.Hi && s.best > 0:
		return 0, false
	case s.best == 0:
		return s.Lo, true
	case s.worst == 0:
		return s.Hi, true
	}
	end := s.Close
	if end == 0 {
		end = 1.05
	}
	v := math.Sqrt(s.best * s.worst)
	if s.Whole {
		v = math.Floor(v + 0.5)
	}
	if s.worst/s.best <= end || v <= s.best || v >= s.worst {
		return 0, false
	}
	return v, true
}

// Tell says whether a value met the SLO.
func (s *Search) Tell(v float64, met bool) {
	if met {
		s.best = max(s.best, v)
	} else if s.worst == 0 || v < s.worst {
		s.worst = v
	}
}

// Best returns the highest value that met the SLO, and whether the next higher
// one that was tried did not; 0: none met it.
func (s *Search) Best() (v float64, bounded bool) { return s.best, s.worst > 0 }
