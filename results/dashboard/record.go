package dashboard

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"wirelab"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	histories "wirelab/lab/result/history"
	"wirelab/results/store"
)

// knownResults is how many results the cache for histories holds, at about 5 kB each.
const knownResults = 5000

// record has what histories need of a result: its figures, and where and how it was measured. It has no single calls.
type record struct {
	summary store.Summary
	place   *result.Result // only its environment, placement and plan
	figures []figures
	ran     []ran
	damage  string // why there are no figures; "" if there are
}

// figures are those of one arm under one load.
type figures struct {
	operation, arm, load string
	name                 string // the arm's name in the result
	primary              string
	values               map[string]claim.Estimate // by metric
}

// recall returns the records of results in their order, from the cache or read anew, with a few reads at once.
func (d *Dashboard) recall(ctx context.Context, list []store.Summary) ([]*record, error) {
	release, err := d.take(ctx, d.heavy, "too many histories at once")
	if err != nil {
		return nil, err
	}
	defer release()
	all := make([]*record, len(list))
	var mu sync.Mutex // guards failed
	var failed error
	var group sync.WaitGroup
	next := make(chan int)
	for range min(max(1, runtime.GOMAXPROCS(0)), 4) {
		group.Go(func() {
			for i := range next {
				one, err := d.recordOf(ctx, list[i])
				if err != nil {
					mu.Lock()
					failed = err
					mu.Unlock()
				}
				all[i] = one
			}
		})
	}
	for i := range list {
		mu.Lock()
		stop := failed != nil
		mu.Unlock()
		if stop {
			break
		}
		next <- i
	}
	close(next)
	group.Wait()
	if failed != nil {
		return nil, failed
	}
	// nil: deleted since the list was read
	return slices.DeleteFunc(all, func(r *record) bool { return r == nil }), nil
}

// recordOf returns the record of one result. A damaged result gives a record without figures, since it must not hide
// the others.
func (d *Dashboard) recordOf(ctx context.Context, m store.Summary) (*record, error) {
	// The data of an id never changes. A result that was deleted and added again differs in one of these
	// values, if it is another one.
	key := fmt.Sprint(m.ID, m.Bytes, m.Ended.UnixMicro(), m.Rounds, m.Commit)
	if known, ok := d.known.get(key); ok {
		return known, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r, err := d.config.Store.Get(ctx, m.ID)
	made := &record{summary: m}
	switch {
	case err == nil:
		made = recordFrom(m, r)
	case wirelab.CodeOf(err) == wirelab.NotFound:
		return nil, nil
	case wirelab.CodeOf(err) == wirelab.Unimplemented || wirelab.CodeOf(err) == wirelab.Internal && ctx.Err() == nil:
		d.config.Log.Warn("result is left out of a history", "id", m.ID, "error", err)
		made.damage = "it cannot be read"
	default:
		return nil, err
	}
	d.known.put(key, made, 1)
	return made, nil
}

func recordFrom(m store.Summary, r *result.Result) *record {
	made := &record{
		summary: m,
		place:   &result.Result{ID: r.ID, Environment: r.Environment, Placement: r.Placement, Plan: r.Plan},
	}
	loads := histories.Estimates(r)
	made.ran = rans(r, loads)
	for _, load := range loads {
		for a := range load.Arms {
			f := figures{
				operation: r.Plan.OperationOf(r.Plan.Loads[load.Load]), arm: armText(r.Plan, a),
				load: loadText(r.Plan, load.Load),
				name: load.Arms[a].Name, primary: load.Primary, values: map[string]claim.Estimate{},
			}
			for _, row := range load.Rows {
				f.values[row.Metric] = row.Cells[a].Estimate
			}
			made.figures = append(made.figures, f)
		}
	}
	return made
}

// armText describes an arm, whatever its name is: arms with the same text are the same arm in all results.
func armText(p plan.Plan, arm int) string {
	a := p.Arms[arm]
	a.Data, a.Name = p.DataOf(a), ""
	return strings.ReplaceAll(a.String(), ",", ", ")
}

// loadText describes a load with its operation and its network path.
func loadText(p plan.Plan, load int) string {
	l := p.Loads[load]
	requests := p.RequestsOf(l)
	l.Operation, l.Requests = "", ""
	text := l.String()
	if requests != "" {
		text += ", " + requests + " requests"
	}
	if p.Network != "" {
		text += ", network " + p.Network
	}
	return text
}
