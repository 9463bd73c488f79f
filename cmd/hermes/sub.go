package main

import (
	"context"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
	"wirelab/hermes"
	"wirelab/hermes/broker"
)

// subFlags are the flags of "sub".
type subFlags struct {
	client        clientFlags
	from, group   string
	inFlight      int
	count         int
	create, noAck bool
	asJSON        *bool
}

func newSubCommand(a *app) *cobra.Command {
	var f subFlags
	c := &cobra.Command{
		Use:   "sub TOPIC",
		Short: "Subscribe to a topic and print its messages",
		Long: `Sub prints the messages of a topic, one on a line, until Ctrl-C or until it has
--count of them. With --json each line also has the offset, time, key and headers.
A payload that is not text is in payload_base64.

The members of a group share its messages. Sub acknowledges each message when it
has printed it. Without a group, every subscriber gets all messages.`,
		Example: `  hermes sub orders
  hermes sub orders --from oldest --count 10
  hermes sub orders --from 2026-11-22T08:00:00Z --json
  hermes sub orders --group billing`,
		Args: cli.Arguments(1, 1, "a topic"),
	}
	f.client.register(c)
	flags := c.Flags()
	flags.StringVar(&f.from, "from", "", "`where` to begin: tail, oldest, an offset, or a time such as "+
		"2026-11-22T08:00:00Z (default tail)")
	flags.StringVar(&f.group, "group", "", "be a member of this `group`; a new group starts at the oldest message")
	flags.IntVar(&f.inFlight, "in-flight", 0, "`messages` of the group to hold at once (default "+
		strconv.Itoa(hermes.InFlight)+")")
	flags.IntVar(&f.count, "count", 0, "end after that `number` of messages")
	flags.BoolVar(&f.create, "create", false, "create the topic if it is not there")
	flags.BoolVar(&f.noAck, "no-ack", false, "acknowledge nothing; the group gets the messages again")
	f.asJSON = cli.JSONFlag(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		start, err := f.start(args[0])
		if err != nil {
			return err
		}
		return a.sub(c.Context(), f, start)
	}
	return c
}

// start is where to begin.
func (f subFlags) start(topic string) (broker.Start, error) {
	start := broker.Start{Topic: topic, Create: f.create, InFlight: f.inFlight}
	if f.group != "" {
		if f.from != "" {
			return start, cli.Usage("a group begins where it is: give --group or --from; hermes group seek moves one")
		}
		start.From, start.Group = broker.FromGroup, f.group
		return start, nil
	}
	if f.noAck || f.inFlight != 0 {
		return start, cli.Usage("--no-ack and --in-flight are for a --group")
	}
	err := beginning(f.from, &start)
	return start, err
}

// beginning reads tail, oldest, an offset or a time; "" leaves what there is.
func beginning(text string, start *broker.Start) error {
	if text == "" {
		return nil
	}
	if offset, err := strconv.ParseUint(text, 10, 64); err == nil {
		start.From, start.Offset = broker.FromOffset, offset
		return nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		start.From, start.Time = broker.FromTime, at.UnixNano()
		return nil
	}
	switch text {
	case "tail":
		start.From = broker.FromTail
	case "oldest":
		start.From = broker.FromOldest
	default:
		return cli.Usage("where to begin is tail, oldest, an offset or a time such as 2026-11-22T08:00:00Z; %.100q "+
			"is none",
			text)
	}
	return nil
}

// deliveredShown is a line of "sub --json".
type deliveredShown struct {
	Topic   string        `json:"topic"`
	Offset  uint64        `json:"offset"`
	Time    int64         `json:"time"` // Unix nanoseconds
	Attempt uint32        `json:"attempt,omitempty"`
	Key     string        `json:"key,omitempty"`
	Headers []headerShown `json:"headers,omitempty"`
	Payload *string       `json:"payload,omitempty"`
	Base64  []byte        `json:"payload_base64,omitempty"`
}

type headerShown struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// sub prints messages. Ctrl-C is how one that has no count ends.
func (a *app) sub(ctx context.Context, f subFlags, start broker.Start) (err error) {
	c, err := a.dial(ctx, f.client)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }() // the subscription has told what there is to tell
	opening, cancel := context.WithTimeout(ctx, f.client.timeout)
	opened := a.Waiting("the subscription", f.client.timeout)
	s, err := c.SubscribeFor(opening, start, f.count)
	opened()
	cancel()
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	}
	a.Idle(ctx, "ending the subscription")
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), f.client.timeout)
		defer cancel()
		if closed := s.Close(closing); err == nil {
			err = closed
		}
	}()
	for n := 0; f.count == 0 || n < f.count; n++ {
		m, err := s.Next(ctx)
		if err != nil {
			switch {
			case ctx.Err() == nil:
				return err
			case f.count > 0: // it was to be more
				return ctx.Err()
			}
			return nil
		}
		if m.Gap != nil {
			a.Note("retention took what was to come: offsets %d to %d of %s are gone", m.Gap.First, m.Gap.Last, m.Topic)
		}
		if err := a.show(m, *f.asJSON); err != nil {
			return err
		}
		if start.Group != "" && !f.noAck {
			if err := s.Ack(ctx, broker.Range{First: m.Offset, Last: m.Offset}); err != nil && ctx.Err() == nil {
				return err
			}
		}
	}
	return nil
}

// show prints a message.
func (a *app) show(m hermes.Delivered, asJSON bool) error {
	if !asJSON {
		return a.Printf("%s\n", m.Payload)
	}
	shown := deliveredShown{Topic: m.Topic, Offset: m.Offset, Time: m.Time, Attempt: m.Attempt, Key: string(m.Key)}
	for _, h := range m.Headers {
		shown.Headers = append(shown.Headers, headerShown{h.Name, string(h.Value)})
	}
	if utf8.Valid(m.Payload) {
		text := string(m.Payload)
		shown.Payload = &text
	} else {
		shown.Base64 = m.Payload
	}
	return a.PrintJSON(shown)
}
