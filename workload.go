package wirelab

import (
	"context"
	"io"
	"math/rand/v2"
	"sync"
	"time"
)

// Workload is a kind of work: a domain service S, its operations, and its
// bindings to protocols.
type Workload[S any] struct {
	Name string // "routeguide"
	// New returns a service in memory with the workload's data set. It is the
	// reference that every cell must answer like, and the service that servers serve.
	New func() S
	// Wrap returns service with hooks called as documented in [Hooks]; it gets hooks whose Before and After are
	// never nil. nil: the workload has no wrapper, so its servers can only do their own work. Use
	// [Workload.Hooked] to get a wrapped service.
	Wrap func(service S, hooks Hooks) S
	// Published returns service with the behaviour of the published one where the
	// workload's contract differs. nil: there is no such behaviour.
	Published  func(service S) S
	Operations []Operation[S]
	Bindings   []Binding[S]
	// Data are the data sets that the service can use, so that size
	// is a setting; New and Operations use the first. Empty: there is only one.
	Data []Data[S]
	// Sized makes a data set whose name gives its size, in addition to those in Data;
	// its error describes such names. nil: there are no others.
	Sized func(name string) (Data[S], error)
	// Databases can store the service's data instead of memory, the
	// usual one first; empty: memory only. Replies are the same with each.
	Databases []Database[S]

	data        string   // the set that With chose; "" is the first
	served      func() S // the service of servers; nil: New
	asPublished bool     // servers serve it as Published returns it
}

// Data is a data set: the service over it, and requests drawn from it.
type Data[S any] struct {
	Name       string // "100"
	New        func() S
	Operations []Operation[S] // the workload's, drawn from this set
}

// With returns the workload over the data set with that name; "" is the first.
func (w Workload[S]) With(data string) (Workload[S], error) {
	if data == "" {
		return w, nil
	}
	known := make([]string, 0, len(w.Data))
	for _, d := range w.Data {
		if d.Name == data {
			return w.over(d), nil
		}
		known = append(known, d.Name)
	}
	switch {
	case w.Sized != nil:
		d, err := w.Sized(data)
		return w.over(d), err
	case len(known) == 0:
		return w, Errorf(InvalidArgument, "%s has one data set, without a name; leave data out", w.Name)
	}
	return w, UnknownName("data set of "+w.Name, data, known, "wirelab matrix "+w.Name)
}

func (w Workload[S]) over(d Data[S]) Workload[S] {
	w.New, w.Operations, w.data = d.New, d.Operations, d.Name
	return w
}

// serving returns the service for a server.
func (w Workload[S]) serving() S {
	if w.served != nil {
		return w.dressed(w.served())
	}
	return w.dressed(w.New())
}

// dressed returns a service with the published behaviour, if that was chosen.
func (w Workload[S]) dressed(service S) S {
	if w.asPublished {
		return w.Published(service)
	}
	return service
}

// Hooked returns a new reference service that calls hooks. If the workload has
// no Wrap, any hook panics: it is a mistake in the source.
func (w Workload[S]) Hooked(hooks Hooks) S {
	if hooks.none() {
		return w.serving()
	}
	return w.Wrap(w.serving(), hooks.whole())
}

// Work is a [Workload] without its service type, so that packages that know no
// workload can use any of them.
type Work struct {
	Name       string
	Operations []OperationInfo
	Data       []string // names of its data sets, the first the usual one; empty: one without a name
	// Databases are the names of the databases that can replace memory, the usual one first.
	Databases []string
	Cells     []Cell
	Missing   []Missing // protocols that do not carry the workload
	Direct    []Cell    // its databases without a service in front of them, if they have a [Database.Script]
}

// Missing is a protocol that does not carry a workload: see [Hole].
type Missing struct {
	Protocol Protocol
	Why      string
}

// OperationInfo describes an operation without its types.
type OperationInfo struct {
	Name     string
	Kind     Kind
	Requests []string
	// Feed says that the stream can be held open and timed event by event: see [Feeding].
	Feed bool
	// Followed says that its entries can be tracked by id: see [Following].
	Followed bool
}

// Cell is a workload over a protocol with a library for each end: it
// can be served, dialled and called.
type Cell struct {
	Workload string
	Protocol Protocol
	Server   string // library of the server
	Client   string // library of the client
	// Usual says that both libraries are the binding's first choice.
	Usual bool
	Style Style
	Holes map[string]string // operation to reason
	// Fresh are the operations whose requests may be made only once: see [Operation.Fresh].
	Fresh []string

	// Serve serves the workload's reference service; see [Server].
	Serve func(ctx context.Context, at Endpoint) error
	// Dial connects a client; see [Dialer].
	Dial func(ctx context.Context, to Dialing) (Client, error)
	// DialRaw connects the raw driver for an operation's requests, which are drawn by
	// seed like those of [Client.Caller]; nil if there is no raw driver. RawHoles
	// are the operations that it does not carry. See [Raw].
	DialRaw  func(ctx context.Context, to Dialing, slots int, operation, requests string, seed uint64) (Lines, error)
	RawHoles map[string]string
	// Null serves as [Binding.Null] does; nil if there is none.
	Null func(ctx context.Context, at Endpoint) error

	// Script returns the statements of an operation, of a database without a service before it: see [Database.Script].
	// nil of every other cell; of one that has it Serve, Dial and DialRaw are nil.
	Script func(operation, requests string) (Script, error)
	// Database is where that database is. Who finds the cell sets it.
	Database DatabaseAddress

	// serveHooked is Serve with hooks; nil where the workload has no Wrap.
	serveHooked func(ctx context.Context, at Endpoint, hooks Hooks) error
	// with is the cell over another data set, over the one over a database.
	with func(data string) (Cell, error)
	over func(context.Context, DatabaseAddress) (Cell, OpenDatabase, error)
	// onward is the cell over what its own client reaches.
	onward func(ctx context.Context, to Dialing) (Cell, io.Closer, error)
	// asPublished is the cell with the published service; nil where the workload has no Published.
	asPublished func() Cell
}

// With returns the cell over the data set of that name; "" is the first. A
// server and its clients must be of the same one.
func (c Cell) With(data string) (Cell, error) {
	switch {
	case data == "":
		return c, nil
	case c.with == nil:
		return c, Errorf(InvalidArgument, "%s is not ours, and has no data sets; leave data out", c.Workload)
	}
	other, err := c.with(data)
	other.Database = c.Database
	return other, err
}

// Over opens a database, and returns the cell whose Serve uses it. Close the database
// after the cell has been served. Choose the data set before, and hooks after this call.
func (c Cell) Over(ctx context.Context, at DatabaseAddress) (Cell, OpenDatabase, error) {
	return c.over(ctx, at)
}

// Onward returns the cell whose Serve answers each call by making it again, with the cell's client, at another server:
// one additional hop. Close the returned closer after the cell has been served.
func (c Cell) Onward(ctx context.Context, to Dialing) (Cell, io.Closer, error) {
	if c.onward == nil {
		return c, nil, Errorf(Unimplemented, "%s is not ours, and cannot be one more hop", c.Workload)
	}
	return c.onward(ctx, to)
}

// AsPublished returns the cell whose Serve and Null behave like the published
// service where the workload's contract differs from it. Choose the data
// set before, database and hooks after this call. It returns Unimplemented for a
// workload without such a mode.
func (c Cell) AsPublished() (Cell, error) {
	if c.asPublished == nil {
		return c, Errorf(Unimplemented, "%s has no published behaviour to choose", c.Workload)
	}
	return c.asPublished(), nil
}

// Hooked returns the cell with hooks in the service that Serve serves. If
// the workload has no Wrap, any hook is Unimplemented.
func (c Cell) Hooked(hooks Hooks) (Cell, error) {
	if hooks.none() {
		return c, nil
	}
	if c.serveHooked == nil {
		return c, Errorf(Unimplemented, "the service of %s does not support hooks", c.Workload)
	}
	c.Serve = func(ctx context.Context, at Endpoint) error { return c.serveHooked(ctx, at, hooks) }
	return c, nil
}

// Client is a connected stub without its service type.
type Client interface {
	io.Closer
	// Caller returns a function that performs the next call of a seeded
	// series and checks its reply; see [Check] for its errors. It must not be
	// used by two goroutines at once: make one for each. requests is one of
	// the operation's, or "".
	Caller(operation, requests string, seed uint64) (func(context.Context) error, error)
	// Follow is like Caller for an operation made by [Following]. Its second
	// function returns the id of the entry in the last request.
	Follow(operation, requests string, seed uint64) (call func(context.Context) error, last func() string, err error)
	// Call performs one call with a request in JSON (see [Operation.Parse]),
	// or with a drawn request if data is nil, and returns the request and
	// every item of the reply.
	Call(ctx context.Context, operation string, data []byte) (request any, reply []any, err error)
	// Feed returns a function that opens a stream of an operation built with [Feeding], of rate events per second,
	// and calls each with the stamp of every event when it is decoded, and with a [*Mismatch] if its content differs
	// from the reference. The function returns nil when each returned false or the stream ended, and otherwise the
	// error of the stream. Each call of it opens a new stream, and several may be open at once.
	Feed(operation string, rate int64) (func(ctx context.Context, each func(Stamp, error) bool) error, error)
}

// Stepping is a [Client] whose operations may be chains: calls that are made one after the other, and use the replies
// of earlier ones.
type Stepping interface {
	Client
	// Steps returns the names of an operation's calls, in order; nil if it is a single call.
	Steps(operation string) []string
	// StepCaller is like Caller for a chain. After each call, took contains how long each step took, from when its
	// request was sent until the whole reply had arrived; after a failed call, only for the steps that were made.
	StepCaller(operation, requests string, seed uint64, took []time.Duration) (func(context.Context) error, error)
}

// Erase returns the workload as a [Work].
func (w Workload[S]) Erase() Work {
	work := Work{Name: w.Name}
	for _, d := range w.Data {
		work.Data = append(work.Data, d.Name)
	}
	for _, d := range w.Databases {
		work.Databases = append(work.Databases, d.Name)
		if d.Script != nil {
			work.Direct = append(work.Direct, w.direct(d))
		}
	}
	for _, o := range w.Operations {
		work.Operations = append(work.Operations, OperationInfo{
			Name: o.Name, Kind: o.Kind, Requests: o.Requests, Feed: o.feed != nil, Followed: o.Followed,
		})
	}
	for _, b := range w.Bindings {
		if b.Missing != "" {
			work.Missing = append(work.Missing, Missing{Protocol: b.Protocol, Why: b.Missing})
		}
		for i, server := range b.Servers {
			for j, client := range b.Clients {
				work.Cells = append(work.Cells, w.cell(b, server, client, i == 0 && j == 0))
			}
		}
	}
	return work
}

func (w Workload[S]) cell(b Binding[S], server Server[S], client Dialer[S], usual bool) Cell {
	cell := Cell{
		Workload: w.Name,
		Protocol: b.Protocol,
		Server:   server.Library,
		Client:   client.Library,
		Usual:    usual,
		Style:    b.Style,
		Holes:    b.Holes,
		Serve: func(ctx context.Context, at Endpoint) error {
			return server.Serve(ctx, at, w.serving())
		},
		Dial: func(ctx context.Context, to Dialing) (Client, error) {
			stub, closer, err := client.Dial(ctx, to)
			if err != nil {
				return nil, err
			}
			return &typedClient[S]{workload: w, stub: stub, Closer: closer, reference: sync.OnceValue(w.New)}, nil
		},
	}
	for _, o := range w.Operations {
		if o.Fresh {
			cell.Fresh = append(cell.Fresh, o.Name)
		}
	}
	cell.with = func(data string) (Cell, error) {
		other, err := w.With(data)
		if err != nil {
			return Cell{}, err
		}
		return other.cell(b, server, client, usual), nil
	}
	cell.over = func(ctx context.Context, at DatabaseAddress) (Cell, OpenDatabase, error) {
		opened, err := w.open(ctx, at, w.data)
		if err != nil {
			return Cell{}, nil, err
		}
		served := w
		served.served = func() S { return opened.Service }
		return served.cell(b, server, client, usual),
			openDatabase{Closer: opened.Closer, about: opened.About, pool: opened.Pool}, nil
	}
	cell.onward = w.onward(b, server, client, usual)
	if w.Published != nil {
		cell.asPublished = func() Cell {
			other := w
			other.asPublished = true
			return other.cell(b, server, client, usual)
		}
	}
	if w.Wrap != nil {
		cell.serveHooked = func(ctx context.Context, at Endpoint, hooks Hooks) error {
			return server.Serve(ctx, at, w.Hooked(hooks))
		}
	}
	if b.Raw != nil {
		cell.RawHoles, cell.DialRaw = b.Raw.Holes, w.dialRaw(b.Raw)
	}
	if b.Null != nil {
		cell.Null = func(ctx context.Context, at Endpoint) error { return b.Null(ctx, at, w.dressed(w.New())) }
	}
	return cell
}

// dialRaw makes a cell's DialRaw.
func (w Workload[S]) dialRaw(
	driver *Raw[S],
) func(ctx context.Context, to Dialing, slots int, operation, requests string, seed uint64) (Lines, error) {
	return func(ctx context.Context, to Dialing, slots int, operation, requests string, seed uint64) (Lines, error) {
		series, err := w.series(operation, requests, seed)
		if err != nil {
			return nil, err
		}
		return driver.Dial(ctx, to, slots, series)
	}
}

// onward makes the cell's [Cell.Onward].
func (w Workload[S]) onward(
	b Binding[S], server Server[S], client Dialer[S], usual bool,
) func(context.Context, Dialing) (Cell, io.Closer, error) {
	return func(ctx context.Context, to Dialing) (Cell, io.Closer, error) {
		stub, closer, err := client.Dial(ctx, to)
		if err != nil {
			return Cell{}, nil, err
		}
		w.served = func() S { return stub } // of this copy of w
		return w.cell(b, server, client, usual), closer, nil
	}
}

// series draws the requests that a caller repeats, and makes their checks.
func (w Workload[S]) series(operation, requests string, seed uint64) ([]Check[S], error) {
	o, err := w.operation(operation)
	if err != nil {
		return nil, err
	}
	if o.Fresh {
		return nil, Errorf(Unimplemented, "requests of %s cannot be repeated, so they cannot be prepared",
			operation)
	}
	return o.series(requests, newDraws(seed), w.New())
}

// newDraws returns the source of random numbers for drawing requests.
func newDraws(seed uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, 0x77697265)) // the second word only separates this use of the seed
}

// series draws preparedExchanges exchanges, and asks reference for their replies.
func (o Operation[S]) series(requests string, r *rand.Rand, reference S) ([]Check[S], error) {
	checks := make([]Check[S], preparedExchanges)
	for i := range checks {
		exchange, err := o.Draw(requests, r)
		if err != nil {
			return nil, err
		}
		checks[i] = exchange.Expect(context.Background(), reference)
	}
	return checks, nil
}

// typedClient is the [Client] over a stub of type S.
type typedClient[S any] struct {
	io.Closer
	workload Workload[S]
	stub     S
	// reference returns the one service that all feeds of the client compare with: they only read it.
	reference func() S
}

// preparedExchanges is the number of requests of a series that are drawn, with their
// expected replies, before the first call, so that neither is timed. After them the
// series repeats in order. It is a power of two, and so large that a cache cannot
// answer all calls with one reply.
const preparedExchanges = 256

func (c *typedClient[S]) Caller(operation, requests string, seed uint64) (func(context.Context) error, error) {
	o, err := c.workload.operation(operation)
	if err != nil {
		return nil, err
	}
	r := newDraws(seed)
	if o.Fresh {
		if _, err := o.Draw(requests, newDraws(seed)); err != nil {
			return nil, err
		}
		call, _ := c.once(o, requests, r)
		return call, nil
	}
	checks, err := o.series(requests, r, c.workload.New())
	if err != nil {
		return nil, err
	}
	next := 0
	return func(ctx context.Context) error {
		check := checks[next%preparedExchanges]
		next++
		return check(ctx, c.stub)
	}, nil
}

func (c *typedClient[S]) Call(ctx context.Context, operation string, data []byte) (any, []any, error) {
	o, err := c.workload.operation(operation)
	if err != nil {
		return nil, nil, err
	}
	var exchange Exchange[S]
	if data != nil {
		exchange, err = o.Parse(data)
	} else {
		exchange, err = o.Draw("", rand.New(rand.NewPCG(1, 1)))
	}
	if err != nil {
		return nil, nil, err
	}
	reply, err := exchange.Ask(ctx, c.stub)
	return exchange.Value(), reply, err
}

func (w Workload[S]) operation(name string) (Operation[S], error) {
	known := make([]string, 0, len(w.Operations))
	for _, o := range w.Operations {
		if o.Name == name {
			return o, nil
		}
		known = append(known, o.Name)
	}
	return Operation[S]{}, UnknownName("operation", name, known)
}
