package corrupt

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func setting(t *testing.T, spec string) Setting {
	t.Helper()
	s, err := Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// wantOnly checks that a folder holds these files: nothing half-written is left.
func wantOnly(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if !slices.Equal(got, names) {
		t.Errorf("the folder holds %v, want %v", got, names)
	}
}

func TestFile(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out.gguf")
	s := setting(t, "qkv-swap:layers=0")
	r, err := s.File(t.Context(), tinyModel, out, false)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := apply(t, "qkv-swap:layers=0", tinyBytes(t))
	if !bytes.Equal(got, want) {
		t.Error("the file is not the copy that Write makes")
	}
	if r.Fault != "qkv-swap:layers=0,order=kvq" || len(r.Changed) != 3 || r.Bytes != int64(len(want)) {
		t.Errorf("the result is %+v", r)
	}
	_, err = s.File(t.Context(), tinyModel, out, false)
	wantError(t, err, out, "there already", "--force")
	if _, err := setting(t, "ulp").File(t.Context(), tinyModel, out, true); err != nil {
		t.Error(err)
	}
	if now, err := os.ReadFile(out); err != nil || bytes.Equal(now, got) {
		t.Errorf("the file was not replaced: %v", err)
	}
	wantOnly(t, dir, "out.gguf")
}

func TestFileRefused(t *testing.T) {
	dir := t.TempDir()
	model := filepath.Join(dir, "model.gguf")
	if err := os.WriteFile(model, tinyBytes(t), 0o600); err != nil {
		t.Fatal(err)
	}
	link, hard := filepath.Join(dir, "link.gguf"), filepath.Join(dir, "hard.gguf")
	if err := os.Symlink("model.gguf", link); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(model, hard); err != nil {
		t.Fatal(err)
	}
	s := setting(t, "ulp")
	for _, out := range []string{model, link, hard, filepath.Join(dir, ".", "model.gguf")} {
		_, err := s.File(t.Context(), model, out, true)
		wantError(t, err, out, "is the model itself")
	}
	broken := filepath.Join(dir, "broken.gguf")
	if err := os.WriteFile(broken, tinyBytes(t)[:1<<20], 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "out.gguf")
	for in, part := range map[string]string{
		filepath.Join(dir, "absent.gguf"): "cannot be read",
		dir:                               "is no file",
		broken:                            "cut short or damaged",
		"file_test.go":                    "not a GGUF file",
	} {
		_, err := s.File(t.Context(), in, out, false)
		wantError(t, err, in, part)
	}
	_, err := s.File(t.Context(), model, filepath.Join(dir, "no", "out.gguf"), false)
	wantError(t, err, "cannot be written", "no")
	_, err = s.File(t.Context(), model, dir, true)
	wantError(t, err, dir, "is no file")
	wantOnly(t, dir, "broken.gguf", "hard.gguf", "link.gguf", "model.gguf")
}

// A fault that fails in the middle leaves what was there.
func TestFileIsWholeOrNotAtAll(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out.gguf")
	if err := os.WriteFile(out, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, spec := range []string{"scale:factor=1", "rope-base:base=10000", "scale:factor=3e38,tensor=output_norm.weight"} {
		if _, err := setting(t, spec).File(t.Context(), tinyModel, out, true); err == nil {
			t.Errorf("%s is written", spec)
		}
	}
	if got, err := os.ReadFile(out); string(got) != "precious" || err != nil {
		t.Errorf("the file is now %d bytes, %v", len(got), err)
	}
	wantOnly(t, dir, "out.gguf")
}

func TestFileInterrupted(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := setting(t, "ulp").File(ctx, tinyModel, filepath.Join(dir, "out.gguf"), false)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that it was interrupted", err)
	}
	wantOnly(t, dir)
}
