package postgres

import (
	"strings"

	"wirelab"
	"wirelab/workload/logging"
)

// script returns the statements of an operation for pgbench, which draws entries as [logging.Published] does. The
// service puts entries that come at the same time into one commit; pgbench stores each alone.
func script(_, operation, requests string) (wirelab.Script, error) {
	if operation != "WriteLog" || requests != logging.Published {
		return wirelab.Script{}, wirelab.Errorf(wirelab.Unimplemented,
			"pgbench can run WriteLog of published entries (--requests %s) only, and not %s", logging.Published,
			operation)
	}
	// In the order of the statement's parameters: ids, names, data.
	store := strings.NewReplacer(
		"$1", "ARRAY['load-' || gen_random_uuid()]", "$2", "ARRAY['benchmark']", "$3",
		"ARRAY['published log entry ' || :n]",
	).Replace(statements()[storeStatement])
	return wirelab.Script{Schema: Schema, Text: "\\set n random(100, 999)\n" + store + ";\n"}, nil
}
