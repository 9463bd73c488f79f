package selftest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"wirelab/lab/experiment"
	"wirelab/lab/kind/kinds"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
)

// Broker makes a bench whose brokers have a known behaviour: each is a null broker with these arguments. Its arms are
// of messageProtocol.
type Broker func(usual *experiment.Processes, p plan.Plan, args ...string) (experiment.Bench, error)

// messageProtocol is the broker and API with which messages are tested.
const messageProtocol = "nats-jetstream"

// messageRate leaves no time for other work to a driver that looks at the clock before each message (docs/adr/0031).
const messageRate = 400.9

// The delay of the slow broker, a hundred times the client's own time, and the share of messages that the other
// broker delivers twice.
const (
	brokerDelay = 100 * time.Millisecond
	doubleEvery = 1000
)

// messagesTest sends messages through brokers with known behaviour.
func messagesTest() Test {
	return Test{
		Name:  "messages",
		Shows: "a message's times are those of its broker, and one of 1,000 that comes twice disqualifies the arm",
		Required: fmt.Sprintf("acknowledged and delivered after %v within 2 %% + 100 µs; every duplicate counted, and "+
			"no number of that arm published",
			brokerDelay),
		Short: 12e9, Long: 30e9,
		run: func(ctx context.Context, e Env) (finding, error) {
			for attempt := 1; ; attempt++ {
				slow, err := e.send(ctx,
					plan.Load{Scenario: plan.Live, Rate: messageRate, Arrivals: plan.Constant, InFlight: 128},
					choose(e, 3*time.Second, 20*time.Second), "--delay", brokerDelay.String())
				if err != nil {
					return finding{}, err
				}
				figures, silent := timesOf(slow)
				twice, err := e.send(ctx, plan.Load{Scenario: plan.Live, InFlight: 20},
					choose(e, time.Second, 5*time.Second), "--double", fmt.Sprint(doubleEvery))
				if err != nil {
					return finding{}, err
				}
				f := judged("", append(figures, doubles(twice)...)...)
				f.found = fmt.Sprintf("%d numbers of a broker that takes %v", len(figures), brokerDelay)
				if len(figures) == 0 {
					f.pass, f.refused, f.found = false, true, "nothing was published: "+silent
				}
				f.found += "; duplicates: " + strings.Join(why(analyse.Result(twice).Loads[0]), "; ")
				if f.pass || attempt == attempts {
					return f, errors.Join(e.keep(ctx, &f, slow), e.keep(ctx, &f, twice))
				}
			}
		},
	}
}

// send runs a load of messages against a null broker with arguments.
func (e Env) send(ctx context.Context, l plan.Load, slice time.Duration, args ...string) (*result.Result, error) {
	p := plan.Plan{
		Workload: "messaging", Operation: "Publish", Floor: plan.FloorNone, Nodes: 1,
		Arms: []plan.Arm{{Protocol: messageProtocol}}, Loads: []plan.Load{l},
		Rounds: plan.Rounds{Min: 1, Max: 1}, Slice: plan.Duration(slice), WarmUp: plan.Duration(400 * time.Millisecond),
	}
	return e.run(ctx, p, func(usual *experiment.Processes, p plan.Plan) (experiment.Bench, error) {
		return e.Broker(usual, p, args...)
	}, nil)
}

// timesOf compares the published times of messages with the broker's delay, or returns why there are none.
func timesOf(r *result.Result) (figures []result.Figure, why string) {
	load := analyse.Result(r).Loads[0]
	for _, row := range load.Rows {
		m, err := kinds.MetricByID(row.Metric)
		if err != nil || m.Quantile == 0 || m.ID == plan.AcceptedP50 || m.ID == plan.AcceptedP99 {
			continue // accepted: before the broker has the message
		}
		if found := row.Cells[0].Estimate; found.Known {
			figures = append(figures, near(messageProtocol+": "+m.ID, found.Value, brokerDelay, "published"))
		} else if why == "" {
			why = found.Why
		}
	}
	return figures, why
}

// doubles judges a broker that delivers some messages twice.
func doubles(r *result.Result) []result.Figure {
	m, shown := r.Rounds[0].Trials[0].Messages, 0
	for _, row := range analyse.Result(r).Loads[0].Rows {
		if row.Cells[0].Estimate.Known {
			shown++
		}
	}
	made := float64(m.Delivered / doubleEvery) // approximate, depending on where counting began
	return []result.Figure{
		{
			Name: "messages found duplicated", Unit: "messages", Found: float64(m.Duplicated), Low: max(1, made-1),
			High: made + 1,
		},
		{Name: "numbers published of that arm", Unit: "numbers", Found: float64(shown)},
	}
}
