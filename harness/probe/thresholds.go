package probe

// Thresholds are the limits that findings are held against, as they are saved
// with a run: a reader sees by which ones it was judged.
func Thresholds() map[string]float64 {
	return map[string]float64{
		"anchors.chance":               chance,
		"anchors.significance":         significance,
		"anchors.drop_few":             dropFew,
		"anchors.drop_share":           dropShare,
		"coherence.looping_share":      looping,
		"context.deaf_js_nats":         deafJS,
		"context.deaf_shift_nats":      deafShift,
		"context.least_js_nats":        leastJS,
		"context.least_ratio":          leastRatio,
		"context.same_answer_share":    sameShare,
		"context.same_answer_few":      sameFew,
		"throughput.flagged_share":     flagged,
		"server.hopeless_after_failed": Hopeless,
	}
}
