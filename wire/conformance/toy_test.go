package conformance

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"

	"wirelab"
)

// The toy is a workload with an operation of each kind, for the suite's own
// tests: its binding (toywire_test.go) can be told to have a fault.

type spot struct{ Lat, Long int32 }

type place struct {
	Name string
	At   spot
}

func (p place) Equal(other place) bool { return p == other }

type total struct{ Spots, Lat int32 }

func (t total) Equal(other total) bool { return t == other }

type note struct{ Text string }

func (n note) Equal(other note) bool { return n == other }

type area struct{ Size int32 }

type toy interface {
	Find(ctx context.Context, at spot) (place, error)
	List(ctx context.Context, in area) iter.Seq2[place, error]
	Sum(ctx context.Context, spots iter.Seq2[spot, error]) (total, error)
	Chat(ctx context.Context, notes iter.Seq2[note, error]) iter.Seq2[note, error]
}

type toyReference struct{}

func (toyReference) Find(_ context.Context, at spot) (place, error) {
	switch {
	case at.Lat > 90:
		return place{}, wirelab.Errorf(wirelab.InvalidArgument, "latitude %d is above 90", at.Lat)
	case at.Long == 0:
		return place{}, wirelab.Errorf(wirelab.NotFound, "nothing at %d", at.Lat)
	}
	return place{Name: fmt.Sprintf("place %d", at.Lat), At: at}, nil
}

func (toyReference) List(_ context.Context, in area) iter.Seq2[place, error] {
	return func(yield func(place, error) bool) {
		for i := range in.Size {
			if i == 7 {
				yield(place{}, wirelab.Errorf(wirelab.ResourceExhausted, "more than 7"))
				return
			}
			if !yield(place{Name: fmt.Sprintf("item %d", i), At: spot{i, -i}}, nil) {
				return
			}
		}
	}
}

func (toyReference) Sum(_ context.Context, spots iter.Seq2[spot, error]) (total, error) {
	var t total
	for s, err := range spots {
		if err != nil {
			return total{}, err
		}
		t.Spots++
		t.Lat += s.Lat
	}
	return t, nil
}

func (toyReference) Chat(_ context.Context, notes iter.Seq2[note, error]) iter.Seq2[note, error] {
	return func(yield func(note, error) bool) {
		for n, err := range notes {
			if !yield(note{Text: strings.ToUpper(n.Text)}, err) || err != nil {
				return
			}
		}
	}
}

// toyHooked is the toy with hooks.
type toyHooked struct {
	toy
	hooks wirelab.Hooks
}

func (h toyHooked) Find(ctx context.Context, at spot) (place, error) {
	defer h.hooks.After("Find")
	if err := h.hooks.Before(ctx, "Find"); err != nil {
		return place{}, err
	}
	return h.toy.Find(ctx, at)
}

func (h toyHooked) List(ctx context.Context, in area) iter.Seq2[place, error] {
	return func(yield func(place, error) bool) {
		defer h.hooks.After("List")
		if err := h.hooks.Before(ctx, "List"); err != nil {
			yield(place{}, err)
			return
		}
		large := place{Name: strings.Repeat("n", wirelab.ItemSize)}
		for h.hooks.Item != nil {
			err := h.hooks.Item(ctx)
			if !yield(large, err) || err != nil {
				return
			}
		}
		h.toy.List(ctx, in)(yield)
	}
}

func (h toyHooked) Sum(ctx context.Context, spots iter.Seq2[spot, error]) (total, error) {
	defer h.hooks.After("Sum")
	var all []spot
	for s, err := range spots {
		if err != nil {
			return total{}, err
		}
		all = append(all, s)
	}
	if err := h.hooks.Before(ctx, "Sum"); err != nil {
		return total{}, err
	}
	return h.toy.Sum(ctx, func(yield func(spot, error) bool) {
		for _, s := range all {
			if !yield(s, nil) {
				return
			}
		}
	})
}

func (h toyHooked) Chat(ctx context.Context, notes iter.Seq2[note, error]) iter.Seq2[note, error] {
	return func(yield func(note, error) bool) {
		defer h.hooks.After("Chat")
		if err := h.hooks.Before(ctx, "Chat"); err != nil {
			yield(note{}, err)
			return
		}
		h.toy.Chat(ctx, notes)(yield)
	}
}

// toyOperations are the toy's; notes are repeated to be long.
func toyOperations(repeated int) []wirelab.Operation[toy] {
	return []wirelab.Operation[toy]{
		wirelab.Unary("Find", func(r *rand.Rand) spot { return spot{r.Int32N(100), r.Int32N(4)} }, toy.Find),
		wirelab.ServerStreaming("List", func(r *rand.Rand) area { return area{2 + r.Int32N(7)} }, toy.List),
		wirelab.ClientStreaming("Sum", func(r *rand.Rand) []spot {
			return slices.Repeat([]spot{{r.Int32N(100), 1}}, r.IntN(5))
		}, toy.Sum),
		wirelab.BidiStreaming("Chat", func(r *rand.Rand) []note {
			return slices.Repeat([]note{{strings.Repeat(fmt.Sprint("note ", r.Int32N(100)), repeated)}}, r.IntN(5))
		}, toy.Chat),
	}
}

func toySuite() Suite[toy] {
	return Suite[toy]{
		Scripts: "testdata",
		EdgeValues: []EdgeValue[toy]{
			{Operation: "Find", Name: "high", Why: "is refused", JSON: `{"Lat":91,"Long":1}`},
			{Operation: "Chat", Name: "lines", Why: "ends a line of the frame", JSON: `[{"Text":"a\nb"},{"Text":""}]`},
		},
		Probes: []Probe[toy]{{
			Name: "ping-pong", Operation: "Chat", Why: "a reply must come before the next note is read",
			Check: func(ctx context.Context, service toy) error {
				ctx, cancel := context.WithTimeout(ctx, toyPatience)
				defer cancel()
				answered := make(chan struct{}, 8)
				replies := 0
				for _, err := range service.Chat(ctx, func(yield func(note, error) bool) {
					for range 3 {
						if !yield(note{"ping"}, nil) {
							return
						}
						select {
						case <-answered:
						case <-ctx.Done():
							return
						}
					}
				}) {
					if err != nil {
						return fmt.Errorf("no reply before the next note: %w", err)
					}
					replies++
					answered <- struct{}{}
				}
				if replies != 3 {
					return fmt.Errorf("%d replies to 3 notes", replies)
				}
				return nil
			},
		}},
		Behaviour: Behaviour[toy]{
			Stream: "List",
			Read: func(ctx context.Context, service toy, item func() bool) error {
				for _, err := range service.List(ctx, area{1}) {
					if err != nil {
						return err
					}
					if !item() {
						return nil
					}
				}
				return nil
			},
		},
	}
}
