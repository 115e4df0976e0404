package corrupt

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/google/renameio/v2"

	"touchstone/harness/refserver/gguf"
)

// File writes the copy of the model file in, with the fault, to out. out appears
// whole or not at all. An out that exists is an error unless force is set; one
// that is in itself, under whatever name, always is. When ctx ends, so does the
// copying: a large file takes minutes.
func (s Setting) File(ctx context.Context, in, out string, force bool) (Result, error) {
	src, err := os.Open(in)
	if err != nil {
		return Result{}, fmt.Errorf("the model cannot be read: %w", err)
	}
	defer src.Close() //nolint:errcheck // nothing was written
	info, err := src.Stat()
	if err != nil {
		return Result{}, fmt.Errorf("the model cannot be read: %w", err)
	}
	if !info.Mode().IsRegular() {
		return Result{}, fmt.Errorf("%s is no file; name the GGUF file itself", in)
	}
	if err := free(info, out, force); err != nil {
		return Result{}, err
	}
	f, err := gguf.Scan(src, info.Size(), in)
	if err != nil {
		return Result{}, err
	}
	pending, err := renameio.NewPendingFile(out, renameio.WithPermissions(0o644), renameio.WithExistingPermissions())
	if err != nil {
		return Result{}, fmt.Errorf("the copy cannot be written: %w", err)
	}
	defer pending.Cleanup() //nolint:errcheck // after the replacement there is nothing left to clean
	w := bufio.NewWriterSize(interruptible{ctx, pending}, 1<<20)
	r, err := s.Write(w, f)
	if err != nil {
		return Result{}, err
	}
	if err := errors.Join(w.Flush(), pending.CloseAtomicallyReplace()); err != nil {
		return Result{}, fmt.Errorf("the copy cannot be written: %w", err)
	}
	return r, nil
}

// free says whether out may be written.
func free(in fs.FileInfo, out string, force bool) error {
	there, err := os.Stat(out)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("the copy cannot be written: %w", err)
	case os.SameFile(in, there):
		return fmt.Errorf("%s is the model itself; the copy needs another name", out)
	case !there.Mode().IsRegular():
		return fmt.Errorf("%s is no file; name the file to write", out)
	case !force:
		return fmt.Errorf("%s is there already; --force replaces it", out)
	}
	return nil
}

// interruptible is a writer that fails once its context has ended.
type interruptible struct {
	ctx context.Context
	w   io.Writer
}

func (i interruptible) Write(b []byte) (int, error) {
	if err := i.ctx.Err(); err != nil {
		return 0, err
	}
	return i.w.Write(b)
}
