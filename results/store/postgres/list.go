package postgres

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"wirelab/results/store"
)

// List implements [store.Store].
func (s *Store) List(ctx context.Context, f store.Filter) ([]store.Summary, error) {
	limit, err := f.Size()
	if err != nil {
		return nil, err
	}
	list := []store.Summary{}
	if impossible(f) {
		return list, s.explain(ctx, "read", ctx.Err())
	}
	query, args := listQuery(f, limit)
	err = s.again(ctx, func(ctx context.Context, _ int) error {
		rows, err := s.pool.Query(ctx, query, args...)
		if err != nil {
			return err
		}
		list, err = pgx.AppendRows(list[:0], rows,
			func(row pgx.CollectableRow) (store.Summary, error) { return scan(row) })
		return err
	})
	if err != nil {
		return nil, s.explain(ctx, "read", err)
	}
	return list, nil
}

// Total implements [store.Store].
func (s *Store) Total(ctx context.Context, f store.Filter) (store.Total, error) {
	var t store.Total
	if impossible(f) {
		return t, s.explain(ctx, "read", ctx.Err())
	}
	query, args := totalQuery(f)
	err := s.again(ctx, func(ctx context.Context, _ int) error {
		return s.pool.QueryRow(ctx, query, args...).Scan(&t.Results, &t.Bytes)
	})
	return t, s.explain(ctx, "read", err)
}

// Values implements [store.Store].
func (s *Store) Values(ctx context.Context) (store.Values, error) {
	var all []store.Summary
	err := s.again(ctx, func(ctx context.Context, _ int) error {
		rows, err := s.pool.Query(ctx,
			`SELECT DISTINCT name, workload, operations, protocols, host FROM wirelab_results.results`)
		if err != nil {
			return err
		}
		all, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (m store.Summary, err error) {
			return m, row.Scan(&m.Name, &m.Workload, &m.Operations, &m.Protocols, &m.Host)
		})
		return err
	})
	if err != nil {
		return store.Values{}, s.explain(ctx, "read", err)
	}
	return store.Gather(all), nil
}

// summaryColumns are the columns that [scan] reads.
const summaryColumns = `id, name, workload, operations, protocols, arms, loads, rounds,
	began, ended, ending, host, revision, bytes, label, finding`

// scan reads the summary in a row. Columns selected after it go into more.
func scan(row pgx.Row, more ...any) (store.Summary, error) {
	var m store.Summary
	into := []any{
		&m.ID, &m.Name, &m.Workload, &m.Operations, &m.Protocols, &m.Arms, &m.Loads, &m.Rounds,
		&m.Began, &m.Ended, &m.Ending, &m.Host, &m.Commit, &m.Bytes, &m.Label, &m.Finding,
	}
	if err := row.Scan(append(into, more...)...); err != nil {
		return store.Summary{}, err
	}
	m.Began, m.Ended = m.Began.UTC(), m.Ended.UTC()
	m.Harmless()
	return m, nil
}

// listQuery returns a filter as SQL for a list, with its arguments.
func listQuery(f store.Filter, limit int) (query string, args []any) {
	where, args := conditions(f, true)
	args = append(args, limit)
	return fmt.Sprintf(`SELECT %s FROM wirelab_results.results%s ORDER BY began DESC, id DESC LIMIT $%d`,
		summaryColumns, where, len(args)), args
}

func totalQuery(f store.Filter) (query string, args []any) {
	where, args := conditions(f, false)
	return `SELECT count(*), coalesce(sum(bytes), 0)::bigint FROM wirelab_results.results` + where, args
}

// conditions returns a filter as SQL, with or without its place in the list. Only values come from the caller, and
// they are passed as arguments.
func conditions(f store.Filter, place bool) (where string, args []any) {
	var all []string
	add := func(condition string, values ...any) {
		for _, v := range values {
			args = append(args, v)
			condition = strings.Replace(condition, "?", fmt.Sprintf("$%d", len(args)), 1)
		}
		all = append(all, condition)
	}
	if place && !f.After.IsZero() {
		add("(began, id) < (?, ?)", f.After.Began.UTC(), f.After.ID)
	}
	if f.Name != "" {
		add("(name = ? OR label = ?)", f.Name, f.Name)
	}
	if f.Hide != "" {
		add("name <> ?", f.Hide)
	}
	if f.Workload != "" {
		add("workload = ?", f.Workload)
	}
	if f.Host != "" {
		add("host = ?", f.Host)
	}
	if f.Operation != "" {
		add("operations @> ?", []string{f.Operation})
	}
	if f.Protocol != "" {
		add("protocols @> ?", []string{f.Protocol})
	}
	if !f.Since.IsZero() {
		add("began >= ?", f.Since.UTC())
	}
	if !f.Until.IsZero() {
		add("began < ?", f.Until.UTC())
	}
	if len(all) == 0 {
		return "", nil
	}
	return " WHERE " + strings.Join(all, " AND "), args
}

// impossible reports whether a filter contains text that PostgreSQL refuses as an argument. No stored text contains
// it.
func impossible(f store.Filter) bool {
	return unfit(f.Name + f.Hide + f.Workload + f.Operation + f.Protocol + f.Host + f.After.ID)
}

// unfit reports whether PostgreSQL refuses a text.
func unfit(s string) bool { return !utf8.ValidString(s) || strings.ContainsRune(s, 0) }

// resolve finds the one id that equals text or begins with it.
func (s *Store) resolve(ctx context.Context, text string) (string, error) {
	if unfit(text) {
		return "", s.noSuch(ctx, text)
	}
	named, err := s.ids(ctx,
		`SELECT id FROM wirelab_results.results WHERE label <> '' AND label = $1 ORDER BY id DESC LIMIT $2`, text,
		store.ResolveLimit)
	if err != nil {
		return "", err
	}
	if id, err := store.Named(text, named); err != nil || id != "" {
		return id, err
	}
	// Ids consist of characters below "~" and sort by bytes, so the index finds those that begin so. The second
	// condition covers text that cannot be an id.
	ids, err := s.ids(ctx, `SELECT id FROM wirelab_results.results
		WHERE id >= $1 AND id < $1 || '~' AND starts_with(id, $1) ORDER BY id DESC LIMIT $2`, text, store.ResolveLimit)
	if err != nil {
		return "", err
	}
	if len(ids) == 0 {
		return "", s.noSuch(ctx, text)
	}
	return store.Resolve(text, ids)
}

// noSuch returns the error for an id that does not exist.
func (s *Store) noSuch(ctx context.Context, text string) error {
	ids, err := s.ids(ctx, `SELECT id FROM wirelab_results.results ORDER BY began DESC, id DESC LIMIT $1`,
		store.NearLimit)
	if err != nil {
		return err
	}
	labels, err := s.ids(ctx,
		`SELECT label FROM wirelab_results.results WHERE label <> '' ORDER BY began DESC, id DESC LIMIT $1`,
		store.NearLimit)
	if err != nil {
		return err
	}
	return store.NoSuch(text, ids, labels)
}

func (s *Store) ids(ctx context.Context, query string, args ...any) (ids []string, err error) {
	err = s.again(ctx, func(ctx context.Context, _ int) error {
		rows, err := s.pool.Query(ctx, query, args...)
		if err != nil {
			return err
		}
		ids, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	return ids, s.explain(ctx, "read", err)
}
