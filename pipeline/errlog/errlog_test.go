package errlog_test

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"wirelab"
	"wirelab/pipeline/errlog"
)

// clock is a time that the test advances.
type clock struct{ now time.Time }

func (c *clock) pass(d time.Duration) { c.now = c.now.Add(d) }

func notes(o errlog.Options) (*errlog.Notes, *bytes.Buffer, *clock) {
	var out bytes.Buffer
	c := &clock{now: time.Unix(1_000_000, 0)}
	o.Now = func() time.Time { return c.now }
	return errlog.New(&out, o), &out, c
}

// TestLinesAreFew checks that a thousand failures in a second give one line with their number, and that another
// kind has its own lines (ms-M02: no line per message).
func TestLinesAreFew(t *testing.T) {
	t.Parallel()
	n, out, c := notes(errlog.Options{Part: "logger"})
	for range 3000 {
		n.Note("store", errors.New("the disk is on fire"))
		n.Note("list", wirelab.Errorf(wirelab.Unavailable, "away"))
		c.pass(time.Millisecond)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 6 {
		t.Fatalf("%d lines, want 3 for each kind:\n%s", len(lines), out)
	}
	for i, words := range []string{
		"part=logger", `msg="failed: store"`, "code=internal", `error="the disk is on fire"`,
		"level=ERROR",
	} {
		if !strings.Contains(lines[0], words) {
			t.Errorf("%d: no %s in %s", i, words, lines[0])
		}
	}
	if strings.Contains(lines[0], "more=") || !strings.Contains(lines[2], "more=999") ||
		!strings.Contains(lines[1], "level=WARN") {
		t.Errorf("how many came between:\n%s", out)
	}
	out.Reset()
	n.Note("store", errors.New("the last of all"))
	_ = n.Close()
	_ = n.Close()
	if got := out.String(); strings.Count(got, "\n") != 2 || !strings.Contains(got, "the last of all") ||
		!strings.Contains(got, "more=") {
		t.Errorf("at the end %q", got)
	}
}

// What a caller did wrong is not written down, nor, where parts are ended on
// purpose, that they are away; faults always are.
func TestWhatIsWrittenDown(t *testing.T) {
	t.Parallel()
	for code, want := range map[wirelab.Code][2]bool{
		wirelab.Internal: {true, true}, wirelab.Unauthenticated: {true, true}, wirelab.PermissionDenied: {true, true},
		wirelab.Unavailable: {true, false}, wirelab.DeadlineExceeded: {true, false},
		wirelab.ResourceExhausted: {true, false},
		wirelab.InvalidArgument:   {}, wirelab.NotFound: {}, wirelab.Conflict: {}, wirelab.Canceled: {},
		wirelab.Unimplemented: {},
	} {
		for i, faults := range []bool{false, true} {
			n, out, _ := notes(errlog.Options{Faults: faults})
			n.Note("call", wirelab.Errorf(code, "why"))
			n.Note("call", nil)
			if got := out.Len() > 0; got != want[i] {
				t.Errorf("%v with Faults %t is written: %t", code, faults, got)
			}
		}
	}
	var none *errlog.Notes
	none.Note("call", errors.New("unheard"))
	if err := none.Close(); err != nil {
		t.Error(err)
	}
}

// TestLinesGiveNothingAway checks that a line contains no secret and no line break from outside, and has a maximum
// length.
func TestLinesGiveNothingAway(t *testing.T) {
	t.Parallel()
	n, out, c := notes(errlog.Options{Secrets: []string{"", "hunter2", "postgres://me:hunter2@db/"}})
	n.Note("a", errors.New("connect to postgres://me:hunter2@db/x: no"))
	n.Note("b", errors.New("password hunter2 is wrong\nlevel=INFO msg=forged\x1b[2J\xff"))
	n.Note("c", errors.New(strings.Repeat("ä", 10_000)))
	got := out.String()
	if strings.Contains(got, "hunter2") || strings.Count(got, "\n") != 3 || strings.Contains(got, "\x1b") ||
		len(got) > 3*(errlog.TextLimit+150) {
		t.Errorf("%q", got)
	}
	if strings.Count(got, "***") != 2 || !strings.Contains(got, "ää…") || strings.Contains(got, "\ufffd") {
		t.Errorf("%q", got)
	}
	c.pass(time.Hour)
}

// Many may note at once.
func TestManyNoteAtOnce(t *testing.T) {
	t.Parallel()
	n, out, _ := notes(errlog.Options{})
	var noting sync.WaitGroup
	for range 8 {
		noting.Go(func() {
			for range 100 {
				n.Note("call", errors.New("so"))
			}
		})
	}
	noting.Wait()
	_ = n.Close()
	if got := out.String(); strings.Count(got, "\n") != 2 || !strings.Contains(got, "more=798") {
		t.Errorf("%q", got)
	}
}
