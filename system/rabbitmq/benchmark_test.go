package rabbitmq_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"wirelab/system/rabbitmq"
	"wirelab/system/rabbitmq/rabbitmqtest"
)

// The settings that gave most on two cores, of those that PerfTest has as --confirm, --qos and --multi-ack-every.
const (
	unconfirmed = 2_000
	prefetch    = 4_000
	ackEvery    = 100
	// underWay bounds what was sent and did not come back, so that no backlog hides what does not.
	underWay = 5_000
	// soon is how long a few messages that are too few for one acknowledgement of several wait for more.
	soon = 10 * time.Millisecond
)

// BenchmarkBareClient sends persistent messages, confirmed, through a queue of RabbitMQ, and reads and acknowledges
// them, with nothing but the library: what the paths of the log pipeline can reach at most.
func BenchmarkBareClient(b *testing.B) {
	rabbitmqtest.Need(b)
	s, err := rabbitmq.Start(b.Context(), rabbitmq.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Stop(context.Background()); err != nil {
			b.Error(err)
		}
	})
	for _, kind := range []string{"quorum", "classic"} {
		b.Run(kind, func(b *testing.B) {
			channel := opened(b, s.URL())
			queue, err := channel.QueueDeclare("bare-"+kind, true, false, false, false,
				amqp.Table{"x-queue-type": kind})
			if err != nil {
				b.Fatal(err)
			}
			defer func() {
				if _, err := channel.QueueDelete(queue.Name, false, false, false); err != nil {
					b.Error(err)
				}
			}()
			room := make(chan struct{}, underWay)
			b.ResetTimer()
			through(b, s.URL(), queue.Name, room)
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "messages/s")
		})
	}
}

// through sends b.N messages and reads them all.
func through(b *testing.B, url, queue string, room chan struct{}) {
	b.Helper()
	out, in := opened(b, url), opened(b, url)
	if err := errors.Join(out.Confirm(false), in.Qos(prefetch, 0, false)); err != nil {
		b.Fatal(err)
	}
	messages, err := in.Consume(queue, "", false, false, false, false, nil)
	if err != nil {
		b.Fatal(err)
	}
	var reading sync.WaitGroup
	var failed error
	reading.Go(func() { failed = readAll(in, messages, b.N, room) })
	confirms := out.NotifyPublish(make(chan amqp.Confirmation, unconfirmed))
	open := make(chan struct{}, unconfirmed)
	var confirming sync.WaitGroup
	confirming.Go(func() {
		for range b.N {
			<-confirms
			<-open
		}
	})
	body := make([]byte, 100)
	for range b.N {
		room <- struct{}{}
		open <- struct{}{}
		message := amqp.Publishing{Body: body, DeliveryMode: amqp.Persistent}
		if err := out.PublishWithContext(b.Context(), "", queue, false, false, message); err != nil {
			b.Error(err)
			return
		}
	}
	confirming.Wait()
	reading.Wait()
	if failed != nil {
		b.Error(failed)
	}
}

// readAll reads so many messages, and acknowledges several at once.
func readAll(from *amqp.Channel, messages <-chan amqp.Delivery, count int, room chan struct{}) error {
	few := time.NewTicker(soon)
	defer few.Stop()
	taken, last := 0, uint64(0)
	for count > 0 {
		late := false
		select {
		case d, ok := <-messages:
			if !ok {
				return errors.New("the server ended the consumer")
			}
			taken, last = taken+1, d.DeliveryTag
		case <-few.C:
			late = true
		}
		if taken == 0 || taken < min(ackEvery, count) && !late {
			continue
		}
		if err := from.Ack(last, true); err != nil {
			return err
		}
		for range taken {
			<-room
		}
		count, taken = count-taken, 0
	}
	return nil
}

// opened is a channel on a connection of its own, which ends with the benchmark.
func opened(b *testing.B, url string) *amqp.Channel {
	b.Helper()
	conn, err := amqp.Dial(url)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = conn.Close() }) // nothing is under way
	channel, err := conn.Channel()
	if err != nil {
		b.Fatal(err)
	}
	return channel
}
