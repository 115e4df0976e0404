package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"runtime/debug"

	"strings"

	"github.com/alecthomas/kong"

	"touchstone/harness/engine"
	"touchstone/harness/verdict"
)

// version is the program's version; a release sets it by -ldflags.
var version = "dev"

// app is what a command may touch of the outside world.
type app struct {
	ctx    context.Context
	env    map[string]string
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
}

// failure is an error with the exit code that it deserves.
type failure struct {
	code int
	err  error
	hint string
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

func usage(hint, format string, args ...any) error {
	return &failure{verdict.ExitUsage, fmt.Errorf(format, args...), hint}
}

// exited is the exit code of a command that has already said all it has to
// say: the verdict of a gate, say.
type exited int

func (e exited) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

type commands struct {
	Serve   serveCmd   `cmd:"" help:"Start the reference server: a real tiny transformer behind the OpenAI API."`
	Faults  faultsCmd  `cmd:"" help:"List the faults that the reference server can be started with."`
	Record  recordCmd  `cmd:"" help:"Record a known-good build as a baseline."`
	Gate    gateCmd    `cmd:"" help:"The CI gate: run the suites against a build, judge, report, exit code."`
	Bench   benchCmd   `cmd:"" help:"Throughput alone."`
	Judge   judgeCmd   `cmd:"" help:"Judge a saved run again, offline."`
	Report  reportCmd  `cmd:"" help:"Render a saved run."`
	Check   checkCmd   `cmd:"" help:"Run the text checks alone over a JSONL file of outputs."`
	Corrupt corruptCmd `cmd:"" help:"Copy a GGUF file with one defect in its weights, for any engine that loads it."`
	Doctor  doctorCmd  `cmd:"" help:"Tell what a server is, which checks can run on it, and what is off."`

	Version kong.VersionFlag `help:"Print the version."`
}

const about = `Touchstone answers one question about a new build of an LLM inference server: does it still say what the old build said, and as fast?

Every flag has a twin in the environment: --target is TOUCHSTONE_TARGET. The key comes from TOUCHSTONE_API_KEY, else OPENAI_API_KEY, else --api-key-file.

Exit codes: 0 pass, 1 regression, 2 bad usage, 3 inconclusive or an error of Touchstone, 4 no HTTP answer, 130 interrupted.`

// run is the program. It never calls os.Exit and never panics.
func run(ctx context.Context, args, env []string, stdin io.Reader, stdout, stderr io.Writer) (code int) {
	a := &app{ctx: ctx, env: environment(env), stdin: stdin, stdout: stdout, stderr: stderr}
	defer func() {
		if r := recover(); r != nil {
			if e, ok := r.(exited); ok { // kong's --help and --version
				code = int(e)
				return
			}
			fmt.Fprintf(stderr, "touchstone: a defect of Touchstone itself: %v\n%s", r, debug.Stack())
			code = verdict.ExitInconclusive
		}
	}()
	var cmd commands
	parser, err := kong.New(&cmd,
		kong.Name("touchstone"), kong.Description(about), kong.UsageOnError(),
		kong.Writers(stdout, stderr), kong.Exit(func(code int) { panic(exited(code)) }),
		kong.Vars{"version": version}, kong.Resolvers(a.twins()),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
	)
	if err != nil {
		fmt.Fprintln(stderr, "touchstone:", err)
		return verdict.ExitInconclusive
	}
	k, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(stderr, "touchstone: %v\n  hint: touchstone %s--help\n", err, commandOf(args))
		return verdict.ExitUsage
	}
	return a.exit(k.Run(a))
}

// commandOf returns the command's name and a blank, or nothing.
func commandOf(args []string) string {
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") && strings.Trim(args[0], "abcdefghijklmnopqrstuvwxyz") == "" {
		return args[0] + " "
	}
	return ""
}

// exit prints an error, if there is one, and returns its exit code.
func (a *app) exit(err error) int {
	var done exited
	var f *failure
	var e *engine.Error
	switch {
	case err == nil:
		return verdict.ExitPass
	case errors.As(err, &done):
		return int(done)
	case errors.As(err, &f):
		a.complain(f.err.Error(), f.hint)
		return f.code
	case errors.As(err, &e):
		a.complain(e.Msg, e.Hint)
		switch e.Kind {
		case engine.Unreachable:
			return verdict.ExitUnreachable
		case engine.Limited:
			return verdict.ExitInconclusive
		}
		return verdict.ExitUsage
	case a.ctx.Err() != nil:
		a.complain("interrupted", "nothing was stored")
		return verdict.ExitInterrupted
	}
	a.complain(err.Error(), "")
	return verdict.ExitInconclusive
}

func (a *app) complain(msg, hint string) {
	fmt.Fprintln(a.stderr, "touchstone:", msg)
	if hint != "" {
		fmt.Fprintln(a.stderr, "  hint:", hint)
	}
}

func environment(env []string) map[string]string {
	m := make(map[string]string, len(env))
	for _, kv := range env {
		if k, v, ok := strings.Cut(kv, "="); ok {
			m[k] = v
		}
	}
	return m
}

// twins lets each flag be set by TOUCHSTONE_<FLAG>. A variable that is there
// but empty is an error for --target: a CI secret that was not filled in must
// not turn into a run against something else. --help and --version have no
// twin: a TOUCHSTONE_VERSION that a CI sets for itself would print the version
// and exit 0, as if the gate had passed.
func (a *app) twins() kong.Resolver {
	return kong.ResolverFunc(func(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
		if flag.Name == "help" || flag.Name == "version" {
			return nil, nil
		}
		name := "TOUCHSTONE_" + strings.ToUpper(strings.ReplaceAll(flag.Name, "-", "_"))
		v, ok := a.env[name]
		switch {
		case !ok:
			return nil, nil
		case v == "" && flag.Name == "target":
			return nil, fmt.Errorf("%s is set but empty: give the server's address, or unset it", name)
		case v == "":
			return nil, nil
		}
		return v, nil
	})
}

// apiKey returns the key, from the file if one is named.
func (a *app) apiKey(file string) (string, error) {
	if file != "" {
		return readKey(file)
	}
	for _, name := range []string{"TOUCHSTONE_API_KEY", "OPENAI_API_KEY"} {
		if v := a.env[name]; v != "" {
			return v, nil
		}
	}
	return "", nil
}
