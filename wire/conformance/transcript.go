package conformance

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"

	"wirelab"
)

// faultsShown bounds how many faults of one check are reported in full: the
// first ones tell what is wrong, the rest say it again.
const faultsShown = 5

// answer is one reply as a transcript shows it.
type answer struct {
	items []string
	err   *wirelab.Error
}

func (a answer) String() string {
	if a.err != nil {
		return "error " + printable(a.err.Error())
	}
	return strings.Join(a.items, " | ")
}

// printable keeps a transcript's line one line.
func printable(s string) string {
	var b strings.Builder
	for _, c := range s {
		if unicode.IsPrint(c) {
			b.WriteRune(c)
		} else {
			fmt.Fprintf(&b, `\u{%x}`, c)
		}
	}
	return b.String()
}

// ask performs an exchange and renders its reply.
func ask[S any](ctx context.Context, e wirelab.Exchange[S], service S) answer {
	items, err := e.Ask(ctx, service)
	a := answer{items: make([]string, len(items))}
	for i, item := range items {
		a.items[i] = printable(fmt.Sprintf("%+v", item))
	}
	if err != nil {
		a.err = wirelab.Public(err)
	}
	return a
}

// differ tells how got differs from want, in words that name the fault; "" if
// it does not. Items before an error need not arrive, but must not be wrong.
func differ(got, want answer) string {
	switch {
	case want.err == nil && got.err != nil:
		return fmt.Sprintf("answers error %q, want %d items: %s", got.err, len(want.items), short(want.String()))
	case want.err != nil && got.err == nil:
		return fmt.Sprintf("takes a failed call as complete: %d items and success, want error %q", len(got.items),
			want.err)
	case want.err != nil && got.err.Code != want.err.Code:
		return fmt.Sprintf("wrong code %s (message %q), want %s (message %q)",
			got.err.Code, got.err.Message, want.err.Code, want.err.Message)
	case want.err != nil && got.err.Message != want.err.Message:
		return fmt.Sprintf("wrong message %q, want %q", got.err.Message, want.err.Message)
	}
	for i := range min(len(got.items), len(want.items)) {
		if got.items[i] == want.items[i] {
			continue
		}
		how := "wrong item"
		switch {
		case len(got.items) == len(want.items) && slices.Equal(sorted(got.items), sorted(want.items)):
			how = "items reordered:"
		case len(got.items) < len(want.items) && want.err == nil:
			how = fmt.Sprintf("items lost (%d of %d arrived):", len(got.items), len(want.items))
		}
		return fmt.Sprintf("%s %d is %s, want %s", how, i, short(got.items[i]), short(want.items[i]))
	}
	switch {
	case len(got.items) > len(want.items):
		return fmt.Sprintf("items added: %d, want %d; the first extra is %s", len(got.items), len(want.items),
			short(got.items[len(want.items)]))
	case len(got.items) < len(want.items) && want.err == nil:
		return fmt.Sprintf("short stream as success: %d of %d items arrived", len(got.items), len(want.items))
	}
	return ""
}

func sorted(all []string) []string { return slices.Sorted(slices.Values(all)) }

// short keeps a report readable where a reply is 64 KiB.
func short(s string) string {
	const most = 300
	if len(s) <= most {
		return s
	}
	return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(s[:most], ""), len(s))
}

// faults reports up to faultsShown faults of one check.
type faults struct {
	r     reporter
	seed  uint64
	mu    sync.Mutex // guards below
	count int
}

func (f *faults) add(format string, args ...any) {
	f.r.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.count++; f.count <= faultsShown {
		f.r.Errorf("%s (WIRELAB_SEED=%d)", fmt.Sprintf(format, args...), f.seed)
	}
}

// close tells how many were not shown.
func (f *faults) close() {
	f.r.Helper()
	if f.count > faultsShown {
		f.r.Errorf("%d more faults of the same check", f.count-faultsShown)
	}
}

// transcript asks the reference and the cell one conversation, call by call,
// and compares the lines. Every call that succeeds must have moved bytes both ways.
func (c *cell[S]) transcript(r reporter) {
	g := c.raise(r, c.workload.New(), setup{})
	if g == nil {
		return
	}
	defer g.lower(r)
	found := &faults{r: r, seed: c.seed}
	defer found.close()
	oracle := c.workload.New()
	random := rand.New(rand.NewPCG(c.seed, 1))
	for i := range c.pace.perOperation {
		for _, o := range c.live() {
			e, err := o.Draw(o.Requests[i%len(o.Requests)], random)
			if err != nil {
				r.Errorf("draw: %v", err)
				return
			}
			want := ask(context.Background(), e, oracle)
			sent, received := g.tape.sent.Load(), g.tape.received.Load()
			got := g.ask(e)
			if fault := differ(got, want); fault != "" {
				found.add("exchange %d, %s %s: %s", i, o.Name, short(printable(e.Request())), fault)
			}
			if got.err == nil && g.tape.opened() > 0 && g.tape.throughHooks() == 0 {
				r.Errorf("the client opens connections by itself: Dialing.Connect and Dialing.Packets were " +
					"never called")
				return
			}
			moved := [2]int64{g.tape.sent.Load() - sent, g.tape.received.Load() - received}
			if got.err == nil && (moved[0] == 0 || moved[1] == 0) {
				found.add("exchange %d, %s: no bytes moved: sent %d, received %d; the reply did not come over the wire",
					i, o.Name, moved[0], moved[1])
			}
			if found.count > 4*faultsShown {
				return
			}
		}
	}
}

// data asks each operation once of every data set but the first, which all other checks ask of: a larger set
// may not fit a wire that carries the first. Once, because a large reply takes long under the race detector.
// Replies are compared as the engine does, since a transcript of ten thousand items would be read by no one.
func (c *cell[S]) data(r reporter) {
	found := &faults{r: r, seed: c.seed}
	defer found.close()
	for _, d := range c.workload.Data[min(1, len(c.workload.Data)):] {
		g := c.raise(r, d.New(), setup{})
		if g == nil {
			return
		}
		c.ofData(found, g, d)
		g.lower(r)
	}
}

func (c *cell[S]) ofData(found *faults, g *rig[S], d wirelab.Data[S]) {
	random := rand.New(rand.NewPCG(c.seed, 7))
	for _, o := range d.Operations {
		if c.hole(o.Name) {
			continue
		}
		ways := o.Requests
		if !c.pace.everyWay {
			ways = ways[:1]
		}
		for _, way := range ways {
			e, err := o.Draw(way, random)
			if err != nil {
				found.add("data %s, draw: %v", d.Name, err)
				return
			}
			check := e.Expect(context.Background(), d.New())
			c.exchanges.Add(1)
			ctx, cancel := g.call()
			if err := check(ctx, g.stub); err != nil {
				found.add("data %s, %s %s: %s", d.Name, o.Name, short(printable(e.Request())),
					short(printable(err.Error())))
			}
			cancel()
		}
	}
}

// concurrent asks by many callers at once, each its own conversation.
func (c *cell[S]) concurrent(r reporter) {
	g := c.raise(r, c.workload.New(), setup{connections: c.pace.workers})
	if g == nil {
		return
	}
	defer g.lower(r)
	found := &faults{r: r, seed: c.seed}
	defer found.close()
	oracle := c.workload.New()
	var wg sync.WaitGroup
	for worker := range c.pace.workers {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(c.seed, uint64(worker)+2))
			for i := range c.pace.perWorker {
				for _, o := range c.live() {
					e, err := o.Draw(o.Requests[i%len(o.Requests)], random)
					if err != nil {
						found.add("draw: %v", err)
						return
					}
					expected := oracle
					if o.Fresh {
						expected = c.workload.New()
					}
					check := e.Expect(context.Background(), expected)
					c.exchanges.Add(1)
					ctx, cancel := g.call()
					if err := check(ctx, g.stub); err != nil {
						found.add("caller %d of %d, exchange %d, %s %s: %v", worker, c.pace.workers, i, o.Name,
							short(printable(e.Request())), err)
					}
					cancel()
				}
			}
		})
	}
	wg.Wait()
}

// reference checks what all cells are compared with: that edge values and scripts can
// be read, that probes hold, and that one seed makes one conversation.
func reference[S any](t *testing.T, w wirelab.Workload[S], suite Suite[S]) {
	for _, p := range suite.Probes {
		if err := p.Check(t.Context(), w.New()); err != nil {
			t.Errorf("probe %s: %v", p.Name, err)
		}
	}
	for _, value := range suite.EdgeValues {
		if _, err := value.exchange(w); err != nil || value.Name == "" || value.Why == "" {
			t.Errorf("edge value %s %s (%s): %v", value.Operation, value.Name, value.Why, err)
		}
	}
	var conversations [2][]string
	for i := range conversations {
		service, random := w.New(), rand.New(rand.NewPCG(defaultSeed, 1))
		for range shortPace.perOperation {
			for _, o := range w.Operations {
				e, err := o.Draw("", random)
				if err != nil {
					t.Fatal(err)
				}
				conversations[i] = append(conversations[i], e.Request()+" → "+ask(t.Context(), e, service).String())
			}
		}
	}
	if !slices.Equal(conversations[0], conversations[1]) {
		t.Error("one seed makes two conversations: the reference or a drawing depends on more than its seed")
	}
	referenceScripts(t, w, suite)
}
