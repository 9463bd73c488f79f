package access_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"wirelab/hermes"
	"wirelab/hermes/access"
	"wirelab/hermes/broker"
	"wirelab/hermes/broker/brokertest"
	"wirelab/wire/status"
)

func memory(t testing.TB, topics ...string) *brokertest.InMemory {
	t.Helper()
	m := brokertest.Memory()
	t.Cleanup(m.Close)
	for _, name := range topics {
		if _, err := m.CreateTopic(t.Context(), broker.Topic{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func run(topic string, payloads ...string) broker.Run {
	return broker.Run{Topic: topic, Messages: brokertest.Messages(payloads...), Count: len(payloads)}
}

// caller calls a broker as one principal, whatever the context.
type caller struct {
	broker.Broker
	as func(context.Context) context.Context
}

func (c caller) Publish(ctx context.Context, r broker.Run, done func(broker.Verdict)) {
	c.Broker.Publish(c.as(ctx), r, done)
}

func (c caller) Subscribe(ctx context.Context, s broker.Start) (broker.Feed, error) {
	return c.Broker.Subscribe(c.as(ctx), s)
}

func (c caller) OpenProducer(ctx context.Context) (uint64, error) {
	return c.Broker.OpenProducer(c.as(ctx))
}

func (c caller) Cut(ctx context.Context, topics []string) (broker.Cut, error) {
	cut, err := c.Broker.Cut(c.as(ctx), topics)
	if err != nil {
		return nil, err
	}
	return callerCut{cut, c}, nil
}

func (c caller) Restore(ctx context.Context, step broker.Restore) (broker.Restored, error) {
	return c.Broker.Restore(c.as(ctx), step)
}

// callerCut is a cut that one principal reads.
type callerCut struct {
	broker.Cut
	caller caller
}

func (c callerCut) Next(ctx context.Context, limit int) (broker.Part, error) {
	return c.Cut.Next(c.caller.as(ctx), limit)
}

func (c caller) CreateTopic(ctx context.Context, t broker.Topic) (broker.Topic, error) {
	return c.Broker.CreateTopic(c.as(ctx), t)
}

func (c caller) ConfigureTopic(ctx context.Context, t broker.Topic) (broker.Topic, error) {
	return c.Broker.ConfigureTopic(c.as(ctx), t)
}

func (c caller) DeleteTopic(ctx context.Context, name string) error {
	return c.Broker.DeleteTopic(c.as(ctx), name)
}

func (c caller) Topic(ctx context.Context, name string, l bool) (broker.Topic, error) {
	return c.Broker.Topic(c.as(ctx), name, l)
}

func (c caller) ListTopics(ctx context.Context, prefix, after string, limit int) ([]broker.Topic, error) {
	return c.Broker.ListTopics(c.as(ctx), prefix, after, limit)
}

func (c caller) CreateGroup(ctx context.Context, g broker.Group, s broker.Start) (broker.Group, error) {
	return c.Broker.CreateGroup(c.as(ctx), g, s)
}

func (c caller) SeekGroup(ctx context.Context, topic, name string, to broker.Start) (broker.Group, error) {
	return c.Broker.SeekGroup(c.as(ctx), topic, name, to)
}

func (c caller) DeleteGroup(ctx context.Context, topic, name string) error {
	return c.Broker.DeleteGroup(c.as(ctx), topic, name)
}

func (c caller) Group(ctx context.Context, topic, name string) (broker.Group, error) {
	return c.Broker.Group(c.as(ctx), topic, name)
}

func (c caller) ListGroups(ctx context.Context, topic string) ([]broker.Group, error) {
	return c.Broker.ListGroups(c.as(ctx), topic)
}

func (c caller) Status(ctx context.Context) (broker.Status, error) {
	return c.Broker.Status(c.as(ctx))
}

func (c caller) Join(ctx context.Context, m broker.Member) (broker.Status, error) {
	return c.Broker.Join(c.as(ctx), m)
}

func (c caller) Promote(ctx context.Context, id uint64) (broker.Status, error) {
	return c.Broker.Promote(c.as(ctx), id)
}

func (c caller) Remove(ctx context.Context, id uint64) (broker.Status, error) {
	return c.Broker.Remove(c.as(ctx), id)
}

func (c caller) TransferLeadership(ctx context.Context, to uint64) (broker.Status, error) {
	return c.Broker.TransferLeadership(c.as(ctx), to)
}

// A principal with all rights sees a broker that keeps the whole contract.
func TestContract(t *testing.T) {
	p, all := policy(t, "principals:\n  - {name: root, tokens: [$root], publish: [\"*\"], subscribe: [\"*\"], admin: "+
		"[\"*\"], cluster: true}\n")
	b := access.Wrap(memory(t), p)
	brokertest.Run(t, caller{b, func(ctx context.Context) context.Context { return all.as(ctx, "root") }})
	if n := p.Feeds(); n != 0 {
		t.Errorf("%d subscriptions are still watched", n)
	}
}

func TestWithoutPolicy(t *testing.T) {
	t.Parallel()
	m := memory(t)
	if b := access.Wrap(m, nil); b != broker.Broker(m) {
		t.Errorf("%T", b)
	}
}

// operations are all that can be asked about topic t and group g.
func operations() map[string]func(ctx context.Context, b broker.Broker) error {
	return map[string]func(ctx context.Context, b broker.Broker) error{
		"Publish": func(ctx context.Context, b broker.Broker) error {
			return brokertest.Publish(ctx, b, run("t", "x")).Err
		},
		"Subscribe": func(ctx context.Context, b broker.Broker) error {
			f, err := b.Subscribe(ctx, broker.Start{Topic: "t"})
			if err == nil {
				f.Close()
			}
			return err
		},
		"SubscribeGroup": func(ctx context.Context, b broker.Broker) error {
			f, err := b.Subscribe(ctx, broker.Start{Topic: "t", From: broker.FromGroup, Group: "g"})
			if err == nil {
				f.Close()
			}
			return err
		},
		"OpenProducer": func(ctx context.Context, b broker.Broker) error { _, err := b.OpenProducer(ctx); return err },
		"CreateTopic": func(ctx context.Context, b broker.Broker) error {
			_, err := b.CreateTopic(ctx, broker.Topic{Name: "t"})
			return err
		},
		"ConfigureTopic": func(ctx context.Context, b broker.Broker) error {
			_, err := b.ConfigureTopic(ctx, broker.Topic{Name: "t"})
			return err
		},
		"DeleteTopic": func(ctx context.Context, b broker.Broker) error { return b.DeleteTopic(ctx, "t") },
		"Topic": func(ctx context.Context, b broker.Broker) error {
			_, err := b.Topic(ctx, "t", true)
			return err
		},
		"CreateGroup": func(ctx context.Context, b broker.Broker) error {
			_, err := b.CreateGroup(ctx, broker.Group{Topic: "t", Name: "h"}, broker.Start{})
			return err
		},
		"SeekGroup": func(ctx context.Context, b broker.Broker) error {
			_, err := b.SeekGroup(ctx, "t", "g", broker.Start{From: broker.FromOldest})
			return err
		},
		"DeleteGroup": func(ctx context.Context, b broker.Broker) error { return b.DeleteGroup(ctx, "t", "g") },
		"Group": func(ctx context.Context, b broker.Broker) error {
			_, err := b.Group(ctx, "t", "g")
			return err
		},
		"ListGroups": func(ctx context.Context, b broker.Broker) error {
			_, err := b.ListGroups(ctx, "t")
			return err
		},
		"Promote": func(ctx context.Context, b broker.Broker) error { _, err := b.Promote(ctx, 1); return err },
		"Join": func(ctx context.Context, b broker.Broker) error {
			_, err := b.Join(ctx, broker.Member{ID: 2, Peer: "127.0.0.1:1"})
			return err
		},
		"Remove": func(ctx context.Context, b broker.Broker) error { _, err := b.Remove(ctx, 1); return err },
		"TransferLeadership": func(ctx context.Context, b broker.Broker) error {
			_, err := b.TransferLeadership(ctx, 1)
			return err
		},
	}
}

// Each operation is done for a caller that has the right to it on its topic, and for no other; what a right
// allows is a list that is written twice, here and in the wrap.
func TestRights(t *testing.T) {
	t.Parallel()
	allowed := map[string][]string{
		"publish":   {"Publish", "OpenProducer", "Topic"},
		"subscribe": {"Subscribe", "SubscribeGroup", "Topic", "Group", "ListGroups"},
		"admin": {
			"CreateTopic", "ConfigureTopic", "DeleteTopic", "Topic", "CreateGroup", "SeekGroup", "DeleteGroup",
			"Group", "ListGroups",
		},
		"cluster":   {"Join", "Promote", "Remove", "TransferLeadership"},
		"none":      nil,
		"elsewhere": {"OpenProducer"}, // it may publish on another topic
	}
	p, all := policy(t, `principals:
  - {name: publish, tokens: [$publish], publish: [t]}
  - {name: subscribe, tokens: [$subscribe], subscribe: ["t*"]}
  - {name: admin, tokens: [$admin], admin: ["*"]}
  - {name: cluster, tokens: [$cluster], cluster: true}
  - {name: none, tokens: [$none]}
  - {name: elsewhere, tokens: [$elsewhere], publish: [u], subscribe: ["t.*"], admin: [tt, "t.*"]}
`)
	for name, do := range operations() {
		for who, may := range allowed {
			m := memory(t, "t")
			if _, err := m.CreateGroup(t.Context(), broker.Group{Topic: "t", Name: "g"}, broker.Start{}); err != nil {
				t.Fatal(err)
			}
			err := do(all.as(t.Context(), who), access.Wrap(m, p))
			denied := err != nil && status.CodeOf(err) == status.PermissionDenied
			if denied == slices.Contains(may, name) {
				t.Errorf("%s by who has the right %s: %v", name, who, err)
			}
		}
		b := access.Wrap(memory(t, "t"), p)
		refused(t, name+" by no one", do(t.Context(), b), status.Unauthenticated)
	}
}

// Whatever is not there is refused alike, so that who has no right learns nothing.
func TestNothingIsLearnt(t *testing.T) {
	t.Parallel()
	p, all := policy(t, "principals:\n  - {name: a, tokens: [$a], publish: [mine]}\n")
	ctx := all.as(t.Context(), "a")
	for name, do := range operations() {
		there, missing := do(ctx, access.Wrap(memory(t, "t"), p)), do(ctx, access.Wrap(memory(t), p))
		if fmt.Sprint(there) != fmt.Sprint(missing) {
			t.Errorf("%s: %v where it is, %v where it is not", name, there, missing)
		}
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	p, all := policy(t, "principals:\n  - {name: a, tokens: [$a]}\n")
	b := access.Wrap(memory(t), p)
	s, err := b.Status(all.as(t.Context(), "a"))
	if err != nil || len(s.Members) != 1 || s.Node != 1 {
		t.Error(s, err)
	}
	s, err = b.Status(t.Context())
	if err != nil || s.Members != nil || s.Node != 1 || s.Leader != 1 {
		t.Errorf("a caller without a token gets %+v, %v", s, err)
	}
	if m, ok := b.Leader(); !ok || m.ID != 1 {
		t.Error(m, ok)
	}
}

// Lists have what the caller may see, page by page, as if all were listed and then
// filtered.
func TestListTopics(t *testing.T) {
	t.Parallel()
	const seed = 7
	r := rand.New(rand.NewPCG(seed, seed))
	names := map[string]bool{hermes.DeadLetters: true}
	name := func() string {
		letters := []string{"a", "b", "h", "hermes", ".", "-"}
		text := "a"
		if r.IntN(4) == 0 {
			text = "h"
		}
		for range r.IntN(4) {
			text += letters[r.IntN(len(letters))]
		}
		return text
	}
	for range 120 {
		names[name()] = true
	}
	names["hermes.x"], names["hermes"] = true, true
	m := memory(t)
	for n := range names {
		if _, err := m.CreateTopic(t.Context(), broker.Topic{Name: n}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 200 {
		var granted []string
		for range 1 + r.IntN(5) {
			p := name()
			if r.IntN(2) == 0 {
				p += "*"
			}
			granted = append(granted, p)
		}
		if i%10 == 0 {
			granted = append(granted, []string{"*", "h*", "hermes.*", "hermes.dlq"}[r.IntN(4)])
		}
		rights := []string{"publish", "subscribe", "admin"}
		p, all := policy(t, fmt.Sprintf("principals:\n  - name: a\n    tokens: [$a]\n    %s: [\"%s\"]\n",
			rights[r.IntN(3)],
			strings.Join(granted, `", "`)))
		prefix := []string{"", "", "a", "h", "hermes", "hermes.", "ab"}[r.IntN(7)]
		var want []string
		for n := range names {
			for _, g := range granted {
				if covered, err := access.Covers(g, n); err != nil {
					t.Fatal(err)
				} else if covered && strings.HasPrefix(n, prefix) {
					want = append(want, n)
					break
				}
			}
		}
		slices.Sort(want)
		b, ctx, limit, after := access.Wrap(m, p), all.as(t.Context(), "a"), 1+r.IntN(9), ""
		var got []string
		for {
			page, err := b.ListTopics(ctx, prefix, after, limit)
			if err != nil || len(page) > limit {
				t.Fatal(len(page), err)
			}
			for _, topic := range page {
				got = append(got, topic.Name)
			}
			if len(page) < limit {
				break
			}
			after = page[len(page)-1].Name
		}
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d, case %d: %q with beginning %q, %d at once:\nhave %q\nwant %q", seed, i, granted, prefix,
				limit,
				got, want)
		}
	}
}

// A topic is made for a subscriber only if it may make it; one that is there is enough for all.
func TestCreateOnSubscribe(t *testing.T) {
	t.Parallel()
	p, all := policy(t, "principals:\n  - {name: a, tokens: [$a], subscribe: [\"*\"], admin: [\"a*\"]}\n")
	m := memory(t, "t")
	b, ctx := access.Wrap(m, p), all.as(t.Context(), "a")
	for topic, code := range map[string]status.Code{"t": 0, "ab": 0, "b": status.PermissionDenied} {
		f, err := b.Subscribe(ctx, broker.Start{Topic: topic, Create: true})
		if code != 0 {
			refused(t, topic, err, code)
			continue
		}
		if err != nil {
			t.Fatal(topic, err)
		}
		f.Close()
	}
	if _, err := m.Topic(t.Context(), "b", false); err == nil {
		t.Error("the topic was made")
	}
	_, err := b.Subscribe(ctx, broker.Start{Topic: "c"})
	refused(t, "a topic that was not to be made", err, status.NotFound)
	if n := p.Feeds(); n != 0 {
		t.Errorf("%d subscriptions are still watched", n)
	}
}

func BenchmarkPublish(b *testing.B) {
	p, all := policy(b, "principals:\n  - {name: a, tokens: [$a], publish: [a, b, c, \"t.*\"], quota: "+
		"{messages_per_second: 1000000000, bytes_per_second: 1000000000000}}\n")
	w, ctx := access.Wrap(nothing{}, p), all.as(b.Context(), "a")
	r := run("t.x", "x")
	for b.Loop() {
		w.Publish(ctx, r, func(v broker.Verdict) {
			if v.Err != nil {
				b.Error(v.Err)
			}
		})
	}
}

// nothing is a broker that stores nothing.
type nothing struct{ broker.Broker }

func (nothing) Publish(_ context.Context, _ broker.Run, done func(broker.Verdict)) {
	done(broker.Verdict{})
}
