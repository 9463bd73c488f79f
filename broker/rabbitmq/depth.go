package rabbitmq

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"wirelab"
	"wirelab/broker"
)

// Time limits for the consumers to answer one question, and all questions.
const (
	answerLimit = 250 * time.Millisecond
	censusLimit = 5 * time.Second
)

// census is the contents of a queue and its retries.
type census struct {
	ready         int
	sent, settled uint64 // by consumers: sent but not settled messages are with them
	consumers     int
}

// waiting returns how many messages are not done.
func (c census) waiting() int {
	return c.ready + int(c.sent-min(c.sent, c.settled))
} //nolint:gosec // a prefetch at most

// moved reports whether a message reached or left a consumer since an earlier census.
func (c census) moved(since census) bool {
	return c.sent != since.sent || c.settled != since.settled || c.consumers != since.consumers
}

// Depth implements [broker.Broker]. AMQP does not report messages that are with consumers, so the consumers of a
// work queue are asked, on whatever host they run. It returns Unavailable if one does not answer. While messages
// move, the number may be too high by those counted twice; it is 0 only if there were none.
func (b *Broker) Depth(ctx context.Context, topic, group string) (int, error) {
	name, work := queueName(topic)
	found := make(chan int, 1)
	err := b.with(ctx, b.publish, func(channel *amqp.Channel) error {
		if !work {
			q, err := inspect(channel, queueOf(topic, group))
			found <- q.Messages
			return err
		}
		ctx, cancel := context.WithTimeoutCause(ctx, censusLimit,
			wirelab.Errorf(wirelab.Unavailable, "not every consumer of queue %s says what it holds", name))
		defer cancel()
		// RabbitMQ's direct reply-to: answers to this name come straight to this channel.
		answers, err := channel.Consume("amq.rabbitmq.reply-to", "", true, false, false, false, nil)
		if err != nil {
			return err
		}
		all, err := question{channel, answers, name}.census(ctx)
		if err == nil {
			found <- all.waiting()
		}
		return err
	})
	if err != nil {
		return 0, err
	}
	return <-found, nil
}

// question asks the consumers of a queue how many messages they hold.
type question struct {
	channel *amqp.Channel
	answers <-chan amqp.Delivery
	name    string
}

// looks is the maximum number of counts in search of a moment in which no message moves.
const looks = 4

// census counts until nothing moved between two counts, or looks times: a message that moves from one place to
// another passes through a consumer, whose counters show it.
func (q question) census(ctx context.Context) (census, error) {
	var last census
	for n := range looks {
		now, err := q.look(ctx)
		if err != nil {
			return census{}, err
		}
		if now.consumers == 0 || n > 0 && (!now.moved(last) || n == looks-1 && now.waiting() > 0) {
			return now, nil
		}
		last = now
	}
	// Messages move too fast to count, so there is at least one.
	last.ready = max(last.ready, 1)
	return last, nil
}

// look counts once: first messages with consumers, then those that wait for their next attempt, then the queue
// itself, which is the order in which messages circulate.
func (q question) look(ctx context.Context) (census, error) {
	for ctx.Err() == nil {
		before, err := inspect(q.channel, q.name)
		if err != nil {
			return census{}, err
		}
		all := census{consumers: before.Consumers}
		ok, err := q.ask(ctx, &all)
		if err != nil {
			return census{}, err
		}
		if !ok {
			continue
		}
		later, err := inspect(q.channel, retries(q.name))
		if err != nil {
			return census{}, err
		}
		itself, err := inspect(q.channel, q.name)
		if err != nil {
			return census{}, err
		}
		if itself.Consumers != all.consumers {
			continue
		}
		all.ready = later.Messages + itself.Messages
		return all, nil
	}
	return census{}, context.Cause(ctx)
}

// ask adds up what the consumers hold; false if not all answered in time.
func (q question) ask(ctx context.Context, all *census) (bool, error) {
	if all.consumers == 0 {
		return true, nil
	}
	id := rand.Text()
	err := q.channel.PublishWithContext(ctx, asking(q.name), "", false, false,
		amqp.Publishing{CorrelationId: id, ReplyTo: "amq.rabbitmq.reply-to"})
	if err != nil {
		return false, err
	}
	limit := time.NewTimer(answerLimit)
	defer limit.Stop()
	heard := map[string]bool{}
	for len(heard) < all.consumers {
		select {
		case answer, ok := <-q.answers:
			if !ok {
				return false, broker.ErrLost
			}
			if answer.CorrelationId != id || heard[answer.MessageId] {
				continue // an answer to an abandoned question, or a duplicate
			}
			heard[answer.MessageId] = true
			var sent, settled uint64
			if _, err := fmt.Sscanf(string(answer.Body), "%d %d", &sent, &settled); err != nil {
				return false, wirelab.Errorf(wirelab.Internal, "a consumer of queue %s says %q", q.name, answer.Body)
			}
			all.sent += sent
			all.settled += settled
		case <-limit.C:
			return false, nil
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
	}
	return true, nil
}
