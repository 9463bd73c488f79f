package rabbitmq_test

import (
	"context"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"wirelab"
	"wirelab/system/rabbitmq"
	"wirelab/system/rabbitmq/rabbitmqtest"
)

// A quorum queue of a cluster has a copy on each server: what was confirmed by
// one is there when that one was killed.
func TestCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	t.Parallel()
	rabbitmqtest.Need(t)
	c, err := rabbitmq.StartCluster(t.Context(), rabbitmq.Options{Parent: open(t)}, 3)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	first, err := amqp.Dial(c.Nodes()[0].URL())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = first.Close() }()
	channel, err := first.Channel()
	if err != nil {
		t.Fatal(err)
	}
	queue, err := channel.QueueDeclare("q", true, false, false, false, amqp.Table{"x-queue-type": "quorum"})
	if err != nil {
		t.Fatal(err)
	}
	if err := channel.Confirm(false); err != nil {
		t.Fatal(err)
	}
	confirmed, err := channel.PublishWithDeferredConfirmWithContext(t.Context(), "", queue.Name, false, false,
		amqp.Publishing{Body: []byte("kept"), DeliveryMode: amqp.Persistent})
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := confirmed.WaitContext(t.Context()); !ok || err != nil {
		t.Fatalf("not confirmed: %v", err)
	}
	if err := c.Nodes()[0].Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	second, err := amqp.Dial(c.Nodes()[1].URL())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = second.Close() }()
	if channel, err = second.Channel(); err != nil {
		t.Fatal(err)
	}
	messages, err := channel.ConsumeWithContext(t.Context(), queue.Name, "", true, false, false, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	if m, ok := <-messages; !ok || string(m.Body) != "kept" {
		t.Errorf("the second server has %q, want what the first confirmed", m.Body)
	}
}

func TestClusterRefuses(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 10} {
		if _, err := rabbitmq.StartCluster(t.Context(), rabbitmq.Options{},
			size); wirelab.CodeOf(err) != wirelab.InvalidArgument {
			t.Errorf("a cluster of %d: %v", size, err)
		}
	}
}
