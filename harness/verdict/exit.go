package verdict

// Exit codes of the program. Each says one thing, so that CI can tell a
// regression from a broken set-up.
const (
	ExitPass         = 0   // pass, or known failures only
	ExitRegression   = 1   // at least one check failed
	ExitUsage        = 2   // bad flags, files or configuration; 401, 403, 404; not an OpenAI API
	ExitInconclusive = 3   // not enough was seen to judge, or Touchstone itself failed
	ExitUnreachable  = 4   // no HTTP answer at all, or only 502/503 while loading
	ExitInterrupted  = 130 // Ctrl-C

	// ExitBisectSkip and ExitBisectStop are what `git bisect run` understands:
	// skip this commit, and stop bisecting.
	ExitBisectSkip = 125
	ExitBisectStop = 128
)

// ExitCode returns the exit code of a status.
func (s Status) ExitCode() int {
	switch s {
	case Pass, Known:
		return ExitPass
	case Fail:
		return ExitRegression
	}
	return ExitInconclusive
}

// Bisect maps an exit code to the ones of `git bisect run`: what could not be
// judged is skipped, a wrong set-up stops the bisection.
func Bisect(code int) int {
	switch code {
	case ExitInconclusive, ExitUnreachable:
		return ExitBisectSkip
	case ExitUsage:
		return ExitBisectStop
	}
	return code
}
