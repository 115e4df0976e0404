package token

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/nikolalohinski/gonja/v2"
	"github.com/nikolalohinski/gonja/v2/builtins"
	"github.com/nikolalohinski/gonja/v2/exec"
)

// jinja is gonja's environment with what chat templates expect otherwise.
var jinja = &exec.Environment{
	Context: gonja.DefaultContext,
	Filters: exec.NewFilterSet(map[string]exec.FilterFunction{}).
		Update(builtins.Filters).
		Update(exec.NewFilterSet(map[string]exec.FilterFunction{"tojson": toJSON})),
	Tests:             builtins.Tests,
	ControlStructures: builtins.ControlStructures,
	Methods:           builtins.Methods,
}

// list is a list whose negative indices reach its first item: gonja (2.9.1)
// calls the messages[-1] of a single message undefined.
type list []any

// GetItem implements exec.ItemGetter. An index outside the list is undefined,
// as in Jinja.
func (l list) GetItem(key any) (*exec.Value, bool) {
	i, ok := key.(int)
	if ok && i < 0 {
		i += len(l)
	}
	if !ok || i < 0 || i >= len(l) {
		return exec.AsValue(nil), false
	}
	return exec.AsValue(l[i]), true
}

// toJSON replaces gonja's filter, which escapes <, > and & for HTML; Hugging
// Face's writes them as they are (json.dumps with ensure_ascii=False). Only
// strings: Python's spacing and order of keys matter for the rest, which
// templates write for tools alone, and there are none here.
func toJSON(_ *exec.Evaluator, in *exec.Value, _ *exec.VarArgs) *exec.Value {
	if in.IsError() {
		return in
	}
	if !in.IsString() {
		return exec.AsValue(errors.New("tojson of anything but a string is not implemented"))
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(in.String()); err != nil {
		return exec.AsValue(fmt.Errorf("tojson: %w", err))
	}
	return exec.AsValue(strings.TrimSuffix(b.String(), "\n"))
}
