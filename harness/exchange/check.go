package exchange

import (
	"bytes"
	"strings"
)

// Check returns what Decode's failure would be, without decoding a stream
// that shows at a glance to be whole. The client asks it while other streams
// are being timed, where decoding each chunk would cost as much as receiving
// it. A stream with a broken event in the middle passes here and not there:
// Decode has the last word.
func Check(e *Exchange) *Failure {
	if e.Failure != nil {
		return e.Failure
	}
	if e.Request.Stream && e.Status == 200 && looksWhole(e.Raw) {
		return nil
	}
	_, f := Decode(e)
	return f
}

var doneLine = []byte("data: [DONE]")

func looksWhole(raw []byte) bool {
	return bytes.HasPrefix(raw, []byte("data: {")) &&
		bytes.HasSuffix(bytes.TrimRight(raw, "\r\n"), doneLine) &&
		bytes.Count(raw, doneLine) == 1 &&
		bytes.Contains(raw, []byte(`"finish_reason":"`)) &&
		!bytes.Contains(raw, []byte(`"error"`))
}

// SaysNaN says whether a failure is that of a server whose log-probabilities
// are NaN: JSON has no such number, so Python's encoder gives up on the whole
// reply (vLLM and SGLang; HTTP 400 or 500, by version).
func SaysNaN(f *Failure) bool {
	return f != nil && strings.Contains(f.Detail, "float values are not JSON compliant")
}
