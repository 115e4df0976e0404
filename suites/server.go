package suites

import (
	"github.com/onsi/ginkgo/v2"

	"touchstone/harness/verdict"
)

// serverSpecs: the server answered everything and can do what it could.
func serverSpecs(s spec) {
	ginkgo.Describe("server", ginkgo.Label("area:server"), func() {
		ginkgo.It("stays up", func() { s.none(verdict.Server, verdict.ServerDied) })
		ginkgo.It("answers every planned request", func() { s.none(verdict.Server, verdict.ServerCoverage) })
		ginkgo.It("isn't asked too much", func() { s.none(verdict.Server, verdict.ServerRateLimit) })
		s.whole(verdict.Server, verdict.ServerFailures, verdict.ServerNaN, verdict.ServerCapability)
	})
}
