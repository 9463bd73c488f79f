package sqlite

import (
	"context"
	"strings"

	"wirelab/results/store"
)

// Values implements [store.Store].
func (s *Store) Values(ctx context.Context) (store.Values, error) {
	rows, err := s.read.QueryContext(ctx, `SELECT DISTINCT name, workload, operation, protocols, host FROM results`)
	if err != nil {
		return store.Values{}, s.explain("read", err)
	}
	defer func() { _ = rows.Close() }() // rows.Err has reported the error
	var all []store.Summary
	for rows.Next() {
		var m store.Summary
		var operations, protocols string
		if err := rows.Scan(&m.Name, &m.Workload, &operations, &protocols, &m.Host); err != nil {
			return store.Values{}, s.explain("read", err)
		}
		m.Operations, m.Protocols = strings.Fields(operations), strings.Fields(protocols)
		all = append(all, m)
	}
	return store.Gather(all), s.explain("read", rows.Err())
}
