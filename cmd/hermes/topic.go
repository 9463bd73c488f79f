package main

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"wirelab/cmd/internal/cli"
	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/client"
)

// page is how many topics are asked for at once.
const page = 1000

func newTopicCommand(a *app) *cobra.Command {
	c := cli.Group(&cobra.Command{
		Use: "topic", Short: "List, create, change and delete topics",
		Example: "  hermes topic list\n  hermes topic create orders --keep-age 168h --keep-bytes 10GiB",
	})
	c.AddCommand(newTopicList(a),
		newTopicChange(a, "create", "Create a topic; no error if it is there with the same retention",
			(*client.Client).CreateTopic),
		newTopicChange(a, "configure", "Change how long a topic keeps messages", (*client.Client).ConfigureTopic),
		newTopicShow(a),
		newDeleteCommand(a, "delete TOPIC", "Delete a topic with its messages and groups", "a topic",
			"topic delete orders",
			func(b *client.Client, ctx context.Context, args []string) error { return b.DeleteTopic(ctx, args[0]) }))
	return c
}

// topicShown is a topic in JSON.
type topicShown struct {
	Name           string `json:"name"`
	ID             uint32 `json:"id"`
	First          uint64 `json:"first"` // the oldest offset kept
	Next           uint64 `json:"next"`  // the offset of the next message
	Bytes          uint64 `json:"bytes"`
	Created        int64  `json:"created"`       // Unix nanoseconds
	RetentionAge   int64  `json:"retention_age"` // nanoseconds; 0: for ever
	RetentionBytes uint64 `json:"retention_bytes"`
	Subscribers    int    `json:"subscribers"`
}

func (a *app) showTopics(topics []broker.Topic, asJSON bool) error {
	if asJSON {
		for _, t := range topics {
			if err := a.PrintJSON(topicShown(t)); err != nil {
				return err
			}
		}
		return nil
	}
	rows := [][]string{{"TOPIC", "FIRST", "NEXT", "BYTES", "KEEPS", "SUBSCRIBERS"}}
	for _, t := range topics {
		keeps := "all"
		if t.RetentionAge > 0 {
			keeps = time.Duration(t.RetentionAge).String()
		}
		if t.RetentionBytes > 0 {
			limit := size(t.RetentionBytes)
			if keeps == "all" {
				keeps = ""
			} else {
				keeps += ", "
			}
			keeps += limit.String()
		}
		rows = append(rows, []string{
			t.Name, strconv.FormatUint(t.First, 10), strconv.FormatUint(t.Next, 10),
			strconv.FormatUint(t.Bytes, 10), keeps, strconv.Itoa(t.Subscribers),
		})
	}
	return a.PrintTable(rows)
}

func newTopicList(a *app) *cobra.Command {
	var f clientFlags
	c := &cobra.Command{
		Use: "list [PREFIX]", Short: "List topics", Args: cli.Arguments(0, 1, "a prefix"),
		Example: "  hermes topic list orders.",
	}
	f.register(c)
	asJSON := cli.JSONFlag(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		prefix := ""
		if len(args) > 0 {
			prefix = args[0]
		}
		return a.ask(c.Context(), f, func(ctx context.Context, b *client.Client) error {
			var all []broker.Topic
			for after := ""; ; {
				some, err := b.ListTopics(ctx, prefix, after, page)
				if err != nil {
					return err
				}
				all = append(all, some...)
				if len(some) < page || len(all) >= hermes.TopicsLimit {
					return a.showTopics(all, *asJSON)
				}
				after = some[len(some)-1].Name
			}
		})
	}
	return c
}

func newTopicChange(a *app, name, short string, do func(*client.Client, context.Context,
	broker.Topic) (broker.Topic, error),
) *cobra.Command {
	var f clientFlags
	var age time.Duration
	var bytes size
	c := &cobra.Command{
		Use: name + " TOPIC", Short: short, Args: cli.Arguments(1, 1, "a topic"),
		Example: "  hermes topic " + name + " orders --keep-age 168h",
	}
	f.register(c)
	c.Flags().DurationVar(&age, "keep-age", 0, "how long messages are kept, as a `time`; 0: for ever")
	c.Flags().Var(&bytes, "keep-bytes", "how much of the newest messages is kept; 0: all")
	asJSON := cli.JSONFlag(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.ask(c.Context(), f, func(ctx context.Context, b *client.Client) error {
			t, err := do(b, ctx, broker.Topic{Name: args[0], RetentionAge: int64(age), RetentionBytes: uint64(bytes)})
			if err != nil {
				return err
			}
			return a.showTopics([]broker.Topic{t}, *asJSON)
		})
	}
	return c
}

func newTopicShow(a *app) *cobra.Command {
	var f clientFlags
	c := &cobra.Command{
		Use: "show TOPIC", Short: "Show a topic", Args: cli.Arguments(1, 1, "a topic"),
		Example: "  hermes topic show orders --linearizable",
	}
	f.register(c)
	linearizable := c.Flags().Bool("linearizable", false, "include everything that was acknowledged before")
	asJSON := cli.JSONFlag(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.ask(c.Context(), f, func(ctx context.Context, b *client.Client) error {
			t, err := b.Topic(ctx, args[0], *linearizable)
			if err != nil {
				return err
			}
			return a.showTopics([]broker.Topic{t}, *asJSON)
		})
	}
	return c
}

// newDeleteCommand makes a command that deletes what its arguments name, all of which
// must be given, and says nothing.
func newDeleteCommand(a *app, use, short, what, example string, do func(*client.Client, context.Context,
	[]string) error,
) *cobra.Command {
	var f clientFlags
	count := len(strings.Fields(use)) - 1
	c := &cobra.Command{Use: use, Short: short, Args: cli.Arguments(count, count, what), Example: "  hermes " + example}
	f.register(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.ask(c.Context(), f, func(ctx context.Context, b *client.Client) error { return do(b, ctx, args) })
	}
	return c
}
