package conformance

import (
	"context"
	"log/slog"
	"strings"
	"testing"
)

// quieten keeps the servers' reports of the panics that the suite plants, a
// stack each, out of its output until the test ends. All else is still logged.
func quieten(t *testing.T) {
	t.Helper()
	before := slog.Default()
	slog.SetDefault(slog.New(unplanted{slog.NewTextHandler(t.Output(), nil)}))
	t.Cleanup(func() { slog.SetDefault(before) })
}

// unplanted drops what tells of a planted panic.
type unplanted struct{ slog.Handler }

func (h unplanted) Handle(ctx context.Context, record slog.Record) error {
	planted := false
	record.Attrs(func(a slog.Attr) bool {
		planted = strings.Contains(a.Value.String(), plantedPanic)
		return !planted
	})
	if planted {
		return nil
	}
	return h.Handler.Handle(ctx, record)
}

func (h unplanted) WithAttrs(all []slog.Attr) slog.Handler {
	return unplanted{h.Handler.WithAttrs(all)}
}

func (h unplanted) WithGroup(name string) slog.Handler {
	return unplanted{h.Handler.WithGroup(name)}
}
