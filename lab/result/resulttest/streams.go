package resulttest

import (
	"math/rand/v2"
	"time"

	"wirelab/lab/kind/streams"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/stat"
)

// Streams returns a result of streams: three arms that hold ten of them at 10,000 events per second in all, and again
// with readers at half the rate, 12 rounds. websocket lost 3 events, and so has no figure; the others lost none.
func Streams() *result.Result {
	arms := []Arm{
		{
			Name: "grpc", Protocol: "grpc", Server: "grpc-go", Client: "grpc-go", Multiplexed: true, ServerCPU: 21_000,
			ClientCPU: 24_000, Response: 240 * time.Microsecond, Received: 123, ServerAllocs: 9, ClientAllocs: 11,
		},
		{
			Name: "sse", Protocol: "sse", Framing: "SSE", Encoding: "JSON", ServerCPU: 13_000, ClientCPU: 18_000,
			Response: 210 * time.Microsecond, Received: 284, ServerAllocs: 5, ClientAllocs: 14,
		},
		{
			Name: "websocket", Protocol: "websocket", Framing: "WebSocket", ServerCPU: 12_000, ClientCPU: 16_000,
			Response: 190 * time.Microsecond, Received: 110, ServerAllocs: 2, ClientAllocs: 6,
		},
	}
	loads := []plan.Load{{Rate: 10_000, Streams: 10}, {Rate: 10_000, Streams: 10, Reader: 0.5}}
	r := Make(Setting{
		Name: "example-streams", About: "What does an event cost, and does it arrive?", Arms: arms,
		Loads: loads, Rounds: 12, Seed: 0x5742, Noise: 0.04,
	})
	r.Plan.Workload, r.Plan.Operation, r.Plan.Requests = "ledger", "StreamTransactions", ""
	r.Plan.Primary, r.Plan.Floor, r.Plan.Slice = plan.EventServerCPU, plan.FloorNone, plan.Duration(2*time.Second)
	random := rand.New(rand.NewPCG(0x5742, 2))
	for n := range r.Rounds {
		for i := range r.Rounds[n].Trials {
			t := &r.Rounds[n].Trials[i]
			stream(t, loads[t.Load], random)
			if t.Arm == 2 && t.Load == 0 && n%4 == 1 {
				lose(t)
			}
		}
	}
	return r
}

// stream turns a trial of calls into one of streams.
func stream(t *result.Trial, load plan.Load, random *rand.Rand) {
	const slices = 3
	t.Window = plan.Duration(slices * 1800 * time.Millisecond)
	median := float64(t.Service.Quantile(0.5)) * (1 + 0.02*random.Float64())
	share := float64(t.Server.CPU) / float64(t.OK)
	driver := float64(t.Driver.CPU) / float64(t.OK)
	received := t.WireReceived / t.OK
	t.Planned = uint64(load.Rate * time.Duration(t.Window).Seconds())
	t.OK = t.Planned
	if load.Slow() {
		t.OK /= 2
	}
	t.Sent, t.Completed, t.Watched = t.OK, t.OK, t.OK+t.OK/9
	t.Gaps, t.Wake, t.Floor = nil, nil, nil
	t.Response, t.Service, t.Lag = &stat.Histogram{}, &stat.Histogram{}, &stat.Histogram{}
	s := &result.Streams{Jitter: &stat.Histogram{}, Opening: plan.Duration(4 * time.Millisecond)}
	each := uint64(load.Streams)
	for i := range each {
		c := result.Client{
			Planned: t.Planned / each, Right: t.OK / each, Completed: t.OK / each,
			Delivery: &stat.Histogram{}, Jitter: &stat.Histogram{},
		}
		times(c.Delivery, c.Right, median*(1+0.01*float64(i)), 1)
		times(c.Jitter, c.Right-slices, median/6, 1)
		t.Response.Merge(c.Delivery)
		s.Jitter.Merge(c.Jitter)
		if load.Slow() {
			c.Behind = result.Behind{
				Due: slices * 2000, Sent: slices * (1400 + 100*uint64(t.Arm)),
				Decoded: slices * 1000,
			}
			s.Ends = slices
			s.Due += c.Due
			s.Sent += c.Sent
			s.Decoded += c.Decoded
		}
		s.Clients = append(s.Clients, c)
	}
	times(t.Service, t.OK, 0.9*median, 1)
	times(t.Lag, t.OK, 0.1*median, 1)
	n := float64(t.Watched)
	t.Server.CPU, t.Driver.CPU = plan.Duration(n*share), plan.Duration(n*driver)
	t.WireReceived, t.WireSent = t.Watched*received, 40*each*slices
	for _, u := range []*result.Usage{t.Server, t.Driver} {
		u.Wall, u.Waited = t.Window, t.Window/50
	}
	t.Driver.Others = t.Window / 100
	t.Streams = s
}

// lose makes one event of a trial missing.
func lose(t *result.Trial) {
	t.OK, t.Completed = t.OK-1, t.Completed-1
	t.Errors = map[string]uint64{streams.MissingEvents: 1}
	c := &t.Streams.Clients[3]
	c.Right, c.Completed, c.Missing = c.Right-1, c.Completed-1, 1
	t.Streams.Missing = 1
	for _, h := range []**stat.Histogram{&t.Response, &t.Service, &t.Lag, &c.Delivery} {
		*h = without(*h)
	}
}

// without is a histogram without its smallest time.
func without(h *stat.Histogram) *stat.Histogram {
	less := &stat.Histogram{}
	for i, b := range h.Buckets() {
		n := b.Count
		if i == 0 {
			n--
		}
		less.RecordN(b.Low, n)
	}
	return less
}
