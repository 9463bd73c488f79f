package main

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/client"
)

func newGroupCommand(a *app) *cobra.Command {
	c := cli.Group(&cobra.Command{
		Use: "group", Short: "List, create, move and delete groups",
		Example: "  hermes group list orders\n  hermes group seek orders billing --to oldest",
	})
	c.AddCommand(newGroupList(a), newGroupShow(a), newGroupCreate(a), newGroupSeek(a),
		newDeleteCommand(a, "delete TOPIC GROUP", "Delete a group", "a topic and a group",
			"group delete orders billing",
			func(b *client.Client, ctx context.Context, args []string) error {
				return b.DeleteGroup(ctx, args[0], args[1])
			}))
	return c
}

// groupShown is a group in JSON.
type groupShown struct {
	Topic       string       `json:"topic"`
	Name        string       `json:"name"`
	AckTimeout  int64        `json:"ack_timeout"` // nanoseconds
	MaxAttempts uint32       `json:"max_attempts"`
	Floor       uint64       `json:"floor"` // all before it is dealt with
	Acked       []rangeShown `json:"acked"` // above it
	Lag         uint64       `json:"lag"`
	Dead        uint64       `json:"dead"`
	Trimmed     uint64       `json:"trimmed"` // messages that retention took before they were dealt with
	Members     int          `json:"members"`
	InFlight    int          `json:"in_flight"`
	Redelivered uint64       `json:"redelivered"`
}

type rangeShown struct {
	First uint64 `json:"first"`
	Last  uint64 `json:"last"` // inclusive
}

func (a *app) showGroups(groups []broker.Group, asJSON bool) error {
	rows := [][]string{{"TOPIC", "GROUP", "FLOOR", "LAG", "MEMBERS", "IN FLIGHT", "REDELIVERED", "DEAD", "TRIMMED"}}
	for _, g := range groups {
		if asJSON {
			shown := groupShown{
				Topic: g.Topic, Name: g.Name, AckTimeout: g.AckTimeout, MaxAttempts: g.MaxAttempts, Floor: g.Floor,
				Acked: []rangeShown{},
				Lag:   g.Lag, Dead: g.Dead, Trimmed: g.Trimmed, Members: g.Members, InFlight: g.InFlight,
				Redelivered: g.Redelivered,
			}
			for _, r := range g.Acked {
				shown.Acked = append(shown.Acked, rangeShown(r))
			}
			if err := a.PrintJSON(shown); err != nil {
				return err
			}
			continue
		}
		rows = append(rows, []string{
			g.Topic, g.Name, strconv.FormatUint(g.Floor, 10), strconv.FormatUint(g.Lag, 10), strconv.Itoa(g.Members),
			strconv.Itoa(g.InFlight), strconv.FormatUint(g.Redelivered, 10), strconv.FormatUint(g.Dead, 10),
			strconv.FormatUint(g.Trimmed, 10),
		})
	}
	if asJSON {
		return nil
	}
	return a.PrintTable(rows)
}

// groupCommand makes a command about one group, or a topic's.
func (a *app) groupCommand(use, short string, least int, example string) (*cobra.Command, *clientFlags, *bool) {
	f := new(clientFlags)
	what := "a topic and a group"
	if least == 1 {
		what = "a topic"
	}
	c := &cobra.Command{Use: use, Short: short, Args: cli.Arguments(least, least, what), Example: "  hermes group " +
		example}
	f.register(c)
	return c, f, cli.JSONFlag(c)
}

func newGroupList(a *app) *cobra.Command {
	c, f, asJSON := a.groupCommand("list TOPIC", "List a topic's groups", 1, "list orders")
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.ask(c.Context(), *f, func(ctx context.Context, b *client.Client) error {
			groups, err := b.ListGroups(ctx, args[0])
			if err != nil {
				return err
			}
			return a.showGroups(groups, *asJSON)
		})
	}
	return c
}

func newGroupShow(a *app) *cobra.Command {
	c, f, asJSON := a.groupCommand("show TOPIC GROUP", "Show a group", 2, "show orders billing")
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.ask(c.Context(), *f, func(ctx context.Context, b *client.Client) error {
			g, err := b.Group(ctx, args[0], args[1])
			if err != nil {
				return err
			}
			return a.showGroups([]broker.Group{g}, *asJSON)
		})
	}
	return c
}

func newGroupCreate(a *app) *cobra.Command {
	c, f, asJSON := a.groupCommand("create TOPIC GROUP", "Create a group", 2, "create orders billing --from tail "+
		"--ack-timeout 1m")
	from := c.Flags().String("from", "oldest", "`where` it begins: tail, oldest, an offset, or a time")
	timeout := c.Flags().Duration("ack-timeout", hermes.AckTimeout,
		"deliver a message again if it is not acknowledged "+
			"in this `time`")
	attempts := c.Flags().Uint32("max-attempts", hermes.MaxAttempts, "number of `times` a message is delivered before "+
		"it becomes a dead letter")
	c.RunE = func(c *cobra.Command, args []string) error {
		var start broker.Start
		if err := beginning(*from, &start); err != nil {
			return err
		}
		return a.ask(c.Context(), *f, func(ctx context.Context, b *client.Client) error {
			want := broker.Group{
				Topic: args[0], Name: args[1], AckTimeout: int64(*timeout / time.Nanosecond),
				MaxAttempts: *attempts,
			}
			g, err := b.CreateGroup(ctx, want, start)
			if err != nil {
				return err
			}
			return a.showGroups([]broker.Group{g}, *asJSON)
		})
	}
	return c
}

func newGroupSeek(a *app) *cobra.Command {
	c, f, asJSON := a.groupCommand("seek TOPIC GROUP", "Move a group to another position", 2,
		"seek orders billing --to oldest")
	to := c.Flags().String("to", "", "`where`: tail, oldest, an offset, or a time")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *to == "" {
			return cli.Usage("say where the group is to go: --to")
		}
		var start broker.Start
		if err := beginning(*to, &start); err != nil {
			return err
		}
		return a.ask(c.Context(), *f, func(ctx context.Context, b *client.Client) error {
			g, err := b.SeekGroup(ctx, args[0], args[1], start)
			if err != nil {
				return err
			}
			return a.showGroups([]broker.Group{g}, *asJSON)
		})
	}
	return c
}
