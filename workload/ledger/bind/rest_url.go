package bind

import (
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
		httprpc.Time("since", func(p *page) *time.Time { return &p.Since }),
		httprpc.Number("limit", func(p *page) *int32 { return &p.Limit }),
	}
}

func feedParameters() []httprpc.Parameter[ledger.Feed] {
	type feed = ledger.Feed
	return []httprpc.Parameter[feed]{
		httprpc.Time("since", func(f *feed) *time.Time { return &f.Since }),
		httprpc.Text("account", func(f *feed) *string { return &f.Account }),
		httprpc.Count("rate", func(f *feed) *int64 { return &f.Rate }),
		httprpc.Text("after", func(f *feed) *string { return &f.After }),
		httprpc.Count("limit", func(f *feed) *int64 { return &f.Limit }),
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
