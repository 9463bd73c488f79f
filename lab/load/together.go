package load

import (
	"context"
	"slices"
	"time"
)

// togetherMost limits the calls of windows that are run together.
const togetherMost = 1 << 20

// togetherUsual is how many windows are at first run together if calls take long.
const togetherUsual = 60

// together runs up to n windows of an open loop one after the other in one run. A window that is run alone ends with
// its last call, so that most of the time is spent waiting if calls take longer than a window. The head is as long as a
// call takes, so that calls end in the first window as in the last. together also returns the longest time that a call
// took.
func (r *Runner) together(ctx context.Context, p Plan, head time.Duration, n int) ([]window, time.Duration, error) {
	n = max(1, min(n, int(togetherMost/max(p.Schedule.Expected(p.Duration), 1))))
	run := p
	run.Head = head
	run.Duration = min(head+time.Duration(n)*p.Duration, DurationLimit)
	ended := make([][]Ended, r.width())
	run.Watch = func(e Ended) {
		ended[e.Caller] = append(ended[e.Caller], e)
		if p.Watch != nil {
			p.Watch(e)
		}
	}
	rec, err := r.Run(ctx, run)
	if err != nil {
		return nil, 0, err
	}
	classify := p.Classify
	if classify == nil {
		classify = Classify
	}
	return cut(ended, rec.Began.Add(head).UnixNano(), p.Duration, n, classify), time.Duration(rec.Response.Max()), nil
}

// cut divides calls into n windows, the first of which starts at begin. The response time of a call belongs to the
// window in which it was due, as in a run. Its throughput belongs to the window in which it ended.
func cut(ended [][]Ended, begin int64, length time.Duration, n int, classify func(error) string) []window {
	all := make([]window, n)
	times := make([][]int64, n)
	in := func(at int64) (int, bool) {
		i := (at - begin) / int64(length)
		return int(i), at >= begin && i < int64(n)
	}
	for _, calls := range ended {
		for _, e := range calls {
			if i, ok := in(e.End); ok && e.Err == nil {
				all[i].throughput += 1 / length.Seconds()
			}
			i, ok := in(e.Due)
			if !ok {
				continue
			}
			all[i].sent++
			if e.Err == nil {
				all[i].ok++
				times[i] = append(times[i], e.End-e.Due)
				continue
			}
			if all[i].errors == nil {
				all[i].errors = map[string]uint64{}
			}
			all[i].errors[classify(e.Err)]++
		}
	}
	for i, t := range times {
		if len(t) > 0 {
			slices.Sort(t)
			all[i].median = float64(t[(len(t)-1)/2])
		}
	}
	return all
}
