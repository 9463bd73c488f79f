package prepare

import (
	"context"
	"strings"

	"wirelab"
	"wirelab/hermes/local"
	"wirelab/internal/fault"
	"wirelab/lab/kind/kinds"
	brokerbench "wirelab/lab/messaging/bench"
	bench "wirelab/lab/pipelines"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/tool"
	"wirelab/pipeline/stack"
	"wirelab/system/nats"
	"wirelab/system/rabbitmq"
)

// Lacks says why a broker is not available here, and what to do about it. It returns "" if the broker is available. A
// broker with a given address counts as available; whether it answers is seen when it is used. An error means that
// the check itself failed.
func (l *Lab) Lacks(ctx context.Context, broker string) (string, error) {
	variable := BrokerVariables()[broker]
	if l.Getenv(variable) != "" {
		return "", nil
	}
	var err error
	switch broker {
	case stack.RabbitMQ:
		_, err = rabbitmq.Find(ctx, l.Getenv)
	case stack.Hermes:
		_, err = local.Find(ctx, l.Getenv)
	case stack.NATSServer:
		_, err = nats.Find(ctx, l.Getenv)
	}
	switch {
	case err == nil:
		return "", nil
	case wirelab.CodeOf(err) != wirelab.NotFound:
		return "", err
	}
	return fault.Describe(err) + "; or give the address of one that runs in " + variable, nil
}

// Present removes the arms whose broker or tool is not available here, and returns which ones. If no arm is left, the
// error is NotFound.
func (l *Lab) Present(ctx context.Context, p plan.Plan) (plan.Plan, []result.Absent, error) {
	why, tools := map[int]string{}, false
	for i, arm := range p.Arms {
		broker := bench.Broker(arm)
		if kinds.OfPlan(p).Run.Cluster {
			broker = brokerbench.Kind(arm)
		}
		lacks, err := l.Lacks(ctx, broker)
		if err == nil && lacks == "" {
			if lacks, err = lacksTool(arm); lacks != "" {
				tools = true
			}
		}
		if err != nil {
			return p, nil, err
		}
		if lacks != "" {
			why[i] = lacks
		}
	}
	p, absent := result.Without(p, why)
	if len(p.Arms) == 0 || tools && len(p.Arms) == 1 { // one tool alone would have no driver to be compared with
		return p, nil, wirelab.Errorf(wirelab.NotFound, "there is nothing to measure: %s",
			strings.Join(l.Absences(absent), "; "))
	}
	return p, absent, nil
}

// Wholly returns an error if any arm of a plan is not available. It is for commands that need all arms.
func (l *Lab) Wholly(ctx context.Context, p plan.Plan) error {
	_, absent, err := l.Present(ctx, p)
	if err == nil && len(absent) > 0 {
		err = wirelab.Errorf(wirelab.NotFound, "this needs all of its arms: %s", strings.Join(l.Absences(absent), "; "))
	}
	return err
}

// lacksTool says why the load generator that drives an arm is not available here, and what to do about it. It returns
// "" if it is available.
func lacksTool(arm plan.Arm) (string, error) {
	if arm.Tool() == "" {
		return "", nil
	}
	by, err := tool.Named(arm.Tool())
	if err != nil {
		return "", err
	}
	if _, err = by.Find(); err != nil && wirelab.CodeOf(err) == wirelab.NotFound {
		return fault.Describe(err), nil
	}
	return "", err
}
