package streams

import (
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/stat"
)

// limitClients bounds the analysis of a result from a file.
const limitClients = 1024

// streamState works out how an arm's streams did; nil where the load has none.
func streamState(l plan.Load, trials []*result.Trial) *claim.StreamState {
	if len(trials) == 0 {
		return nil
	}
	var all *result.Streams
	var window, completed, wrong float64
	var received, read uint64
	for _, t := range trials {
		window += time.Duration(max(t.Window, 0)).Seconds()
		completed += float64(t.Completed)
		wrong += float64(t.Errors[result.WrongReply])
		received += t.WireReceived
		read += t.Calls()
		if t.Streams != nil {
			all = all.Add(*t.Streams)
		}
	}
	if all == nil {
		return nil
	}
	rate := func(n float64) float64 {
		if window <= 0 {
			return 0
		}
		return claim.Finite(n / window)
	}
	found := &claim.StreamState{
		Target: l.Rate, Achieved: rate(completed),
		Missing: all.Missing, Duplicated: all.Duplicated, Reordered: all.Reordered, Wrong: uint64(wrong) + all.Stray,
		Clients: []claim.ClientState{},
	}
	for _, c := range all.Clients[:min(len(all.Clients), limitClients)] {
		found.Clients = append(found.Clients, claim.ClientState{
			Target: float64(l.EachRate()), Achieved: rate(float64(c.Completed)), Events: c.Right,
			Missing: c.Missing, Duplicated: c.Duplicated, Reordered: c.Reordered, Wrong: c.Wrong,
			DeliveryP50: quantile(c.Delivery, 0.5), DeliveryP99: quantile(c.Delivery, 0.99),
			JitterP99: quantile(c.Jitter, 0.99),
		})
	}
	if l.Slow() && all.Ends > 0 {
		mean := func(n uint64) float64 { return float64(n) / float64(all.Ends) }
		found.Behind = &claim.SlowState{
			Due: mean(all.Due), Sent: mean(all.Sent), Decoded: mean(all.Decoded), Dropped: mean(all.Dropped),
			Buffered: mean(all.Buffered()), PushedBack: mean(all.PushedBack()),
		}
		if read > 0 {
			found.Behind.BufferedBytes = claim.Finite(found.Behind.Buffered * float64(received) / float64(read))
		}
	}
	return found
}

// quantile is 0 where there are too few times for it: ten beyond it.
func quantile(h *stat.Histogram, q float64) float64 {
	if h == nil || float64(h.Count())*(1-q) < 10 {
		return 0
	}
	return float64(h.Quantile(q))
}
