package bind

import (
	"context"

	"wirelab/workload/logging"
)

// stub is the service as a client sees it over the calls of one wire. It
// refuses what is outside the contract before the wire sees it: wires differ in
// what they do with an id that is no element of a path, with text that is not
// UTF-8, and with a time that cannot be written.
type stub struct{ calls logging.Service }

var _ logging.Service = stub{}

// WriteLog implements [logging.Service].
func (s stub) WriteLog(ctx context.Context, entry logging.Entry) (logging.Written, error) {
	if err := entry.Validate(); err != nil {
		return logging.Written{}, err
	}
	return s.calls.WriteLog(ctx, entry)
}

// GetEntry implements [logging.Service].
func (s stub) GetEntry(ctx context.Context, id logging.EntryID) (logging.Stored, error) {
	if err := id.Validate(); err != nil {
		return logging.Stored{}, err
	}
	return s.calls.GetEntry(ctx, id)
}

// ListEntries implements [logging.Service].
func (s stub) ListEntries(ctx context.Context, query logging.Query) (logging.EntryList, error) {
	if err := query.Validate(); err != nil {
		return logging.EntryList{}, err
	}
	return s.calls.ListEntries(ctx, query)
}

// DeleteEntries implements [logging.Service].
func (s stub) DeleteEntries(ctx context.Context, retention logging.Retention) (logging.Deleted, error) {
	if err := retention.Validate(); err != nil {
		return logging.Deleted{}, err
	}
	return s.calls.DeleteEntries(ctx, retention)
}

// functions are a service made of its methods, for the wires whose stubs are
// functions.
type functions struct {
	writeLog      func(context.Context, logging.Entry) (logging.Written, error)
	getEntry      func(context.Context, logging.EntryID) (logging.Stored, error)
	listEntries   func(context.Context, logging.Query) (logging.EntryList, error)
	deleteEntries func(context.Context, logging.Retention) (logging.Deleted, error)
}

var _ logging.Service = (*functions)(nil)

// WriteLog implements [logging.Service].
func (f *functions) WriteLog(ctx context.Context, entry logging.Entry) (logging.Written, error) {
	return f.writeLog(ctx, entry)
}

// GetEntry implements [logging.Service].
func (f *functions) GetEntry(ctx context.Context, id logging.EntryID) (logging.Stored, error) {
	return f.getEntry(ctx, id)
}

// ListEntries implements [logging.Service].
func (f *functions) ListEntries(ctx context.Context, query logging.Query) (logging.EntryList, error) {
	return f.listEntries(ctx, query)
}

// DeleteEntries implements [logging.Service].
func (f *functions) DeleteEntries(ctx context.Context, retention logging.Retention) (logging.Deleted, error) {
	return f.deleteEntries(ctx, retention)
}
