package conformance

import (
	"context"
	"log/slog"
	"strings"
	"testing"
)

// quieten keeps the servers' reports of the panics that the suite injects, a
// stack each, out of its output until the test ends. All else is still logged.
func quieten(t *testing.T) {
	t.Helper()
	before := slog.Default()
	slog.SetDefault(slog.New(withoutInjected{slog.NewTextHandler(t.Output(), nil)}))
	t.Cleanup(func() { slog.SetDefault(before) })
}

// withoutInjected drops log lines about an injected panic.
type withoutInjected struct{ slog.Handler }

func (h withoutInjected) Handle(ctx context.Context, record slog.Record) error {
	injected := false
	record.Attrs(func(a slog.Attr) bool {
		injected = strings.Contains(a.Value.String(), injectedPanic)
		return !injected
	})
	if injected {
		return nil
	}
	return h.Handler.Handle(ctx, record)
}

func (h withoutInjected) WithAttrs(all []slog.Attr) slog.Handler {
	return withoutInjected{h.Handler.WithAttrs(all)}
}

func (h withoutInjected) WithGroup(name string) slog.Handler {
	return withoutInjected{h.Handler.WithGroup(name)}
}
