package part

import (
	"context"
	"net/url"
	"strings"

	"wirelab/pipeline/errlog"
	"wirelab/pipeline/path"
	"wirelab/pipeline/stack"
	"wirelab/workload/logging"
)

// noted is a service that logs its failures.
type noted struct {
	logging.Service
	notes *errlog.Notes
}

var _ logging.Readier = noted{}

// WriteLog implements [logging.Service].
func (s noted) WriteLog(ctx context.Context, entry logging.Entry) (logging.Written, error) {
	written, err := s.Service.WriteLog(ctx, entry)
	s.notes.Note("store an entry", err)
	return written, err
}

// GetEntry implements [logging.Service].
func (s noted) GetEntry(ctx context.Context, id logging.EntryID) (logging.Stored, error) {
	stored, err := s.Service.GetEntry(ctx, id)
	s.notes.Note("get an entry", err)
	return stored, err
}

// ListEntries implements [logging.Service].
func (s noted) ListEntries(ctx context.Context, query logging.Query) (logging.EntryList, error) {
	list, err := s.Service.ListEntries(ctx, query)
	s.notes.Note("list entries", err)
	return list, err
}

// DeleteEntries implements [logging.Service].
func (s noted) DeleteEntries(ctx context.Context, retention logging.Retention) (logging.Deleted, error) {
	deleted, err := s.Service.DeleteEntries(ctx, retention)
	s.notes.Note("delete entries", err)
	return deleted, err
}

// Ready implements [logging.Readier].
func (s noted) Ready(ctx context.Context) error {
	err := logging.Ready(ctx, s.Service)
	s.notes.Note("reach the database", err)
	return err
}

// notedPath is a path that logs its failures.
type notedPath struct {
	path.Path
	notes *errlog.Notes
	what  string
}

// Log implements [path.Path].
func (p notedPath) Log(ctx context.Context, entry logging.Entry) (path.Receipt, error) {
	receipt, err := p.Path.Log(ctx, entry)
	p.notes.Note(p.what, err)
	return receipt, err
}

// secrets returns the texts in the configuration of a part that no log line may contain.
func secrets(config stack.Config) (all []string) {
	add := func(source string) {
		if at, err := url.Parse(source); err == nil && at.User != nil {
			if password, ok := at.User.Password(); ok {
				all = append(all, source, password, url.QueryEscape(password), url.PathEscape(password))
			}
			return
		}
		for word := range strings.FieldsSeq(source) { // user=me password=secret
			if password, is := strings.CutPrefix(word, "password="); is {
				all = append(all, source, password, strings.Trim(password, "'"))
			}
		}
	}
	switch {
	case config.Logger != nil:
		add(config.Logger.Database.Source)
	case config.Listener != nil:
		add(config.Listener.Queue.URL)
		if config.Listener.Database != nil {
			add(config.Listener.Database.Source)
		}
	case config.Gateway != nil:
		for _, q := range config.Gateway.Queues {
			add(q.URL)
		}
	}
	return all
}
