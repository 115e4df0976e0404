package main

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"touchstone/harness/refserver"
	"touchstone/harness/verdict"
)

// A run folder that can't be used is a mistake in the command, so it is told
// before anything is sent.
func TestBadRunFolder(t *testing.T) {
	var asked atomic.Int64
	server := front(t, serve(t, refserver.Config{}), func(http.ResponseWriter, *http.Request) bool { asked.Add(1); return false })
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "something else\n")
	full := t.TempDir()
	write(t, filepath.Join(full, "notes.txt"), "mine\n")
	for name, c := range map[string]struct {
		out   string
		words []string
	}{
		"below a file": {filepath.Join(file, "run"), []string{"not a directory", file}},
		"a file":       {file, []string{"not a directory", file}},
		"not empty":    {full, []string{"not empty", "notes.txt", full}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, command := range []string{"gate", "bench"} {
				touchstone(t, command, "--target", server.URL, "--out", c.out).want(t, verdict.ExitUsage, append(c.words, "hint:", "--out")...)
			}
		})
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("the server was asked %d times", n)
	}
	// An empty folder is as good as a new one.
	empty := t.TempDir()
	touchstone(t, append([]string{"gate", "--target", server.URL, "--out", empty}, smoke...)...).want(t, verdict.ExitPass)
}

func TestReadOnlyFolder(t *testing.T) {
	dir := mount(t, "ro,size=1m")
	o := touchstone(t, append([]string{"gate", "--target", serve(t, refserver.Config{}), "--out", filepath.Join(dir, "run")}, smoke...)...)
	o.want(t, verdict.ExitUsage, "read-only", dir, "hint:")
}

// A disk that fills up on the way is nobody's regression. What fits stays and
// is no pass.
func TestFullDisk(t *testing.T) {
	dir := filepath.Join(mount(t, "size=400k"), "run")
	o := touchstone(t, append([]string{"gate", "--target", serve(t, refserver.Config{}), "--out", dir}, smoke...)...)
	o.want(t, verdict.ExitInconclusive, "disk is full", dir)
	if strings.Contains(o.stdout, "PASS") {
		t.Errorf("it says\n%s", o.stdout)
	}
	moved := copied(t, dir)
	o = touchstone(t, "judge", moved)
	o.want(t, verdict.ExitInconclusive, "INCONCLUSIVE")
}

// mount returns a folder on a file system of its own.
func mount(t *testing.T, options string) string {
	t.Helper()
	dir := t.TempDir()
	flags := uintptr(0)
	if rest, ok := strings.CutPrefix(options, "ro,"); ok {
		flags, options = syscall.MS_RDONLY, rest
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", flags, options); err != nil {
		t.Skipf("a small file system can't be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// Ctrl-C in the middle: what was recorded stays and can be judged, and is no
// pass.
func TestInterrupted(t *testing.T) {
	for name, command := range map[string][]string{
		"gate":  append([]string{"gate"}, smoke...),
		"bench": {"bench", "--workload", "standard", "--requests", "64", "--concurrency", "4", "--warmup", "0"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			server := front(t, serve(t, refserver.Config{}), counted(func(n int64, _ http.ResponseWriter, _ *http.Request) bool {
				if n == midway {
					cancel()
				}
				return false
			}))
			dir := filepath.Join(t.TempDir(), "run")
			o := call{ctx: ctx}.run(t, append(command, "--target", server.URL, "--out", dir)...)
			o.want(t, verdict.ExitInterrupted, "interrupted", "touchstone judge "+dir)
			if n := len(lines(t, dir)); n < 5 {
				t.Errorf("only %d exchanges are on record", n)
			}
			if !missing(filepath.Join(dir, "verdict.json")) {
				t.Error("an interrupted run was judged unasked")
			}
			o = touchstone(t, "judge", dir)
			o.want(t, verdict.ExitInconclusive, "INCONCLUSIVE", "server.coverage")
		})
	}
}

// Interrupted before the first request of the plan, there is nothing to keep.
func TestInterruptedAtOnce(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	server := front(t, serve(t, refserver.Config{}), func(http.ResponseWriter, *http.Request) bool { cancel(); return false })
	args, dir := gateArgs(t, server.URL)
	o := call{ctx: ctx}.run(t, args...)
	o.want(t, verdict.ExitInterrupted, "interrupted", "nothing was stored")
	if !missing(dir) {
		t.Error("there is a run folder")
	}
}

func TestInterruptedRecord(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	server := front(t, serve(t, refserver.Config{}), counted(func(n int64, _ http.ResponseWriter, _ *http.Request) bool {
		if n == midway {
			cancel()
		}
		return false
	}))
	dir := t.TempDir()
	o := call{ctx: ctx}.run(t, append([]string{"record", "--target", server.URL, "--as", "half", "--baselines", dir}, smoke...)...)
	o.want(t, verdict.ExitInterrupted, "interrupted", "nothing was stored")
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("the folder of baselines holds %v, %v", files, err)
	}
}

// A server that sends the key back, in errors, texts and headers, must not
// bring it into the record: run folders are passed on.
func TestKeyIsNeverWritten(t *testing.T) {
	const key = "sk-touchstone-0123456789abcdef"
	server := front(t, serve(t, refserver.Config{}), func(w http.ResponseWriter, r *http.Request) bool {
		auth := r.Header.Get("Authorization")
		if auth != "Bearer "+key {
			w.WriteHeader(http.StatusUnauthorized)
			return true
		}
		w.Header().Set("X-Echo", auth)
		return false
	})
	echo := counted(func(n int64, w http.ResponseWriter, r *http.Request) bool {
		if n%7 != 0 || n < midway/2 {
			return false
		}
		w.WriteHeader(http.StatusInternalServerError)
		io.WriteString(w, `{"error":{"message":"no worker for `+r.Header.Get("Authorization")+`"}}`) //nolint:errcheck,gosec // the client may be gone
		return true
	})
	leaky := front(t, server.URL, echo)
	file := filepath.Join(t.TempDir(), "key")
	write(t, file, key+"\n")
	for name, c := range map[string]struct{ env, flags []string }{
		"TOUCHSTONE_API_KEY":    {[]string{"TOUCHSTONE_API_KEY=" + key, "OPENAI_API_KEY=another"}, nil},
		"OPENAI_API_KEY":        {[]string{"OPENAI_API_KEY=" + key}, nil},
		"--api-key-file":        {[]string{"OPENAI_API_KEY=another"}, []string{"--api-key-file", file}},
		"the file, by its twin": {[]string{"TOUCHSTONE_API_KEY_FILE=" + file}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			args, _ := gateArgs(t, server.URL, c.flags...)
			call{env: c.env}.run(t, args...).want(t, verdict.ExitPass)
			args, dir := gateArgs(t, leaky.URL, c.flags...)
			o := call{env: c.env}.run(t, args...)
			o.want(t, verdict.ExitRegression, "no worker for")
			if strings.Contains(o.stdout+o.stderr, key) {
				t.Errorf("the key is printed:\n%s\n%s", o.stdout, o.stderr)
			}
			grep(t, dir, key)
		})
	}
	args, _ := gateArgs(t, server.URL)
	call{env: []string{"OPENAI_API_KEY=another"}}.run(t, args...).want(t, verdict.ExitUsage, "HTTP 401", "--api-key-file")
	call{}.run(t, append(args, "--api-key-file", filepath.Join(t.TempDir(), "none"))...).want(t, verdict.ExitUsage, "key could not be read")
	empty := filepath.Join(t.TempDir(), "empty")
	write(t, empty, "\n")
	call{}.run(t, append(args, "--api-key-file", empty)...).want(t, verdict.ExitUsage, "is empty", empty)
}

// grep fails if a file of dir holds s.
func grep(t *testing.T, dir, s string) {
	t.Helper()
	files := 0
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		if bytes.Contains(read(t, filepath.Join(dir, path)), []byte(s)) {
			t.Errorf("%s holds it", path)
		}
		return nil
	})
	if err != nil || files < 5 {
		t.Errorf("%d files read, %v", files, err)
	}
}
