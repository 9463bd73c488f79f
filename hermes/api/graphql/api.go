package graphql

import (
	"cmp"
	"context"
	"net/http"
	"strings"
	"time"

	engine "github.com/99designs/gqlgen/graphql"

	"wirelab/hermes"
	"wirelab/hermes/api/graphql/gen"
	"wirelab/hermes/api/graphql/gen/genorigin"
	"wirelab/hermes/api/intake"
	"wirelab/hermes/api/register"
	"wirelab/hermes/broker"
	"wirelab/wire/graphql"
	"wirelab/wire/status"
)

// Where the schemas are answered.
const (
	Path       = "/graphql"
	OriginPath = "/query"
)

// heartbeatUsual is below what proxies take for a dead connection, 30 s at the least.
const heartbeatUsual = 15 * time.Second

// callTime is how long a question to the broker may take, unless its caller has less.
const callTime = 30 * time.Second

// Config is what an API is made of. The zero values but for Broker are usable.
type Config struct {
	Broker broker.Broker
	// Origins are those of pages that may open WebSockets, such as "https://example.com", in addition to the
	// server's own.
	Origins []string
	// Intake bounds the bytes of messages over WebSockets; those of bodies package rest counts. nil: none is bound.
	Intake *intake.Intake
	// Register is where subscriptions are noted, and bounded; nil: its own.
	Register *register.Register
	// Heartbeat is after how long without an event a subscription over server-sent events writes a
	// comment; 0: 15 s.
	Heartbeat time.Duration
}

// Handlers returns what makes the handlers for [Path] and [OriginPath], by these, to be mounted on package
// rest's API. Their subscriptions end as ending does (hb-D31). It refuses a Config without a broker.
func Handlers(config Config) (map[string]func(ending context.Context) http.Handler, error) {
	if config.Broker == nil {
		return nil, status.Errorf(status.InvalidArgument, "the API has no broker")
	}
	if config.Register == nil {
		config.Register = register.New(0)
	}
	mount := func(schema func(*api) engine.ExecutableSchema) func(context.Context) http.Handler {
		return func(ending context.Context) http.Handler {
			d := &api{broker: config.Broker, open: config.Register, ending: ending}
			return answering(ending, schema(d), config)
		}
	}
	origin := mount(originSchema)
	plain := func(ending context.Context) http.Handler {
		next := origin(ending)
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.Contains(r.Header.Get("Accept"), mediaResponse) {
				w = plainly{w}
			}
			next.ServeHTTP(w, r)
		})
	}
	return map[string]func(context.Context) http.Handler{Path: mount(schema), OriginPath: plain}, nil
}

// answering answers a schema over WebSockets and over HTTP, at any path.
func answering(ending context.Context, schema engine.ExecutableSchema, config Config) http.Handler {
	sockets := graphql.Sockets(ending, schema, config.Origins, config.counted())
	posts := graphql.Handler(schema, cmp.Or(config.Heartbeat, heartbeatUsual))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = r.WithContext(graphql.Permanent(r.Context()))
		if r.Method == http.MethodGet && strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
			sockets.ServeHTTP(w, r)
			return
		}
		moved := r.WithContext(r.Context())
		at := *r.URL
		at.Path = graphql.Path // where that handler answers
		moved.URL = &at
		posts.ServeHTTP(w, moved)
	})
}

// counted is how messages of WebSockets are read.
func (c *Config) counted() graphql.Counted {
	if c.Intake == nil {
		return nil
	}
	return c.Intake.Reader
}

// schema has the lists cost what they hold, or one document could ask for a page
// under a hundred names.
func schema(d *api) engine.ExecutableSchema {
	config := gen.Config{Resolvers: root{d}}
	config.Complexity.Query.Topics = func(inside int, _, _ string, limit int32) int {
		return 1 + int(max(limit, 1))*inside
	}
	const groups = 10 // of a topic, for want of knowing
	config.Complexity.Topic.Groups = func(inside int) int { return 1 + groups*inside }
	return gen.NewExecutableSchema(config)
}

func originSchema(d *api) engine.ExecutableSchema {
	return genorigin.NewExecutableSchema(genorigin.Config{Resolvers: originRoot{d}})
}

// api is what the resolvers of both schemas stand on.
type api struct {
	broker broker.Broker
	open   *register.Register
	ending context.Context
}

// publish publishes runs in their order and waits for their verdicts, or for the end of the call: no one knows
// then what became of those that are missing. The runs' bytes are not used again (hb-D14).
func (d *api) publish(ctx context.Context, runs ...broker.Run) []broker.Verdict {
	type answer struct {
		at int
		v  broker.Verdict
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	answers := make(chan answer, len(runs)) // each answers once, so that a late verdict waits for none of them
	verdicts := make([]broker.Verdict, len(runs))
	for i, run := range runs {
		verdicts[i].Err = status.Errorf(status.DeadlineExceeded, "there was no answer in time")
		d.broker.Publish(ctx, run, func(v broker.Verdict) { answers <- answer{i, v} })
	}
	for range runs {
		select {
		case a := <-answers:
			verdicts[a.at] = a.v
		case <-ctx.Done():
			return verdicts
		}
	}
	return verdicts
}

// ask asks the broker within the time that a call may take. Errors are made fit to
// be told.
func ask[Reply, Shown any](ctx context.Context, call func(context.Context) (Reply, error),
	show func(Reply) Shown,
) (shown Shown, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	reply, err := call(ctx)
	if err != nil {
		return shown, told(err)
	}
	return show(reply), nil
}

// reasonKey is the key in an error's extensions of what its code does not tell.
const reasonKey = "reason"

// told returns the part of a broker error that callers may see, with its reason.
func told(err error) error {
	if reason := broker.Reason(err); reason != "" {
		return graphql.Noted(err, map[string]string{reasonKey: reason})
	}
	return graphql.Told(err)
}

// names refuses names of a topic and, if there is one, a group that are none.
func names(topic string, group ...string) error {
	if err := hermes.CheckTopic(topic); err != nil {
		return err
	}
	for _, name := range group {
		if err := hermes.CheckGroup(name); err != nil {
			return err
		}
	}
	return nil
}
