package postgres

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"wirelab"
	"wirelab/results/store"
	"wirelab/results/store/storetest"
	ledger "wirelab/workload/ledger/database/postgres"
)

// many is how many results a team's store is tried with.
const many = 5000

// fill makes copies of one result, in SQL: to put each would take minutes.
func fill(t *testing.T, s *Store) {
	t.Helper()
	puts(t, s, storetest.Small(0))
	for _, statement := range []string{
		`INSERT INTO wirelab_results.results
		SELECT 'r-' || to_char(began + n * interval '1 minute', 'YYYYMMDD-HH24MISS') || '-' || lpad(to_hex(n), 4, '0'),
			schema, 'plan-' || n % 50, CASE WHEN n % 10 = 0 THEN 'ledger' ELSE workload END, operations,
			CASE WHEN n % 100 = 0 THEN ARRAY['grpc', 'sse'] ELSE protocols END, arms, loads, rounds,
			began + n * interval '1 minute', ended + n * interval '1 minute', ending, 'lab-' || n % 20, revision, command, seed, self_test, bytes, digest, stored
		FROM wirelab_results.results, generate_series(1, ` + fmt.Sprint(many-1) + `) n`,
		`INSERT INTO wirelab_results.bodies SELECT r.id, b.body FROM wirelab_results.results r, wirelab_results.bodies b WHERE r.id <> b.result_id`,
		`INSERT INTO wirelab_results.arms SELECT r.id, a.arm, a.name, a.protocol, a.transport, a.framing, a.encoding, a.secure, a.multiplexed, a.server, a.client,
			a.driver, a.style, a.data, a.database, a.target, a.inject, a.connections, a.out
			FROM wirelab_results.results r, wirelab_results.arms a WHERE r.id <> a.result_id`,
		`ANALYZE wirelab_results.results`, `ANALYZE wirelab_results.bodies`, `ANALYZE wirelab_results.arms`,
	} {
		if _, err := s.pool.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// planOf tells how PostgreSQL would answer a query.
func planOf(t *testing.T, s *Store, query string, args []any) string {
	t.Helper()
	rows, err := s.pool.Query(t.Context(), "EXPLAIN "+query, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var lines []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

// Among thousands of results no list reads a body, nor more rows than an index
// leads to; and page by page each comes once (grb-D12).
func TestListsOfThousands(t *testing.T) {
	t.Parallel()
	s := open(t, database(t, server))
	fill(t, s)
	middle := storetest.Sample(0).Began.Add(many / 2 * time.Minute)
	for name, f := range map[string]store.Filter{
		"all":      {},
		"workload": {Workload: "ledger"},
		"name":     {Name: "plan-7"},
		"host":     {Host: "lab-3"},
		"protocol": {Protocol: "sse"},
		"since":    {Since: middle},
		"until":    {Until: middle},
		"after":    {After: store.Cursor{Began: middle, ID: "r-"}},
		"several": {
			Name: "plan-10", Workload: "ledger", Host: "lab-10", Protocol: "grpc", Since: middle,
			After: store.Cursor{Began: middle, ID: "r-"},
		},
		"nothing": {Operation: "Nothing", Name: "unknown"},
	} {
		query, args := listQuery(f, 50)
		plan := planOf(t, s, query, args)
		if strings.Contains(plan, "bodies") || strings.Contains(plan, "Seq Scan") {
			t.Errorf("list of %s:\n%s", name, plan)
		}
		query, args = totalQuery(f)
		if plan := planOf(t, s, query, args); strings.Contains(plan, "bodies") {
			t.Errorf("total of %s:\n%s", name, plan)
		}
		total, err := s.Total(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		if !f.After.IsZero() {
			continue // a total is of all pages
		}
		seen := map[string]bool{}
		for f.Limit = 700; ; {
			list, err := s.List(t.Context(), f)
			if err != nil {
				t.Fatal(err)
			}
			if len(list) == 0 {
				break
			}
			for _, m := range list {
				if seen[m.ID] {
					t.Fatalf("%s comes twice", m.ID)
				}
				seen[m.ID] = true
			}
			f.After = list[len(list)-1].Cursor()
		}
		if len(seen) != total.Results {
			t.Errorf("%s: %d in pages, %d in all", name, len(seen), total.Results)
		}
	}
	if total, err := s.Total(t.Context(), store.Filter{}); err != nil || total.Results != many {
		t.Errorf("%+v, %v", total, err)
	}
	plan := planOf(t, s,
		`SELECT id FROM wirelab_results.results WHERE id >= $1 AND id < $1 || '~' AND starts_with(id, $1) ORDER BY id DESC LIMIT $2`, []any{"r-202611", 8})
	if strings.Contains(plan, "Seq Scan") {
		t.Errorf("an abbreviation:\n%s", plan)
	}
	plan = planOf(t, s, `SELECT * FROM wirelab_results.arms WHERE result_id = $1`, []any{"r-1"})
	if strings.Contains(plan, "Seq Scan") {
		t.Errorf("the arms of one:\n%s", plan)
	}
}

// A ledger in the same database is made, seeded, changed and made again
// without touching a result (grb-D05).
func TestSeedingALedgerTouchesNoResult(t *testing.T) {
	t.Parallel()
	dsn := database(t, server)
	s := open(t, dsn)
	puts(t, s, ledgerResult(), storetest.Sample(0))
	picture := func() (text string) {
		one(t, s,
			`SELECT string_agg(r.digest || ' ' || md5(b.body), ',' ORDER BY r.id) || (SELECT count(*) FROM benchmark_samples) || (SELECT count(*) FROM wirelab_results.trials)
			FROM wirelab_results.results r JOIN wirelab_results.bodies b ON b.result_id = r.id`, nil, &text)
		return text
	}
	before := picture()
	for _, data := range []string{"100x1000", "100x1000", "200x500"} {
		opened, err := ledger.Database().Open(t.Context(),
			wirelab.DatabaseAddress{Kind: "postgres", Source: dsn, Pool: 2}, data)
		if err != nil {
			t.Fatal(err)
		}
		if err := opened.Close(); err != nil {
			t.Error(err)
		}
		if after := picture(); after != before {
			t.Errorf("after seeding %s the results are\n%s\nand were\n%s", data, after, before)
		}
	}
	puts(t, s, storetest.Sample(1))
	if _, err := s.Get(context.WithoutCancel(t.Context()), storetest.Sample(0).ID); err != nil {
		t.Error(err)
	}
}
