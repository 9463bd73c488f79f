package process

import (
	"strings"
	"testing"
	"time"
)

// What /proc tells is read whatever a process calls itself.
func TestLineageOf(t *testing.T) {
	t.Parallel()
	tail := " S 24550 24551 24551 0 -1 4194304 120 40 0 0 5 6 7 8 20 0 1 0 34567 1 2 3\n"
	for _, c := range []struct {
		why, line string
		want      Lineage
		ok        bool
	}{
		{"a plain name", "24551 (postgres)" + tail, Lineage{24550, 24551, 34567, 150 * time.Millisecond, false}, true},
		{
			"a name that looks like the rest", "24551 (a) S 1 (b))" + tail,
			Lineage{24550, 24551, 34567, 150 * time.Millisecond, false},
			true,
		},
		{
			"it has ended", "7 (a) Z" + strings.Replace(tail, " S", "", 1),
			Lineage{24550, 24551, 34567, 150 * time.Millisecond, true},
			true,
		},
		{
			"its first thread alone has ended", "7 (a) Z" + strings.Replace(tail[2:], " 20 0 1 0 ", " 20 0 2 0 ", 1),
			Lineage{24550, 24551, 34567, 150 * time.Millisecond, false},
			true,
		},
		{"cut short", "24551 (postgres) S 24550", Lineage{}, false},
		{"nothing", "", Lineage{}, false},
	} {
		if got, ok := lineageOf(c.line); ok != c.ok || ok && got != c.want {
			t.Errorf("%s: %v, %v; want %v, %v", c.why, got, ok, c.want, c.ok)
		}
	}
}
