package brokertest_test

import (
	"testing"

	"wirelab/hermes/broker"
	"wirelab/hermes/broker/brokertest"
	"wirelab/wire/status"
)

func TestMemory(t *testing.T) {
	m := brokertest.Memory()
	defer m.Close()
	brokertest.Run(t, m)
}

func TestWithoutLeader(t *testing.T) {
	m := brokertest.Memory()
	defer m.Close()
	ctx := t.Context()
	if _, err := m.CreateTopic(ctx, broker.Topic{Name: "a"}); err != nil {
		t.Fatal(err)
	}
	f, err := m.Subscribe(ctx, broker.Start{Topic: "a", From: broker.FromGroup, Group: "g"})
	if err != nil {
		t.Fatal(err)
	}
	m.Lead(false)
	if _, ok := m.Leader(); ok {
		t.Error("there is a leader")
	}
	v := brokertest.Publish(ctx, m, broker.Run{Topic: "a", Messages: brokertest.Messages("x"), Count: 1})
	_, next := f.Next(ctx, broker.Room{Bytes: 1})
	for _, err := range []error{v.Err, next} {
		if err == nil || status.CodeOf(err) != status.Unavailable {
			t.Error(err)
		}
	}
	m.Lead(true)
	if v := brokertest.Publish(ctx, m, broker.Run{
		Topic: "a", Messages: brokertest.Messages("x"),
		Count: 1,
	}); v.Err != nil || v.Offset != 0 || v.Term != 2 {
		t.Errorf("%+v", v)
	}
}
