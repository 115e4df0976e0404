package load

import "time"

// flight is the time during which a request was under way.
type flight struct{ start, end time.Time }

// span returns the time from the first start to the last end.
func span(fs []flight) time.Duration {
	if len(fs) == 0 {
		return 0
	}
	first, last := fs[0].start, fs[0].end
	for _, f := range fs {
		if f.start.Before(first) {
			first = f.start
		}
		if f.end.After(last) {
			last = f.end
		}
	}
	return last.Sub(first)
}

// busy returns the times of all flights together.
func busy(fs []flight) time.Duration {
	var d time.Duration
	for _, f := range fs {
		d += f.end.Sub(f.start)
	}
	return d
}

// peak returns how many flights there were at most at one moment. Where one
// ends at the moment in which the next starts, they were not both under way.
// Counting by whole seconds, as vLLM's benchmark does, was rejected: a cap of
// 8 can show as 23.
func peak(fs []flight) int {
	most := 0
	for _, s := range steps(fs) {
		most = max(most, s.n)
	}
	return most
}
