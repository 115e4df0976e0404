package client

import (
	"bytes"
	"strings"
)

// minSecret is the length from which a key is taken for a secret. Shorter ones
// ("EMPTY", "none", "dummy") are what people write for a server without keys,
// and may stand in an honest reply.
const minSecret = 8 // bytes

// mask removes the key from a text. Some servers repeat a key that they
// refuse.
func (c *Client) mask(s string) string {
	if len(c.key) < minSecret {
		return s
	}
	return strings.ReplaceAll(s, c.key, strings.Repeat("*", len(c.key)))
}

// maskBytes is mask in place of the same length, so that the reads still add
// up to the body.
func (c *Client) maskBytes(b []byte) []byte {
	if len(c.key) < minSecret || !bytes.Contains(b, []byte(c.key)) {
		return b
	}
	return bytes.ReplaceAll(b, []byte(c.key), bytes.Repeat([]byte("*"), len(c.key)))
}
