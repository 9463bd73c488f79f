package conformance

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	"wirelab"
)

// hookLog keeps what hooks were called, in order.
type hookLog struct {
	mu    sync.Mutex // guards below
	calls []string
}

func (l *hookLog) add(call string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls = append(l.calls, call)
}

func (l *hookLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.calls, ", ")
}

// errHooked is what the hooks of these checks fail with. Its text and code
// stand for nothing; no reference answers it by itself.
var errHooked = &wirelab.Error{Code: wirelab.Conflict, Message: "told by a hook"}

// callKey is what marks a call's own context.
type callKey struct{}

// wrapFault tells how the workload's Wrap breaks what [wirelab.Hooks] says, seen on
// the reference in memory; "" if it keeps it. Every check of a cell's
// behaviour looks through the wrapper, so a fault of it would be named as one
// of each wire in turn, a timeout at a time.
func wrapFault[S any](w wirelab.Workload[S], b Behaviour[S]) string {
	if w.Wrap == nil {
		return "it has no Wrap"
	}
	for _, o := range w.Operations {
		e, err := o.Draw("", rand.New(rand.NewPCG(defaultSeed, 6)))
		if err != nil {
			return fmt.Sprintf("%s: draw: %v", o.Name, err)
		}
		for _, beforeErr := range []*wirelab.Error{nil, errHooked} {
			if fault := hooksFault(w, o.Name, e, beforeErr); fault != "" {
				return o.Name + ": " + fault
			}
		}
	}
	if b.Stream == "" {
		return ""
	}
	known := func(o wirelab.Operation[S]) bool { return o.Name == b.Stream && o.Kind == wirelab.ServerStream }
	if !slices.ContainsFunc(w.Operations, known) || b.Read == nil {
		return fmt.Sprintf("Behaviour.Stream %q must be a server stream, and Behaviour.Read read it", b.Stream)
	}
	return endlessFault(w, b)
}

// hooksFault makes one call of an operation, which Before lets go on or ends.
func hooksFault[S any](
	w wirelab.Workload[S], name string, e wirelab.Exchange[S], beforeErr *wirelab.Error,
) string {
	log, marked := &hookLog{}, true
	service := w.Hooked(wirelab.Hooks{
		Before: func(ctx context.Context, operation string) error {
			log.add("Before " + operation)
			marked = ctx.Value(callKey{}) != nil
			if beforeErr != nil {
				return beforeErr
			}
			return nil
		},
		After: func(operation string) { log.add("After " + operation) },
	})
	got := ask(context.WithValue(context.Background(), callKey{}, true), e, service)
	want, when := answer{err: beforeErr}, "when Before failed"
	if beforeErr == nil {
		want, when = ask(context.Background(), e, w.New()), "with hooks that do nothing"
	}
	fault := differ(got, want)
	switch hooks := fmt.Sprintf("Before %[1]s, After %[1]s", name); {
	case log.String() != hooks:
		return fmt.Sprintf("%s, one call calls the hooks [%s], want [%s]", when, log, hooks)
	case !marked:
		return "Before gets another context than the call's"
	case fault != "":
		return when + ": " + fault
	}
	return ""
}

// endlessFault reads the endless stream: to an error of Item, and then to
// where its reader leaves.
func endlessFault[S any](w wirelab.Workload[S], b Behaviour[S]) string {
	for _, leaves := range []bool{false, true} {
		log, items, read := &hookLog{}, 0, 0
		service := w.Hooked(wirelab.Hooks{
			Item: func(context.Context) error {
				if items++; items > itemsRead {
					return errHooked
				}
				return nil
			},
			After: log.add,
		})
		err := b.Read(context.Background(), service, func() bool { read++; return !leaves })
		var got *wirelab.Error
		if err != nil {
			got = wirelab.Public(err)
		}
		switch {
		case !leaves && (read != itemsRead || got == nil || *got != *errHooked):
			return fmt.Sprintf("%s: Item failed after %d items; Read saw %d and the error %v", b.Stream, itemsRead,
				read, err)
		case leaves && (read != 1 || err != nil):
			return fmt.Sprintf("%s: Read left at the first item, saw %d, and returned %v", b.Stream, read, err)
		case log.String() != b.Stream:
			return fmt.Sprintf("%s: when its reader or Item ends it, After was called for [%s]", b.Stream, log)
		}
	}
	return ""
}
