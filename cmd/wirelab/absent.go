package main

import (
	"context"
	"fmt"
	"strings"

	"wirelab"
	"wirelab/cmd/internal/cli"
	"wirelab/hermes/local"
	brokerbench "wirelab/lab/messaging/bench"
	"wirelab/lab/pipelines"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/pipeline/stack"
	"wirelab/results/report"
	"wirelab/system/nats"
	"wirelab/system/rabbitmq"
)

// lacks says why a broker cannot be had here and what to do about it; "" if it
// can. One whose address is given can: whether it answers there is found out when
// it is needed. An error is of the looking itself.
func (a *app) lacks(ctx context.Context, broker string) (string, error) {
	variable := brokerVariables()[broker]
	if a.getenv(variable) != "" {
		return "", nil
	}
	var err error
	switch broker {
	case stack.RabbitMQ:
		_, err = rabbitmq.Find(ctx, a.getenv)
	case stack.Hermes:
		_, err = local.Find(ctx, a.getenv)
	case stack.NATSServer:
		_, err = nats.Find(ctx, a.getenv)
	}
	switch {
	case err == nil:
		return "", nil
	case wirelab.CodeOf(err) != wirelab.NotFound:
		return "", err
	}
	return describe(err) + "; or give the address of one that runs in " + variable, nil
}

// present takes the arms out of a plan whose broker cannot be had here, and says
// which. It is a usage error if that leaves none.
func (a *app) present(ctx context.Context, p plan.Plan) (plan.Plan, []result.Absent, error) {
	why, tools := map[int]string{}, false
	for i, arm := range p.Arms {
		broker := bench.Broker(arm)
		if p.Messaging() {
			broker = brokerbench.Make(arm)
		}
		lacks, err := a.lacks(ctx, broker)
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
	if len(p.Arms) == 0 || tools && len(p.Arms) == 1 { // a driver is to be compared with another
		return p, nil, wirelab.Errorf(wirelab.NotFound, "there is nothing to measure: %s", strings.Join(report.Absences(absent), "; "))
	}
	return p, absent, nil
}

// wholly is a usage error where any arm of a plan cannot be had, for what needs all.
func (a *app) wholly(ctx context.Context, p plan.Plan) error {
	_, absent, err := a.present(ctx, p)
	if err == nil && len(absent) > 0 {
		err = wirelab.Errorf(wirelab.NotFound, "this needs all of its arms: %s", strings.Join(report.Absences(absent), "; "))
	}
	return err
}

// incomplete is the error of an experiment of which an arm was absent: it gave what
// it could, and not what it was asked for. What is worse comes first: err.
func (a *app) incomplete(r *result.Result, err error) error {
	if len(r.Absent) == 0 || err != nil && exitCodeOf(err) != exitUndecided {
		return err
	}
	return cli.With(exitNoWord, fmt.Errorf("%s%s", strings.Join(report.Absences(r.Absent), "; "), a.stored("of the others the result is ", r.ID)))
}
