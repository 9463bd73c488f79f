package bind_test

import (
	"context"
	"fmt"
	"time"

	"wirelab"
	"wirelab/wire/conformance"
	"wirelab/workload/ledger"
)

// probes are the contract's promises that one exchange cannot show.
func probes() []conformance.Probe[ledger.Service] {
	return []conformance.Probe[ledger.Service]{
		{
			Name: "moved", Operation: "PostTransaction",
			Why:   "what one call posts others see, once, and no money comes of it (grb-D11)",
			Check: moved,
		},
		{
			Name: "resumed", Operation: "StreamTransactions",
			Why:   "a stream continues after the event at which another ended (grb-D10)",
			Check: resumed,
		},
		{
			Name: "paced", Operation: "StreamTransactions",
			Why: "an event says when it was due, on a schedule that drops nothing (R14, grb-M02), and when it " +
				"was sent " +
				"(grb-M01)",
			Check: paced,
		},
		{
			Name: "pages", Operation: "GetTransactions",
			Why:   "pages follow each other without a gap",
			Check: pages,
		},
	}
}

// moved posts twice the same and looks at both accounts and the log's end.
func moved(ctx context.Context, service ledger.Service) error {
	const amount = 12_345
	read := func() (from, to ledger.Balance, err error) {
		both, err := service.GetBalances(ctx, ledger.AccountIDs{IDs: []string{payer, nobody, payee}})
		if err != nil || len(both.Verdicts) != 3 || both.Verdicts[1].Found {
			return from, to, fmt.Errorf("balances are %+v, %w", both, err)
		}
		return both.Verdicts[0].Balance, both.Verdicts[2].Balance, nil
	}
	from, to, err := read()
	if err != nil {
		return err
	}
	p := ledger.Posting{ID: "moved", From: payer, To: payee, Amount: amount, Type: "transfer"}
	first, err := service.PostTransaction(ctx, p)
	if err != nil {
		return fmt.Errorf("posting: %w", err)
	}
	again, err := service.PostTransaction(ctx, p)
	if err != nil || !again.Same(first) {
		return fmt.Errorf("the same posting again is %+v, first %+v, %w", again, first, err)
	}
	p.Amount++
	if _, err := service.PostTransaction(ctx, p); err == nil || wirelab.CodeOf(err) != wirelab.Conflict {
		return fmt.Errorf("another posting of the same id: %w", err)
	}
	left, got, err := read()
	if err != nil {
		return err
	}
	if left.Amount != from.Amount-amount || got.Amount != to.Amount+amount {
		return fmt.Errorf("%d and %d are in the accounts that had %d and %d", left.Amount, got.Amount, from.Amount,
			to.Amount)
	}
	if !left.UpdatedAt.Equal(first.Timestamp) || !got.UpdatedAt.Equal(first.Timestamp) {
		return fmt.Errorf("updated at %v and %v, posted at %v", left.UpdatedAt, got.UpdatedAt, first.Timestamp)
	}
	list, err := service.GetTransactions(ctx, ledger.Page{After: lastInLog})
	if err != nil || len(list.Transactions) != 1 || !list.Transactions[0].Same(first) {
		return fmt.Errorf("behind the data set are %+v, %w", list, err)
	}
	return nil
}

// collect reads a stream to its end.
func collect(ctx context.Context, service ledger.Service, feed ledger.Feed) ([]ledger.Event, error) {
	var all []ledger.Event
	for event, err := range service.StreamTransactions(ctx, feed) {
		if err != nil {
			return all, fmt.Errorf("after %d events: %w", len(all), err)
		}
		all = append(all, event)
	}
	return all, nil
}

// resumed compares a stream in one piece with the same in two.
func resumed(ctx context.Context, service ledger.Service) error {
	const events, cut = 40, 15
	for _, account := range []string{"", alice} {
		whole, err := collect(ctx, service, ledger.Feed{Account: account, Limit: events})
		if err != nil {
			return err
		}
		n := min(cut, len(whole)/2)
		rest, err := collect(ctx, service, ledger.Feed{
			Account: account, After: whole[n-1].Transaction.ID, Limit: int64(len(whole) - n),
		})
		if err != nil || len(rest) != len(whole)-n {
			return fmt.Errorf("%d events follow the first %d of %d, %w", len(rest), n, len(whole), err)
		}
		for i, e := range rest {
			if !e.Transaction.Same(whole[n+i].Transaction) || e.Sequence != uint64(i+1) {
				return fmt.Errorf("event %d of the rest is %+v, want %+v with sequence %d", i, e, whole[n+i], i+1)
			}
		}
	}
	return nil
}

// paced asks for a rate and judges the schedule by what the events say of it,
// so that no clock of the test's own decides.
func paced(ctx context.Context, service ledger.Service) error {
	const events, rate = 60, 3_000
	before := time.Now().UnixNano()
	all, err := collect(ctx, service, ledger.Feed{Rate: rate, Limit: events})
	if err != nil || len(all) != events {
		return fmt.Errorf("%d events at a rate, want %d, %w", len(all), events, err)
	}
	for i, e := range all {
		due := time.Duration(i) * time.Second / rate
		switch got := time.Duration(e.Due - all[0].Due); {
		case e.Sequence != uint64(i+1):
			return fmt.Errorf("event %d has sequence %d", i+1, e.Sequence)
		case got != due:
			return fmt.Errorf("event %d is due %v after the first, want %v", i+1, got, due)
		case e.Sent < e.Due || e.Sent < before:
			return fmt.Errorf("event %d is sent at %d, due at %d", i+1, e.Sent, e.Due)
		}
	}
	return nil
}

// pages reads the end of the log in pages and at once.
func pages(ctx context.Context, service ledger.Service) error {
	const behind = "tx-000099950"
	whole, err := service.GetTransactions(ctx, ledger.Page{After: behind})
	if err != nil || len(whole.Transactions) != 50 || whole.Next != "" {
		return fmt.Errorf("%d transactions behind %s, next %q, %w", len(whole.Transactions), behind, whole.Next, err)
	}
	var all []ledger.Transaction
	for after := behind; after != ""; {
		page, err := service.GetTransactions(ctx, ledger.Page{After: after, Limit: 7})
		if err != nil {
			return fmt.Errorf("after %s: %w", after, err)
		}
		all = append(all, page.Transactions...)
		after = page.Next
	}
	if got := (ledger.TransactionList{Transactions: all}); !got.Equal(whole) {
		return fmt.Errorf("%d transactions in pages, %d at once", len(all), len(whole.Transactions))
	}
	return nil
}
