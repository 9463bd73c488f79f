package conformance

import (
	"context"
	"iter"
	"os"
	"os/exec"
	"strings"
	"testing"

	"wirelab"
)

// miswrapped is the toy's wrapper with its Find, or its List, done wrongly.
type miswrapped struct {
	toyHooked
	find func(h toyHooked, ctx context.Context, at spot) (place, error)
	list func(h toyHooked, ctx context.Context, in area) iter.Seq2[place, error]
}

func (m miswrapped) Find(ctx context.Context, at spot) (place, error) {
	if m.find == nil {
		return m.toyHooked.Find(ctx, at)
	}
	return m.find(m.toyHooked, ctx, at)
}

func (m miswrapped) List(ctx context.Context, in area) iter.Seq2[place, error] {
	if m.list == nil {
		return m.toyHooked.List(ctx, in)
	}
	return m.list(m.toyHooked, ctx, in)
}

func TestWrapperIsBlamed(t *testing.T) {
	t.Parallel()
	type wrapper = miswrapped
	for why, c := range map[string]struct {
		wrapper wrapper
		want    string // "" for no fault
	}{
		"sound": {wrapper{}, ""},
		"no hooks at all": {wrapper{find: func(h toyHooked, ctx context.Context, at spot) (place, error) {
			return h.toy.Find(ctx, at)
		}}, "Find: with hooks that do nothing, one call calls the hooks []"},
		"another operation's name": {wrapper{find: func(h toyHooked, ctx context.Context, at spot) (place, error) {
			defer h.hooks.After("Fetch")
			_ = h.hooks.Before(ctx, "Fetch")
			return h.toy.Find(ctx, at)
		}}, "[Before Fetch, After Fetch], want [Before Find, After Find]"},
		"After not on failure": {wrapper{find: func(h toyHooked, ctx context.Context, at spot) (place, error) {
			if err := h.hooks.Before(ctx, "Find"); err != nil {
				return place{}, err
			}
			defer h.hooks.After("Find")
			return h.toy.Find(ctx, at)
		}}, "Find: when Before failed, one call calls the hooks [Before Find]"},
		"another context": {wrapper{find: func(h toyHooked, _ context.Context, at spot) (place, error) {
			return h.Find(context.Background(), at)
		}}, "Find: Before gets another context"},
		"Before's error dropped": {wrapper{find: func(h toyHooked, ctx context.Context, at spot) (place, error) {
			defer h.hooks.After("Find")
			_ = h.hooks.Before(ctx, "Find")
			return h.toy.Find(ctx, at)
		}}, "Find: when Before failed: "},
		"another answer": {wrapper{find: func(h toyHooked, ctx context.Context, at spot) (place, error) {
			at.Lat++
			return h.Find(ctx, at)
		}}, "Find: with hooks that do nothing: "},
		"no endless stream": {wrapper{list: func(h toyHooked, ctx context.Context, in area) iter.Seq2[place, error] {
			h.hooks.Item = nil
			return h.List(ctx, in)
		}}, "List: Item failed after 3 items; Read saw 1"},
		"After when the method returns": {wrapper{list: func(
			h toyHooked, ctx context.Context, in area,
		) iter.Seq2[place, error] {
			h.hooks.After("List")
			return h.List(ctx, in)
		}}, "List: with hooks that do nothing, one call calls the hooks [After List, Before List, After List]"},
	} {
		w := toyWorkload()
		w.Wrap = func(service toy, hooks wirelab.Hooks) toy {
			c.wrapper.toyHooked = toyHooked{service, hooks}
			return c.wrapper
		}
		if got := wrapFault(w, toySuite().Behaviour); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", why, got, c.want)
		}
	}
}

func TestStreamToReadIsOne(t *testing.T) {
	t.Parallel()
	b := toySuite().Behaviour
	for _, name := range []string{"Fly", "Find"} {
		b.Stream = name
		if got := wrapFault(toyWorkload(), b); !strings.Contains(got, "must be a server stream") {
			t.Errorf("Stream %s: %q", name, got)
		}
	}
	if got := wrapFault(wirelab.Workload[toy]{}, b); !strings.Contains(got, "no Wrap") {
		t.Errorf("without Wrap: %q", got)
	}
}

// TestRunJudgesNoCellThroughAWrongWrapper runs itself as a program, since what
// it wants is a test that fails.
func TestRunJudgesNoCellThroughAWrongWrapper(t *testing.T) {
	const inside = "WIRELAB_TEST_WRONG_WRAPPER"
	if os.Getenv(inside) != "" {
		w := toyWorkload(toyWire{protocol: toyProtocols()[0]}.binding())
		w.Wrap = func(service toy, _ wirelab.Hooks) toy { return service }
		Run(t, w, toySuite())
		return
	}
	t.Parallel()
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run=^"+t.Name()+"$")
	command.Env = append(os.Environ(), inside+"=1")
	out, err := command.CombinedOutput()
	said := string(out)
	if err == nil || strings.Count(said, "no cell is judged, since the suite does not see into its "+
		"service: Find: ") != 1 || strings.Contains(said, "transcript") {
		t.Errorf("%v:\n%s", err, said)
	}
}
