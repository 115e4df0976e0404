package coherence

import "testing"

func TestFragments(t *testing.T) {
	const pieces = "So far as Orrgillies-illies-ern-illies-er, a Jemmel-er-illies-ied-ern-illies gillies-ied-er"
	tryCheck(t, "fragments",
		try{"pieces", said(pieces), true},
		try{"compounds", said("A jack-of-all-trades and a state-of-the-art mother-in-law met a forget-me-not."), false},
		try{"laughter", said("ha-ha-ha-ha-ha-ha and no-no-no-no-no-no"), false},
		try{"names of commands", said("Use describe-instance-patch-states-for-patch-group or restore-db-instance-from-db-snapshot. " + prose), false},
		try{"the baseline does it too", beside(pieces, pieces), false},
	)
	tryTags(t, "fragments", pieces)
}
