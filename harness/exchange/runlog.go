package exchange

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Append writes one exchange as one line, at once: what was recorded stays
// when the program is killed. It may be called from many goroutines.
func (r *Run) Append(e *Exchange) error {
	path := filepath.Join(r.Dir, ExchangesFile)
	if e.Request.ID == "" {
		return fmt.Errorf("%s: an exchange of probe %q has no request id", path, e.Request.Probe)
	}
	line, err := encodeLine(e)
	if err != nil {
		return fmt.Errorf("%s: exchange %s: %w", path, e.Request.ID, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.torn != nil:
		return r.torn
	case r.out == nil:
		return fmt.Errorf("%s is closed or was opened for reading: nothing can be appended", path)
	case r.seen[e.Request.ID] > 0:
		return fmt.Errorf("%s: request id %s was already recorded in line %d: ids are unique within a run", path, e.Request.ID, r.seen[e.Request.ID])
	}
	if n, err := r.out.Write(line); err != nil {
		err = pathError("can't write", path, err)
		if n > 0 {
			// A line after half a line would be a broken line in the middle.
			r.torn = err
		}
		return err
	}
	r.seen[e.Request.ID] = len(r.seen) + 1
	return nil
}

func encodeLine(e *Exchange) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	// Escaping < and & would rewrite Sent, which is kept as it was sent.
	enc.SetEscapeHTML(false)
	err := enc.Encode(e)
	return buf.Bytes(), err
}

// Exchanges reads all exchanges, in the order in which they ended. A last line
// without its newline is what an interrupted run leaves: it is dropped with a
// warning. Anything else that is broken is an error with file and line.
func (r *Run) Exchanges() ([]*Exchange, []Warning, error) {
	path := filepath.Join(r.Dir, ExchangesFile)
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, pathError("can't read", path, err)
	}
	defer f.Close() //nolint:errcheck // nothing was written
	return readExchanges(path, f)
}

func readExchanges(path string, f io.Reader) ([]*Exchange, []Warning, error) {
	var out []*Exchange
	seen := map[string]int{}
	in := bufio.NewReaderSize(f, 1<<16)
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		atEnd := errors.Is(err, io.EOF)
		if err != nil && !atEnd {
			return nil, nil, pathError("can't read", path, err)
		}
		if len(bytes.TrimSpace(line)) == 0 {
			if atEnd {
				return out, nil, nil
			}
			return nil, nil, fmt.Errorf("%s:%d: empty line: remove it", path, n)
		}
		e := new(Exchange)
		if err := json.Unmarshal(line, e); err != nil {
			if atEnd {
				return out, []Warning{{path, n, fmt.Sprintf("the last line is torn (%d bytes), its exchange is lost: %v", len(line), err)}}, nil
			}
			return nil, nil, fmt.Errorf("%s:%d: no exchange: %w", path, n, err)
		}
		switch first := seen[e.Request.ID]; {
		case e.Request.ID == "":
			return nil, nil, fmt.Errorf("%s:%d: request.id is missing", path, n)
		case first > 0:
			return nil, nil, fmt.Errorf("%s:%d: request id %s stands in line %d already: remove one of the two", path, n, e.Request.ID, first)
		}
		seen[e.Request.ID] = n
		out = append(out, e)
		if atEnd {
			return out, nil, nil
		}
	}
}
