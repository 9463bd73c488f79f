// Package sqlite keeps results in one SQLite file, in Go and without a server. It knows SQL, files and how they fail.
// It must not know what a result means.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	codes "modernc.org/sqlite/lib"

	"wirelab"
	"wirelab/lab/result"
	"wirelab/results/store"
	"wirelab/system/sqlite"
)

// busyTimeout is how long a process waits for another one that writes. A Put takes milliseconds, so a longer wait
// means that the other process hangs.
const busyTimeout = 10 * time.Second

// readers is how many connections may read at once.
const readers = 4

// Store is a [store.Store] in a file.
type Store struct {
	path string
	// Only one connection writes, so that writers in this process queue here in order. Writers in other processes
	// take turns by busyTimeout.
	write *sql.DB
	read  *sql.DB
	news  *sql.DB // see [Store.Report]
}

var _ store.Store = (*Store)(nil)

// Open opens the store in a file. It creates the file and its directory if necessary, with access only for their
// owner. The directory must be on a local disk, since SQLite's write-ahead log does not work over a network. ctx
// limits only the opening.
func Open(ctx context.Context, path string) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, wirelab.Errorf(wirelab.PermissionDenied,
			"cannot make the directory of %s: %v; set WIRELAB_STORE to a file that you can write", path, err)
	}
	s := &Store{path: path}
	if err := s.own(ctx); err != nil {
		return nil, err
	}
	// A commit waits for the disk (FULL), so that a result survives a power failure once Put has returned.
	// Transactions take the write lock when they begin; otherwise two that read first could wait for each other.
	if s.write, err = sqlite.Open(path, 1, busyTimeout, "journal_mode(WAL)", "synchronous(FULL)"); err != nil {
		return nil, err
	}
	patient, cancel := context.WithTimeout(ctx, busyTimeout)
	defer cancel()
	if err := sqlite.WhileBusy(patient, func() error { return s.migrate(ctx) }); err != nil {
		return nil, errors.Join(s.explain("open", err), s.write.Close())
	}
	if s.read, err = sqlite.Open(path, readers, busyTimeout, "query_only(1)"); err != nil {
		return nil, errors.Join(err, s.write.Close())
	}
	if s.news, err = sqlite.Open(path, 1, newsTimeout, "synchronous(NORMAL)"); err != nil {
		return nil, errors.Join(err, s.read.Close(), s.write.Close())
	}
	_ = s.benchmarkOlder(ctx) // what fails now, as on a full disk, is done at the next opening
	return s, nil
}

// Close closes the file. Calls in progress fail.
func (s *Store) Close() error { return errors.Join(s.news.Close(), s.read.Close(), s.write.Close()) }

// Path returns the absolute path of the file.
func (s *Store) Path() string { return s.path }

// Put implements [store.Store].
func (s *Store) Put(ctx context.Context, r *result.Result) error {
	p, err := store.Pack(r)
	if err != nil {
		return err
	}
	return s.put(ctx, p)
}

// PutText implements [store.Store].
func (s *Store) PutText(ctx context.Context, text []byte) error {
	p, err := store.PackText(text)
	if err != nil {
		return err
	}
	return s.put(ctx, p)
}

// PutPacked implements [store.Store].
func (s *Store) PutPacked(ctx context.Context, p store.Packed) error { return s.put(ctx, p) }

func (s *Store) put(ctx context.Context, p store.Packed) error {
	r, m := p.Result, store.Summarize(p.Result)
	rows, err := benchmarked(r)
	if err != nil {
		return err
	}
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return s.explain("store result "+r.ID, err)
	}
	defer func() { _ = tx.Rollback() }() // has no effect after a commit
	_, err = tx.ExecContext(ctx, `INSERT INTO results
		(id, schema, name, workload, operation, protocols, arms, loads, rounds, began, ended, ending, host, revision, body, digest)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		m.ID, r.Schema, m.Name, m.Workload, strings.Join(m.Operations, " "), " "+strings.Join(m.Protocols, " ")+" ",
		m.Arms, m.Loads, m.Rounds, m.Began.UnixMicro(), m.Ended.UnixMicro(), string(m.Ending), m.Host, m.Commit, p.Body,
		p.Digest)
	if code := sqlite.ExtendedCode(err); code == codes.SQLITE_CONSTRAINT_PRIMARYKEY ||
		code == codes.SQLITE_CONSTRAINT_UNIQUE {
		return wirelab.Errorf(wirelab.Conflict, "there is a result %s already", r.ID)
	}
	if err == nil {
		err = putBenchmarked(ctx, tx, r.ID, rows)
	}
	if err == nil && p.Origin != "" {
		_, err = setOrigin(ctx, tx, r.ID, p.Origin)
	}
	if err == nil { // it no longer runs
		_, err = tx.ExecContext(ctx, `DELETE FROM running WHERE id = ?`, r.ID)
	}
	if err == nil {
		err = tx.Commit()
	}
	return s.explain("store result "+r.ID, err)
}

// Digest implements [store.Store].
func (s *Store) Digest(ctx context.Context, id string) (digest string, err error) {
	err = s.read.QueryRowContext(ctx, `SELECT digest FROM results WHERE id = ?`, id).Scan(&digest)
	if errors.Is(err, sql.ErrNoRows) {
		return "", s.noSuch(ctx, id)
	}
	return digest, s.explain("read result "+id, err)
}

// Get implements [store.Store].
func (s *Store) Get(ctx context.Context, id string) (*result.Result, error) {
	id, err := s.resolve(ctx, id)
	if err != nil {
		return nil, err
	}
	var body []byte
	var label sql.NullString
	err = s.read.QueryRowContext(ctx, `SELECT body, label FROM `+listed+` WHERE id = ?`, id).Scan(&body, &label)
	if errors.Is(err, sql.ErrNoRows) { // deleted after its id was found
		return nil, s.noSuch(ctx, id)
	}
	if err != nil {
		return nil, s.explain("read result "+id, err)
	}
	r, err := store.UnpackAs(body, id, s.path)
	if err == nil {
		r.Label = label.String
	}
	return r, err
}

// Raw implements [store.Store].
func (s *Store) Raw(ctx context.Context, id string) (store.Stored, error) {
	id, err := s.resolve(ctx, id)
	if err != nil {
		return store.Stored{}, err
	}
	var found store.Stored
	var body []byte
	found.Summary, err = scan(s.read.QueryRowContext(ctx,
		`SELECT `+summaryColumns+`, body, digest FROM `+listed+` WHERE id = ?`, id), &body, &found.Digest)
	if errors.Is(err, sql.ErrNoRows) { // deleted after its id was found
		return store.Stored{}, s.noSuch(ctx, id)
	}
	if err != nil {
		return store.Stored{}, s.explain("read result "+id, err)
	}
	if found.JSON, err = store.UnpackText(body); err != nil {
		found.Damage = wirelab.Public(err).Message
	}
	found.Origin, err = s.origin(ctx, id)
	return found, err
}

// resolve finds the one id that equals text or begins with it.
func (s *Store) resolve(ctx context.Context, text string) (string, error) {
	named, err := s.ids(ctx,
		`SELECT result_id FROM beside WHERE label <> '' AND label = ? ORDER BY result_id DESC LIMIT ?`, text,
		store.ResolveLimit)
	if err != nil {
		return "", err
	}
	if id, err := store.Named(text, named); err != nil || id != "" {
		return id, err
	}
	// substr and not LIKE, in which _ and % are wildcards.
	ids, err := s.ids(ctx, `SELECT id FROM results WHERE substr(id, 1, length(?1)) = ?1 ORDER BY id DESC LIMIT ?2`,
		text, store.ResolveLimit)
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
	ids, err := s.ids(ctx, `SELECT id FROM results ORDER BY began DESC, id DESC LIMIT ?`, store.NearLimit)
	if err != nil {
		return err
	}
	labels, err := s.ids(ctx, `SELECT label FROM beside WHERE label <> '' ORDER BY result_id DESC LIMIT ?`,
		store.NearLimit)
	if err != nil {
		return err
	}
	return store.NoSuch(text, ids, labels)
}

func (s *Store) ids(ctx context.Context, query string, args ...any) ([]string, error) {
	rows, err := s.read.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, s.explain("read", err)
	}
	defer func() { _ = rows.Close() }() // rows.Err has reported the error
	var ids []string
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, s.explain("read", err)
		}
		ids = append(ids, id)
	}
	return ids, s.explain("read", rows.Err())
}

// List implements [store.Store].
func (s *Store) List(ctx context.Context, f store.Filter) ([]store.Summary, error) {
	limit, err := f.Size()
	if err != nil {
		return nil, err
	}
	query, args := listQuery(f)
	rows, err := s.read.QueryContext(ctx, query, append(args, limit)...)
	if err != nil {
		return nil, s.explain("read", err)
	}
	defer func() { _ = rows.Close() }() // rows.Err has reported the error
	list := []store.Summary{}
	for rows.Next() {
		m, err := scan(rows)
		if err != nil {
			return nil, s.explain("read", err)
		}
		list = append(list, m)
	}
	return list, s.explain("read", rows.Err())
}

// Total implements [store.Store].
func (s *Store) Total(ctx context.Context, f store.Filter) (store.Total, error) {
	query, args := totalQuery(f)
	var t store.Total
	err := s.read.QueryRowContext(ctx, query, args...).Scan(&t.Results, &t.Bytes)
	return t, s.explain("read", err)
}

// listQuery returns the SQL of a list and its arguments, without the last one, the limit. The index results_listed is
// enough to answer it and totalQuery.
func listQuery(f store.Filter) (query string, args []any) {
	where, args := conditions(f, true)
	return `SELECT ` + summaryColumns + ` FROM ` + listed + where + ` ORDER BY began DESC, id DESC LIMIT ?`, args
}

func totalQuery(f store.Filter) (query string, args []any) {
	where, args := conditions(f, false)
	return `SELECT count(*), coalesce(sum(length(body)), 0) FROM ` + listed + where, args
}

// summaryColumns are the columns that [scan] reads.
const summaryColumns = `id, name, workload, operation, protocols, arms, loads, rounds,
	began, ended, ending, host, revision, length(body), label, finding`

// listed joins results with the data next to them.
const listed = `results LEFT JOIN beside ON result_id = id`

// scan reads the summary in a row. Columns selected after it go into more.
func scan(row interface{ Scan(into ...any) error }, more ...any) (store.Summary, error) {
	var m store.Summary
	var operations, protocols string
	var label, finding sql.NullString
	var began, ended int64
	into := []any{
		&m.ID, &m.Name, &m.Workload, &operations, &protocols, &m.Arms, &m.Loads, &m.Rounds,
		&began, &ended, &m.Ending, &m.Host, &m.Commit, &m.Bytes, &label, &finding,
	}
	if err := row.Scan(append(into, more...)...); err != nil {
		return store.Summary{}, err
	}
	m.Label, m.Finding = label.String, finding.String
	m.Operations, m.Protocols = strings.Fields(operations), strings.Fields(protocols)
	m.Began, m.Ended = time.UnixMicro(began).UTC(), time.UnixMicro(ended).UTC()
	m.Harmless()
	return m, nil
}

// conditions returns a filter as SQL, with or without its place in the list. Only values come from the caller, and
// they are passed as arguments.
func conditions(f store.Filter, place bool) (where string, args []any) {
	var all []string
	add := func(condition string, values ...any) {
		all = append(all, condition)
		args = append(args, values...)
	}
	if place && !f.After.IsZero() {
		add("(began, id) < (?, ?)", f.After.Began.UnixMicro(), f.After.ID)
	}
	if f.Host != "" {
		add("host = ?", f.Host)
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
	if f.Operation != "" {
		add("instr(' ' || operation || ' ', ?) > 0", " "+f.Operation+" ")
	}
	if f.Protocol != "" {
		add("instr(protocols, ?) > 0", " "+f.Protocol+" ")
	}
	if !f.Since.IsZero() {
		add("began >= ?", f.Since.UnixMicro())
	}
	if !f.Until.IsZero() {
		add("began < ?", f.Until.UnixMicro())
	}
	if len(all) == 0 {
		return "", nil
	}
	return " WHERE " + strings.Join(all, " AND "), args
}

// Delete implements [store.Store].
func (s *Store) Delete(ctx context.Context, id string) error {
	var n int64
	err := s.change(ctx, func(tx *sql.Tx) error {
		done, err := tx.ExecContext(ctx, `DELETE FROM results WHERE id = ?`, id)
		if err != nil {
			return err
		}
		if n, err = done.RowsAffected(); err != nil {
			return err
		}
		if _, err = tx.ExecContext(ctx, `DELETE FROM beside WHERE result_id = ?`, id); err != nil {
			return err
		}
		if there, err := hasOrigins(ctx, tx); err != nil || !there {
			return err
		}
		_, err = tx.ExecContext(ctx, `DELETE FROM origins WHERE result_id = ?`, id)
		return err
	})
	if err != nil {
		return s.explain("delete result "+id, err)
	}
	if n == 0 {
		return s.noSuch(ctx, id)
	}
	return nil
}

// change runs a transaction that writes.
func (s *Store) change(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // has no effect after a commit
	if err := do(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// explain turns an error of SQLite into one that says what to do about it. It returns nil, a coded error, and an
// ended context unchanged.
func (s *Store) explain(doing string, err error) error {
	var coded *wirelab.Error
	if err == nil || errors.As(err, &coded) || errors.Is(err, context.Canceled) ||
		errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	switch sqlite.Code(err) {
	case codes.SQLITE_FULL:
		return wirelab.Errorf(wirelab.ResourceExhausted,
			"cannot %s: no room on the disk of %s; nothing stored before is lost; make room, or set WIRELAB_STORE to "+
				"a file elsewhere", doing, s.path)
	case codes.SQLITE_BUSY, codes.SQLITE_LOCKED:
		return wirelab.Errorf(wirelab.Unavailable, "cannot %s: another process has held %s for more than %v", doing,
			s.path, busyTimeout)
	case codes.SQLITE_NOTADB, codes.SQLITE_CORRUPT:
		return wirelab.Errorf(wirelab.Internal,
			"cannot %s: %s is damaged or not a store; move it away, or set WIRELAB_STORE to another file", doing,
			s.path)
	case codes.SQLITE_CANTOPEN, codes.SQLITE_READONLY, codes.SQLITE_PERM:
		return wirelab.Errorf(wirelab.PermissionDenied, "cannot %s: %s; set WIRELAB_STORE to a file that you can write",
			doing, unusable(s.path, err))
	}
	return wirelab.Errorf(wirelab.Internal, "cannot %s in %s: %v", doing, s.path, err)
}

// unusable says why SQLite cannot use a file. SQLite does not pass on the system's reason, so unusable opens the file
// to get it.
func unusable(path string, err error) string {
	file, again := os.OpenFile(path, os.O_RDWR, 0) //nolint:gosec // it is the file that SQLite was given
	switch {
	case errors.Is(again, fs.ErrPermission):
		return "no permission for " + path
	case again == nil:
		_ = file.Close() // nothing was written
	}
	return fmt.Sprintf("%s cannot be opened or written: %v", path, err)
}
