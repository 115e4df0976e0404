package llama

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// worthSharing is the number of multiply-adds below which a second core costs
// more than it brings: the first does as many in ten microseconds, and waking
// another takes some of those.
const worthSharing = 128 << 10

// A crew runs the tasks of a phase on all cores. Which worker takes which task
// is left to chance; no result depends on it. Goroutines end with the phase, so
// that an engine which is dropped leaves none behind.
type crew struct {
	workers []*worker
	job     func(task int, w *worker)
	tasks   int
	next    atomic.Int64
	done    sync.WaitGroup
}

// A worker owns the scratch memory of one core.
type worker struct {
	crew *crew
	out  []float32 // one row of one panel, and its gate
	q    []float32 // a scaled query
	kv   []float32 // gathered: the keys of a head, its values, those of the next head
	part int       // length of a head's keys, or values, in kv
	s    []float32 // attention scores
}

func (c *crew) init() {
	for range runtime.GOMAXPROCS(0) {
		c.workers = append(c.workers, &worker{crew: c})
	}
}

// run calls job for all tasks and returns when all are done. work is the number
// of multiply-adds in all of them.
func (c *crew) run(tasks, work int, job func(task int, w *worker)) {
	c.job, c.tasks = job, tasks
	c.next.Store(0)
	if work >= worthSharing && tasks > 1 {
		for _, w := range c.workers[1:min(tasks, len(c.workers))] {
			c.done.Add(1)
			go w.help()
		}
	}
	c.workers[0].work()
	c.done.Wait()
}

func (w *worker) help() {
	defer w.crew.done.Done()
	w.work()
}

func (w *worker) work() {
	c := w.crew
	for {
		t := int(c.next.Add(1)) - 1
		if t >= c.tasks {
			return
		}
		c.job(t, w)
	}
}

// grown returns s with length n, reallocated only when it never was that long.
func grown(s []float32, n int) []float32 {
	if cap(s) < n {
		return make([]float32, n, roundUp(n, 1024))
	}
	return s[:n]
}
