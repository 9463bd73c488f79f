package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// counts are of tests, and of the parts of tests.
type counts struct{ passed, failed, skipped int }

// form is how counts are written. CI reads it.
const form = "%d passed, %d failed, %d skipped"

func (c counts) String() string { return fmt.Sprintf(form, c.passed, c.failed, c.skipped) }

// name is one test of a package; of a package itself the test is "".
type name struct{ pkg, test string }

// teller reports tests as they run.
type teller struct {
	to       io.Writer
	began    time.Time
	packages int // to run
	width    int // of the terminal; 0: it is none
	stop     chan struct{}
	stopped  sync.WaitGroup

	mu      sync.Mutex // guards all below
	counts  counts
	each    map[string]*counts   // by package
	started map[string]time.Time // packages that run
	done    int                  // packages
	output  map[name]string
	builds  map[string]string // what a build said, by what was built
	failed  map[name]bool
	reasons map[name]string // why tests were skipped, in their own words
	elapsed map[string]float64
	said    time.Time // when something was last told
	status  bool      // the last line is the passing one of what runs
}

// How often it learns what runs: on a terminal, and where lines stay.
const (
	often  = time.Second / 2
	seldom = 15 * time.Second
)

func newTeller(to io.Writer, steps []step) *teller {
	t := &teller{
		to: to, began: time.Now(), said: time.Now(), stop: make(chan struct{}), each: map[string]*counts{},
		started: map[string]time.Time{},
		output:  map[name]string{}, builds: map[string]string{}, reasons: map[name]string{}, failed: map[name]bool{},
		elapsed: map[string]float64{},
	}
	for _, s := range steps {
		t.packages += max(s.packages, 1)
	}
	if file, ok := to.(*os.File); ok {
		if size, err := unix.IoctlGetWinsize(int(file.Fd()), unix.TIOCGWINSZ); err == nil {
			t.width = max(int(size.Col), 40)
		}
	}
	t.stopped.Go(func() {
		ticker := time.NewTicker(often)
		defer ticker.Stop()
		for {
			select {
			case <-t.stop:
				return
			case <-ticker.C:
				t.tick()
			}
		}
	})
	return t
}

// close ends the reported cause of what runs.
func (t *teller) close() {
	close(t.stop)
	t.stopped.Wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.clear()
}

func (t *teller) begin(s step) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(s.command) > 0 {
		t.started[s.name] = time.Now()
	}
	t.show()
}

// take takes one event.
func (t *teller) take(s step, e event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := name{e.Package, e.Test}
	switch e.Action {
	case "start":
		t.started[e.Package] = time.Now()
	case "output":
		t.output[n] += e.Output
	case "build-output":
		t.builds[e.ImportPath] += e.Output
	case "pass", "fail", "skip":
		if e.Test == "" {
			t.finish(s, e)
			return
		}
		t.count(e)
	}
}

// count counts a test that has ended.
func (t *teller) count(e event) {
	n := name{e.Package, e.Test}
	own := t.each[e.Package]
	if own == nil {
		own = &counts{}
		t.each[e.Package] = own
	}
	switch e.Action {
	case "pass":
		t.counts.passed++
		own.passed++
	case "skip":
		t.counts.skipped++
		own.skipped++
		t.reasons[n] = reason(t.output[n])
	case "fail":
		t.counts.failed++
		own.failed++
		if said := indent(t.output[n]); said != "" || !t.partFailed(n) {
			t.print(fmt.Sprintf("FAIL %s %s (%s)\n%s", folder(e.Package), e.Test, short(seconds(e.Elapsed)), said))
		}
		t.failed[n] = true
	}
	delete(t.output, n)
}

// partFailed reports whether a part of a test failed, and so was reported.
func (t *teller) partFailed(n name) bool {
	for other := range t.failed {
		if other.pkg == n.pkg && strings.HasPrefix(other.test, n.test+"/") {
			return true
		}
	}
	return false
}

// finish reports a package that has ended.
func (t *teller) finish(s step, e event) {
	own := t.each[e.Package]
	if own == nil {
		own = &counts{}
	}
	t.done++
	delete(t.started, e.Package)
	t.elapsed[e.Package] = e.Elapsed
	said := t.output[name{pkg: e.Package}]
	delete(t.output, name{pkg: e.Package})
	took := short(seconds(e.Elapsed))
	switch {
	case e.Action == "fail":
		if own.failed == 0 { // it was not built, or ended before its tests did
			t.counts.failed++
		}
		for n, text := range t.output { // of tests that had not ended
			if n.pkg == e.Package {
				said += text
				delete(t.output, n)
			}
		}
		t.print(fmt.Sprintf("FAIL %s (%s; %s)\n%s", folder(e.Package), took, own, indent(t.builds[e.FailedBuild]+said)))
	case s.tell:
		t.print(fmt.Sprintf("ok   %-40s %6s  %s\n%s", folder(e.Package), took, own, indent(said)))
	case own.passed+own.skipped > 0:
		t.print(fmt.Sprintf("ok   %-40s %6s  %s\n", folder(e.Package), took, own.brief()))
	}
}

// brief leaves out names that are none.
func (c counts) brief() string {
	if c.skipped > 0 {
		return fmt.Sprintf("%d passed, %d skipped", c.passed, c.skipped)
	}
	return fmt.Sprintf("%d passed", c.passed)
}

// end reports a command that is not go test; what go said itself is shown if it failed.
func (t *teller) end(s step, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(s.command) == 0 {
		if said := t.output[name{}]; said != "" && err != nil {
			t.print(indent(said))
		}
		delete(t.output, name{})
		return
	}
	e := event{Action: "pass", Package: s.name, Test: s.name, Elapsed: time.Since(t.started[s.name]).Seconds()}
	if err != nil {
		e.Action = "fail"
		t.output[name{s.name, s.name}], t.output[name{pkg: s.name}] = t.output[name{pkg: s.name}], ""
	}
	t.count(e)
	e.Test = ""
	t.finish(s, e)
}

// skip reports a command that is not run.
func (t *teller) skip(s step) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.done++
	t.counts.skipped++
	t.reasons[name{s.name, s.name}] = ""
}

// errors is where a command's standard error goes.
func (t *teller) errors() io.Writer {
	return writer(func(p []byte) { t.mu.Lock(); defer t.mu.Unlock(); t.print(string(p)) })
}

type writer func(p []byte)

func (w writer) Write(p []byte) (int, error) { w(p); return len(p), nil }

// tick tells what runs, where nothing else was told for a while.
func (t *teller) tick() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.width > 0 || time.Since(t.said) >= seldom {
		t.show()
	}
}

// show tells what runs.
func (t *teller) show() {
	running := make([]string, 0, len(t.started))
	for p := range t.started {
		running = append(running, p)
	}
	slices.SortFunc(running, func(a, b string) int { return t.started[a].Compare(t.started[b]) })
	for i, p := range running {
		running[i] = folder(p) + " " + short(time.Since(t.started[p]))
	}
	what := "compiling"
	switch {
	case len(running) > 0:
		what = strings.Join(running, ", ")
	case t.done == 0:
		what = "compiling; the first time that takes minutes"
	case t.done >= t.packages:
		what = "ending"
	}
	line := fmt.Sprintf("[%d of %d, %s] %s", t.done, t.packages, short(time.Since(t.began)), what)
	if t.counts.failed > 0 {
		line = fmt.Sprintf("[%d of %d, %s, %d failed] %s", t.done, t.packages, short(time.Since(t.began)),
			t.counts.failed,
			what)
	}
	if t.width == 0 {
		t.print(line + "\n")
		return
	}
	if len(line) >= t.width {
		line = line[:t.width-2] + "…"
	}
	_, _ = fmt.Fprint(t.to, "\r\x1b[K"+line)
	t.status = true
}

// clear removes the passing line.
func (t *teller) clear() {
	if t.status {
		_, _ = fmt.Fprint(t.to, "\r\x1b[K")
		t.status = false
	}
}

// print tells something that stays.
func (t *teller) print(text string) {
	t.clear()
	_, _ = fmt.Fprint(t.to, text)
	t.said = time.Now()
}

// folder is a package's folder.
func folder(pkg string) string { return strings.TrimPrefix(pkg, "wirelab/") }

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// short writes a time as people say it.
func short(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.0fs", d.Seconds())
	}
	return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
}

// indent puts what was said below what it is of, without what package testing says of it.
func indent(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if noise.MatchString(line) {
			continue
		}
		b.WriteString("     " + strings.TrimSuffix(line, "\n") + "\n")
	}
	return b.String()
}

// noise are the lines of package testing around what a test says.
var (
	noise  = regexp.MustCompile(`^\s*(=== |--- )|^(FAIL|PASS|ok)(\s|$)`)
	source = regexp.MustCompile(`^\s*\w+\.go:\d+: `)
)

// reason is why a test says that it is skipped.
func reason(output string) string {
	last := ""
	for line := range strings.Lines(output) {
		if !noise.MatchString(line) && strings.TrimSpace(line) != "" {
			last = strings.TrimSpace(source.ReplaceAllString(line, ""))
		}
	}
	return last
}
