package measure

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"wirelab"
	"wirelab/internal/fault"
	"wirelab/lab/result"
	"wirelab/results/admit"
	"wirelab/results/report"
	"wirelab/results/store"
	pgstore "wirelab/results/store/postgres"
	"wirelab/results/store/sqlite"
	"wirelab/system/postgres"
)

// ResultLimit is the greatest size in bytes of a result's file. The largest plan that is allowed makes 200 MB, with
// its report.
const ResultLimit = 1 << 30

// WithStore calls do with the store that results are read from, and closes it.
func (m *Measurer) WithStore(ctx context.Context, do func(store.Store) error) error {
	return m.With(ctx, m.openToRead, do)
}

// With calls do with the store that open returned, and closes it.
func (m *Measurer) With(ctx context.Context, open func(context.Context) (store.Store, error),
	do func(store.Store) error,
) error {
	s, err := open(ctx)
	if err != nil {
		return err
	}
	return fault.Both(do(s), s.Close())
}

// NoteUnread says which parts of a result only a later version understands.
func (m *Measurer) NoteUnread(r *result.Result) {
	if said := report.Unread(r); said != "" {
		m.Tell.Note("%s", said)
	}
}

// ReadResult reads a result file, and checks it; "-" is standard input.
func (m *Measurer) ReadResult(ctx context.Context, name string) (*admit.Admitted, error) {
	data, err := m.ReadFile(ctx, "", name, ResultLimit)
	if err != nil {
		return nil, err
	}
	in, err := admit.Result(data)
	if err != nil {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "%s: %s", name, fault.Describe(err))
	}
	return in, nil
}

// roomWanted is how much space a store should have before an experiment, in bytes: enough for a large result and for
// its log.
const roomWanted = 16 << 20

// noteRoom warns before an experiment that the disk of its store is almost full. It does not refuse, since the result
// is printed in any case.
func (m *Measurer) noteRoom() {
	where, err := m.StorePlace()
	if err != nil || IsDatabase(where) {
		return
	}
	var disk unix.Statfs_t
	if err := unix.Statfs(filepath.Dir(where), &disk); err != nil {
		return // opening the store has reported the error
	}
	if free := disk.Bavail * uint64(disk.Bsize); free < roomWanted {
		m.Tell.Note("only %.1f MB are free where results are stored (%s): the result may not fit; make room, or set "+
			"WIRELAB_STORE to a file elsewhere",
			float64(free)/1e6, filepath.Dir(where))
	}
}

// Result returns the stored result with the given id, or the latest one if args is empty.
func (m *Measurer) Result(ctx context.Context, args []string) (found *result.Result, err error) {
	err = m.WithStore(ctx, func(s store.Store) error {
		name := LatestWord
		if len(args) > 0 {
			name = args[0]
		}
		id, err := Latest(ctx, s, name)
		if err != nil {
			return err
		}
		found, err = s.Get(ctx, id)
		return err
	})
	if err == nil {
		m.NoteUnread(found)
	}
	return found, err
}

// Latest returns the id of the latest result for the word "latest". It returns any other name unchanged.
func Latest(ctx context.Context, s store.Store, name string) (string, error) {
	if name != LatestWord {
		return name, nil
	}
	list, err := s.List(ctx, store.Filter{Limit: 1})
	if err != nil {
		return "", err
	}
	if len(list) == 0 {
		return "", wirelab.Errorf(wirelab.NotFound, "no results yet; wirelab presets lists experiments to run")
	}
	return list[0].ID, nil
}

// LatestWord stands for the id of the latest result.
const LatestWord = "latest"

// IsFile reports whether the name of a result is that of a file: "-", or a word that cannot be an id.
func IsFile(name string) bool {
	return name == "-" || strings.ContainsAny(name, "/.")
}

// Find returns the result with an id, the latest for "latest", or the one in a file.
func (m *Measurer) Find(ctx context.Context, name string) (*result.Result, error) {
	if !IsFile(name) {
		return m.Result(ctx, []string{name})
	}
	in, err := m.ReadResult(ctx, name)
	if err != nil && name != "-" && ctx.Err() == nil { // the name may be a result's
		if named, sought := m.Result(ctx, []string{name}); sought == nil {
			return named, nil
		}
	}
	if err != nil {
		return nil, err
	}
	m.NoteUnread(in.Result)
	return in.Result, nil
}

// OpenStore opens the store that --results names, or else the one from the environment. The caller closes it.
func (m *Measurer) OpenStore(ctx context.Context) (store.Store, error) {
	where, err := m.StorePlace()
	if err != nil {
		return nil, err
	}
	return OpenStoreAt(ctx, where)
}

// openToRead opens the store for a command that only reads. If --results names a file that does not exist, it is an
// error: making an empty store and finding nothing in it would hide the mistake.
func (m *Measurer) openToRead(ctx context.Context) (store.Store, error) {
	if m.Results != "" && !IsDatabase(m.Results) {
		if _, err := os.Stat(m.Results); err != nil {
			return nil, fault.Read("--results", m.Results, err)
		}
	}
	return m.OpenStore(ctx)
}

// StorePlace returns where results are stored: a file or a connection string.
func (m *Measurer) StorePlace() (string, error) {
	if m.Results != "" {
		return m.Results, nil
	}
	return store.DefaultPath(m.Getenv)
}

// OpenStoreAt opens the store in a file or a database.
func OpenStoreAt(ctx context.Context, where string) (store.Store, error) {
	if IsDatabase(where) {
		return pgstore.Open(ctx, where)
	}
	if info, err := os.Stat(where); err == nil && info.IsDir() {
		return nil, fault.Read("the store", where, syscall.EISDIR)
	}
	return sqlite.Open(ctx, where)
}

// IsDatabase reports whether a place is a connection string and not a file. It recognises the keyword form too;
// otherwise a password would become part of a file's name.
func IsDatabase(where string) bool {
	if strings.HasPrefix(where, "postgres://") || strings.HasPrefix(where, "postgresql://") {
		return true
	}
	for _, word := range strings.Fields(where) {
		switch name, _, ok := strings.Cut(word, "="); {
		case !ok:
		case name == "host", name == "port", name == "dbname", name == "user", name == "password", name == "service":
			return true
		}
	}
	return false
}

// ShownPlace returns a place without secrets, for display.
func ShownPlace(where string) string {
	if IsDatabase(where) {
		return "postgres://" + postgres.Redact(where)
	}
	return where
}
