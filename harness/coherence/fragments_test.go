package coherence

import "testing"

func TestFragments(t *testing.T) {
	const pieces = "So far as Orrgillies-illies-ern-illies-er, a Jemmel-er-illies-ied-ern-illies gillies-ied-er"
	tryCheck(t, "fragments",
		try{"pieces", said(pieces), true},
		try{"compounds", said("A jack-of-all-trades and a state-of-the-art mother-in-law met a forget-me-not."), false},
		try{"laughter", said("ha-ha-ha-ha-ha-ha and no-no-no-no-no-no"), false},
		try{"names of commands", said("Use describe-instance-patch-states-for-patch-group or restore-db-instance-from-db-snapshot. " + prose), false},
		try{"one chain", said("Orrgillies-illies-ern-illies-er"), false},
		try{"chains of four", said("gillies-ied-er-ied and illies-ern-illies-er"), false},
		try{"a quarter of the text", said("ab-cd-ab-ef-gh, ij-kl-ij-mn-op, " + prose[:81]), false},
		try{"two fifths of the text", said("ab-cd-ab-ef-gh, ij-kl-ij-mn-op, " + prose[:38]), true},
		try{"the baseline does it too", beside(pieces, pieces), false},
	)
	tryTags(t, "fragments", pieces)
}
