// Demo shows Touchstone's whole job on the reference server: record a good
// build, pass it again, catch the two faults that the project was founded on,
// and measure throughput. It runs the program as a user would, prints each
// command, and says at its end whether everything came out as expected.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: demo PATH-OF-TOUCHSTONE")
		os.Exit(2)
	}
	if err := demo(ctx, os.Args[1], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// build is one build of the server, and what the gate has to say of it.
type build struct {
	title  string
	faults []string
	exit   int
	cause  string // "": none
}

var builds = []build{
	{title: "the same build again", exit: 0},
	{title: "a build whose attention output is lost", faults: []string{"attention-output-lost"}, exit: 1, cause: "attention output lost"},
	{title: "a build that lays its QKV shards in file order", faults: []string{"qkv-shard-order"}, exit: 1, cause: "weights misplaced"},
}

func demo(ctx context.Context, bin string, out io.Writer) error {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "touchstone-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // leftovers of a temporary folder
	d := &shell{ctx: ctx, bin: bin, dir: dir, out: out}

	good, err := d.serve()
	if err != nil {
		return err
	}
	defer good.stop()
	d.say("1. Record a known-good build")
	if code, err := d.run("record", "--target", good.url, "--as", "good", "--tier", "smoke"); err != nil || code != 0 {
		return fmt.Errorf("record exits %d: %w", code, err)
	}
	right := 0
	for i, b := range builds {
		d.say(fmt.Sprintf("%d. Gate %s", i+2, b.title))
		ok, err := d.gate(b, good.url, fmt.Sprintf("run%d", i+1))
		if err != nil {
			return err
		}
		if ok {
			right++
		}
	}
	d.say("5. Measure throughput, with the workload of the founding benchmark")
	code, err := d.run("bench", "--target", good.url, "--workload", "founding", "--out", "bench")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\ndemo: %d builds judged, %d as expected\n", len(builds), right)
	if right != len(builds) || code != 0 {
		return fmt.Errorf("%d of %d builds were judged as expected, and bench exits %d", right, len(builds), code)
	}
	return nil
}

// gate judges a build and says whether the verdict is the expected one.
func (d *shell) gate(b build, good, run string) (bool, error) {
	url := good
	if len(b.faults) > 0 {
		s, err := d.serve(b.faults...)
		if err != nil {
			return false, err
		}
		defer s.stop()
		url = s.url
	}
	code, err := d.run("gate", "--target", url, "--baseline", "good", "--tier", "smoke", "--out", run)
	if err != nil {
		return false, err
	}
	raw, err := os.ReadFile(filepath.Join(d.dir, run, "verdict.json"))
	if err != nil {
		return false, err
	}
	var v struct {
		Diagnosis []struct{ Cause string }
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return false, err
	}
	var causes []string
	for _, c := range v.Diagnosis {
		causes = append(causes, c.Cause)
	}
	var want []string
	if b.cause != "" {
		want = append(want, b.cause)
	}
	return code == b.exit && slices.Equal(causes, want), nil
}

// shell runs the program in a folder of its own.
type shell struct {
	ctx context.Context
	bin string
	dir string
	out io.Writer
}

func (d *shell) say(title string) { fmt.Fprintf(d.out, "\n── %s\n", title) }

// run prints a command, runs it and prints what it says on standard output.
func (d *shell) run(args ...string) (int, error) {
	fmt.Fprintf(d.out, "$ touchstone %s\n", strings.Join(args, " "))
	cmd := exec.CommandContext(d.ctx, d.bin, args...)
	cmd.Dir = d.dir
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = d.out, &stderr
	err := cmd.Run()
	code := cmd.ProcessState.ExitCode()
	if code < 0 || code > 1 {
		return code, fmt.Errorf("touchstone %s: %w\n%s", args[0], err, stderr.String())
	}
	fmt.Fprintf(d.out, "exit code %d\n", code)
	return code, nil
}

type server struct {
	url  string
	stop func()
}

// serve starts a reference server on a free port and waits for its first line.
func (d *shell) serve(faults ...string) (*server, error) {
	args := []string{"serve", "--addr", "127.0.0.1:0"}
	for _, f := range faults {
		args = append(args, "--fault", f)
	}
	cmd := exec.CommandContext(d.ctx, d.bin, args...)
	cmd.Stderr = os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop := func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // it was told to end; how it did is of no interest
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	i := strings.Index(line, "http://")
	if err != nil || i < 0 {
		stop()
		return nil, fmt.Errorf("touchstone %s did not get ready: %q, %w", strings.Join(args, " "), line, err)
	}
	url, _, _ := strings.Cut(strings.TrimSpace(line[i:]), ",")
	return &server{url: url, stop: stop}, nil
}
