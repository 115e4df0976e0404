package table

import (
	"strings"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
)

// minCell is the width under which no column is squeezed, in terminal columns.
const minCell = 8

// fit wraps header and rows in place so that the table is at most maxWidth
// wide. Narrow columns keep their width; the widest ones give way, all down to
// the same width. tablewriter's own limit was rejected: it gives every column
// the same share, however little it needs.
func fit(header []string, rows [][]string, maxWidth int) {
	if maxWidth <= 0 {
		return
	}
	n := len(header)
	need := make([]int, n)
	for i := range n {
		need[i] = widest(header[i])
		for _, r := range rows {
			need[i] = max(need[i], widest(r[i]))
		}
	}
	room := maxWidth - (3*n + 1) // "│ " before each cell, " " after it, and the last "│"
	limit := limitFor(need, room)
	for i := range n {
		if need[i] <= limit {
			continue
		}
		header[i] = wrap(header[i], limit)
		for _, r := range rows {
			r[i] = wrap(r[i], limit)
		}
	}
}

// limitFor returns the largest width, from minCell up, such that columns cut
// to it fit into room together; the widest need where all fit uncut.
func limitFor(need []int, room int) int {
	limit := minCell
	for _, n := range need {
		limit = max(limit, n)
	}
	for limit > minCell {
		sum := 0
		for _, n := range need {
			sum += min(n, limit)
		}
		if sum <= room {
			break
		}
		limit--
	}
	return limit
}

func widest(cell string) int {
	w := 0
	for line := range strings.Lines(cell) {
		w = max(w, twwidth.Width(strings.TrimSuffix(line, "\n")))
	}
	return w
}

// wrap breaks the lines of a cell at spaces where it can, and anywhere where a
// word is longer than the limit. The space at which a line is broken goes;
// all others stay.
func wrap(cell string, limit int) string {
	var out []string
	for _, line := range strings.Split(cell, "\n") {
		rest := []rune(line)
		for twwidth.Width(string(rest)) > limit {
			end := prefix(rest, limit)
			next := end
			if cut := lastSpace(rest[:min(end+1, len(rest))]); cut > 0 {
				end, next = cut, cut+1
			}
			out = append(out, string(rest[:end]))
			rest = rest[next:]
		}
		out = append(out, string(rest))
	}
	return strings.Join(out, "\n")
}

// prefix returns how many runes fit into the limit, at least one. A mark that
// combines with the rune before it stays with it, since it has no width.
func prefix(rs []rune, limit int) int {
	w := 0
	for i, r := range rs {
		w += twwidth.Width(string(r))
		if w > limit {
			return max(i, 1)
		}
	}
	return len(rs)
}

// lastSpace returns the index of the last space that has something other than
// spaces before it, or -1.
func lastSpace(rs []rune) int {
	for i := len(rs) - 1; i > 0; i-- {
		if rs[i] == ' ' && strings.TrimLeft(string(rs[:i]), " ") != "" {
			return i
		}
	}
	return -1
}
