package launch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func shell(t *testing.T, script string) Build {
	return Build{Name: "engine", Path: "/bin/sh", Args: []string{"-c", script}, Log: filepath.Join(t.TempDir(), "log")}
}

func never(context.Context) error { return errors.New("no answer") }

func TestStopEndsTheWholeGroup(t *testing.T) {
	dir := t.TempDir()
	ready := filepath.Join(dir, "child")
	// A server that forks a worker, and both ignore a friendly signal.
	b := shell(t, fmt.Sprintf(`trap '' TERM; (trap '' TERM; exec tail -f /dev/null) & echo $! > %s.part; mv %s.part %s; wait`, ready, ready, ready))
	p, err := Start(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Await(t.Context(), 10*time.Second, 5*time.Millisecond, func(context.Context) error { _, err := os.Stat(ready); return err }); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(ready)
	if err != nil {
		t.Fatal(err)
	}
	var worker int
	if _, err := fmt.Sscan(string(raw), &worker); err != nil {
		t.Fatal(err)
	}
	p.signal(syscall.SIGKILL) // what Stop does after its grace
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(); err != nil {
		t.Errorf("a second Stop: %v", err)
	}
	if alive(worker) {
		t.Errorf("the worker %d is still running", worker)
	}
}

// alive says whether a process runs; one that is dead and not yet buried by
// its parent does not.
func alive(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

func TestAwaitNamesWhatWentWrong(t *testing.T) {
	p, err := Start(t.Context(), shell(t, `echo loading; echo "out of memory" >&2; exit 3`))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop() //nolint:errcheck // it is dead
	err = p.Await(t.Context(), 10*time.Second, time.Millisecond, never)
	for _, want := range []string{"engine ended while it was loading", "exit status 3", "out of memory"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v doesn't say %q", err, want)
		}
	}
}

func TestAwaitHasALimit(t *testing.T) {
	p, err := Start(t.Context(), shell(t, `echo still loading; exec tail -f /dev/null`))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop() //nolint:errcheck // it ends by a signal
	err = p.Await(t.Context(), 50*time.Millisecond, time.Millisecond, never)
	if err == nil || !strings.Contains(err.Error(), "not ready after 50ms") || !strings.Contains(err.Error(), "no answer") {
		t.Errorf("error %v", err)
	}
}

func TestStartRefuses(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() //nolint:errcheck // it carried nothing
	taken := shell(t, "true")
	taken.Port = l.Addr().(*net.TCPAddr).Port
	if _, err := Start(t.Context(), taken); err == nil || !strings.Contains(err.Error(), "is taken") {
		t.Errorf("a port that is taken: %v", err)
	}
	missing := shell(t, "true")
	missing.Path = filepath.Join(t.TempDir(), "no-such-engine")
	if _, err := Start(t.Context(), missing); err == nil || !strings.Contains(err.Error(), "doesn't start") {
		t.Errorf("a program that is missing: %v", err)
	}
}

func TestAddressIsFilledIn(t *testing.T) {
	b := shell(t, `echo "$0 $1"`)
	b.Args = append(b.Args, "{host}:{port}", "{addr}")
	p, err := Start(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	<-p.done
	got, err := os.ReadFile(b.Log)
	if err != nil {
		t.Fatal(err)
	}
	addr := strings.TrimPrefix(p.URL, "http://")
	if want := addr + " " + addr + "\n"; string(got) != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
}
