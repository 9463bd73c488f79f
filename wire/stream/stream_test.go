package stream_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"testing"

	"wirelab/internal/leaktest"
	"wirelab/wire/stream"
)

var (
	errWire = errors.New("the wire's")
	errOut  = errors.New("the input's")
)

// echo is a call that sends each item back. Its channel has no room, so a
// client that sent and received in turn would hang.
func echo(ctx context.Context) (stream.Duplex[int, int], error) {
	way := make(chan int)
	return stream.Duplex[int, int]{
		Send: func(i int) error {
			select {
			case way <- i:
				return nil
			case <-ctx.Done():
				return io.EOF
			}
		},
		CloseSend: func() error { close(way); return nil },
		Receive: func() (int, error) {
			select {
			case i, ok := <-way:
				if !ok {
					return 0, fmt.Errorf("wrapped: %w", io.EOF)
				}
				if i == 7 {
					return 0, errWire
				}
				return i, nil
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		},
		Translate: func(err error) error { return fmt.Errorf("translated: %w", err) },
	}, nil
}

// count yields 0 to n-1, then err if there is one.
func count(n int, err error) iter.Seq2[int, error] {
	return func(yield func(int, error) bool) {
		for i := range n {
			if !yield(i, nil) {
				return
			}
		}
		if err != nil {
			yield(0, err)
		}
	}
}

func TestConverse(t *testing.T) {
	defer leaktest.None(t)
	for name, c := range map[string]struct {
		out  iter.Seq2[int, error]
		want error
		// items is how many come at least; with an error, later ones may be lost.
		items int
	}{
		"nothing to say":     {count(0, nil), nil, 0},
		"all is echoed":      {count(5, nil), nil, 5},
		"the input breaks":   {count(3, errOut), errOut, 0},
		"the call fails":     {count(100, nil), errWire, 7},
		"an endless input":   {count(1<<40, nil), errWire, 7},
		"it breaks at once":  {count(0, errOut), errOut, 0},
		"input error is raw": {count(1, errOut), errOut, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var got []int
			var last error
			for i, err := range stream.Converse(t.Context(), c.out, echo) {
				if last = err; err == nil {
					got = append(got, i)
				}
			}
			if !errors.Is(last, c.want) || len(got) < c.items {
				t.Errorf("%v after %v, want %v", last, got, c.want)
			}
			if !slices.IsSorted(got) {
				t.Errorf("out of order: %v", got)
			}
			if errors.Is(last, errOut) && last != errOut {
				t.Errorf("the input's own error was translated: %v", last)
			}
		})
	}
}

// TestConverseOpenFails: an error at the start is the only item.
func TestConverseOpenFails(t *testing.T) {
	for _, err := range stream.Converse(t.Context(), count(1, nil),
		func(context.Context) (stream.Duplex[int, int], error) {
			return stream.Duplex[int, int]{}, errWire
		}) {
		if err != errWire {
			t.Error(err)
		}
	}
}

// TestConverseReleases stops early, in each way a caller can: the context has ended and nothing is being sent when
// Close is called, which happens once.
func TestConverseReleases(t *testing.T) {
	defer leaktest.None(t)
	for name, leave := range map[string]func(){
		"break": func() {},
		"panic": func() { panic("consumer") },
	} {
		t.Run(name, func(t *testing.T) {
			closed, sending := 0, true
			open := func(ctx context.Context) (stream.Duplex[int, int], error) {
				call, err := echo(ctx)
				call.Close = func() {
					closed++
					if ctx.Err() == nil || sending {
						t.Errorf("closed while in use: context %v, sending %v", ctx.Err(), sending)
					}
				}
				return call, err
			}
			out := func(yield func(int, error) bool) {
				defer func() { sending = false }()
				for yield(1, nil) {
				}
			}
			func() {
				defer func() { _ = recover() }()
				for range stream.Converse(t.Context(), out, open) {
					leave()
					break
				}
			}()
			if closed != 1 {
				t.Errorf("closed %d times", closed)
			}
		})
	}
}

// TestConversePanicIsTheCallers: what panics in the input must not end the process.
func TestConversePanicIsTheCallers(t *testing.T) {
	defer leaktest.None(t)
	defer func() {
		if p := recover(); p != "input" {
			t.Errorf("recovered %v", p)
		}
	}()
	for range stream.Converse(t.Context(), func(func(int, error) bool) { panic("input") }, echo) {
	}
	t.Error("no panic")
}

func TestItems(t *testing.T) {
	next := 0
	receive := func() (int, error) {
		if next++; next > 3 {
			return 0, errWire
		}
		return next, nil
	}
	double := func(i int) int { return 2 * i }
	translate := func(err error) error { return fmt.Errorf("translated: %w", err) }
	var got []int
	var last error
	for i, err := range stream.Items(receive, double, translate) {
		got, last = append(got, i), err
	}
	if !slices.Equal(got, []int{2, 4, 6, 0}) || last == nil || last == errWire || !errors.Is(last, errWire) {
		t.Errorf("%v, %v", got, last)
	}
	for i, err := range stream.Items(func() (int, error) { return 0, fmt.Errorf("end: %w", io.EOF) }, double,
		translate) {
		t.Errorf("an ended stream yields %v, %v", i, err)
	}
}
