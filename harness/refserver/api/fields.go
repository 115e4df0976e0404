package api

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"reflect"
	"slices"
)

// maxBody bounds a request; the longest prompt of any context here is far below.
const maxBody = 16 << 20

// fields is a request's JSON object, taken apart field by field. What nobody
// takes is refused in the end: a field that a server ignores silently makes a
// client measure something else than it believes. A null counts as absent. The
// first error stays; after it all fields read as absent.
type fields struct {
	raw map[string]json.RawMessage
	err *apiError
}

func readFields(w http.ResponseWriter, r *http.Request) (*fields, *apiError) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		e := badRequest("the request body cannot be read: %v", err)
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			e.Code = http.StatusRequestEntityTooLarge
		}
		return nil, e
	}
	f := &fields{}
	if err := json.Unmarshal(body, &f.raw); err != nil {
		return nil, badRequest("the request body is not a JSON object: %v", err)
	}
	for name, raw := range f.raw {
		if string(raw) == "null" {
			delete(f.raw, name)
		}
	}
	return f, nil
}

func (f *fields) fail(e *apiError) {
	if f.err == nil {
		f.err = e
	}
}

// take removes a field and returns its JSON; nil when absent.
func (f *fields) take(name string) json.RawMessage {
	if f.err != nil {
		return nil
	}
	raw := f.raw[name]
	delete(f.raw, name)
	return raw
}

// optional decodes a field; nil when absent.
func optional[T any](f *fields, name string) *T {
	raw := f.take(name)
	if raw == nil {
		return nil
	}
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		f.fail(badField(name, "is %s, %s is needed", clip(raw), kindOf[T]()))
		return nil
	}
	return &v
}

// field decodes a field that has a default.
func field[T any](f *fields, name string, absent T) T {
	if v := optional[T](f, name); v != nil {
		return *v
	}
	return absent
}

// kindOf names a Go type as a client knows it.
func kindOf[T any]() string {
	switch t := reflect.TypeFor[T](); t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "an integer"
	case reflect.Float64:
		return "a number"
	case reflect.String:
		return "a string"
	case reflect.Slice:
		return "a list"
	default:
		return "an object"
	}
}

// clip keeps messages short.
func clip(raw []byte) string {
	const limit = 60
	if len(raw) > limit {
		return string(raw[:limit]) + "…"
	}
	return string(raw)
}

// neutral takes a field that is not implemented: only values that ask for
// nothing pass. Numbers compare by value, so 1 and 1.0 are one.
func (f *fields) neutral(name string, values ...any) {
	raw := f.take(name)
	if raw == nil {
		return
	}
	var got any
	if err := json.Unmarshal(raw, &got); err == nil {
		for _, v := range values {
			if reflect.DeepEqual(got, v) {
				return
			}
		}
	}
	f.fail(badField(name, "%s is not implemented by this server; leave it out or send null", clip(raw)))
}

// done refuses what was not taken.
func (f *fields) done() *apiError {
	if f.err == nil && len(f.raw) > 0 {
		name := slices.Min(slices.Collect(maps.Keys(f.raw)))
		f.err = badField(name, "is not a field that this server implements; leave it out or send null")
	}
	return f.err
}
