package plan_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"wirelab"
	"wirelab/lab/plan"
)

// streaming is a plan with loads of streams.
func streaming(loads ...plan.Load) plan.Plan {
	return plan.Plan{
		Workload: "ledger", Operation: "StreamTransactions",
		Arms: []plan.Arm{{Protocol: "grpc"}, {Protocol: "sse"}}, Loads: loads,
	}
}

// The rate is that of all streams together and is shown as such. Each stream has a whole number of it (grb-M03, R16).
func TestPlansOfStreams(t *testing.T) {
	t.Parallel()
	p, err := streaming(plan.Load{Rate: 10_000, Streams: 10}, plan.Load{Rate: 10_000, Streams: 10, Reader: 0.5},
		plan.Load{Rate: 100, Streams: 1}).Complete()
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{
		"10 streams at 10000/s in all", "10 streams at 10000/s in all, read at 50 %",
		"1 stream at 100/s",
	} {
		if got := p.Loads[i].String(); got != want {
			t.Errorf("load %d is called %q, want %q", i, got, want)
		}
	}
	l := p.Loads[1]
	if l.EachRate() != 1000 || l.Width() != 10 || !l.Slow() || p.Loads[0].Slow() || p.Kind() != plan.Held || !l.Open() ||
		l.InFlight != 0 || l.Arrivals != "" {
		t.Errorf("%+v", l)
	}
	if p.Primary != plan.EventServerCPU || p.Floor != plan.FloorNone || p.Slice != plan.Duration(2*time.Second) ||
		p.Slices != 3 {
		t.Errorf("primary %s, floor %s, %d slices of %v", p.Primary, p.Floor, p.Slices, p.Slice)
	}
	if again, err := p.Complete(); err != nil || !reflect.DeepEqual(again, p) {
		t.Errorf("completes to something else: %v", err)
	}
	remote := streaming(plan.Load{Rate: 10, Streams: 2})
	remote.Arms[1].Target = "127.0.0.1:1"
	if p, err := remote.Complete(); err != nil || p.Primary != plan.DeliveryP99 {
		t.Errorf("with a target: primary %s, %v", p.Primary, err)
	}
	if (plan.Load{Rate: 500}).EachRate() != 0 {
		t.Error("a load of calls has a rate of each stream: drivers would not share its connections with other rates")
	}
}

// Each invalid plan of streams has an error that names the problem.
func TestPlansOfStreamsThatCannotBe(t *testing.T) {
	t.Parallel()
	sound := plan.Load{Rate: 100, Streams: 10}
	with := func(change func(*plan.Load)) plan.Plan {
		l := sound
		change(&l)
		return streaming(l)
	}
	whole := func(change func(*plan.Plan)) plan.Plan {
		p := streaming(sound)
		change(&p)
		return p
	}
	for want, p := range map[string]plan.Plan{
		"loads[0].rate is missing":                   with(func(l *plan.Load) { l.Rate = 0 }),
		"105/s in all, 10.5/s of each of 10 streams": with(func(l *plan.Load) { l.Rate = 105 }),
		"5/s in all, 0.5/s of each of 10 streams":    with(func(l *plan.Load) { l.Rate = 5 }),
		"loads[0].streams is 257":                    with(func(l *plan.Load) { l.Streams, l.Rate = 257, 257 }),
		"loads[0].streams is -1":                     with(func(l *plan.Load) { l.Streams = -1 }),
		"loads[0].in_flight is 4":                    with(func(l *plan.Load) { l.InFlight = 4 }),
		"loads[0].arrivals is \"poisson\"":           with(func(l *plan.Load) { l.Arrivals = plan.Poisson }),
		"loads[0].requests is \"known\"":             with(func(l *plan.Load) { l.Requests = "known" }),
		"loads[0].stages is 1 stages": with(func(l *plan.Load) {
			l.Rate, l.Stages = 0, []plan.Stage{{For: plan.Duration(time.Second), From: 1, To: 2}}
		}),
		"loads[0].reader is 1.5": with(func(l *plan.Load) { l.Reader = 1.5 }),
		"loads[0].reader is 0.5; it must be left out unless the load has streams": {
			Workload: "w", Operation: "O",
			Arms: []plan.Arm{{Protocol: "grpc"}}, Loads: []plan.Load{{Rate: 5, Reader: 0.5}},
		},
		"loads[1] is 10/s":                   streaming(sound, plan.Load{Rate: 10}),
		"different from the loads before it": streaming(sound, sound),
		"floor is \"auto\"":                  whole(func(p *plan.Plan) { p.Floor = plan.FloorAuto }),
		"a metric of streams":                whole(func(p *plan.Plan) { p.Primary = plan.ServerCPU }),
		"requests is \"known\"":              whole(func(p *plan.Plan) { p.Requests = "known" }),
		"arms[1].driver is \"raw\"":          whole(func(p *plan.Plan) { p.Arms[1].Driver = plan.DriverRaw }),
		"which wirelab did not start": whole(func(p *plan.Plan) {
			p.Arms[1].Target, p.Primary = "127.0.0.1:1",
				plan.EventServerCPU
		}),
		"a metric of calls": {
			Workload: "w", Operation: "O", Arms: []plan.Arm{{Protocol: "grpc"}},
			Primary: plan.DeliveryP99,
		},
	} {
		_, err := p.Complete()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; want %q in it", err, want)
		} else if wirelab.CodeOf(err) != wirelab.InvalidArgument {
			t.Errorf("%v has the code %v", err, wirelab.CodeOf(err))
		}
	}
}

// A plan file can have streams, and the schema accepts it.
func TestStreamsInAFile(t *testing.T) {
	t.Parallel()
	text := "workload: ledger\noperation: StreamTransactions\narms: [{protocol: grpc}]\nloads: [{rate: 10000, " +
		"streams: 10, reader: 0.5}]\n"
	p, err := plan.Parse("streams.yaml", []byte(text))
	if err != nil || p.Loads[0].Streams != 10 || p.Loads[0].Reader != 0.5 {
		t.Errorf("%+v, %v", p.Loads, err)
	}
	schema := loadSchema(t)
	if err := schemaAccepts(schema, []byte(text)); err != nil {
		t.Error(err)
	}
	if schemaAccepts(schema, []byte(strings.Replace(text, "reader: 0.5", "reader: 2", 1))) == nil {
		t.Error("the schema takes a reader at twice its rate")
	}
}
