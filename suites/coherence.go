package suites

import (
	"github.com/onsi/ginkgo/v2"

	"touchstone/harness/coherence"
	"touchstone/harness/verdict"
)

// coherenceSpecs: every text check over every answer.
func coherenceSpecs(s spec) {
	ginkgo.Describe("coherence", ginkgo.Label("area:coherence"), func() {
		s.each(verdict.Coherence, "answers with coherent text")
		for _, c := range coherence.Checks() {
			name := string(verdict.Coherence) + "." + c.Name
			ginkgo.It("finds no "+c.Name, func() {
				s.none(verdict.Coherence, name)
			})
		}
	})
}
