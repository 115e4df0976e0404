package coherence

import (
	"strings"
	"testing"
)

func TestCompression(t *testing.T) {
	loop := strings.Repeat("lock the old gate and ", 40)
	mild := prose + strings.Repeat(" and he said that he would come, but she did not answer him at all", 12)
	tryCheck(t, "compression",
		try{"a loop", said(loop), true},
		try{"a loop after much good text", said(strings.Repeat(prose, 20) + loop + loop), true},
		try{"prose", said(prose), false},
		try{"under 200 bytes", said(loop[:199]), false},
		try{"log lines", said("2024-05-01 10:00:00 INFO worker heartbeat ok\n2024-05-01 10:00:01 INFO worker heartbeat ok\n2024-05-01 10:00:02 INFO worker heartbeat ok\n2024-05-01 10:00:03 INFO worker heartbeat ok\n2024-05-01 10:00:04 INFO worker heartbeat ok\n2024-05-01 10:00:05 INFO worker heartbeat ok\n2024-05-01 10:00:06 INFO worker heartbeat ok\n2024-05-01 10:00:07 INFO worker heartbeat ok\n2024-05-01 10:00:08 INFO worker heartbeat ok\n2024-05-01 10:00:09 INFO worker heartbeat ok"), false},
		try{"mild, alone", said(mild), false},
		try{"mild, beside a baseline", beside(mild, prose), true},
		try{"the baseline does it too", beside(loop, loop), false},
	)
	tryTags(t, "compression", loop)
}
