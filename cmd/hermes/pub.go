package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/client"
	"wirelab/internal/input"
	"wirelab/wire/status"
)

// pubFlags are the flags of "pub".
type pubFlags struct {
	client      clientFlags
	mode, key   string
	headers     []string
	create, raw bool
	asJSON      *bool
}

// modes by their names.
var modes = map[string]hermes.Mode{
	"consistent": hermes.Consistent, "eventual": hermes.Eventual, "performance": hermes.Performance,
}

func newPubCommand(a *app) *cobra.Command {
	var f pubFlags
	c := &cobra.Command{
		Use:   "pub TOPIC [MESSAGE...]",
		Short: "Publish messages",
		Long: `Pub publishes each argument as a message. Without arguments it publishes each line
of standard input. It waits until all messages are acknowledged. --mode says when
that is:

  consistent    when a majority of nodes has it on disk; only the loss of the
                disks of a majority loses it
  eventual      when the leader has it on disk; its offset is not known yet
  performance   when it is in the leader's memory, for those who subscribe now;
                it has no offset and reaches no group

If pub has to send a message again, it is still stored once.`,
		Example: `  hermes pub orders 'one order' 'another' --create
  hermes pub orders --key customer-7 --header kind=new < orders.txt
  hermes pub pictures --raw < picture.png`,
		Args: cli.Arguments(1, -1, "a topic"),
	}
	f.client.register(c)
	flags := c.Flags()
	flags.StringVar(&f.mode, "mode", "consistent",
		"`when` a message is acknowledged: consistent, eventual or performance")
	flags.StringVar(&f.key, "key", "", "`key` of the messages")
	flags.StringArrayVar(&f.headers, "header", nil, "header `name=value` of the messages; can be given several times")
	flags.BoolVar(&f.create, "create", false, "create the topic if it is not there")
	flags.BoolVar(&f.raw, "raw", false, "publish all of standard input as one message")
	f.asJSON = cli.JSONFlag(c)
	c.RunE = func(c *cobra.Command, args []string) error { return a.pub(c.Context(), f, args[0], args[1:]) }
	return c
}

// receiptShown is a line of "pub --json".
type receiptShown struct {
	Topic       string `json:"topic"`
	Offset      uint64 `json:"offset"`
	Time        int64  `json:"time"` // Unix nanoseconds
	Duplicate   bool   `json:"duplicate,omitempty"`
	Provisional bool   `json:"provisional,omitempty"`
	Error       string `json:"error,omitempty"`
}

// pub publishes and tells how it went.
func (a *app) pub(ctx context.Context, f pubFlags, topic string, payloads []string) error {
	mode, known := modes[f.mode]
	if !known {
		return status.UnknownName("mode", f.mode, []string{"consistent", "eventual", "performance"})
	}
	message := hermes.Message{Key: []byte(f.key)}
	for _, h := range f.headers {
		name, value, ok := strings.Cut(h, "=")
		if !ok {
			return cli.Usage("a header is name=value; %.100q is none", h)
		}
		message.Headers = append(message.Headers, hermes.Header{Name: name, Value: []byte(value)})
	}
	c, err := a.dial(ctx, f.client)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }() // Flush has told what there is to tell
	if f.create {
		limited, cancel := context.WithTimeout(ctx, f.client.timeout)
		_, err := c.CreateTopic(limited, broker.Topic{Name: topic})
		cancel()
		if err != nil && status.CodeOf(err) != status.Conflict { // it is there, and keeps messages for another time
			return err
		}
	}
	t := &told{app: a, topic: topic, mode: mode, asJSON: *f.asJSON}
	next := slices.Values(payloads)
	var reading error
	read := func() {}
	if len(payloads) == 0 {
		read = a.Reading()
		from, release, err := input.Ending(ctx, a.Stdin)
		if err != nil {
			return err
		}
		defer release()
		next = messages(from, f.raw, &reading)
	}
	for payload := range next {
		message.Payload = []byte(payload)
		if err = c.Send(ctx, topic, mode, &message, t.done); err != nil {
			break
		}
	}
	read()
	acknowledged := a.Waiting("acknowledgements", f.client.timeout)
	err = errors.Join(err, reading, c.Flush(ctx))
	acknowledged()
	return t.end(ctx, err)
}

// messages yields the messages of standard input.
func messages(r io.Reader, raw bool, failed *error) func(func(string) bool) {
	return func(yield func(string) bool) {
		if raw {
			data, err := io.ReadAll(io.LimitReader(r, hermes.PayloadLimit+1))
			if *failed = err; err == nil {
				yield(string(data))
			}
			return
		}
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, hermes.PayloadLimit+1)
		for lines.Scan() {
			if !yield(lines.Text()) {
				return
			}
		}
		if *failed = lines.Err(); errors.Is(*failed, bufio.ErrTooLong) {
			*failed = status.Errorf(status.InvalidArgument,
				"a line has more than %d bytes, which is the most that a message may have", hermes.PayloadLimit)
		}
	}
}

// told counts answers. done is called by the client's goroutine.
type told struct {
	app    *app
	topic  string
	mode   hermes.Mode
	asJSON bool

	mu              sync.Mutex // guards all below
	stored          int
	first, last     uint64
	failed          int
	failure, output error
}

func (t *told) done(r client.Receipt, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	shown := receiptShown{
		Topic: t.topic, Offset: r.Offset, Time: r.Time, Duplicate: r.Duplicate,
		Provisional: r.Provisional,
	}
	if err != nil {
		t.failed++
		if t.failure == nil {
			t.failure = err
		}
		shown.Error = status.Public(err).Error()
	} else {
		if t.stored == 0 || r.Offset < t.first {
			t.first = r.Offset
		}
		t.last = max(t.last, r.Offset)
		t.stored++
	}
	if t.asJSON && t.output == nil {
		t.output = t.app.PrintJSON(shown)
	}
}

// end says how it went.
func (t *told) end(ctx context.Context, err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.asJSON && t.stored > 0 {
		where := ""
		if t.mode == hermes.Consistent {
			where = fmt.Sprintf(", offsets %d to %d", t.first, t.last)
		}
		if e := t.app.Printf("published %d to %s%s\n", t.stored, t.topic, where); e != nil {
			return e
		}
	}
	switch {
	case t.output != nil:
		return t.output
	case ctx.Err() != nil:
		return ctx.Err()
	case t.failure != nil && t.failed > 1:
		return fmt.Errorf("%d messages were not acknowledged, the first since: %w", t.failed, t.failure)
	case t.failure != nil:
		return t.failure
	}
	return err
}
