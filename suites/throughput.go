package suites

import (
	"github.com/onsi/ginkgo/v2"

	"touchstone/harness/verdict"
)

// throughputSpecs: the load is recorded, and its own outputs are read. Serial,
// and last: numbers of a server that is busy with something else are no numbers.
func throughputSpecs(s spec) {
	ginkgo.Describe("throughput", ginkgo.Label("area:throughput"), ginkgo.Serial, func() {
		s.whole(verdict.Throughput, verdict.ThroughputRequests, verdict.ThroughputCoherence, verdict.ThroughputSame, verdict.ThroughputRecorded)
	})
}
