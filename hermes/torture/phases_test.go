package torture

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"

	"wirelab/hermes/local"
)

// phases are the parts of the time without a leader: until a node saw its connection end,
// from there until a node led, and from there until a publish was accepted.
type phases [3]time.Duration

var said = regexp.MustCompile(`^time=(\S+) level=INFO msg=(?:"(the connection to a peer ended)" peer=(\d+)|(leadership) leader=(\d+) term=(\d+))`)

// split reads from the nodes' logs when what happened after a leader was killed. ok is
// false when they do not say it: lines go missing with a process.
func split(t *testing.T, c *local.Cluster, killed *local.Node, at time.Time, took time.Duration) (p phases, ok bool) {
	t.Helper()
	at = at.Truncate(time.Millisecond) // as exact as the logs are
	var noticed, led time.Time
	var newest uint64
	for _, n := range c.Nodes {
		if n == killed {
			continue
		}
		for _, line := range lastLines(t, n.Dir+".log") {
			m := said.FindSubmatch(line)
			if m == nil {
				continue
			}
			when, err := time.Parse(time.RFC3339, string(m[1]))
			if err != nil || when.Before(at) {
				continue
			}
			switch {
			case string(m[3]) == strconv.Itoa(killed.ID) && (noticed.IsZero() || when.Before(noticed)):
				noticed = when
			case string(m[5]) == strconv.Itoa(n.ID):
				term, err := strconv.ParseUint(string(m[6]), 10, 64)
				if err == nil && term > newest {
					newest, led = term, when
				}
			}
		}
	}
	if noticed.IsZero() || led.Before(noticed) {
		return p, false
	}
	return phases{noticed.Sub(at), led.Sub(noticed), max(0, at.Add(took).Sub(led))}, true
}

// lastLines are the lines of the end of a log. A kill needs some thirty.
func lastLines(t *testing.T, name string) [][]byte {
	t.Helper()
	const most = 64 << 10
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // it was only read
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	from := max(0, info.Size()-most)
	text := make([]byte, info.Size()-from)
	if _, err := f.ReadAt(text, from); err != nil {
		t.Fatal(fmt.Errorf("%s: %w", name, err))
	}
	return bytes.Split(text, []byte("\n"))
}
