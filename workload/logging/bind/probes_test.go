package bind_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"wirelab"
	"wirelab/wire/conformance"
	"wirelab/workload/logging"
)

// probes are the contract's promises that one exchange cannot show.
func probes() []conformance.Probe[logging.Service] {
	return []conformance.Probe[logging.Service]{
		{
			Name: "stored", Operation: "WriteLog",
			Why:   "what one call writes others find, once",
			Check: stored,
		},
		{
			Name: "made", Operation: "WriteLog",
			Why:   "an entry without an id gets one by which it is found",
			Check: made,
		},
		{
			Name: "times", Operation: "ListEntries",
			Why:   "the time of an entry crosses whole: it is in UTC, and finds that entry again",
			Check: times,
		},
		{
			Name: "largest", Operation: "ListEntries",
			Why:   "a page is a message on every wire, whatever is stored",
			Check: largest,
		},
	}
}

func stored(ctx context.Context, service logging.Service) error {
	for i := range 3 {
		for range 2 { // the second time it is there
			e := entry{ID: fmt.Sprint("stored-", i), Name: fmt.Sprint("name-", i%2), Data: fmt.Sprint("data ", i)}
			if w, err := service.WriteLog(ctx, e); err != nil || w.ID != e.ID {
				return fmt.Errorf("written %+v, %w", w, err)
			}
		}
	}
	list, err := service.ListEntries(ctx, query{Name: "name-0", Limit: 2})
	if err != nil || len(list.Entries) != 2 || list.Entries[0].ID != "stored-2" ||
		list.Entries[1].ID != "stored-0" || list.Next != 1 {
		return fmt.Errorf("of a name are %+v, %w", list, err)
	}
	_, err = service.WriteLog(ctx, entry{ID: "stored-0", Name: "name-0", Data: "other"})
	if err == nil || wirelab.CodeOf(err) != wirelab.Conflict {
		return fmt.Errorf("another content under the same id: %w", err)
	}
	got, err := service.GetEntry(ctx, logging.EntryID{ID: "stored-0"})
	if err != nil || got.Entry != (entry{ID: "stored-0", Name: "name-0", Data: "data 0"}) || got.Position != 1 {
		return fmt.Errorf("stored is %+v, %w", got, err)
	}
	return nil
}

func made(ctx context.Context, service logging.Service) error {
	ids := map[string]bool{}
	for range 5 {
		w, err := service.WriteLog(ctx, entry{Name: "made", Data: "the same"})
		if err != nil || !logging.MadeID(w.ID) || ids[w.ID] {
			return fmt.Errorf("made was %q, %w", w.ID, err)
		}
		ids[w.ID] = true
		got, err := service.GetEntry(ctx, logging.EntryID{ID: w.ID})
		if err != nil || got.ID != w.ID || got.Data != "the same" {
			return fmt.Errorf("under %s is %+v, %w", w.ID, got, err)
		}
	}
	list, err := service.ListEntries(ctx, query{Name: "made"})
	if err != nil || len(list.Entries) != len(ids) || list.Next != 0 {
		return fmt.Errorf("%d entries, next %d, %w", len(list.Entries), list.Next, err)
	}
	return nil
}

func times(ctx context.Context, service logging.Service) error {
	begin := time.Now().UTC().Truncate(time.Microsecond)
	if _, err := service.WriteLog(ctx, entry{ID: "timed", Name: "timed"}); err != nil {
		return fmt.Errorf("written: %w", err)
	}
	got, err := service.GetEntry(ctx, logging.EntryID{ID: "timed"})
	at := got.At
	if err != nil || at.Location() != time.UTC || at.Nanosecond()%1000 != 0 || at.Before(begin) ||
		at.After(time.Now()) {
		return fmt.Errorf("stored at %v, %w", at, err)
	}
	for _, c := range []struct {
		why  string
		ask  query
		want int
	}{
		{"since then", query{Since: at}, 1},
		{"since a microsecond later", query{Since: at.Add(time.Microsecond)}, 0},
		{"until then", query{Until: at}, 0},
		{"until a microsecond later", query{Until: at.Add(time.Microsecond)}, 1},
	} {
		list, err := service.ListEntries(ctx, c.ask)
		if err != nil || len(list.Entries) != c.want {
			return fmt.Errorf("%s: %+v, %w", c.why, list, err)
		}
	}
	for _, c := range []struct {
		before time.Time
		want   int64
	}{{at, 0}, {at.Add(time.Microsecond), 1}, {at.Add(time.Microsecond), 0}} {
		if gone, err := service.DeleteEntries(ctx, logging.Retention{Before: c.before}); err != nil ||
			gone.Count != c.want {
			return fmt.Errorf("removed before %v: %d, want %d, %w", c.before, gone.Count, c.want, err)
		}
	}
	return nil
}

// largest writes the entries that make the largest page, of what JSON writes six
// bytes for one of: one that just does not fill a page, and one as long as any.
func largest(ctx context.Context, service logging.Service) error {
	e := entry{Name: strings.Repeat("\x01", logging.NameLimit)}
	lengths := [...]int{logging.DataLimit, logging.PageBytes - logging.NameLimit - 1}
	for i, length := range lengths {
		e.ID, e.Data = fmt.Sprint("heavy-", i), strings.Repeat("\x01", length)
		if _, err := service.WriteLog(ctx, e); err != nil {
			return fmt.Errorf("writing %s: %w", e.ID, err)
		}
	}
	list, err := service.ListEntries(ctx, query{})
	if err != nil || len(list.Entries) != len(lengths) || list.Next != 1 {
		return fmt.Errorf("%d entries are on the page, the next is before %d, %w", len(list.Entries), list.Next, err)
	}
	for i, got := range list.Entries {
		if len(got.Data) != lengths[len(lengths)-1-i] || strings.Trim(got.Data+got.Name, "\x01") != "" {
			return fmt.Errorf("%s is stored otherwise than it was written", got.ID)
		}
	}
	return nil
}
