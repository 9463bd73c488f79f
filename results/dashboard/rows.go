package dashboard

import (
	"context"
	"errors"
	"strings"
	"time"

	"wirelab/lab/result"
	"wirelab/results/report"
	"wirelab/results/store"
)

// row is a result as the list shows it.
type row struct {
	store.Summary
	Gist  report.Gist
	Title string // its label, or the name of its preset
	Why   string // why there is no gist
}

var errLater = errors.New("not looked at yet; load the page again")

// rows returns the rows that a page shows.
func (d *Dashboard) rows(ctx context.Context, list []store.Summary) []row {
	until := time.Now().Add(d.limits.gist)
	rows := make([]row, len(list))
	for i, m := range list {
		r := row{Summary: m, Title: m.Label}
		if r.Title == "" && m.Name != "compare" {
			r.Title = m.Name
		}
		var err error
		r.Gist, err = report.ListedGist(m.Finding, func() (*result.Result, error) {
			if time.Now().After(until) {
				return nil, errLater
			}
			return d.config.Store.Get(ctx, m.ID)
		}, func(text string) error { return d.config.Store.SetFinding(ctx, m.ID, text) })
		if err != nil {
			r.Gist, r.Why = report.Gist{Arms: strings.Join(m.Protocols, ", ")}, "cannot be read"
			if errors.Is(err, errLater) {
				r.Why = err.Error()
			}
		}
		rows[i] = r
	}
	return rows
}
