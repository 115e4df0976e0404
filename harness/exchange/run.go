package exchange

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/google/renameio/v2"
)

// The files of a run folder that belong to this package. Others (verdict.json,
// reports, the baseline that was used) are written through WriteFile.
const (
	MetaFile      = "run.json"
	PlanFile      = "plan.json"
	ExchangesFile = "exchanges.jsonl"
)

// Meta is run.json: under which conditions a run was made. Everything that a
// verdict depends on and that isn't in the exchanges stands here, so that the
// folder can be judged anywhere and at any time with the same result.
type Meta struct {
	Schema      int                `json:"schema"` // set by Create
	Tool        string             `json:"tool"`   // version of Touchstone
	Started     time.Time          `json:"started"`
	Tier        string             `json:"tier"`
	Seed        int64              `json:"seed"`
	Target      Target             `json:"target"`
	Baseline    string             `json:"baseline,omitempty"` // its name; empty: none
	Concurrency int                `json:"concurrency"`
	GPUs        int                `json:"gpus,omitempty"` // told by the user; 0: not told
	Thresholds  map[string]float64 `json:"thresholds,omitempty"`
}

// Planned is what one probe wants to ask. The plan says which exchanges ought
// to be there: one that is missing makes a run inconclusive.
type Planned struct {
	Probe    string    `json:"probe"`
	Requests []Request `json:"requests"`
}

// Warning is something that a reader must know about data that is usable.
type Warning struct {
	File string
	Line int // from 1; 0: the file as a whole
	Text string
}

func (w Warning) String() string {
	if w.Line == 0 {
		return w.File + ": " + w.Text
	}
	return fmt.Sprintf("%s:%d: %s", w.File, w.Line, w.Text)
}

// Run is an open run folder.
type Run struct {
	Dir  string
	Meta Meta
	Plan []Planned

	mu   sync.Mutex
	out  *os.File       // nil: opened for reading
	seen map[string]int // request id -> line
	torn error          // a write that failed half way: nothing may follow it
}

// Create makes the folder of a new run. dir must not exist or be empty.
func Create(dir string, meta Meta, plan []Planned) (*Run, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, pathError("can't create the run folder", dir, err)
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, pathError("can't read the run folder", dir, err)
	}
	if len(files) > 0 {
		return nil, fmt.Errorf("run folder %s is not empty (it holds %s): name a new folder, or remove this one", dir, files[0].Name())
	}
	meta.Schema = Schema
	r := &Run{Dir: dir, Meta: meta, seen: map[string]int{}}
	if err := r.writeJSON(MetaFile, meta); err != nil {
		return nil, err
	}
	if err := r.SetPlan(plan); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, ExchangesFile)
	// O_EXCL: two runs that were given one folder must not write into one file.
	if r.out, err = os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o644); err != nil {
		return nil, pathError("can't create", path, err)
	}
	return r, nil
}

// OpenRun reads run.json and plan.json of an existing folder. Nothing can be
// appended to it, but WriteFile works.
func OpenRun(dir string) (*Run, error) {
	r := &Run{Dir: dir}
	path := filepath.Join(dir, MetaFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s is no run folder: %s is missing (a run folder is what --out named)", dir, MetaFile)
	}
	if err != nil {
		return nil, pathError("can't read", path, err)
	}
	// The version first: a folder of another one may not decode at all.
	var version struct {
		Schema int `json:"schema"`
	}
	if err := decodeFile(path, data, &version); err != nil {
		return nil, err
	}
	if version.Schema != Schema {
		return nil, fmt.Errorf("%s has schema %d, this program reads schema %d: judge it with the Touchstone that wrote it, or record it again", path, version.Schema, Schema)
	}
	if err := decodeFile(path, data, &r.Meta); err != nil {
		return nil, err
	}
	path = filepath.Join(dir, PlanFile)
	if data, err = os.ReadFile(path); err != nil {
		return nil, pathError("can't read", path, err)
	}
	return r, decodeFile(path, data, &r.Plan)
}

// SetPlan replaces the plan.
func (r *Run) SetPlan(plan []Planned) error {
	if err := r.writeJSON(PlanFile, plan); err != nil {
		return err
	}
	r.Plan = plan
	return nil
}

// WriteFile puts a file into the folder, all of it or nothing.
func (r *Run) WriteFile(name string, data []byte) error {
	if !filepath.IsLocal(name) || filepath.Base(name) != name {
		return fmt.Errorf("%q is no plain file name for run folder %s", name, r.Dir)
	}
	if name == ExchangesFile {
		return fmt.Errorf("%s of %s only grows: use Append", name, r.Dir)
	}
	path := filepath.Join(r.Dir, name)
	if err := renameio.WriteFile(path, data, 0o644); err != nil {
		return pathError("can't write", path, err)
	}
	return nil
}

// ReadFile returns a file of the folder.
func (r *Run) ReadFile(name string) ([]byte, error) {
	if !filepath.IsLocal(name) {
		return nil, fmt.Errorf("%q is outside the run folder %s", name, r.Dir)
	}
	path := filepath.Join(r.Dir, name)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, pathError("can't read", path, err)
	}
	return data, nil
}

// Close ends the recording. It is an error if the last bytes can't be kept.
func (r *Run) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.out == nil {
		return nil
	}
	err := errors.Join(r.out.Sync(), r.out.Close())
	r.out = nil
	if err != nil {
		return pathError("can't finish", filepath.Join(r.Dir, ExchangesFile), err)
	}
	return nil
}

func (r *Run) writeJSON(name string, v any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(r.Dir, name), err)
	}
	return r.WriteFile(name, buf.Bytes())
}

// decodeFile decodes one JSON value and names the line of an error.
func decodeFile(path string, data []byte, v any) error {
	err := json.Unmarshal(data, v)
	if err == nil {
		return nil
	}
	offset := int64(len(data))
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &kind):
		offset = kind.Offset
	}
	line := 1 + bytes.Count(data[:min(int(offset), len(data))], []byte("\n"))
	return fmt.Errorf("%s:%d: %w", path, line, err)
}

// pathError says what failed, where, and what to do about it.
func pathError(what, path string, err error) error {
	hint := ""
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		hint = " (the disk is full: free space, or name a folder on another disk)"
	case errors.Is(err, syscall.EROFS):
		hint = " (the file system is read-only: name another folder)"
	case errors.Is(err, os.ErrPermission):
		hint = " (no permission: name a folder that you may write to)"
	case errors.Is(err, syscall.ENOTDIR):
		hint = " (a part of the path is a file: name another folder)"
	}
	return fmt.Errorf("%s %s: %w%s", what, path, bare(err), hint)
}

// bare drops the path that *os.PathError repeats.
func bare(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
