package suites

import (
	"github.com/onsi/ginkgo/v2"

	"touchstone/harness/verdict"
)

// tokensSpecs: the server's counts agree with each other and with the
// baseline's.
func tokensSpecs(s spec) {
	ginkgo.Describe("tokens", ginkgo.Label("area:tokens"), func() {
		s.each(verdict.Tokens, "counts the prompt")
		s.whole(verdict.Tokens, verdict.TokensCompletion, verdict.TokensPrompt, verdict.TokensFinish, verdict.TokensText, verdict.TokensBaseline)
	})
}
