package exchange

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Bytes is a reply's body. In JSON it is a string where it is valid UTF-8, so
// that a person can read it, and "base64:…" otherwise. A text that itself
// starts with "base64:" is written in base64 too, so that nothing is lost.
type Bytes []byte

const base64Mark = "base64:"

// MarshalJSON implements json.Marshaler.
func (b Bytes) MarshalJSON() ([]byte, error) {
	s := string(b)
	if !utf8.ValidString(s) || strings.HasPrefix(s, base64Mark) {
		s = base64Mark + base64.StdEncoding.EncodeToString(b)
	}
	return json.Marshal(s)
}

// UnmarshalJSON implements json.Unmarshaler.
func (b *Bytes) UnmarshalJSON(data []byte) error {
	var s string
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	enc, ok := strings.CutPrefix(s, base64Mark)
	if !ok {
		*b = []byte(s)
		return nil
	}
	raw, err := base64.StdEncoding.DecodeString(enc)
	if err != nil {
		return fmt.Errorf("bytes marked %s: %w", base64Mark, err)
	}
	*b = raw
	return nil
}
