package workqueue

import (
	"time"

	"wirelab"
)

// Defaults that Complete sets for zero values.
const (
	defaultPrefetch = 512 // spreads the cost of commits: with 64 a log entry cost a third more CPU over all processes
	defaultAttempts = 5
	defaultRetry    = 200 * time.Millisecond
	defaultBuffer   = 1024
)

// Maxima of the options. They catch typing errors that no broker could honour: RabbitMQ, for one, takes no prefetch
// above 65,535.
const (
	prefetchLimit = 65_535
	attemptsLimit = 1_000
	retryLimit    = 24 * time.Hour
	bufferLimit   = 1 << 20
)

// Check reports whether the message may be published: nil or InvalidArgument.
func Check(m Message) error {
	if len(m.ID) == 0 || len(m.ID) > IDLimit {
		return wirelab.Errorf(wirelab.InvalidArgument, "a message's id has 1 to %d bytes, this one %d", IDLimit,
			len(m.ID))
	}
	for i := range len(m.ID) {
		if m.ID[i] <= ' ' || m.ID[i] > '~' {
			return wirelab.Errorf(wirelab.InvalidArgument,
				"a message's id is printable ASCII without spaces, %q is not", m.ID)
		}
	}
	if len(m.Body) == 0 || len(m.Body) > BodyLimit {
		return wirelab.Errorf(wirelab.InvalidArgument, "a message's body has 1 to %d bytes, this one %d",
			BodyLimit, len(m.Body))
	}
	return nil
}

// Complete returns the options with defaults for zero values, except Kind, whose default the broker chooses. It
// validates nothing.
func (o Options) Complete() Options {
	if o.Prefetch == 0 {
		o.Prefetch = defaultPrefetch
	}
	if o.Attempts == 0 {
		o.Attempts = defaultAttempts
	}
	if o.Retry == 0 {
		o.Retry = defaultRetry
	}
	if o.Buffer == 0 {
		o.Buffer = defaultBuffer
	}
	return o
}

// Validate reports whether completed options can be used: nil or InvalidArgument.
func (o Options) Validate() error {
	if len(o.Name) == 0 || len(o.Name) > NameLimit {
		return wirelab.Errorf(wirelab.InvalidArgument, "a queue's name has 1 to %d bytes, this one %d",
			NameLimit, len(o.Name))
	}
	for i := range len(o.Name) {
		if c := o.Name[i]; (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' &&
			c != '_' {
			return wirelab.Errorf(wirelab.InvalidArgument, "a queue's name is made of A-Z a-z 0-9 - _, %q is not",
				o.Name)
		}
	}
	switch o.Kind {
	case "", Quorum, Classic, Stream:
	default:
		return wirelab.Errorf(wirelab.InvalidArgument, "a queue's kind is %s, %s or %s, not %q",
			Quorum, Classic, Stream, o.Kind)
	}
	for _, n := range []struct {
		what       string
		value, max int64
	}{
		{"prefetch", int64(o.Prefetch), prefetchLimit},
		{"attempts", int64(o.Attempts), attemptsLimit},
		{"buffer", int64(o.Buffer), bufferLimit},
	} {
		if n.value < 1 || n.value > n.max {
			return wirelab.Errorf(wirelab.InvalidArgument, "a queue's %s is 1 to %d, not %d", n.what, n.max, n.value)
		}
	}
	if o.Retry < time.Millisecond || o.Retry > retryLimit {
		return wirelab.Errorf(wirelab.InvalidArgument, "a queue's retry is 1 ms to %v, not %v", retryLimit, o.Retry)
	}
	return nil
}
