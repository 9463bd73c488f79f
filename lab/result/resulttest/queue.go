package resulttest

import (
	"fmt"
	"math/rand/v2"
	"time"

	"wirelab/lab/kind/capacity"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/stat"
)

// Server is an arm whose server is an M/M/1 queue, so that its true figures are known: at a rate λ below its own, μ,
// response times are exponential with mean 1/(μ−λ), its power is greatest at μ/2, and it is overloaded from μ on.
type Server struct {
	Name     string
	Protocol string
	Rate     float64 // served per second
	// Falls is the offered rate from which on it serves only half: a collapse. 0: never.
	Falls float64
}

// at is what it serves per second at an offered rate.
func (s Server) at(offered float64) float64 {
	if s.Falls > 0 && offered >= s.Falls {
		return s.Rate / 2
	}
	return s.Rate
}

const inFlight = 256

// queued is a trial of slices of an open loop, each starting with an empty queue.
func (s Server) queued(offered float64, slices int, length, head time.Duration, parts int,
	random *rand.Rand,
) (result.Trial, []*stat.Histogram) {
	t := emptyTrial()
	split := make([]*stat.Histogram, parts)
	for i := range split {
		split[i] = &stat.Histogram{}
	}
	served := s.at(offered)
	for slice := range slices {
		wait, end, begin, last := 0.0, float64(length), float64(head), 0.0
		for at := random.ExpFloat64() / offered * 1e9; at < end; {
			service := random.ExpFloat64() / served * 1e9
			response := wait + service
			if at >= begin {
				t.Planned++
				t.Response.Record(int64(response))
				lag := max(0, wait-(inFlight-1)/served*1e9) // until fewer than the maximum are under way
				t.Service.Record(int64(response - lag))
				t.Lag.Record(int64(lag))
				if lag > 0 {
					t.Late++
				} else {
					t.Wake.Record(0)
				}
				if parts > 0 {
					split[int((at-begin)*float64(parts)/(end-begin))].Record(int64(response))
				}
			}
			done := at + response
			if done >= begin && done < end {
				t.Completed++
			}
			last = max(last, done)
			gap := random.ExpFloat64() / offered * 1e9
			at += gap
			wait = max(0, response-gap)
		}
		t.Window += plan.Duration(length - head)
		t.Drained += plan.Duration(max(0, last-end))
		t.Order = append(t.Order, slice)
	}
	s.finish(&t)
	return t, split
}

func emptyTrial() result.Trial {
	return result.Trial{
		Steady: true, Warmed: plan.Duration(100 * time.Millisecond), Errors: map[string]uint64{}, Open: 1,
		Response: &stat.Histogram{}, Service: &stat.Histogram{}, Lag: &stat.Histogram{}, Wake: &stat.Histogram{},
	}
}

// finish fills in what does not depend on the queue.
func (s Server) finish(t *result.Trial) {
	t.Sent, t.OK = t.Planned, t.Planned
	t.Completed = min(t.Completed, t.OK)
	n, wall := float64(t.OK), t.Window+t.Drained // all calls have ended then
	t.Server = &result.Usage{
		CPU: plan.Duration(n * 0.6e9 / s.Rate), Wall: wall, Waited: t.Window / 50,
		Allocations: new(20 * t.OK),
	}
	t.Driver = &result.Usage{
		CPU: plan.Duration(n * 0.2e9 / s.Rate), Wall: wall, Waited: t.Window / 50,
		Allocations: new(2 * t.OK),
	}
	t.WireSent, t.WireReceived = 120*t.OK, 90*t.OK
}

// queues is an experiment with such servers, without rounds.
func queues(servers []Server, p plan.Plan, rounds int) *result.Result {
	p.Workload, p.Operation = "routeguide", "GetFeature"
	p.Rounds, p.Floor = plan.Rounds{Min: rounds, Max: max(rounds, 100)}, plan.FloorNone
	for _, s := range servers {
		p.Arms = append(p.Arms, plan.Arm{Name: s.Name, Protocol: s.Protocol, Driver: plan.DriverRaw})
	}
	p, err := p.Complete()
	if err != nil {
		panic(fmt.Sprintf("resulttest: %v", err)) // all plans are made in this package
	}
	r := &result.Result{
		Schema: result.Schema, Minor: result.Minor, ID: fmt.Sprintf("r-20261121-140512-%04x", p.Seed&0xffff),
		Began: began, Plan: p,
		Environment: environment(), Ending: result.RoundsDone, Ended: began.Add(time.Hour),
		Placement: result.Placement{ServerCPUs: []int{0}, DriverCPUs: []int{1}}, Command: "wirelab " + p.Name,
	}
	for i, a := range p.Arms {
		r.Arms = append(r.Arms, result.Arm{
			Name: a.Name, Protocol: servers[i].Protocol, Transport: "HTTP/2", Encoding: "Protocol Buffers",
			Multiplexed: true,
			Server:      "net/http", Client: plan.DriverRaw, Driver: plan.DriverRaw, Style: "idiomatic",
			Floorless: "no floor was asked for",
		})
	}
	return r
}

// Curves returns a curve: grpc serves 2,000/s, http1-json 1,200/s, and connect 1,600/s, but half of that from 1,900/s
// on.
func Curves() *result.Result {
	return Curve([]Server{
		{Name: "grpc", Protocol: "grpc", Rate: 2000},
		{Name: "http1-json", Protocol: "http1-json", Rate: 1200},
		{Name: "connect", Protocol: "connect", Rate: 1600, Falls: 1900},
	}, []float64{120, 300, 600, 800, 1000, 1100, 1300, 1500, 1700, 1900, 2200, 2500}, 12)
}

// Curve makes a curve of servers at rates.
func Curve(servers []Server, rates []float64, rounds int) *result.Result {
	p := plan.Plan{Name: "curve", Seed: 0xc0e5, Slices: 2, Slice: plan.Duration(time.Second)}
	for _, rate := range rates {
		p.Loads = append(p.Loads, plan.Load{Rate: rate, Arrivals: plan.Poisson, InFlight: inFlight})
	}
	r := queues(servers, p, rounds)
	random := rand.New(rand.NewPCG(1, 7))
	for n := range rounds {
		round := result.Round{Began: began.Add(time.Duration(n) * time.Minute)}
		for a, s := range servers {
			for l, rate := range rates {
				t, _ := s.queued(rate, r.Plan.Slices, time.Duration(r.Plan.Slice), time.Duration(r.Plan.Slice)/10, 0,
					random)
				t.Arm, t.Load = a, l
				t.Gaps = gaps(t.OK, false)
				round.Trials = append(round.Trials, t)
			}
		}
		r.Rounds = append(r.Rounds, round)
	}
	for a, s := range servers {
		r.Calibration = append(r.Calibration, result.Calibrated{Arm: a, InFlight: inFlight, Rate: s.Rate})
	}
	return r
}

// Capacity returns a search for the capacities of two servers under p99<50ms: 1,908/s for grpc, which serves 2,000/s,
// and 1,108/s for http1-json, which serves 1,200/s.
func Capacity() *result.Result {
	return Search([]Server{
		{Name: "grpc", Protocol: "grpc", Rate: 2000},
		{Name: "http1-json", Protocol: "http1-json", Rate: 1200},
	}, "p99<50ms", 6)
}

// Search makes a search among servers under an objective.
func Search(servers []Server, objective string, rounds int) *result.Result {
	r := queues(servers, plan.Plan{
		Name: "capacity", Seed: 0xca9a, Loads: []plan.Load{{InFlight: inFlight}}, Slices: 2,
		Slice: plan.Duration(100 * time.Millisecond),
	}, rounds)
	o, err := capacity.ParseObjective(objective)
	if err != nil {
		panic(fmt.Sprintf("resulttest: %v", err)) // it comes from a test
	}
	r.Capacity = &result.Capacity{
		Objective: o.String(), InFlight: inFlight, Probe: plan.Duration(30 * time.Second),
		Parts: capacity.ProbeParts,
	}
	random := rand.New(rand.NewPCG(2, 7))
	for n := range rounds {
		round := result.CapacityRound{Began: began.Add(time.Duration(n) * time.Minute)}
		place := 0
		for a, s := range servers {
			closed := emptyTrial()
			closed.Wake, closed.Arm = nil, a
			closed.Window = r.Plan.Slice * plan.Duration(r.Plan.Slices)
			rate := s.Rate * (1 + 0.02*random.NormFloat64())
			calls := uint64(rate * time.Duration(closed.Window).Seconds())
			closed.Response.RecordN(int64(1e9/rate*inFlight), calls)
			closed.Service = closed.Response.Clone()
			closed.Order = []int{place, place + 1}
			place += 2
			closed.Planned, closed.Completed = calls, calls
			s.finish(&closed)
			closed.Planned = 0
			found := result.CapacitySearch{Arm: a, Steady: true, Warmed: closed.Warmed, Closed: closed}
			search := capacity.SearchFrom(r.Capacity, o, float64(calls)/time.Duration(closed.Window).Seconds())
			for {
				rate, more := search.Next()
				if !more {
					break
				}
				length := capacity.Length(r.Capacity, o, rate)
				t, parts := s.queued(rate, 1, length+length/10, length/10, r.Capacity.Parts, random)
				t.Arm, t.Order = a, []int{place}
				probe := result.Probe{
					Place: place, Rate: rate, For: plan.Duration(length + length/10), Trial: t,
					Parts: parts,
				}
				place++
				probe.Outcome, probe.Why = capacity.Judge(r.Capacity, r, o, &probe)
				search.Tell(probe.Outcome)
				found.Probes = append(found.Probes, probe)
			}
			round.Searches = append(round.Searches, found)
		}
		r.Capacity.Rounds = append(r.Capacity.Rounds, round)
	}
	return r
}
