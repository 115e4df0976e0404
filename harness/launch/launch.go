// Package launch starts a build under test as a process of its own, keeps its
// log, and makes sure that nothing is left running.
package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Build is a server to start. In Args "{addr}", "{host}" and "{port}" are
// replaced by the address that it is to listen on.
type Build struct {
	Name string
	Path string
	Args []string
	Env  []string // beside the caller's own, "NAME=value"
	Log  string   // file for everything that it prints
	Port int      // 0: a free one
}

// Process is a build that runs.
type Process struct {
	Name string
	URL  string // http://127.0.0.1:PORT

	cmd  *exec.Cmd
	log  *os.File
	done chan struct{}
	err  error // how it ended; read it after done
}

// Start starts the build on the loopback interface. It doesn't wait until the
// server is ready: see Await.
func Start(ctx context.Context, b Build) (*Process, error) {
	port, err := free(ctx, b.Port)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.Name, err)
	}
	log, err := os.Create(b.Log)
	if err != nil {
		return nil, fmt.Errorf("%s: its log can't be written: %w", b.Name, err)
	}
	fill := strings.NewReplacer("{addr}", fmt.Sprintf("127.0.0.1:%d", port), "{host}", "127.0.0.1", "{port}", fmt.Sprint(port))
	args := make([]string, len(b.Args))
	for i, a := range b.Args {
		args[i] = fill.Replace(a)
	}
	p := &Process{Name: b.Name, URL: fmt.Sprintf("http://127.0.0.1:%d", port), log: log, done: make(chan struct{})}
	p.cmd = exec.Command(b.Path, args...)
	p.cmd.Env = append(os.Environ(), b.Env...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	// A group of its own: engines fork workers, which must end with them.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s doesn't start: %w", b.Name, err), log.Close())
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// free returns port if nobody listens on it, or one that is free.
func free(ctx context.Context, port int) (int, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return 0, fmt.Errorf("port %d is taken: %w (name another one, or 0 for a free one)", port, err)
	}
	defer l.Close() //nolint:errcheck // it carried nothing
	return l.Addr().(*net.TCPAddr).Port, nil
}

// Await asks ready every interval until it returns nil. It fails when the
// process ends before, or when limit is over; the error shows the last lines
// of its log.
func (p *Process) Await(ctx context.Context, limit, interval time.Duration, ready func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("%s ended while it was loading: %v%s", p.Name, p.err, p.tail())
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready after %s: %w%s", p.Name, limit, err, p.tail())
		case <-tick.C:
		}
	}
}

// grace is how long a server may take to end by itself.
const grace = 10 * time.Second

// Stop ends the process and all that it started, and waits for it. It can be
// called more than once.
func (p *Process) Stop() error {
	select {
	case <-p.done:
	default:
		p.signal(syscall.SIGTERM)
		timer := time.NewTimer(grace)
		defer timer.Stop()
		select {
		case <-p.done:
		case <-timer.C:
		}
	}
	p.signal(syscall.SIGKILL) // workers that outlived it
	<-p.done
	p.gone()
	if err := p.log.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

// burial is how long the kernel may take to end what was killed.
const burial = time.Second

// gone waits until nobody of the group is left: a worker that was killed holds
// its port and memory until the kernel has taken it down. Where nobody buries
// the dead, as in a container without an init, it gives up.
func (p *Process) gone() {
	limit := time.NewTimer(burial)
	defer limit.Stop()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for syscall.Kill(-p.cmd.Process.Pid, 0) == nil {
		select {
		case <-tick.C:
		case <-limit.C:
			return
		}
	}
}

// signal goes to the whole group. That nobody is left to get it is no error.
func (p *Process) signal(s syscall.Signal) { _ = syscall.Kill(-p.cmd.Process.Pid, s) }

// tailBytes is how much of a log an error shows at most.
const tailBytes = 2000

// tail is the end of the log, indented, on lines of its own.
func (p *Process) tail() string {
	f, err := os.Open(p.log.Name())
	if err != nil {
		return ""
	}
	defer f.Close() //nolint:errcheck // it was only read
	if st, err := f.Stat(); err == nil && st.Size() > tailBytes {
		if _, err := f.Seek(-tailBytes, io.SeekEnd); err != nil {
			return ""
		}
	}
	b, err := io.ReadAll(f)
	text := strings.TrimSpace(strings.ToValidUTF8(string(b), "\uFFFD"))
	if err != nil || text == "" {
		return "; it printed nothing"
	}
	return "; the end of its log (" + p.log.Name() + "):\n  | " + strings.ReplaceAll(text, "\n", "\n  | ")
}
