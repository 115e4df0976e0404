package coherence

import (
	"strings"
	"testing"
)

func TestCompression(t *testing.T) {
	loop := strings.Repeat("lock the old gate and ", 40)
	words := strings.Repeat("lock ", 60)
	// Ratio 3: like sentences with other words.
	steps := "Step 1: take the red box to the left of the door. Step 2: take the blue jug to the right of the lamp. Step 3: take the old map to the back of the barn. " +
		"Step 4: take the wet rope to the side of the gate. Step 5: take the big key to the foot of the hill. Step 6: take the dry log to the end of the road."
	var answers strings.Builder // prose without repetition, longer than two windows
	for _, a := range readShapes(t, "tiny.jsonl")[:60] {
		answers.WriteString(a.Text + " ")
	}
	varied := answers.String()
	mild := prose + strings.Repeat(" and he said that he would come, but she did not answer him at all", 12)
	tryCheck(t, "compression",
		try{"a loop", said(loop), true},
		try{"a loop after much good text", said(strings.Repeat(prose, 20) + loop + loop), true},
		try{"prose", said(prose), false},
		try{"ratio 6.5", said(loop[:242]), true},
		try{"ratio 5.9", said(loop[:220]), false},
		try{"199 bytes", said(words[:199]), false},
		try{"200 bytes", said(words[:200]), true},
		try{"a kilobyte of loop between good text", said(varied[:1024] + loop[:800] + loop[:224] + varied[1024:1600]), true},
		try{"half a kilobyte", said(varied[:1024] + loop[:512] + varied[1024:1600]), false},
		try{"log lines", said("2024-05-01 10:00:00 INFO worker heartbeat ok\n2024-05-01 10:00:01 INFO worker heartbeat ok\n2024-05-01 10:00:02 INFO worker heartbeat ok\n2024-05-01 10:00:03 INFO worker heartbeat ok\n2024-05-01 10:00:04 INFO worker heartbeat ok\n2024-05-01 10:00:05 INFO worker heartbeat ok\n2024-05-01 10:00:06 INFO worker heartbeat ok\n2024-05-01 10:00:07 INFO worker heartbeat ok\n2024-05-01 10:00:08 INFO worker heartbeat ok\n2024-05-01 10:00:09 INFO worker heartbeat ok"), false},
		try{"mild, alone", said(mild), false},
		try{"mild, beside a baseline", beside(mild, prose), true},
		try{"a sentence three times, beside a baseline", beside(strings.Repeat(prose[:115], 3), prose), false},
		try{"a guide with like steps, beside a baseline", beside(steps, prose), false},
		try{"the baseline does it too", beside(loop, loop), false},
	)
	tryTags(t, "compression", loop)
}
