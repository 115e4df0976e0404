package health

import (
	"fmt"
	"syscall"
)

// spare is what a process opens beside its streams: the run folder, the
// standard streams, the runtime's own, a log, and connections that were just
// closed and are not given back yet.
const spare = 64

// Files says whether the process may open enough files for so many requests
// in flight, each of which holds a connection. The error names the fix. Go has
// raised the soft limit to the hard one by now.
func Files(concurrency int) error {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return nil // no such limit here
	}
	return files(concurrency, l.Cur, l.Max)
}

func files(concurrency int, soft, hard uint64) error {
	need := uint64(max(0, concurrency)) + spare
	if soft >= need {
		return nil
	}
	fix := fmt.Sprintf("run ulimit -n %d first", need)
	if hard < need {
		fix = fmt.Sprintf("the hard limit is %d, so let root raise it (ulimit -Hn, LimitNOFILE= or --ulimit nofile=%d)", hard, need)
	}
	lower := ""
	if soft > spare {
		lower = fmt.Sprintf(", or lower the concurrency to %d", soft-spare)
	}
	return fmt.Errorf("%d requests in flight need %d open files, and this process may open %d: %s%s", concurrency, need, soft, fix, lower)
}
