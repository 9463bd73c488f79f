package grpc

import (
	"context"
	"errors"
	"io"

	"wirelab/hermes"
	"wirelab/hermes/broker"
	"wirelab/hermes/frame"
	pb "wirelab/hermes/gen"
	"wirelab/hermes/record"
	wiregrpc "wirelab/wire/grpc"
	"wirelab/wire/status"
)

// BatchRuns is how many runs a PublishBatch may have.
const BatchRuns = 4096

// hermesMethods are the unary calls of service Hermes.
var hermesMethods = map[string]method{
	"Publish":      raw((*api).publish),
	"PublishBatch": raw((*api).publishBatch),
	"OpenProducer": whole((*api).openProducer),
}

// hermesStreams are its streams.
var hermesStreams = map[string]stream{
	"PublishStream": (*api).publishStream,
	"Subscribe":     (*api).subscribe,
}

// checked is a run as the broker takes it, or why it cannot. (hb-D26, hb-D27)
func checked(r *frame.Run) (broker.Run, error) {
	if err := hermes.CheckTopic(r.Topic); err != nil {
		return broker.Run{}, err
	}
	if r.Mode > hermes.Performance {
		return broker.Run{}, status.Errorf(status.InvalidArgument,
			"mode is none of MODE_CONSISTENT, MODE_EVENTUAL and MODE_PERFORMANCE")
	}
	if (r.Producer == 0) != (r.Sequence == 0) {
		return broker.Run{}, status.Errorf(status.InvalidArgument,
			"producer and sequence come together: both from 1, or neither")
	}
	count, err := record.Check(r.Messages)
	if err != nil {
		return broker.Run{}, err
	}
	return broker.Run{
		Topic: r.Topic, Messages: r.Messages, Count: count, Mode: r.Mode, Producer: r.Producer, Sequence: r.Sequence,
	}, nil
}

// store publishes runs and waits for all answers, or for ctx: then the outcome is unknown. Published messages
// stay untouched, so that a broker may go on with it. (hb-D14, hb-D15)
func (d *api) store(ctx context.Context, runs []broker.Run) ([]broker.Verdict, error) {
	type answer struct {
		at int
		v  broker.Verdict
	}
	answers := make(chan answer, len(runs)) // bounded by one answer each: done never blocks
	for i, run := range runs {
		d.broker.Publish(ctx, run, func(v broker.Verdict) { answers <- answer{i, v} })
	}
	verdicts := make([]broker.Verdict, len(runs))
	for range runs {
		select {
		case a := <-answers:
			verdicts[a.at] = a.v
		case <-ctx.Done():
			return nil, status.Public(ctx.Err())
		}
	}
	return verdicts, nil
}

// storeOne is store for one run; its error is the verdict's too.
func (d *api) storeOne(ctx context.Context, run broker.Run) (broker.Verdict, error) {
	answer := make(chan broker.Verdict, 1) // bounded by the one answer: done never blocks
	d.broker.Publish(ctx, run, func(v broker.Verdict) { answer <- v })
	select {
	case v := <-answer:
		return v, v.Err
	case <-ctx.Done():
		return broker.Verdict{}, status.Public(ctx.Err())
	}
}

func (d *api) publish(ctx context.Context, request frame.Raw) (any, error) {
	r, err := frame.ParseRun(request)
	if err != nil {
		return nil, err
	}
	run, err := checked(&r)
	if err != nil {
		return nil, err
	}
	if run.Count != 1 {
		return nil, status.Errorf(status.InvalidArgument, "Publish takes one message and got %d: use PublishBatch",
			run.Count)
	}
	v, err := d.storeOne(ctx, run)
	if err != nil {
		return nil, err
	}
	return &frame.Receipt{
		Offset: v.Offset, Time: v.Time, Duplicate: v.Duplicate, Provisional: v.Provisional, Term: v.Term,
		Index: v.Index,
	}, nil
}

// publishBatch answers each run apart. (hb-D16)
func (d *api) publishBatch(ctx context.Context, request frame.Raw) (any, error) {
	parsed, err := frame.ParseRuns(request, BatchRuns, nil)
	if err != nil {
		return nil, err
	}
	if len(parsed) == 0 {
		return nil, status.Errorf(status.InvalidArgument, "0 runs; want 1 to %d", BatchRuns)
	}
	reply := make(frame.Verdicts, len(parsed))
	var good []broker.Run
	var at []int
	for i := range parsed {
		run, err := checked(&parsed[i])
		if err != nil {
			reply[i] = d.verdict(parsed[i].Tag, broker.Verdict{Err: err})
			continue
		}
		good, at = append(good, run), append(at, i)
	}
	verdicts, err := d.store(ctx, good)
	if err != nil {
		return nil, err
	}
	for i, v := range verdicts {
		reply[at[i]] = d.verdict(parsed[at[i]].Tag, v)
	}
	return reply, nil
}

// verdict is a broker's answer as it travels.
func (d *api) verdict(tag uint64, v broker.Verdict) frame.Verdict {
	if v.Err == nil {
		return frame.Verdict{
			Tag: tag, Offset: v.Offset, Count: uint32(v.Count), Time: v.Time,
			Duplicate: v.Duplicate, Provisional: v.Provisional, Term: v.Term, Index: v.Index,
		}
	}
	public := status.Public(v.Err)
	failed := frame.Verdict{Tag: tag, Failed: true, Code: public.Code.String(), Message: public.Message}
	if public.Code == status.Unavailable {
		failed.Leader = d.hint()
	}
	return failed
}

func (d *api) openProducer(ctx context.Context, _ *pb.OpenProducerRequest) (*pb.OpenProducerReply, error) {
	id, err := d.broker.OpenProducer(ctx)
	return &pb.OpenProducerReply{Producer: id}, err
}

// received is an error of reading a stream: io.EOF, or one with a code.
func received(err error) error {
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	return wiregrpc.Decode(err)
}
