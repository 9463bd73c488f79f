package bind

import (
	"strconv"
	"strings"
	"time"

	"wirelab"
	"wirelab/wire/httprpc"
	"wirelab/workload/ledger"
)

// The requests that travel in a URL. since, account, rate and ids are the
// published service's, and mean nothing where they are empty, as there. What
// cannot be read is refused and never taken for what it is not (grb-D08).

func idParameters() []httprpc.Parameter[ledger.AccountID] {
	return []httprpc.Parameter[ledger.AccountID]{
		httprpc.Text("id", func(id *ledger.AccountID) *string { return &id.ID }),
	}
}

// idsParameters are the ids of a batch, joined by commas, of which no id has one.
func idsParameters() []httprpc.Parameter[ledger.AccountIDs] {
	return []httprpc.Parameter[ledger.AccountIDs]{httprpc.Custom(
		"ids",
		func(ids *ledger.AccountIDs) string { return strings.Join(ids.IDs, ",") },
		func(ids *ledger.AccountIDs, text string) error {
			if text == "" {
				return nil
			}
			if n := strings.Count(text, ",") + 1; n > ledger.BatchLimit { // before anything is made for them
				return wirelab.Errorf(wirelab.InvalidArgument, "%d ids; want 1 to %d", n, ledger.BatchLimit)
			}
			ids.IDs = strings.Split(text, ",")
			return nil
		},
	)}
}

func pageParameters() []httprpc.Parameter[ledger.Page] {
	type page = ledger.Page
	return []httprpc.Parameter[page]{
		httprpc.Text("after", func(p *page) *string { return &p.After }),
		httprpc.Text("account", func(p *page) *string { return &p.Account }),
		sinceParameter(func(p *page) *time.Time { return &p.Since }),
		httprpc.Number("limit", func(p *page) *int32 { return &p.Limit }),
	}
}

func feedParameters() []httprpc.Parameter[ledger.Feed] {
	type feed = ledger.Feed
	return []httprpc.Parameter[feed]{
		sinceParameter(func(f *feed) *time.Time { return &f.Since }),
		httprpc.Text("account", func(f *feed) *string { return &f.Account }),
		countParameter("rate", func(f *feed) *int64 { return &f.Rate }),
		httprpc.Text("after", func(f *feed) *string { return &f.After }),
		countParameter("limit", func(f *feed) *int64 { return &f.Limit }),
		httprpc.Custom(
			"follow",
			func(f *feed) string {
				if f.Follow {
					return "true"
				}
				return ""
			},
			func(f *feed, text string) error {
				if f.Follow = text == "true"; !f.Follow && text != "" && text != "false" {
					return wirelab.Errorf(wirelab.InvalidArgument, "follow is %.64q; want true or false", text)
				}
				return nil
			},
		),
	}
}

// sinceParameter is a time as of RFC 3339; absent or empty: from the beginning.
func sinceParameter[T any](field func(*T) *time.Time) httprpc.Parameter[T] {
	return httprpc.Custom(
		"since",
		func(v *T) string { return timeToText(*field(v)) },
		func(v *T, text string) (err error) {
			if *field(v), err = timeFromText(text); err != nil {
				return wirelab.Errorf(wirelab.InvalidArgument, "since: %s", wirelab.Public(err).Message)
			}
			return nil
		},
	)
}

// countParameter is a whole number of 64 bits, in decimal; absent or empty: 0.
func countParameter[T any](name string, field func(*T) *int64) httprpc.Parameter[T] {
	return httprpc.Custom(
		name,
		func(v *T) string {
			if *field(v) == 0 {
				return ""
			}
			return strconv.FormatInt(*field(v), 10)
		},
		func(v *T, text string) error {
			if text == "" {
				return nil
			}
			n, err := strconv.ParseInt(text, 10, 64)
			if err != nil {
				return wirelab.Errorf(wirelab.InvalidArgument, "%s is %.64q; want a whole number of 64 bits", name, text)
			}
			*field(v) = n
			return nil
		},
	)
}
