package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"wirelab"
	"wirelab/lab/result"
	"wirelab/lab/result/history"
	"wirelab/results/store"
	"wirelab/results/store/benchmark"
)

// benchmarkTime limits the time for making the first benchmark's rows of older results whenever the store is opened,
// the latest result first. Opening a store of thousands of results must not take long.
const benchmarkTime = time.Second

// instant is the format of times in these rows, which compare as texts.
const instant = "2006-01-02 15:04:05.000000"

// benchmarked returns the rows of a result in the first benchmark's format.
func benchmarked(r *result.Result) (rows [][]any, err error) {
	loads := history.Estimates(r)
	begun := make([]string, len(r.Rounds))
	for i := range r.Rounds {
		begun[i] = r.Rounds[i].Began.UTC().Format(instant)
	}
	begins, err := json.Marshal(begun)
	if err != nil {
		return nil, err
	}
	for _, u := range benchmark.Gather(r) {
		l := benchmark.Load(loads, u)
		if l == nil {
			continue
		}
		d, t, f, drawn := benchmark.Describe(r, u), u.Totals(), u.Figures(l), u.Draw(r.ID)
		var library, database string
		if u.Arm < len(r.Arms) {
			library, database = r.Arms[u.Arm].Client, r.Arms[u.Arm].Database
		}
		const mib = 1 << 20
		millis := benchmark.Millis
		rows = append(rows, []any{
			r.ID, u.Arm, u.Load, d.Scenario, d.Protocol, d.Client, d.Concurrency,
			t.Window.Seconds(), d.Rate, r.Began.UTC().Format(instant), whole(t.Sent), whole(t.OK),
			f.Throughput, millis(f.P50), millis(f.P90), millis(f.P99), millis(f.Mean), millis(f.Least), millis(f.Most),
			f.CPU, t.Resident / mib, float64(t.Peak) / mib,
			sql.NullString{String: f.Refused, Valid: f.Refused != ""},
			l.Arms[u.Arm].Name, l.Name, r.Plan.Name, r.Environment.Host, d.Wire, library, database,
			strconv.FormatUint(drawn.Seed, 10), whole(drawn.Population), string(begins),
			drawnText(drawn, f.TimesWithheld),
		})
	}
	return rows, nil
}

// drawnText returns drawn calls as JSON, without times if a check refuses those of their run. It is written by hand,
// since a result of many runs has a million of them.
func drawnText(drawn benchmark.Drawn, withheld bool) string {
	text := append(make([]byte, 0, 20*len(drawn.Rounds)+2), '[')
	for i, round := range drawn.Rounds {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(append(text, '['), int64(round), 10)
		if latency := drawn.Latencies[i]; latency != nil && !withheld {
			text = strconv.AppendInt(append(text, ','), *latency, 10)
		} else {
			text = append(text, ",null"...)
		}
		if code := drawn.Errors[i]; code != nil {
			quoted, _ := json.Marshal(*code) // a string can always be encoded
			text = append(append(text, ','), quoted...)
		}
		text = append(text, ']')
	}
	return string(append(text, ']'))
}

// whole returns n, limited to the range of SQLite's integers. Only a fabricated result exceeds it.
func whole(n uint64) int64 { return int64(min(n, math.MaxInt64)) }

// putBenchmarked writes a result's rows, and records that they exist.
func putBenchmarked(ctx context.Context, tx *sql.Tx, id string, rows [][]any) error {
	done, err := tx.ExecContext(ctx, `INSERT INTO benchmarked (result_id)
		SELECT id FROM results WHERE id = ? ON CONFLICT DO NOTHING`, id)
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 { // another process did so, or the result was deleted
		return err
	}
	for _, row := range rows {
		if _, err := tx.ExecContext(ctx, `INSERT INTO benchmarks (result_id, arm, load, scenario, protocol, client,
			concurrency, duration_sec, rate_limit, created_at, total_samples, successful,
			throughput, p50_latency, p90_latency, p99_latency, avg_latency, min_latency, max_latency,
			cpu_usage_avg, memory_mb_avg, memory_mb_peak, refused,
			arm_name, load_name, preset, host, wire, library, database, seed, population, begins, drawn)
			VALUES (?`+strings.Repeat(", ?", len(row)-1)+`)`, row...); err != nil {
			return err
		}
	}
	return nil
}

// benchmarkOlder makes the rows of results that have none, and begins with no further result after its time. It
// finishes the one that it began; otherwise the next opening would begin with the same result and make no progress. A
// result that cannot be read has no rows. One of a later schema is left to a program that can read it.
func (s *Store) benchmarkOlder(ctx context.Context) error {
	later := int64(math.MaxInt64) // when the last result that was left began
	for until := time.Now().Add(benchmarkTime); ctx.Err() == nil && time.Now().Before(until); {
		var id string
		var body []byte
		var began int64
		err := s.write.QueryRowContext(ctx, `SELECT id, body, began FROM results r
			WHERE NOT EXISTS (SELECT 1 FROM benchmarked b WHERE b.result_id = r.id) AND began < ?
			ORDER BY began DESC LIMIT 1`, later).Scan(&id, &body, &began)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		var rows [][]any
		r, err := store.UnpackAs(body, id, s.path)
		switch {
		case err == nil:
			if rows, err = benchmarked(r); err != nil {
				return err
			}
		case wirelab.CodeOf(err) == wirelab.Unimplemented:
			later = began
			continue
		}
		if err := s.change(ctx, func(tx *sql.Tx) error { return putBenchmarked(ctx, tx, id, rows) }); err != nil {
			return err
		}
	}
	return nil
}
