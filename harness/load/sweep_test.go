package load

import (
	"fmt"
	"testing"
)

// searched runs a search on a server that meets the SLO up to a limit.
func searched(s *Search, limit float64) (tried []float64) {
	for v, more := s.Next(); more && len(tried) < 99; v, more = s.Next() {
		tried = append(tried, v)
		s.Tell(v, v <= limit)
	}
	return tried
}

func TestSearch(t *testing.T) {
	for _, c := range []struct {
		lo, hi, limit float64
		whole         bool
		best          float64
		bounded       bool
		tries         int
	}{
		{1, 64, 0.5, false, 0, true, 1},         // not even the lowest
		{1, 64, 100, false, 64, false, 2},       // beyond the highest
		{1, 64, 17, true, 17, true, 9},          // 1 64 8 23 14 18 16 17: the next whole number fails
		{1, 1024, 1023, true, 975, true, 10},    // within 5 %
		{0.1, 100, 3.3, false, 3.143, true, 10}, // a ratio of 1,000 is halved, as a logarithm, until it is under 1.05: 1,000^(1/2^8) = 1.03
	} {
		t.Run(fmt.Sprint(c.lo, c.hi, c.limit), func(t *testing.T) {
			s := &Search{Lo: c.lo, Hi: c.hi, Whole: c.whole}
			tried := searched(s, c.limit)
			best, bounded := s.Best()
			if bounded != c.bounded || len(tried) > c.tries {
				t.Errorf("best %v, bounded %v, tried %v", best, bounded, tried)
			}
			if best > c.limit || bounded && best > 0 && c.limit/best > 1.05 && !c.whole {
				t.Errorf("best %v of a limit of %v, tried %v", best, c.limit, tried)
			}
			if best < c.best || c.best == 0 && best != 0 {
				t.Errorf("best %v, want %v at least; tried %v", best, c.best, tried)
			}
		})
	}
}
