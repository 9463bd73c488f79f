package gather

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wirelab"
	"wirelab/internal/leaktest"
	"wirelab/workload/logging"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(leaktest.Patient(m)) }

// fake is a store that is let go on batch by batch.
type fake struct {
	begun chan []logging.Entry // what each batch holds, when it begins
	goOn  chan error           // how it is to end
	known map[string]logging.Entry
}

func newFake() *fake {
	return &fake{begun: make(chan []logging.Entry), goOn: make(chan error), known: map[string]logging.Entry{}}
}

func (f *fake) store(ctx context.Context, entries []logging.Entry) ([]Verdict, error) {
	f.begun <- entries
	select {
	case err := <-f.goOn:
		if err != nil {
			return nil, err
		}
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	verdicts := make([]Verdict, len(entries))
	for i, e := range entries {
		stored, ok := f.known[e.ID]
		switch {
		case !ok:
			f.known[e.ID] = e
		case stored == e:
			verdicts[i] = Known
		default:
			verdicts[i] = Other
		}
	}
	return verdicts, nil
}

// started is a writer over a store until the test ends.
func started(t *testing.T, store Store) *Writer {
	t.Helper()
	w := Start(store)
	t.Cleanup(w.Close)
	return w
}

// reply is what a caller was told.
type reply struct {
	written logging.Written
	err     error
}

// ask writes an entry from another goroutine, and returns once it waits or is being stored.
func ask(ctx context.Context, w *Writer, all *sync.WaitGroup, e logging.Entry) <-chan reply {
	told := make(chan reply, 1)
	before := w.Use(wirelab.PoolUse{}).Waited + uint64(w.queued())
	all.Go(func() {
		written, err := w.Write(ctx, e)
		told <- reply{written, err}
	})
	for w.Use(wirelab.PoolUse{}).Waited+uint64(w.queued()) == before {
	}
	return told
}

func (w *Writer) queued() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.waiting)
}

func entry(id string) logging.Entry { return logging.Entry{ID: id, Name: "n", Data: "of " + id} }

// Those who come while a batch is stored go together in the next, each id once:
// the same entry with its like, another content of it after it.
func TestGathers(t *testing.T) {
	t.Parallel()
	f := newFake()
	w := started(t, f.store)
	var all sync.WaitGroup
	defer all.Wait()
	first := ask(t.Context(), w, &all, entry("a"))
	if got := <-f.begun; len(got) != 1 || got[0].ID != "a" {
		t.Errorf("the first batch holds %v", got)
	}
	other := logging.Entry{ID: "b", Name: "n", Data: "other"}
	var told []<-chan reply
	for _, e := range []logging.Entry{entry("b"), other, entry("c"), entry("b"), entry("a")} {
		told = append(told, ask(t.Context(), w, &all, e))
	}
	f.goOn <- nil
	if got := <-f.begun; fmt.Sprint(got) != fmt.Sprint([]logging.Entry{entry("b"), entry("c"), entry("a")}) {
		t.Errorf("the second batch holds %v", got)
	}
	f.goOn <- nil
	if got := <-f.begun; fmt.Sprint(got) != fmt.Sprint([]logging.Entry{other}) {
		t.Errorf("the third batch holds %v", got)
	}
	f.goOn <- nil
	if r := <-first; r.err != nil || r.written.ID != "a" || r.written.Again() {
		t.Errorf("a: %+v", r)
	}
	for i, want := range []struct {
		code  wirelab.Code
		again bool
	}{{0, false}, {wirelab.Conflict, false}, {0, false}, {0, true}, {0, true}} {
		if r := <-told[i]; r.err != nil && wirelab.CodeOf(r.err) != want.code || r.err == nil && want.code != 0 ||
			r.written.Again() != want.again {
			t.Errorf("caller %d: %+v", i, r)
		}
	}
	if use := w.Use(wirelab.PoolUse{Acquired: 3}); use.Acquired != 3+3 || use.Waited != 6 || use.Waiting <= 0 {
		t.Errorf("six calls in three batches are used as %+v", use)
	}
}

// TestBatchesAreBounded checks that a batch is bounded by entries and by bytes, and that no entry is left behind.
func TestBatchesAreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", logging.DataLimit)
	for _, c := range []struct {
		data string
		n    int
		want []int
	}{{"", 2*EntriesMost + 5, []int{EntriesMost, EntriesMost, 5}}, {long, 19, []int{8, 8, 3}}} {
		f := newFake()
		w := started(t, f.store)
		var all sync.WaitGroup
		ask(t.Context(), w, &all, entry("first"))
		<-f.begun
		for i := range c.n {
			all.Go(func() {
				if _, err := w.Write(t.Context(),
					logging.Entry{ID: fmt.Sprint(i), Name: "n", Data: c.data}); err != nil {
					t.Error(err)
				}
			})
		}
		for w.queued() < c.n {
		}
		f.goOn <- nil
		for _, want := range c.want {
			if got := <-f.begun; len(got) != want {
				t.Errorf("a batch of %d, want %d", len(got), want)
			}
			f.goOn <- nil
		}
		all.Wait()
	}
}

// TestGiveUp checks that a caller that cancels returns at once without effect on others, and that a batch whose
// callers have all left is cancelled.
func TestGiveUp(t *testing.T) {
	t.Parallel()
	f := newFake()
	w := started(t, f.store)
	var all sync.WaitGroup
	defer all.Wait()
	leaver, leave := context.WithCancel(t.Context())
	first := ask(leaver, w, &all, entry("a"))
	<-f.begun
	stays := ask(t.Context(), w, &all, entry("b"))
	waiter, giveUp := context.WithCancel(t.Context())
	waits := ask(waiter, w, &all, entry("c"))
	giveUp()
	if r := <-waits; wirelab.CodeOf(r.err) != wirelab.Canceled {
		t.Errorf("who waited and left was told %+v", r)
	}
	leave() // and the batch has no caller any more
	if r := <-first; wirelab.CodeOf(r.err) != wirelab.Canceled {
		t.Errorf("who left was told %+v", r)
	}
	if got := <-f.begun; len(got) != 1 || got[0].ID != "b" {
		t.Errorf("the next batch holds %v", got)
	}
	leaver, leave = context.WithCancel(t.Context())
	third, fourth := ask(leaver, w, &all, entry("d")), ask(t.Context(), w, &all, entry("e"))
	f.goOn <- nil
	if r := <-stays; r.err != nil {
		t.Errorf("who stayed was told %+v", r)
	}
	if got := <-f.begun; len(got) != 2 {
		t.Errorf("the third batch holds %v", got)
	}
	leave()
	if r := <-third; wirelab.CodeOf(r.err) != wirelab.Canceled {
		t.Errorf("who left a batch was told %+v", r)
	}
	f.goOn <- nil // it continues for the other caller
	if r := <-fourth; r.err != nil {
		t.Errorf("the other of it was told %+v", r)
	}
	over, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	if _, err := w.Write(over, entry("late")); wirelab.CodeOf(err) != wirelab.DeadlineExceeded {
		t.Errorf("when time is over: %v", err)
	}
}

// All of a batch that fails get its error, with its code and nothing else; the
// next is another.
// silent is a context that is over before it says so to who waits for that.
type silent struct {
	context.Context
	over atomic.Bool
	told chan struct{}
}

func (s *silent) Done() <-chan struct{} { return s.told }

func (s *silent) Err() error {
	if s.over.Load() {
		return context.DeadlineExceeded
	}
	return nil
}

// No batch is begun for callers whose time is over, though they have not left yet: it
// would be cancelled at once, and a database can miss that.
func TestNothingIsBegunForNobody(t *testing.T) {
	t.Parallel()
	f := newFake()
	w := started(t, f.store)
	var all sync.WaitGroup
	defer all.Wait()
	first := ask(t.Context(), w, &all, entry("a"))
	<-f.begun
	s := &silent{Context: t.Context(), told: make(chan struct{})}
	late, other := ask(s, w, &all, entry("late")), ask(t.Context(), w, &all, entry("b"))
	s.over.Store(true)
	f.goOn <- nil
	if r := <-first; r.err != nil {
		t.Errorf("the first was told %+v", r)
	}
	if got := <-f.begun; len(got) != 1 || got[0].ID != "b" {
		t.Errorf("the next batch holds %v", got)
	}
	f.goOn <- nil
	if r := <-other; r.err != nil {
		t.Errorf("the other was told %+v", r)
	}
	close(s.told)
	if r := <-late; wirelab.CodeOf(r.err) != wirelab.DeadlineExceeded {
		t.Errorf("whose time was over was told %+v", r)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	f := newFake()
	w := started(t, f.store)
	var all sync.WaitGroup
	defer all.Wait()
	for _, c := range []struct {
		err  error
		want wirelab.Code
	}{
		{wirelab.Errorf(wirelab.ResourceExhausted, "full"), wirelab.ResourceExhausted},
		{fmt.Errorf("password=hush"), wirelab.Internal},
	} {
		first := ask(t.Context(), w, &all, entry("a"))
		<-f.begun
		f.goOn <- c.err
		if r := <-first; wirelab.CodeOf(r.err) != c.want || strings.Contains(r.err.Error(), "hush") {
			t.Errorf("%v becomes %v", c.err, r.err)
		}
	}
	short := started(t, func(context.Context, []logging.Entry) ([]Verdict, error) { return nil, nil })
	if _, err := short.Write(t.Context(), entry("a")); wirelab.CodeOf(err) != wirelab.Internal {
		t.Errorf("a store without a verdict: %v", err)
	}
}

// A store that is silent does not keep everybody waiting for one without a
// deadline.
func TestSilentStore(t *testing.T) {
	t.Parallel()
	f := newFake()
	w := start(f.store, 20*time.Millisecond)
	t.Cleanup(w.Close)
	var all sync.WaitGroup
	defer all.Wait()
	first := ask(t.Context(), w, &all, entry("a"))
	<-f.begun
	second := ask(t.Context(), w, &all, entry("b"))
	if r := <-first; wirelab.CodeOf(r.err) != wirelab.Unavailable {
		t.Errorf("who waited for a silent store was told %+v", r)
	}
	<-f.begun
	if r := <-second; wirelab.CodeOf(r.err) != wirelab.Unavailable {
		t.Errorf("who waited behind him was told %+v", r)
	}
}

// A writer that is closed tells all who wait and those who come, and ends.
func TestClose(t *testing.T) {
	t.Parallel()
	f := newFake()
	w := Start(f.store)
	var all sync.WaitGroup
	first := ask(t.Context(), w, &all, entry("a"))
	<-f.begun
	second := ask(t.Context(), w, &all, entry("b"))
	all.Go(w.Close)
	for _, told := range []<-chan reply{first, second} {
		if r := <-told; wirelab.CodeOf(r.err) != wirelab.Unavailable {
			t.Errorf("who waited was told %+v", r)
		}
	}
	all.Wait()
	if _, err := w.Write(t.Context(), entry("c")); wirelab.CodeOf(err) != wirelab.Unavailable {
		t.Errorf("who came late was told %v", err)
	}
	w.Close() // again does nothing
}
