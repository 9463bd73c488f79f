package graphql

import (
	"context"

	"wirelab/hermes"
	"wirelab/hermes/api/graphql/gen"
	"wirelab/hermes/api/spelling"
	"wirelab/hermes/broker"
	"wirelab/wire/graphql"
	"wirelab/wire/status"
)

// runsLimit is how many runs a batch may have.
const runsLimit = 256

// run makes an input what the broker takes, or says why it cannot be.
func run(in *gen.RunInput) (broker.Run, error) {
	run := broker.Run{Topic: in.Topic}
	switch in.Mode {
	case gen.ModeConsistent:
		run.Mode = hermes.Consistent
	case gen.ModeEventual:
		run.Mode = hermes.Eventual
	case gen.ModePerformance:
		run.Mode = hermes.Performance
	default:
		return run, status.Errorf(status.InvalidArgument, "mode is %.40q, which is none", in.Mode)
	}
	if (in.Producer == nil) != (in.Sequence == nil) || in.Sequence != nil && *in.Sequence == 0 {
		return run, status.Errorf(status.InvalidArgument,
			"producer and sequence come together: both from 1, or neither")
	}
	var err error
	if in.Producer != nil {
		run.Sequence = *in.Sequence
		if run.Producer, err = spelling.ID("producer", *in.Producer); err != nil {
			return run, err
		}
	}
	if len(in.Messages) > hermes.RunMessages {
		return run, status.Errorf(status.InvalidArgument, "%d messages in one run; at most %d are allowed",
			len(in.Messages), hermes.RunMessages)
	}
	all := make([]hermes.Message, len(in.Messages))
	for i, m := range in.Messages {
		if all[i], err = message(m); err != nil {
			return run, status.Errorf(status.CodeOf(err), "message %d: %s", i, status.Public(err).Message)
		}
	}
	return checked(run, all)
}

func (r mutation) Publish(ctx context.Context, topic string, messages []*gen.MessageInput, mode gen.Mode,
	producer *string, sequence *uint64,
) (*gen.Verdict, error) {
	run, err := run(&gen.RunInput{Topic: topic, Messages: messages, Mode: mode, Producer: producer, Sequence: sequence})
	if err != nil {
		return nil, err
	}
	v := r.publish(ctx, run)[0]
	if v.Err != nil {
		return nil, graphql.Told(v.Err)
	}
	return showVerdict(v), nil
}

// PublishBatch answers each run apart, as the other APIs do: several mutations in one document would not, since
// one that fails leaves no data of the others (hb-D16).
func (r mutation) PublishBatch(ctx context.Context, in []*gen.RunInput) ([]*gen.RunVerdict, error) {
	if len(in) == 0 || len(in) > runsLimit {
		return nil, status.Errorf(status.InvalidArgument, "%d runs; want 1 to %d", len(in), runsLimit)
	}
	shown := make([]*gen.RunVerdict, len(in))
	var good []broker.Run
	var at []int
	for i, one := range in {
		run, err := run(one)
		if err != nil {
			shown[i] = &gen.RunVerdict{Error: r.failure(err)}
			continue
		}
		good, at = append(good, run), append(at, i)
	}
	for i, v := range r.publish(ctx, good...) {
		if v.Err != nil {
			shown[at[i]] = &gen.RunVerdict{Error: r.failure(v.Err)}
		} else {
			shown[at[i]] = &gen.RunVerdict{Verdict: showVerdict(v)}
		}
	}
	return shown, nil
}

// failure is an error as a batch tells it.
func (d *api) failure(err error) *gen.Failure {
	public := status.Public(err)
	shown := &gen.Failure{Code: public.Code.String(), Message: public.Message}
	if leader, ok := d.broker.Leader(); ok && public.Code == status.Unavailable && leader.HTTP != "" {
		shown.Leader = &leader.HTTP
	}
	return shown
}
