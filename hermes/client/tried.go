package client

import (
	"context"
	"fmt"
	"strings"

	"wirelab/wire/status"
)

// triedLimit is how many addresses an error names.
const triedLimit = 8

// tried is what the addresses said that were asked in vain, for an error that names them: "deadline
// exceeded" alone sends its reader looking at the wrong end. For one goroutine.
type tried struct {
	order []string
	said  map[string]error
}

// note takes the last thing that an address said. That time is over does not replace anything.
func (t *tried) note(address string, err error) {
	if t.said == nil {
		t.said = map[string]error{}
	}
	if _, ok := t.said[address]; !ok {
		t.order = append(t.order, address)
	} else if late(err) {
		return
	}
	t.said[address] = err
}

// late reports whether an error says that time is over and no more. A node's word for that may be here before our own
// clock says so, and its gRPC library's word is another than ours.
func late(err error) bool {
	says := status.Public(err)
	return says.Code == status.DeadlineExceeded &&
		(says.Message == status.Public(context.DeadlineExceeded).Message ||
			says.Message == context.DeadlineExceeded.Error())
}

// failed is err with what was said, and err's code. Where the user ended it, or no one was asked, there is
// nothing to add.
func (t *tried) failed(err error) error {
	public := status.Public(err)
	if len(t.order) == 0 || public.Code == status.Canceled {
		return err
	}
	var all []string
	for _, address := range t.order[:min(len(t.order), triedLimit)] {
		all = append(all, fmt.Sprintf("%s: %s", address, status.Public(t.said[address]).Message))
	}
	if more := len(t.order) - triedLimit; more > 0 {
		all = append(all, fmt.Sprintf("and %d more", more))
	}
	return status.Errorf(public.Code, "no node answers: %s", strings.Join(all, "; "))
}

// ended is the end of ctx, with what was said.
func (t *tried) ended(ctx context.Context) error { return t.failed(status.Public(ctx.Err())) }
