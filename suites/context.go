package suites

import (
	"github.com/onsi/ginkgo/v2"

	"touchstone/harness/verdict"
)

// contextSpecs: what stands before the last tokens reaches the answer.
func contextSpecs(s spec) {
	ginkgo.Describe("context", ginkgo.Label("area:context"), func() {
		s.whole(verdict.Context, verdict.ContextConstant, verdict.ContextInsensitive, verdict.ContextWeak, verdict.ContextSameAnswer)
	})
}
