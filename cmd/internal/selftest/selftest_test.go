package selftest

import (
	"bytes"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"wirelab/internal/leaktest"
	"wirelab/lab/inject"
	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/claim"
	"wirelab/lab/stat"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(leaktest.Patient(m)) }

// The computations are tested here, since they do not depend on the load of the machine.
func TestComputed(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, test := range []Test{queueTest(), mergeTest(), derivationTest()} {
		done, err := test.Run(t.Context(), Env{Seed: 1, Say: func(string) {}})
		spared := test.Name == "queue" && testing.Short()
		if err != nil || !done.Pass && !spared {
			t.Errorf("%s: %v, %s, %v", test.Name, err, done.Found, done.Figures)
		}
	}
}

// An interval that is too narrow is found not to cover.
func TestQueueWouldFail(t *testing.T) {
	t.Parallel()
	// Rounds far too short for a queue that is 90 % busy (docs/concepts/claims.md).
	figures, err := coverage(t.Context(), 0.9, 500, 1)
	if err != nil {
		t.Fatal(err)
	}
	if low, _ := extremes(figures); low >= 90 {
		t.Errorf("intervals from rounds of 500 calls cover in %v %%: the test sees nothing", low)
	}
}

// No published quantile of a truth lies where its law jumps, or the test would
// ask for luck.
func TestTruthsHaveNoJumpAtAQuantile(t *testing.T) {
	t.Parallel()
	for _, long := range []bool{false, true} {
		for _, l := range laws(Env{Long: long}) {
			b, err := inject.Parse(l.inject)
			if err != nil {
				t.Fatal(err)
			}
			truth, ok := b.Truth()
			if !ok {
				t.Fatalf("%s has no law", l.inject)
			}
			if period := truth.Period(); period > 0 && (l.window%period != 0 || l.warmUp < 20*period) {
				t.Errorf("%s: a window of %v or a warm-up of %v is not of whole periods", l.inject, l.window, l.warmUp)
			}
			for _, m := range kinds.Metrics() {
				if m.Quantile == 0 || m.Quantile == 0.999 {
					continue // p99.9 needs more calls than are made
				}
				const slip = 0.002 // of the share: a few calls
				near, far := truth.Quantile(m.Quantile-slip), truth.Quantile(m.Quantile+slip)
				want := truth.Quantile(m.Quantile)
				if allowed := time.Duration(0.02*float64(want)) + 100*time.Microsecond; want-near > 6*allowed ||
					far-want > 6*allowed {
					t.Errorf("%s: p%g is %v, next to it %v to %v", l.inject, 100*m.Quantile, want, near, far)
				}
			}
		}
	}
}

// A number is wrong beyond 2 % + 100 µs, either way.
func TestNear(t *testing.T) {
	t.Parallel()
	for found, ok := range map[float64]bool{
		20e6: true, 20.499e6: true, 20.501e6: false, 19.501e6: true,
		19.499e6: false,
	} {
		if near("", found, 20*time.Millisecond, "").OK() != ok {
			t.Errorf("%v of 20 ms: ok %v", found, !ok)
		}
	}
}

// Silence is a refusal, a wrong number a failure, and one of each a failure.
func TestTruthsVerdict(t *testing.T) {
	t.Parallel()
	right := truthful{name: "r", published: 1, figures: []result.Figure{near("r", 20e6, 20*time.Millisecond, "")}}
	wrong := truthful{name: "w", published: 1, figures: []result.Figure{near("w", 25e6, 20*time.Millisecond, "")}}
	silent := truthful{name: "s", why: "late"}
	for _, c := range []struct {
		all           []truthful
		pass, refused bool
	}{
		{[]truthful{right}, true, true},
		{[]truthful{right, silent}, false, true},
		{[]truthful{right, wrong}, false, false},
		{[]truthful{silent, wrong}, false, false},
		{nil, false, true},
	} {
		var all truths
		for _, one := range c.all {
			all.add(one)
		}
		if f := all.finding(); f.pass != c.pass || f.refused != c.refused {
			t.Errorf("%v: pass %v, refused %v", c.all, f.pass, f.refused)
		}
	}
}

// Slow calls beyond those of the standstill are held against wirelab but on a machine that was
// busy; one call for each connection, as where a load generator waits with its server, always.
func TestStandstillIsCharged(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		slow, longest int
		busy          bool
		pass, refused bool
	}{
		{192, 505, false, true, false},
		{192, 505, true, true, true},
		{243, 519, false, false, false},
		{243, 519, true, false, true},
		{192, 1500, true, false, true},
		{10, 505, true, false, false},
		{192, 300, true, false, false},
	} {
		h := stat.NewHistogram()
		for range c.slow - 1 {
			h.Record(int64(slowAfter) * 2)
		}
		h.Record(int64(c.longest) * 1e6)
		for range 800 {
			h.Record(1e6)
		}
		if f := charged(h, c.busy); f.pass != c.pass || f.refused != c.refused {
			t.Errorf("%+v: pass %v, refused %v: %s", c, f.pass, f.refused, f.found)
		}
	}
}

// Too few replies for one to be changed show nothing; one that was changed is to be found.
func TestChangedRepliesAreFound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		changed, wrong uint64
		pass, refused  bool
	}{
		{1, 1, true, false},
		{3, 3, true, false},
		{0, 0, false, true},
		{1, 0, false, false},
		{0, 1, false, false},
		{2, 1, false, false},
	} {
		r := equals(1, 0)
		r.Rounds[0].Trials[0].Errors = map[string]uint64{result.WrongReply: c.wrong}
		if f := spoilt(r, 4000, c.changed); f.pass != c.pass || f.refused != c.refused {
			t.Errorf("%+v: pass %v, refused %v: %s", c, f.pass, f.refused, f.found)
		}
	}
}

// equals is an A/A result whose rounds drift, with some noise of their own.
func equals(rounds int, b float64) *result.Result {
	r, random := made(), rand.New(rand.NewPCG(7, 7))
	r.Plan.Arms[1].Protocol, r.Arms[1].Protocol = r.Plan.Arms[0].Protocol, r.Arms[0].Protocol
	first := r.Rounds[0]
	r.Rounds = nil
	for i := range rounds {
		round := first
		round.Trials = append([]result.Trial{}, first.Trials...)
		for t := range round.Trials {
			cpu := 30e6 * (1 + 0.5*float64(i)/float64(rounds)) * math.Exp(0.02*random.NormFloat64())
			if t == 1 {
				cpu += b * float64(round.Trials[t].OK)
			}
			round.Trials[t].Server = &result.Usage{CPU: plan.Duration(cpu)}
		}
		r.Rounds = append(r.Rounds, round)
	}
	return r
}

func TestRelabelCountsFalseClaims(t *testing.T) {
	t.Parallel()
	share := func(r *result.Result) float64 {
		all, err := Relabel(r, 0, 1, 200, 10, rand.New(rand.NewPCG(1, 1)))
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range all {
			if one.Metric == plan.ServerCPU {
				if one.Made != 200 {
					t.Errorf("%d comparisons", one.Made)
				}
				return one.False()
			}
		}
		t.Fatal("no server CPU")
		return 0
	}
	if got := share(equals(30, 0)); got > 0.0808 {
		t.Errorf("equals that drift are called different in %v", got)
	}
	// Where the coin does not decide who is who, everything is a false claim.
	all := pick(equals(30, 3000), 0, 1, chosen(30, 10, rand.New(rand.NewPCG(1, 1))), nil)
	if v := analyse.Result(all).Loads[0].Row(plan.ServerCPU).Cells[1].Difference.Verdict; v != claim.Worse {
		t.Errorf("10 %% more is %s", v)
	}
	if _, err := Relabel(made(), 0, 1, 1, 10, rand.New(rand.NewPCG(1, 1))); err == nil {
		t.Error("two protocols are taken for equals")
	}
	if _, err := Relabel(equals(5, 0), 0, 1, 1, 10, rand.New(rand.NewPCG(1, 1))); err == nil {
		t.Error("5 rounds give 10")
	}
}

// The power of comparisons with a spin is counted, and its interval held or not.
func TestPowerOfSpin(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	e := Env{Seed: 1}
	r := equals(30, 5000) // 5 µs a call
	for spin, held := range map[time.Duration]bool{5 * time.Microsecond: true, 2 * time.Microsecond: false} {
		p, err := e.power(r, 1, spin)
		if err != nil {
			t.Fatal(err)
		}
		if p.made != ofUnequals || (p.share(p.held) >= 90) != held || p.share(p.won) < 90 {
			t.Errorf("5 µs measured as %v: %s", spin, p)
		}
	}
}

// The proxy passes everything on but one digit in so many pieces, and leaves
// nothing running.
func TestProxyChangesADigit(t *testing.T) {
	t.Parallel()
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	echoed := make(chan struct{})
	go func() {
		defer close(echoed)
		c, err := server.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = io.Copy(c, c)
	}()
	var replies, changed atomic.Uint64
	p, err := newProxy(server.Addr().String(), 4, &replies, &changed)
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", p.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	wrong := 0
	for range 16 {
		said, heard := []byte(`{"at":[12,38]}`), make([]byte, 14)
		if _, err := c.Write(said); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, heard); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(said, heard) {
			wrong++
			if string(heard) != `{"at":[12,39]}` {
				t.Errorf("heard %s", heard)
			}
		}
	}
	if wrong != 4 || changed.Load() != 4 || replies.Load() != 16 {
		t.Errorf("%d of 16 changed, %d counted of %d", wrong, changed.Load(), replies.Load())
	}
	if err := p.close(); err != nil {
		t.Error(err)
	}
	_, _ = c.Close(), server.Close()
	<-echoed
}
