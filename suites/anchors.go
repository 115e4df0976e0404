package suites

import (
	"github.com/onsi/ginkgo/v2"

	"touchstone/harness/verdict"
)

// anchorsSpecs: known answers and copies are right.
func anchorsSpecs(s spec) {
	ginkgo.Describe("anchors", ginkgo.Label("area:anchors"), func() {
		s.each(verdict.Anchors, "knows")
		s.whole(verdict.Anchors, verdict.AnchorsAnswers)
	})
}
