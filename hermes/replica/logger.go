package replica

import (
	"context"
	"fmt"
	"log/slog"

	"go.etcd.io/raft/v3"
)

// silent is the logger of callers that want none: the library's own default writes to stderr.
type silent struct{}

var _ raft.Logger = silent{}

func (silent) Debug(...any)            {}
func (silent) Debugf(string, ...any)   {}
func (silent) Info(...any)             {}
func (silent) Infof(string, ...any)    {}
func (silent) Warning(...any)          {}
func (silent) Warningf(string, ...any) {}
func (silent) Error(...any)            {}
func (silent) Errorf(string, ...any)   {}
func (silent) Fatal(v ...any)          { silent{}.Panic(v...) }
func (silent) Fatalf(f string, v ...any) {
	silent{}.Panicf(f, v...)
}

// Panic panics: the library calls it when the log is not what it must be, and expects no return.
func (silent) Panic(v ...any) { panic(fmt.Sprint(v...)) }

// Panicf panics, as Panic does.
func (silent) Panicf(f string, v ...any) { panic(fmt.Sprintf(f, v...)) }

// Logger lets Raft's account of itself go to a slog.Logger. It holds terms, indices and ids, never data. What
// the library calls information is for debugging it: it has a line for every other message under load, of which
// a follower wrote hundreds a second. Who leads the node itself logs.
func Logger(to *slog.Logger) raft.Logger { return logger{to: to} }

type logger struct {
	silent
	to *slog.Logger
}

func (l logger) write(level slog.Level, text func() string) {
	if l.to.Enabled(context.Background(), level) {
		l.to.Log(context.Background(), level, text())
	}
}

func (l logger) print(level slog.Level, v []any) {
	l.write(level, func() string { return fmt.Sprint(v...) })
}

func (l logger) printf(level slog.Level, f string, v []any) {
	l.write(level, func() string { return fmt.Sprintf(f, v...) })
}

func (l logger) Debug(v ...any)              { l.print(slog.LevelDebug, v) }
func (l logger) Debugf(f string, v ...any)   { l.printf(slog.LevelDebug, f, v) }
func (l logger) Info(v ...any)               { l.print(slog.LevelDebug, v) }
func (l logger) Infof(f string, v ...any)    { l.printf(slog.LevelDebug, f, v) }
func (l logger) Warning(v ...any)            { l.print(slog.LevelWarn, v) }
func (l logger) Warningf(f string, v ...any) { l.printf(slog.LevelWarn, f, v) }
func (l logger) Error(v ...any)              { l.print(slog.LevelError, v) }
func (l logger) Errorf(f string, v ...any)   { l.printf(slog.LevelError, f, v) }
