package main

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"
)

// What retention took of a group's messages is counted, shown and told, also to who reads without a group; and an
// offset beyond the end is out of range.
func TestRetentionIsTold(t *testing.T) {
	t.Parallel()
	at := start(t, 1, dev...).at()
	must(t, at, "0\n1\n", "pub", "t", "--create")
	must(t, at, "", "topic", "configure", "t", "--keep-bytes", "1KiB")
	if out := must(t, at, "", "sub", "t", "--group", "g", "--count", "1"); out != "0\n" {
		t.Fatalf("the first is %q", out)
	}
	var group groupShown
	lines := strings.Repeat(strings.Repeat("x", 64<<10)+"\n", 8)
	late := time.NewTimer(patience)
	for group.Trimmed == 0 {
		must(t, at, lines, "pub", "t")
		if err := json.Unmarshal([]byte(must(t, at, "", "group", "show", "t", "g", "--json")), &group); err != nil {
			t.Fatal(err)
		}
		select {
		case <-late.C:
			t.Fatal("retention passes nothing over")
		default:
		}
	}
	must(t, at, "", "topic", "configure", "t", "--keep-bytes", "1GiB") // it stays unchanged
	if err := json.Unmarshal([]byte(must(t, at, "", "group", "show", "t", "g", "--json")), &group); err != nil {
		t.Fatal(err)
	}
	if group.Trimmed != group.Floor-1 {
		t.Errorf("%d messages were taken from 1 to before %d", group.Trimmed, group.Floor)
	}
	for _, args := range [][]string{{"--group", "g"}, {"--from", "1"}} {
		_, _, said := tried(t, at, "", append([]string{"sub", "t", "--count", "2"}, args...)...)
		told := regexp.MustCompile(`retention took what was to come: offsets 1 to [0-9]+ of t are gone`).
			FindAllString(said,
				-1)
		if len(told) != 1 {
			t.Errorf("sub %v says %q", args, said)
		}
	}
	if code, _, said := tried(t, at, "", "sub", "t", "--from", "999999", "--count", "1"); code == exitOK ||
		!strings.Contains(said, "offset 999999 is out of range") {
		t.Errorf("beyond the end: exit code %d, %s", code, said)
	}
}
