package verdict

// The causes that can be named.
const (
	CauseAttentionLost    = "attention output lost"
	CauseWeightsMisplaced = "weights misplaced"
	CauseConstantLogits   = "logits constant"
	CauseNaN              = "logits NaN"
)

// rule explains a set of findings, or returns nil.
type rule func(seen) *Cause

// rules stand in the order in which their causes are listed. Those of high
// confidence exclude each other by construction: whether the distribution moves
// with the last token, and whether it moves with what stands before, are
// separate experiments.
var rules = []rule{nan, constantLogits, attentionLost, weightsMisplaced, attentionPartlyLost}

// Diagnose returns the faults that explain the findings. Nothing is named
// when no check failed, or when no rule fits.
func Diagnose(findings []Finding) []Cause {
	s := seen{}
	for _, f := range findings {
		if old, ok := s[f.Check]; !ok || Worse(old, f.Status) == f.Status {
			s[f.Check] = f.Status
		}
	}
	causes := []Cause{}
	for _, r := range rules {
		if c := r(s); c != nil {
			causes = append(causes, *c)
		}
	}
	return causes
}

// seen is the worst status of each check.
type seen map[string]Status

func (s seen) failed(check string) bool { return s[check] == Fail }
func (s seen) passed(check string) bool {
	st, ok := s[check]
	return ok && st == Pass
}

// nan: arithmetic that left the numbers.
func nan(s seen) *Cause {
	if !s.failed(ServerNaN) {
		return nil
	}
	return &Cause{
		Cause:      CauseNaN,
		Confidence: "high",
		Because:    "log-probabilities are not numbers; an overflow, memory that was never written or a broken weight does this",
	}
}

// constantLogits: the distribution doesn't even depend on the last token.
func constantLogits(s seen) *Cause {
	if !s.failed(ContextConstant) {
		return nil
	}
	return &Cause{
		Cause:      CauseConstantLogits,
		Confidence: "high",
		Because: "the next-token distribution is the same whatever the last token is; " +
			"a NaN or an output head that was never filled does this",
	}
}

// attentionLost: a model whose attention adds nothing sees only its current
// token. So the distribution moves with the last token and with nothing else.
func attentionLost(s seen) *Cause {
	switch {
	case s.failed(ContextInsensitive) && s.passed(ContextConstant):
		return &Cause{
			Cause:      CauseAttentionLost,
			Confidence: "high",
			Because: "different beginnings give the same next-token distribution, while a different last token changes it; " +
				"only attention carries what stands before the last token",
		}
	case s.failed(ContextInsensitive) && !s.failed(ContextConstant):
		return &Cause{
			Cause:      CauseAttentionLost,
			Confidence: "medium",
			Because: "different beginnings give the same next-token distribution; whether the last token changes it " +
				"could not be asked, so constant logits are not excluded",
		}
	case s.failed(ContextSameAnswer) && !s.failed(ContextConstant) && !s.passed(ContextInsensitive) && !s.failed(ServerNaN) && !s.failed("coherence.empty"):
		c := &Cause{
			Cause:      CauseAttentionLost,
			Confidence: "medium",
			Because:    "different questions get one and the same answer; there were no log-probabilities to tell more",
		}
		if s.failed(CoherenceMostly) {
			c.Confidence = "low"
			c.Because += ", and the answers are degenerate, which misplaced weights do too"
		}
		return c
	}
	return nil
}

// attentionPartlyLost: beginnings still count, but too little, and the text is
// not falling apart: some layers' attention may be lost.
func attentionPartlyLost(s seen) *Cause {
	if !s.failed(AnchorsAnswers) || !s.failed(ContextWeak) || !s.passed(ContextInsensitive) || s.failed(CoherenceMostly) {
		return nil
	}
	return &Cause{
		Cause:      CauseAttentionLost,
		Confidence: "low",
		Because: "what stands before moves the next-token distribution too little, and most answers are fluent and wrong; " +
			"the attention of some layers may be lost",
	}
}

// weightsMisplaced: the model still reads its whole input (distributions move
// with beginnings and with the last token) but what it computes from it is
// wrong for most questions, or falls into loops.
func weightsMisplaced(s seen) *Cause {
	if !s.failed(AnchorsAnswers) || !s.passed(ContextInsensitive) || s.failed(ContextConstant) {
		return nil
	}
	c := &Cause{
		Cause:      CauseWeightsMisplaced,
		Confidence: "low",
		Because: "known answers are wrong as a group, while the next-token distribution still moves with what stands " +
			"before: attention reaches the output, and what it works on is wrong",
	}
	if s.failed(CoherenceMostly) {
		c.Confidence = "high"
		c.Because += "; most answers are degenerate text"
	} else {
		c.Because += "; attention that is lost in some layers would look the same"
	}
	return c
}
