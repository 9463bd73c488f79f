package dashboard

import (
	"context"
	"net/http"
	"net/url"
	"slices"

	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/claim"
	histories "wirelab/lab/result/history"
	"wirelab/results/store"
)

// comparedMost is how many results can be compared at once.
const comparedMost = 8

// comparison compares several results with the first of them.
type comparison struct {
	Results []comparedResult `json:"results"`
	// Pairs has the first result with each of the others, in their order.
	Pairs []pair `json:"comparisons"`
}

// comparedResult is one of the results.
type comparedResult struct {
	Summary     store.Summary       `json:"summary"`
	Environment result.Environment  `json:"environment"`
	Certificate *result.Certificate `json:"certificate,omitempty"`

	r *result.Result
	a *claim.Analysis
}

// pair compares the first result and another.
type pair struct {
	Was  string `json:"was"`
	Here string `json:"here"`
	histories.CrossRun
}

func (d *Dashboard) compareAPI(w http.ResponseWriter, r *http.Request) error {
	q := ask(r, false)
	ids := q.ids()
	if err := q.done(); err != nil {
		return err
	}
	c, err := d.compare(r.Context(), ids)
	if err != nil {
		return err
	}
	d.json(w, http.StatusOK, c)
	return nil
}

// ids reads the ids of the results to compare.
func (q *query) ids() []string {
	var ids []string
	for _, id := range q.all("id") {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if len(ids) < 2 || len(ids) > comparedMost {
		q.wrong("%d results to compare; give 2 to %d, each as id=…", len(ids), comparedMost)
	}
	return ids
}

// compare reads the results and compares each with the first.
func (d *Dashboard) compare(ctx context.Context, ids []string) (*comparison, error) {
	release, err := d.take(ctx, d.heavy, "too many comparisons at once")
	if err != nil {
		return nil, err
	}
	defer release()
	c := &comparison{Results: []comparedResult{}, Pairs: []pair{}}
	for _, id := range ids {
		found, err := d.whole(ctx, id)
		if err != nil {
			return nil, err
		}
		r, err := read(found)
		if err != nil {
			return nil, err
		}
		a := analyse.Result(r)
		c.Results = append(c.Results, comparedResult{found.Summary, r.Environment, r.Certificate, r, &a})
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	first := &c.Results[0]
	for i := range c.Results[1:] {
		other := &c.Results[i+1]
		c.Pairs = append(c.Pairs, pair{first.r.ID, other.r.ID, histories.Compare(first.r, other.r, first.a, other.a)})
	}
	return c, nil
}

// comparing returns the address of a comparison.
func comparing(ids []string) string { return "/compare?" + url.Values{"id": ids}.Encode() }
