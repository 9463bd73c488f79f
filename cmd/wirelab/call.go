package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"wirelab"
	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/desk"
	"wirelab/internal/fault"
	"wirelab/internal/fieldnames"
	"wirelab/lab/call"
	"wirelab/lab/plan"
	"wirelab/lab/trust"
)

// callFlags are the flags of "call".
type callFlags struct {
	call.Request
	data   string
	secure desk.SecureFlags
	asJSON *bool
}

func newCallCommand(a *app) *cobra.Command {
	var f callFlags
	c := &cobra.Command{
		Use:     "call WORKLOAD.OPERATION --protocol PROTOCOL --target HOST:PORT",
		Short:   "Make one call to a server and print its reply",
		Long:    desk.HelpText("call"),
		Example: desk.HelpText("call.examples"),
		Args: a.OperationArgument("one WORKLOAD.OPERATION", func(protocol string) string {
			return "write it as --protocol " + protocol + ", and an operation before it, such as routeguide.GetFeature"
		}),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return a.Operations(), cobra.ShellCompDirectiveNoFileComp
		},
	}
	c.Flags().StringVar(&f.Protocol, "protocol", "", "protocol to call over; see wirelab matrix")
	c.Flags().StringVar(&f.Client, "client", "", "library to call with (default: the usual one)")
	c.Flags().StringVar(&f.Target, "target", "", "HOST:PORT of the server")
	c.Flags().StringVar(&f.data, "request", "",
		"request in JSON, - for standard input, @FILE for a file (default: a random one)")
	f.secure.Register(c.Flags())
	c.Flags().DurationVar(&f.Timeout, "timeout", 5*time.Second, "longest time to wait, including connecting")
	f.asJSON = c.Flags().Bool("json", false, "print request, reply and error as one JSON document")
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.call(c.Context(), args[0], c.Flags().Changed("request"), f)
	}
	return c
}

// call makes the call and prints the outcome.
func (a *app) call(ctx context.Context, what string, hasData bool, f callFlags) error {
	cell, op, err := call.Find(a.Catalog, what, f.Request)
	if err != nil {
		return err
	}
	var version atomic.Uint32
	to := wirelab.Dialing{
		Address: f.Target, Foreign: true,
		Secured: func(state tls.ConnectionState) { version.Store(uint32(state.Version)) },
	}
	secure, err := trust.Read(ctx, f.secure.TLS, a.Now())
	if err != nil {
		return err
	}
	if err := secure.Give(&to); err != nil {
		return err
	}
	var data []byte
	if hasData {
		if data, err = a.ReadData(ctx, f.data); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, f.Timeout)
	defer cancel()
	began := a.Now()
	answered := a.Waiting("a reply of "+f.Target, f.Timeout)
	request, reply, callErr := call.Make(ctx, cell, to, op.Name, data)
	took := a.Now().Sub(began)
	answered()
	if callErr != nil && request == nil && hasData && wirelab.CodeOf(callErr) == wirelab.InvalidArgument {
		return cli.Usage("--request: %s", desk.Describe(callErr)) // it was never sent
	}
	asked, err := fieldnames.JSON(request)
	if err != nil {
		return err
	}
	items := make([]json.RawMessage, len(reply))
	for i, item := range reply {
		if items[i], err = fieldnames.JSON(item); err != nil {
			return err
		}
	}
	if callErr != nil {
		callErr = call.Explain(ctx, cell, op.Name, f.Request, callErr)
		if !errors.Is(callErr, context.Canceled) {
			callErr = cli.With(desk.ExitFailed, callErr)
		}
	}
	if !*f.asJSON {
		if !hasData && callErr == nil {
			a.Note("asked %s", asked)
		}
		for _, item := range items {
			if err := a.Printf("%s\n", item); err != nil {
				return err
			}
		}
		return callErr
	}
	report := call.Report{
		Workload: cell.Workload, Operation: op.Name, Protocol: cell.Protocol.Name, Client: cell.Client,
		Target: f.Target, Request: string(asked), Reply: items, Took: plan.Duration(took),
	}
	if spoken := version.Load(); spoken != 0 {
		report.TLS = tls.VersionName(uint16(spoken))
	}
	return a.printCall(report, callErr)
}

// printCall prints a call as JSON, with its error.
func (a *app) printCall(report call.Report, err error) error {
	if err != nil {
		coded := wirelab.Public(err)
		report.Error = &call.Error{
			Code: coded.Code.String(), Message: coded.Message, Cause: string(wirelab.CauseOf(err)),
		}
	}
	return fault.Both(err, a.PrintJSON(report))
}
