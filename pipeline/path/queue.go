package path

import (
	"context"

	"wirelab"
	"wirelab/broker/workqueue"
	"wirelab/pipeline/message"
	"wirelab/workload/logging"
)

// noBroker is the message for a broker error without a code.
const noBroker = "the message broker does not answer"

// byQueue publishes to a queue through one long-lived publisher.
type byQueue struct {
	publisher workqueue.Publisher
	options   Options
}

// Queue returns the path that publishes messages (see [message.Encode]), whose ids are those of the entries. Close
// closes the publisher.
func Queue(publisher workqueue.Publisher, o Options) Path {
	return &byQueue{publisher, o}
}

// Log implements [Path].
func (p *byQueue) Log(ctx context.Context, entry logging.Entry) (Receipt, error) {
	ctx, cancel, err := p.options.begin(ctx, &entry)
	if err != nil {
		return Receipt{}, err
	}
	defer cancel()
	return p.options.publish(ctx, p.publisher, entry)
}

// publish publishes an entry that was validated.
func (o Options) publish(ctx context.Context, publisher workqueue.Publisher, entry logging.Entry) (Receipt, error) {
	encode := message.Encode
	if o.PublishedForm {
		encode = message.EncodePublished
	}
	body, err := encode(entry)
	if err != nil {
		return Receipt{}, err
	}
	handed, err := publisher.Publish(ctx, workqueue.Message{ID: entry.ID, Body: body})
	receipt := Receipt{ID: entry.ID, Written: handed.Written, Confirmed: handed.Confirmed}
	if err != nil {
		return receipt, unpublished(ctx, err)
	}
	return receipt, nil
}

// unpublished returns the error for the caller of a message that failed. The publisher's error is preferred over
// the deadline that ended the wait: an unavailable broker is Unavailable, however long the caller waited for it.
func unpublished(ctx context.Context, err error) error {
	if code := wirelab.CodeOf(err); code == wirelab.Unavailable || code == wirelab.ResourceExhausted {
		return wirelab.Public(err)
	}
	return failed(ctx, err, noBroker)
}

// Check implements [Path].
func (p *byQueue) Check(ctx context.Context) error { return ready(ctx, p.options) }

// Close implements [Path].
func (p *byQueue) Close() error { return p.publisher.Close() }

func ready(ctx context.Context, o Options) error {
	if o.Ready == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, o.deadline())
	defer cancel()
	if err := o.Ready(ctx); err != nil {
		return failed(ctx, err, noBroker)
	}
	return nil
}

// queuePerCall declares the queue and opens a publisher for each message, as the published client did.
type queuePerCall struct {
	broker  workqueue.Queues
	queue   workqueue.Options
	options Options
}

// QueuePerCall returns the path that, for each message, declares the queue, opens a publisher and so a channel,
// publishes, and closes it. That is what the published client does: five round trips for one message (ms-M02).
// Close leaves the broker open, which belongs to the caller.
func QueuePerCall(broker workqueue.Queues, q workqueue.Options, o Options) Path {
	return &queuePerCall{broker, q, o}
}

// Log implements [Path].
func (p *queuePerCall) Log(ctx context.Context, entry logging.Entry) (receipt Receipt, err error) {
	ctx, cancel, err := p.options.begin(ctx, &entry)
	if err != nil {
		return Receipt{}, err
	}
	defer cancel()
	receipt.ID = entry.ID
	if err := p.broker.Declare(ctx, p.queue); err != nil {
		return receipt, failed(ctx, err, noBroker)
	}
	publisher, err := p.broker.Publisher(ctx, p.queue)
	if err != nil {
		return receipt, failed(ctx, err, noBroker)
	}
	receipt, err = p.options.publish(ctx, publisher, entry)
	if ended := publisher.Close(); ended != nil && err == nil {
		err = failed(ctx, ended, noBroker)
	}
	return receipt, err
}

// Check implements [Path].
func (p *queuePerCall) Check(ctx context.Context) error { return ready(ctx, p.options) }

// Close implements [Path].
func (*queuePerCall) Close() error { return nil }

var (
	_ Path = (*byQueue)(nil)
	_ Path = (*queuePerCall)(nil)
)
